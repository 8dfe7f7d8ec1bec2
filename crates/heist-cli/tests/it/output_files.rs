//! The files that options name (`--output`, `--trace`, the baseline): no tree redirects them, no
//! special file holds heist up, and no failure leaves half of one.

use crate::mounts::{in_own_mounts, mount_tmpfs};
use crate::support::requirements;
use crate::support::scan::{ScanFixture, code, errors, in_time, plain, run, text, token};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Every option that writes a file: the command, its arguments before the file, and the words that
/// messages use for the file.
const OUTPUTS: [(&str, &[&str], &str); 5] = [
    ("scan", &["-f", "sarif", "--output"], "the output"),
    ("scan", &["-f", "jsonl", "--output"], "the output"),
    ("scan", &["--trace"], "the trace"),
    ("baseline", &["--output"], "the baseline"),
    ("baseline", &["--output", "/dev/null", "--trace"], "the trace"),
];

/// Returns the names of the temporary files in a directory.
fn leftovers(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(".heist-")).collect()
}

/// Runs a command of [`OUTPUTS`] in the tree.
fn write_to(scene: &ScanFixture, output: usize, file: &str) -> Output {
    let (command, arguments, _) = OUTPUTS[output];
    let mut heist = scene.heist(command, arguments);
    heist.arg(file);
    in_time(heist)
}

#[test]
fn a_link_in_the_tree_does_not_redirect_an_output() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let script = scene.path("deploy.sh");
    fs::write(&script, "#!/bin/sh\n").expect("a file");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("it is mine");
    for (output, (command, arguments, what)) in OUTPUTS.into_iter().enumerate() {
        for target in ["../deploy.sh", "../new"] {
            let link = scene.tree().join("heist.sarif");
            symlink(target, &link).expect("a link");
            let ended = write_to(&scene, output, "heist.sarif");
            assert_eq!(code(&ended), 2, "{command} {arguments:?}");
            let why = "it is a symbolic link\n  help: ";
            let expected = format!("heist: cannot create {what} 'heist.sarif': {why}");
            assert!(errors(&ended).contains(&expected), "{}", errors(&ended));
            assert!(link.is_symlink());
            fs::remove_file(link).expect("it is there");
        }
        assert_eq!(fs::read(&script).expect("it is there"), b"#!/bin/sh\n");
        assert!(!scene.path("new").exists());
        assert_eq!(leftovers(&scene.tree()), [""; 0]);
    }
}

#[test]
fn a_linked_directory_in_the_tree_does_not_redirect_an_output() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    fs::create_dir(scene.path("etc")).expect("a directory");
    symlink("../etc", scene.tree().join("out")).expect("a link");
    for (output, (command, arguments, _)) in OUTPUTS.into_iter().enumerate() {
        let file = scene.tree().join("out/report");
        for file in ["out/report", "./out/../out/report", file.to_str().expect("UTF-8")] {
            let ended = write_to(&scene, output, file);
            assert_eq!(code(&ended), 2, "{command} {arguments:?} {file}");
            let message = errors(&ended);
            assert!(message.contains("out' is a symbolic link\n  help: "), "{message}");
        }
    }
    assert_eq!(fs::read_dir(scene.path("etc")).expect("a directory").count(), 0);
    // Links outside the PATHs are the user's own.
    symlink("etc", scene.path("mine")).expect("a link");
    let ended = write_to(&scene, 0, "../mine/report");
    assert_eq!((code(&ended), scene.path("etc/report").is_file()), (1, true));
}

