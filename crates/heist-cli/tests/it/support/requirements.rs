//! Requirements of tests on the machine. A test whose requirement is not met fails and says how to
//! meet it.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The user id of `nobody`, which owns no files.
const ANOTHER_USER: u32 = 65534;

/// Fails unless a program is installed.
#[track_caller]
pub(crate) fn program(name: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let package = if name == "mkfifo" { "coreutils" } else { name };
    assert!(found, "this test runs `{name}`: install the package `{package}` (or see ci/tools.sh)");
}

/// Runs `command` as a user without access to everything. Root has that access, so root switches to
/// another user. That user may be unable to reach the build directory, so a program that is given
/// by its path is copied first.
#[track_caller]
pub(crate) fn output_of_another_user(command: &Command) -> Output {
    let temp = tempfile::tempdir().expect("a directory for the copy");
    let mut program = PathBuf::from(command.get_program());
    let is_root = rustix::process::geteuid().is_root();
    if is_root && program.is_absolute() {
        fs::set_permissions(temp.path(), Permissions::from_mode(0o755)).expect("mine");
        let copy = temp.path().join("program");
        fs::copy(&program, &copy).expect("a copy of the program");
        program = copy;
    }
    let mut other = Command::new(program);
    if is_root {
        other.uid(ANOTHER_USER).gid(ANOTHER_USER);
    }
    other.args(command.get_args()).stdin(std::process::Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        other.current_dir(directory);
    }
    loop {
        match other.output() {
            Ok(output) => return output,
            // Another test was starting a program, and its child still had the copy open for
            // writing.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            Err(error) => panic!(
                "this test runs the tool as user {ANOTHER_USER}, which failed: {error}. Run it as an ordinary user, or \
                 as a root that may change its user"
            ),
        }
    }
}
