//! Pseudo file systems such as `/proc`: a scan that reaches them from above does not enter them.

use crate::mounts::{in_own_mounts, mount_over};
use crate::support::du::{gnu_du, heist_du, output};
use crate::support::scan::{ScanFixture, code, end, errors, in_time, json, text, token};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

#[test]
fn a_walk_from_above_enters_no_pseudo_file_system() {
    in_own_mounts("scan_pseudo::a_walk_from_above_enters_no_pseudo_file_system", scan_with_mounts);
}

fn scan_with_mounts() {
    let scene = ScanFixture::new();
    scene.file("a", format!("{}\n", token("tok_", 1)));
    for name in ["deep/proc", "sys", "usual"] {
        fs::create_dir_all(scene.tree().join(name)).expect("a directory");
    }
    fs::create_dir(scene.path("elsewhere")).expect("a directory");
    fs::write(scene.path("elsewhere/b"), token("tok_", 2)).expect("a file");
    mount_over(Path::new("/proc"), &scene.tree().join("deep/proc"));
    mount_over(Path::new("/sys"), &scene.tree().join("sys"));
    mount_over(&scene.path("elsewhere"), &scene.tree().join("usual"));
    let output = scene.scan(["-f", "json"]);
    let report = json(&output);
    assert_eq!((code(&output), report["complete"].as_bool()), (1, Some(true)), "{report}");
    assert_eq!((&report["files"], &report["skipped"]["pseudo"]), (&2.into(), &2.into()));
    let note = "note: pseudo file systems are not scanned: './deep/proc', './sys'\n";
    assert!(errors(&output).contains(note), "{}", errors(&output));
    assert_eq!(errors(&scene.scan(["-f", "json", "--quiet"])), "");
    let printed = text(&scene.scan::<&str>([]));
    assert!(printed.contains("Not scanned: 2 pseudo file systems (./deep/proc, ./sys).\n"));
    let jsonl = end(&scene.scan(["-f", "jsonl"]));
    assert_eq!(jsonl["skipped"]["pseudo"], 2);
    // A PATH is scanned, also if another PATH is above it.
    let output = scene.scan(["-f", "json", ".", "deep/proc/self/limits"]);
    assert_eq!(
        (&json(&output)["files"], &json(&output)["skipped"]["pseudo"]),
        (&3.into(), &2.into())
    );
    let output = scene.scan(["-f", "json", "deep/proc/self/net"]);
    let said = errors(&output);
    assert!(
        said.contains("the system does not let heist read every file: 'deep/proc/self/net'"),
        "{said}"
    );
    assert_eq!(json(&output)["skipped"]["pseudo"], 0);
    // du measures what GNU du measures, and `-x` is how to leave it out.
    let above = scene.path("");
    let measure = |options: &[&str]| {
        let (mut ours, mut theirs) =
            (heist_du(["--format", "du"].iter().chain(options)), gnu_du(options));
        ours.current_dir(&above);
        theirs.current_dir(&above);
        (output_lines(ours), output_lines(theirs))
    };
    let (ours, theirs) = measure(&["-x", "-a"]);
    assert_eq!(ours, theirs);
    let (ours, _) = measure(&["-d2"]);
    assert!(ours.iter().any(|line| line.ends_with("/deep/proc")), "{ours:?}");
}

fn output_lines(mut command: Command) -> Vec<String> {
    command.arg("tree");
    let printed = output(command);
    let mut lines: Vec<String> = text(&printed).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_followed_link_leads_into_no_pseudo_file_system() {
    let scene = ScanFixture::new();
    for number in 0..12 {
        symlink("/proc/self", scene.tree().join(format!("p{number:02}"))).expect("a link");
    }
    let output = in_time(scene.heist("scan", ["-f", "json", "-L"]));
    assert_eq!((code(&output), &json(&output)["skipped"]["pseudo"]), (0, &12.into()));
    assert!(errors(&output).contains("'./p09' and 2 more\n"), "{}", errors(&output));
}

#[test]
fn naming_a_pseudo_file_system_has_a_bounded_result() {
    let scene = ScanFixture::new();
    let output = scene.scan(["-f", "json", "/proc/self"]);
    let lines = errors(&output).lines().count();
    assert!(lines <= 110, "{lines} lines: {}", errors(&output));
    assert!(errors(&output).contains("note: in pseudo file systems, "), "{}", errors(&output));
}