/// The commands that change a baseline without a scan name no PATH: the project is untrusted.
#[test]
fn no_link_of_the_project_redirects_a_change_of_a_baseline() {
    let scene = ScanFixture::new();
    let fingerprint = "0123456789abcdef0123456789abcdef"; // heist:allow
    let change = |arguments: &[&str]| {
        let mut heist = plain();
        heist.arg("baseline").args(arguments).current_dir(scene.tree());
        in_time(heist)
    };
    fs::create_dir_all(scene.path("etc")).expect("a directory");
    fs::create_dir(scene.tree().join(".git")).expect("a directory");
    fs::create_dir(scene.tree().join("sub")).expect("a directory");
    fs::write(scene.path("gitleaks.json"), "[]").expect("a file");
    let known = scene.path("etc/known");
    assert_eq!(code(&change(&["add", fingerprint, "-o", "../etc/known"])), 0);
    let old = fs::read(&known).expect("it is there");
    symlink("../etc", scene.tree().join("out")).expect("a link");
    symlink("../etc/known", scene.tree().join("heist-baseline.toml")).expect("a link");
    let report = "../gitleaks.json";
    for arguments in
        [&["add", fingerprint] as &[&str], &["remove", fingerprint], &["import", report]]
    {
        for (file, why) in [
            (&["-o", "out/known"] as &[&str], "out' is a symbolic link\n  help: "),
            (&["-o", "sub/../out/known"], "out' is a symbolic link\n  help: "),
            (&["-o", "heist-baseline.toml"], "it is a symbolic link\n  help: "),
            (&[], "it is a symbolic link\n  help: "),
        ] {
            let ended = change(&[arguments, file].concat());
            let message = errors(&ended);
            assert_eq!(code(&ended), 2, "{arguments:?} {file:?}: {message}");
            assert!(message.contains("cannot create the baseline '"), "{message}");
            assert!(message.contains(why), "{message}");
            assert_eq!(fs::read(&known).expect("it is there"), old, "{arguments:?} {file:?}");
        }
    }
    // Links outside the project are the user's own.
    symlink("etc", scene.path("mine")).expect("a link");
    assert_eq!(code(&change(&["remove", fingerprint, "-o", "../mine/known"])), 0);
    assert_ne!(fs::read(&known).expect("it is there"), old);
}

#[test]
fn du_writes_its_trace_through_no_link_and_over_no_file() {
    let scene = ScanFixture::new();
    scene.file("a", "content");
    symlink("../new", scene.tree().join("link")).expect("a link");
    for (file, why) in [("link", "it is a symbolic link"), ("a", "would overwrite a file")] {
        let mut du = plain();
        du.args(["du", "--trace", file]).current_dir(scene.tree());
        let ended = in_time(du);
        assert_eq!(code(&ended), 2);
        assert!(errors(&ended).contains(why), "{}", errors(&ended));
    }
    assert!(!scene.path("new").exists());
    assert_eq!(fs::read(scene.tree().join("a")).expect("it is there"), b"content");
}

#[test]
fn a_baseline_and_its_trace_overwrite_no_scanned_file() {
    let scene = ScanFixture::new();
    let source = scene.file("main.rs", token("tok_", 1));
    for arguments in [
        ["--output", "../known", "--trace", "main.rs"],
        ["--output", "../known", "--trace", "../known"],
        ["--output", "main.rs", "--trace", "../trace"],
    ] {
        let ended = in_time(scene.heist("baseline", arguments));
        assert_eq!(code(&ended), 2, "{arguments:?}: {}", errors(&ended));
        assert_eq!(fs::read_to_string(&source).expect("it is there"), token("tok_", 1));
    }
}

#[test]
fn a_file_with_several_names_is_not_replaced_in_the_tree() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    assert_eq!(code(&write_to(&scene, 0, "../first.sarif")), 1);
    fs::hard_link(scene.path("first.sarif"), scene.tree().join("second")).expect("a name");
    let ended = write_to(&scene, 0, "second");
    assert_eq!(code(&ended), 2);
    assert!(errors(&ended).contains("several names (hard links)"), "{}", errors(&ended));
    // Outside the tree, only this name gets the new report.
    let before = fs::metadata(scene.tree().join("second")).expect("it is there").ino();
    assert_eq!(code(&write_to(&scene, 0, "../first.sarif")), 1);
    assert_ne!(fs::metadata(scene.path("first.sarif")).expect("it is there").ino(), before);
}

#[test]
fn special_files_are_refused_without_waiting() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.path("pipe"), mode).expect("a pipe");
    let socket = scene.path("socket");
    let _socket = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    for (output, (command, arguments, what)) in OUTPUTS.into_iter().enumerate() {
        for (file, kind) in [
            ("../pipe", "it is a pipe"),
            ("../socket", "it is a socket"),
            ("/dev/zero", "it is a device"),
            ("../tree", "it is a directory"),
            ("/dev/stderr", "it is a symbolic link"),
        ] {
            let ended = write_to(&scene, output, file);
            assert_eq!(code(&ended), 2, "{command} {arguments:?} {file}");
            let expected = format!("cannot create {what} '{file}': {kind}");
            assert!(errors(&ended).contains(&expected), "{}", errors(&ended));
            assert!(errors(&ended).contains("\n  help: "), "{}", errors(&ended));
        }
        let ended = write_to(&scene, output, "/dev/null");
        assert_eq!(code(&ended), i32::from(command == "scan"), "{}", errors(&ended));
    }
}

