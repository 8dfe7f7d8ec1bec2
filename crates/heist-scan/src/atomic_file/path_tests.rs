//! Which paths an [`AtomicFile`] accepts, and what the new file inherits.

use super::{AtomicFile, AtomicFileOptions, OutputPathError};
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").permissions().mode() & 0o7777
}

fn write(options: &AtomicFileOptions, path: &Path) {
    let mut file = options.create(path).expect("it can be made");
    file.write_all(b"after").expect("there is room");
    file.commit().expect("it is renamed");
    assert_eq!(fs::read(path).expect("it is there"), b"after");
}

fn temporary() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn a_link_is_neither_followed_nor_replaced() {
    let directory = temporary();
    let (target, link) = (directory.path().join("target"), directory.path().join("link"));
    symlink("target", &link).expect("a link");
    // Broken and not broken.
    for _ in 0..2 {
        let refused = AtomicFile::create(&link).expect_err("a link");
        assert!(matches!(refused, OutputPathError::Link), "{refused}");
        assert!(link.is_symlink());
        fs::write(&target, "before").expect("a file");
    }
    assert_eq!(fs::read(&target).expect("it is there"), b"before");
}

#[test]
fn a_link_that_appears_later_is_replaced_and_not_followed() {
    let directory = temporary();
    let (target, path) = (directory.path().join("target"), directory.path().join("report"));
    fs::write(&target, "before").expect("a file");
    let mut file = AtomicFile::create(&path).expect("it can be made");
    file.write_all(b"after").expect("there is room");
    symlink("target", &path).expect("a link");
    file.commit().expect("it is renamed");
    assert!(path.is_file() && !path.is_symlink());
    assert_eq!(fs::read(&target).expect("it is there"), b"before");
}

#[test]
fn a_directory_that_is_exchanged_later_does_not_redirect_the_file() {
    let directory = temporary();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("out")).expect("a directory");
    fs::create_dir(at("elsewhere")).expect("a directory");
    let file = AtomicFile::create(&at("out/report")).expect("it can be made");
    fs::rename(at("out"), at("moved")).expect("it can be moved");
    symlink("elsewhere", at("out")).expect("a link");
    file.commit().expect("it is renamed");
    assert!(at("moved/report").is_file());
    assert_eq!(fs::read_dir(at("elsewhere")).expect("a directory").count(), 0);
}

#[test]
fn links_in_the_path_are_followed_only_outside_untrusted_roots() {
    let directory = temporary();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("tree/deep/er")).expect("a directory");
    fs::create_dir(at("outside")).expect("a directory");
    symlink("../outside", at("tree/out")).expect("a link");
    symlink("er", at("tree/deep/inner")).expect("a link");
    symlink("tree/deep", at("mine")).expect("a link");
    let untrusted = AtomicFileOptions::new().untrusted([at("nowhere"), at("tree")]);
    for refused in [
        "tree/out/report",
        "tree/deep/inner/report",
        "tree/deep/../out/report",
        "outside/../tree/out/report",
        // The user's link leads into the tree, and the next one is the tree's.
        "mine/inner/report",
        "mine/../out/report",
    ] {
        let error = untrusted.create(&at(refused)).expect_err(refused);
        assert!(matches!(error, OutputPathError::LinkInUntrusted { .. }), "{refused}: {error}");
        AtomicFile::create(&at(refused)).expect("nothing is untrusted");
    }
    for accepted in ["mine/er/report", "mine/report", "outside/report", "tree/../outside/report"] {
        untrusted.create(&at(accepted)).expect(accepted);
    }
    let above = AtomicFileOptions::new().untrusted(["/"]);
    let error = above.create(&at("mine/report")).expect_err("everything is untrusted");
    assert!(matches!(error, OutputPathError::LinkInUntrusted { .. }), "{error}");
}

#[test]
fn a_file_with_several_names_is_refused_in_an_untrusted_root() {
    let directory = temporary();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("tree")).expect("a directory");
    fs::write(at("other"), "before").expect("a file");
    fs::hard_link(at("other"), at("tree/report")).expect("another name");
    for untrusted in [at("tree"), at("other")] {
        let options = AtomicFileOptions::new().untrusted([untrusted]);
        let error = options.create(&at("tree/report")).expect_err("two names");
        assert!(matches!(error, OutputPathError::SeveralNames), "{error}");
    }
    write(&AtomicFileOptions::new(), &at("tree/report"));
    assert_eq!(fs::read(at("other")).expect("it is there"), b"before");
}

#[test]
fn only_regular_files_are_replaced_and_nothing_waits() {
    let directory = temporary();
    let at = |name: &str| directory.path().join(name);
    let readable = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), readable).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    fs::create_dir(at("directory")).expect("a directory");
    for (path, expected) in [
        (at("pipe"), "a pipe"),
        (at("socket"), "a socket"),
        (at("directory"), "a directory"),
        ("/dev/tty".into(), "a device"),
        ("/dev/zero".into(), "a device"),
    ] {
        match AtomicFile::create(&path) {
            Err(OutputPathError::NotRegular { kind }) => assert_eq!(kind, expected),
            other => panic!("{}: {other:?}", path.display()),
        }
    }
    for link in ["/dev/stdout", "/dev/fd/1"] {
        let error = AtomicFile::create(link.as_ref()).expect_err("a link");
        let is_link = matches!(error, OutputPathError::Link);
        // A redirected descriptor is a link into /proc, and the latter a link to anything.
        assert!(is_link, "{link}: {error}");
    }
    assert!(matches!(AtomicFile::create("..".as_ref()), Err(OutputPathError::NoName)));
    assert!(matches!(AtomicFile::create(&at("no/where")), Err(OutputPathError::Io(_))));
}

