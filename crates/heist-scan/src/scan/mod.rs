//! Scanning: from objects to findings.
//!
//! | file | idea |
//! |---|---|
//! | `tree` | everything below some paths, on the walker's executor |
//! | `roots` | these paths, each once |
//! | `local` | what a source gives out, on an executor of its own |
//! | `flight` | how many objects a source has given out that are not done |
//! | `worker` | one object, chunk by chunk |
//! | `large` | one file, by several workers |
//! | `turns` | which of them gives out what |
//! | `capture` | a match with what is around it |
//! | `assemble` | which of several matches counts, and in which order |
//! | `excerpt` | the line, with its secrets masked |
//! | `lines` | lines and columns, also from the middle of a file |
//! | `shared` | what all workers have in common, and how they tell what they found |
//! | `progress` | counters that can be watched while a scan runs |

mod assemble;
mod capture;
mod excerpt;
mod flight;
mod large;
mod lines;
mod local;
mod progress;
mod roots;
mod shared;
mod tree;
mod turns;
mod worker;

pub use local::{scan_local, scan_local_with_progress};
pub use progress::{ScanCounts, ScanProgress};
pub use tree::{parallel_scan_dir, parallel_scan_dir_traced};
