//! For tests that mount file systems. Each runs in a process with its own mount namespace, and its
//! mounts end with the process.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;
use std::process::{Command, Output};

/// In the process with the namespace, this variable contains the name of the test.
const INSIDE: &str = "HEIST_TEST_IN_OWN_MOUNTS";

/// Namespaces in which a process may mount: the first one needs root, in the second one every user
/// is root.
const NAMESPACES: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// Runs `body`, the body of the test `test`, where it may mount file systems. The first call runs
/// the test again in a new process, and there the body.
#[track_caller]
pub(crate) fn in_own_mounts(test: &str, body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    let Some(namespace) = NAMESPACES.into_iter().find(|namespace| may_mount(namespace)) else {
        panic!(
            "this test mounts file systems. Run it as root, or allow this user to create namespaces \
             in which it is root. To check: `unshare --user --map-root-user --mount true` \
             (`unshare` is in the package util-linux, `mount` in the package mount)"
        );
    };
    let program = std::env::current_exe().expect("a test program has a path");
    let mut command = Command::new("unshare");
    command.args(namespace).arg(program).args(["--exact", test, "--nocapture"]);
    let output = command.env(INSIDE, test).output().expect("`unshare` worked a moment ago");
    let Output { status, stdout, stderr } = &output;
    let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    assert!(status.success(), "{test} in its own namespace: {status}\n{stdout}\n{stderr}");
    assert!(
        stdout.contains("test result: ok. 1 passed"),
        "`{test}` is not the name of a test: {stdout}"
    );
}

fn may_mount(namespace: &[&str]) -> bool {
    let mut command = Command::new("unshare");
    command.args(namespace).args(["mount", "-t", "tmpfs", "none", "/tmp"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Mounts a new file system in memory. `options` are those of `mount -o`.
#[track_caller]
pub(crate) fn mount_tmpfs(at: &Path, options: &str) {
    run(Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at));
}

/// Mounts a file or a directory over another one.
#[track_caller]
pub(crate) fn mount_over(what: &Path, at: &Path) {
    run(Command::new("mount").arg("--bind").args([what, at]));
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}