#[test]
fn two_devices_are_written_to_directly() {
    let mut null = AtomicFile::create("/dev/null".as_ref()).expect("a device");
    assert_eq!(null.temporary_path(), None);
    null.write_all(b"gone").expect("it takes everything");
    null.commit().expect("nothing to rename");
    let mut full = AtomicFile::create("/dev/full".as_ref()).expect("a device");
    assert!(full.write_all(b"no room").is_err());
}

#[test]
fn the_new_file_inherits_restrictions_and_nothing_else() {
    let directory = temporary();
    let path = directory.path().join("report");
    write(&AtomicFileOptions::new(), &path);
    let usual = mode(&path);
    assert_eq!(usual & 0o7111, 0);
    for (old, new) in [
        (0o600, 0o600 & usual),
        (0o444, 0o444 & usual),
        (0o777, usual),
        (0o4755, 0o644 & usual),
        (0o640, 0o640 & usual),
    ] {
        fs::set_permissions(&path, Permissions::from_mode(old)).expect("it is mine");
        write(&AtomicFileOptions::new(), &path);
        assert_eq!(mode(&path), new, "{old:o}");
    }
    write(&AtomicFileOptions::new().private(true), &path);
    assert_eq!(mode(&path), 0o600 & usual);
}

#[test]
fn until_it_is_complete_only_the_user_may_read_a_file() {
    let directory = temporary();
    let path = directory.path().join("report");
    for old in [None, Some(0o644), Some(0o444)] {
        if let Some(old) = old {
            fs::set_permissions(&path, Permissions::from_mode(old)).expect("it is mine");
        }
        let mut file = AtomicFile::create(&path).expect("it can be made");
        let temporary = file.temporary_path().expect("a file");
        assert_eq!(mode(&temporary) & 0o177, 0, "{old:?}");
        file.write_all(b"after").expect("there is room");
        file.commit().expect("it is renamed");
        assert_eq!(mode(&path) & !old.unwrap_or(0o666), 0, "{old:?}");
        assert_ne!(mode(&path) & 0o044, 0, "{old:?}");
    }
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let directory = temporary();
    let at = |name: &str| directory.path().join(name);
    let (path, left) = (at("report"), at(".report.heist-0123456789abcdef"));
    // Each of these is kept, for one reason.
    let kept = [
        at(".report.heist-0123456789abcde"),
        at(".other.heist-0123456789abcdef"),
        at(".report.heist-0000000000000001"),
        at(".report.heist-0000000000000002"),
        at(".report.heist-0000000000000003"),
        at(".report.heist-0000000000000004"),
    ];
    fs::write(&left, "half").expect("a file");
    fs::write(&kept[0], "half").expect("a file");
    fs::write(&kept[1], "half").expect("a file");
    fs::write(&kept[2], "not ours").expect("a file");
    symlink(&left, &kept[3]).expect("a link");
    fs::hard_link(&kept[1], &kept[4]).expect("another name");
    fs::create_dir(&kept[5]).expect("a directory");
    let ours = |file: fs::File| std::io::read_to_string(file).is_ok_and(|text| text == "half");

    let mut living = AtomicFile::create(&path).expect("it can be made");
    living.write_all(b"half").expect("there is room");
    let unused = AtomicFile::create(&path).expect("it can be made");
    drop(unused);
    assert!(left.is_file(), "it is removed only with a complete file");
    let mut file = AtomicFile::create(&path).expect("it can be made");
    file.find_leftovers(ours);
    assert!(file.leftovers().eq([left.clone()]));
    file.commit().expect("it is renamed");
    assert!(!left.exists());
    for kept in kept {
        assert!(kept.symlink_metadata().is_ok(), "{}", kept.display());
    }
    living.commit().expect("its file is still there");
}

#[test]
fn a_leftover_that_was_exchanged_is_kept() {
    let directory = temporary();
    let (path, left) =
        (directory.path().join("report"), directory.path().join(".report.heist-0123456789abcdef"));
    fs::write(&left, "half").expect("a file");
    let mut file = AtomicFile::create(&path).expect("it can be made");
    file.find_leftovers(|_| true);
    let other = directory.path().join("other");
    fs::write(&other, "another file").expect("a file");
    fs::rename(&other, &left).expect("it is replaced");
    file.commit().expect("it is renamed");
    assert_eq!(fs::read(&left).expect("it is kept"), b"another file");
}

#[test]
fn a_replaced_file_can_be_read_only_if_it_is_untrusted() {
    let directory = temporary();
    let path = directory.path().join("report");
    fs::write(&path, "before").expect("a file");
    let file = AtomicFile::create(&path).expect("it can be made");
    assert!(file.open_untrusted_replaced().expect("not asked for").is_none());
    for untrusted in [directory.path(), path.as_path()] {
        let options = AtomicFileOptions::new().untrusted([untrusted]);
        let file = options.create(&path).expect("it can be made");
        let replaced = file.open_untrusted_replaced().expect("it can be read").expect("there");
        assert_eq!(std::io::read_to_string(replaced).expect("it can be read"), "before");
    }
}
