//! The behaviour of the `heist` binary, one module per subject, in one test program.
//!
//! Every test starts `heist` as a child process, so no test needs a test program of its own. The
//! two that mount file systems run themselves again in a process with its own mount namespace.
#![cfg(target_os = "linux")]

#[path = "../../../heist-walk/tests/support/mounts.rs"]
mod mounts;
#[path = "../planted/mod.rs"]
mod planted;
mod support;

mod attacks;
mod du_behaviour;
mod du_borders;
mod du_faults;
mod du_formats;
mod du_gnu;
mod du_limits;
mod du_terminal;
mod help;
mod hook;
mod kills;
mod output_files;
mod packaging;
mod rules;
mod scan_advice;
mod scan_baseline;
mod scan_behaviour;
mod scan_diff;
mod scan_end;
mod scan_explain;
mod scan_faults;
mod scan_formats;
mod scan_hostile_rules;
mod scan_masking;
mod scan_memory;
mod scan_output;
mod scan_policy;
mod scan_pseudo;
mod scan_sarif;
mod scan_spelling;
mod scan_staged;
mod scan_suppression;
mod scan_terminal;
mod scan_trust;
mod scan_work;
mod signals;
