//! Processes with limited memory, in which the system refuses threads, or with a limited number of
//! open files.
#![cfg(target_os = "linux")]

use super::path_of;
use std::process::Command;

/// Set in the child process that a test starts.
const LIMITED: &str = "HEIST_TEST_IS_LIMITED";

/// Enough for the process itself and for some large stacks.
const LIMIT_KIB: u64 = 1_500_000;

/// Runs the test `name` of the module (`module_path!()`) again, in a child process with limited
/// memory. Returns `true` in that process.
pub(crate) fn is_limited(module: &str, name: &str) -> bool {
    is_limited_to(module, name, &format!("-v {LIMIT_KIB}"))
}

/// Like [`is_limited`], for a process that may have at most `descriptors` files open.
pub(crate) fn is_limited_to_descriptors(module: &str, name: &str, descriptors: u32) -> bool {
    is_limited_to(module, name, &format!("-n {descriptors}"))
}

fn is_limited_to(module: &str, name: &str, limit: &str) -> bool {
    if std::env::var_os(LIMITED).is_some() {
        return true;
    }
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &path_of(module, name), "--nocapture", "--test-threads=1"])
        .env(LIMITED, "1")
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
    false
}