#[test]
fn dev_stdout_is_stdout_and_a_process_substitution_is_refused() {
    requirements::program("bash");
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let expected = scene.scan(["-f", "json"]).stdout;
    for stdout in ["-", "/dev/stdout"] {
        let ended = scene.scan(["-f", "json", "-o", stdout]);
        assert_eq!((code(&ended), ended.stdout == expected), (1, true), "{stdout}");
    }
    let mut bash = Command::new("bash");
    bash.args([
        "-c",
        "exec \"$0\" scan --no-config --output >(cat) a",
        env!("CARGO_BIN_EXE_heist"),
    ]);
    bash.current_dir(scene.tree()).stdin(Stdio::null());
    let ended = in_time(bash);
    assert_eq!(code(&ended), 2);
    assert!(errors(&ended).contains("it is a symbolic link\n  help: "), "{}", errors(&ended));
}

#[test]
fn a_new_file_is_not_executable_and_stays_private() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for (output, (command, arguments, _)) in OUTPUTS.into_iter().enumerate() {
        assert!(code(&write_to(&scene, output, "../file")) < 2, "{command} {arguments:?}");
        let path = scene.path("file");
        let mode = || fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777;
        let usual = mode();
        for (old, new) in [(0o4755, usual), (0o600, 0o600), (0o777, usual)] {
            fs::set_permissions(&path, Permissions::from_mode(old)).expect("it is mine");
            assert!(code(&write_to(&scene, output, "../file")) < 2, "{command} {arguments:?}");
            assert_eq!(mode(), new, "{command} {arguments:?}");
        }
        fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_trace_on_a_full_disk_is_an_error_and_leaves_nothing() {
    in_own_mounts(
        "output_files::a_trace_on_a_full_disk_is_an_error_and_leaves_nothing",
        trace_on_a_full_disk,
    );
}

fn trace_on_a_full_disk() {
    let scene = ScanFixture::new();
    for number in 0..400 {
        scene.file(format!("{}/{number}", number % 40), "nothing");
    }
    let disk = scene.path("disk");
    fs::create_dir(&disk).expect("a directory");
    mount_tmpfs(&disk, "size=4k");
    let trace = disk.join("trace");
    for old in [None, Some("[]\n")] {
        if let Some(old) = old {
            fs::write(&trace, old).expect("there is room");
        }
        let mut du = plain();
        du.args(["du", "-s", "--trace"]).arg(&trace).current_dir(scene.tree());
        let mut baseline = scene.heist("baseline", ["--output", "/dev/null", "--trace"]);
        baseline.arg(&trace);
        let mut scan = scene.heist("scan", ["--trace"]);
        scan.arg(&trace);
        for (command, expected) in [(scan, 2), (baseline, 2), (du, 1)] {
            let shown = format!("{command:?}");
            let ended = run(command);
            let message = errors(&ended);
            assert_eq!(code(&ended), expected, "{shown}: {message}");
            let error = format!("cannot write the trace '{}': No space left", trace.display());
            assert!(message.contains(&error), "{shown}: {message}");
            let content = fs::read_to_string(&trace).ok();
            assert_eq!(content.as_deref(), old, "{shown}");
            assert_eq!(leftovers(&disk), [""; 0], "{shown}");
        }
    }
}

/// Returns `true` if an output file is complete.
fn is_whole(file: &str, content: &str) -> bool {
    match file {
        "known" => content.starts_with("# Known secrets.") && content.ends_with("]\n"),
        _ => serde_json::from_str::<serde_json::Value>(content).is_ok(),
    }
}

/// Runs a command under `strace` with the options, in the tree.
fn traced(scene: &ScanFixture, options: &[&str], command: &str, arguments: &[&str]) -> Output {
    let heist = scene.heist(command, arguments);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq"]).args(options).arg(heist.get_program()).args(heist.get_args());
    strace.current_dir(scene.tree()).stdin(Stdio::null()).output().expect("strace starts")
}

/// Makes each system call of the main thread that an output needs fail once, one after the other.
#[test]
fn no_failing_call_leaves_half_an_output() {
    const CALLS: &str = "openat,fstat,newfstatat,statx,write,fsync,rename,renameat,renameat2";
    requirements::program("strace");
    let mut failed = 0;
    for (file, command, arguments) in [
        ("report", "scan", &["-j1", "-f", "json", "--output", "../out/report"] as &[&str]),
        ("trace", "scan", &["-j1", "--trace", "../out/trace"]),
        ("known", "baseline", &["-j1", "--output", "../out/known"]),
    ] {
        let scene = ScanFixture::new();
        scene.file("a", "nothing");
        let out = scene.path("out");
        fs::create_dir(&out).expect("a directory");
        assert_eq!(code(&run(scene.heist(command, arguments))), 0);
        let target = out.join(file);
        let old = fs::read_to_string(&target).expect("it is there");
        assert!(is_whole(file, &old), "{old}");

        let log = scene.path("log");
        let options = ["-e", &format!("trace={CALLS}"), "-o", log.to_str().expect("UTF-8")];
        assert_eq!(code(&traced(&scene, &options, command, arguments)), 0);
        let log = fs::read_to_string(log).expect("it is there");
        let main = log.split_whitespace().next().expect("it has calls").to_owned();
        let calls = || log.lines().filter_map(|line| line.strip_prefix(&main)).map(str::trim_start);
        let mut uses = std::collections::HashMap::new();
        for call in calls() {
            let name = call.split('(').next().expect("a name").to_owned();
            let nth = uses.entry(name.clone()).or_insert(0_usize);
            *nth += 1;
            // The other calls belong to the loader and to the scan.
            let of_output = ["\"out\"", &format!("\"{file}\""), ".heist-", "O_PATH", "fsync"];
            if name != "write" && !of_output.iter().any(|part| call.contains(part)) {
                continue;
            }
            fs::write(&target, &old).expect("there is room");
            let inject = format!("inject={name}:error=EIO:when={nth}");
            let ended = traced(&scene, &["-e", &inject, "-o", "/dev/null"], command, arguments);
            let what = format!("{command} {file}: {call}\n{}", errors(&ended));
            let content = fs::read_to_string(&target).expect(&what);
            assert!(is_whole(file, &content), "{what}");
            assert_eq!(leftovers(&out), [""; 0], "{what}");
            let is_decisive = ["fsync", "rename", "O_CREAT"].iter().any(|part| call.contains(part));
            if is_decisive {
                assert_eq!(content, old, "{what}");
            }
            // Other calls need not matter, such as a second look at a file.
            if is_decisive || code(&ended) != 0 {
                assert!([1, 2].contains(&code(&ended)), "{what}");
                assert!(!errors(&ended).is_empty() || call.starts_with("write(2"), "{what}");
                failed += 1;
            }
        }
        assert!(uses.contains_key("fsync"), "the file reaches the disk: {uses:?}");
    }
    assert!(failed >= 12, "only {failed} failures were noticed");
}

#[test]
fn a_closed_stdin_is_an_error_and_an_empty_one_is_not() {
    let scene = ScanFixture::new();
    let heist = env!("CARGO_BIN_EXE_heist");
    for (script, expected) in [
        ("scan - <&-", 2),
        ("scan . - <&-", 2),
        ("baseline --output ../known - <&-", 2),
        ("du --files0-from - <&-", 2),
        ("scan - </dev/null", 0),
        ("scan . <&-", 0),
    ] {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("'{heist}' {script}")).current_dir(scene.tree());
        let ended = in_time(shell);
        assert_eq!(code(&ended), expected, "{script}: {}{}", text(&ended), errors(&ended));
        let message = "heist: cannot read stdin: it is closed\n  help: ";
        assert_eq!(errors(&ended).contains(message), expected == 2, "{script}");
    }
}

/// The messages name a few paths for each reason; the report has them.
#[test]
fn messages_name_only_some_of_many_paths() {
    let scene = ScanFixture::new();
    fs::set_permissions(scene.temp.path(), Permissions::from_mode(0o755)).expect("it is mine");
    for number in 0..50 {
        let path = scene.file(format!("shut{number:02}"), "nothing");
        fs::set_permissions(path, Permissions::from_mode(0o000)).expect("it is mine");
    }
    let output = requirements::output_of_another_user(&scene.heist("scan", ["-f", "json"]));
    assert_eq!(code(&output), 2, "{}", errors(&output));
    let message = errors(&output);
    let named = message.lines().filter(|line| line.ends_with(": Permission denied")).count();
    assert_eq!(named, 10, "{message}");
    assert!(message.contains("heist: 40 more paths could not be scanned\n  help: "), "{message}");
    assert_eq!(
        crate::support::scan::json(&output)["incomplete"].as_array().map(Vec::len),
        Some(50)
    );
}
