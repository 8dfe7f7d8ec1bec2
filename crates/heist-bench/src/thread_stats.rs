//! What the kernel tells about single threads of this process: which there are, and how often they were switched.
//!
//! Linux only: elsewhere everything here is an error that says so, and the case that asked is skipped.

use std::collections::BTreeSet;
use std::fs;

/// Switches of the threads so far, voluntary (it went to sleep) and not (it was pre-empted).
pub(crate) fn switches_of(threads: &BTreeSet<u32>) -> Result<u64, String> {
    let mut sum = 0;
    for id in threads {
        let path = format!("/proc/self/task/{id}/status");
        let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        sum += switches_in(&status).ok_or_else(|| format!("{path} tells no switches"))?;
    }
    Ok(sum)
}

/// The kernel's ids of all threads of this process.
pub(crate) fn thread_ids() -> Result<BTreeSet<u32>, String> {
    let path = "/proc/self/task";
    let entries = fs::read_dir(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// The sum of both kinds of switches in a thread's status; `None` if one is missing.
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
