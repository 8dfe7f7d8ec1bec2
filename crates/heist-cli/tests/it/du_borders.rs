//! Where a walk stops, compared with GNU du: other file systems, and unreadable directories.

use crate::mounts::{in_own_mounts, mount_tmpfs};
use crate::support::du::{gnu_du, heist_du, output};
use crate::support::requirements;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use tempfile::tempdir;

fn lines(printed: &Output) -> Vec<String> {
    let text = String::from_utf8(printed.stdout.clone()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn unreadable_directories_are_named_and_counted_like_gnu_du() {
    let dir = tempdir().unwrap();
    set_mode(dir.path(), 0o755);
    let root = dir.path().join("root");
    for name in ["open/below", "locked/below", "unlisted/below", "unsearchable/below"] {
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("file"), vec![1; 10_000]).unwrap();
    }
    set_mode(&root.join("locked"), 0o000);
    // `unlisted` does not allow listing names; `unsearchable` does not allow access to entries.
    set_mode(&root.join("unlisted"), 0o311);
    set_mode(&root.join("unsearchable"), 0o644);
    for options in [&["-s"][..], &["-sb"], &["-a"], &["-ab"], &[]] {
        let theirs = requirements::output_of_another_user(gnu_du(options).arg(&root));
        let mut ours = heist_du(["--format", "du"].iter().chain(options));
        let ours = requirements::output_of_another_user(ours.arg(&root));
        assert_eq!(lines(&ours), lines(&theirs), "{options:?}");
        assert_eq!((ours.status.code(), theirs.status.code()), (Some(1), Some(1)), "{options:?}");
        let named = |printed: &Output| {
            let text = String::from_utf8(printed.stderr.clone()).unwrap();
            let mut named: Vec<String> =
                text.lines().filter_map(|line| Some(line.split('\'').nth(1)?.to_owned())).collect();
            named.sort_unstable();
            named
        };
        assert_eq!(named(&ours), named(&theirs), "{options:?}");
    }
    for name in ["locked", "unlisted", "unsearchable"] {
        set_mode(&root.join(name), 0o755);
    }
}

#[test]
fn one_file_system_skips_other_file_systems() {
    in_own_mounts("du_borders::one_file_system_skips_other_file_systems", compare_with_a_mount);
}

fn compare_with_a_mount() {
    let dir = tempdir().unwrap();
    let (before, mount) = (dir.path().join("before"), dir.path().join("mount"));
    for path in [&before, &mount] {
        fs::create_dir(path).unwrap();
    }
    fs::write(before.join("file"), vec![1; 10_000]).unwrap();
    mount_tmpfs(&mount, "size=1m");
    fs::create_dir(mount.join("inner")).unwrap();
    fs::write(mount.join("inner/file"), vec![1; 50_000]).unwrap();
    let compare = |options: &[&str], root: &Path| {
        let mut theirs = gnu_du(options);
        theirs.arg(root);
        let mut ours = heist_du(["--format", "du"].iter().chain(options));
        ours.arg(root);
        (lines(&output(ours)), lines(&output(theirs)))
    };
    for options in [&["-x"][..], &["-sx"], &["-ax"], &["-sbx"], &["-a"], &["-s"]] {
        // A root that is a mount point is on its own file system.
        for root in [dir.path(), &mount] {
            let (ours, theirs) = compare(options, root);
            assert_eq!(ours, theirs, "{options:?} {}", root.display());
        }
    }
}
