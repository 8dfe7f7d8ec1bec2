//! What the kernel reports about the threads of this process: their ids and context switches.
//!
//! Linux only. Elsewhere every function returns an error that says so, and the suite skips the
//! case.

use std::collections::BTreeSet;
use std::fs;

/// Returns the context switches of these threads so far, voluntary (the thread slept) and
/// involuntary (it was preempted).
pub(crate) fn switches_of(threads: &BTreeSet<u32>) -> Result<u64, String> {
    let mut sum = 0;
    for id in threads {
        let path = format!("/proc/self/task/{id}/status");
        let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        sum += switches_in(&status)
            .ok_or_else(|| format!("{path} does not contain context switches"))?;
    }
    Ok(sum)
}

/// Returns the kernel's ids of all threads of this process.
pub(crate) fn thread_ids() -> Result<BTreeSet<u32>, String> {
    let path = "/proc/self/task";
    let entries = fs::read_dir(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// Returns the sum of both kinds of switches in a thread's status, or `None` if one is missing.
fn switches_in(status: &str) -> Option<u64> {
    let count = |key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_switches_are_added() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches_in(status), Some(15));
        assert_eq!(switches_in("voluntary_ctxt_switches:\t12\n"), None);
        assert_eq!(switches_in(""), None);
    }
}
