//! Support code of the test modules.

pub(crate) mod du;
pub(crate) mod git;
pub(crate) mod requirements;
pub(crate) mod scan;
pub(crate) mod terminal;

use std::process::{Command, Stdio};

/// Returns the command with the default handling of signals. Background jobs, and the tests may be
/// one, ignore some, and their children inherit that.
pub(crate) fn interruptible(command: &Command) -> Command {
    let mut reset = Command::new("env");
    reset
        .arg("--default-signal=HUP,INT,QUIT,TERM")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => reset.env(name, value),
            None => reset.env_remove(name),
        };
    }
    reset.stdin(Stdio::null());
    reset
}
