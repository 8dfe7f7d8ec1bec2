//! Scanning: from objects to findings.
//!
//! | file | idea |
//! |---|---|
//! | `builder` | [`Scan`]: what to scan, with which limits, and `run` |
//! | `tree` | scans everything below some paths, on the executor of the walk |
//! | `roots` | removes duplicates from these paths |
//! | `project` | the path that rules see: relative to the root of the project |
//! | `from_source` | scans the objects of a source, on an executor of its own |
//! | `in_flight` | bounds the objects that a source has handed out and that are not done |
//! | `find` | scans bytes in memory, on the calling thread |
//! | `blob` | scans objects that a caller has in memory, before their paths are known |
//! | `object_scanner` | one worker's tools, and the scan of one object chunk by chunk |
//! | `large` | the scan of one large file by several workers |
//! | `range_order` | in which order those workers report their ranges |
//! | `capture` | a match together with the text around it |
//! | `assemble` | decides which of several overlapping matches counts |
//! | `visible/` | decides what of a secret and of the text around it is shown |
//! | `builtin_search` | finds secrets near a match that the scan does not look for |
//! | `excerpt` | the line around a secret as text, and as it is printed |
//! | `lines` | line and column numbers, also from the middle of a file |
//! | `context` | what all workers of a scan share |
//! | `work` | how much work an object may take for its size |
//! | `emit` | turns matches into findings, counts them and hands them to the sink |
//! | `progress` | counters that other threads can read during a scan |

mod assemble;
mod blob;
mod builder;
mod builtin_search;
mod capture;
mod context;
mod emit;
mod excerpt;
mod find;
mod from_source;
mod in_flight;
mod large;
mod lines;
mod object_scanner;
mod progress;
mod project;
mod range_order;
mod roots;
mod tree;
mod visible;
mod work;

pub use blob::{BlobScan, BlobScanner, ScannedBlob};
pub use builder::{Scan, parallel_scan_dir, scan_source};
pub use progress::{ScanCounts, ScanProgress};
pub use project::RootPlace;
pub use work::WorkLimit;
