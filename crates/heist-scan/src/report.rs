//! [`ScanReport`]: the result of a scan.
//!
//! Invariant: every object has exactly one [`Outcome`], and every object or directory that was not
//! completely scanned is counted in [`ScanReport::incomplete_count`].

use heist::{MetricsSnapshot, StartError};
use heist_walk::{FileKind, WalkError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// How the scan of one object ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The whole object was scanned.
    Scanned,
    /// The object is binary, and the scan skips binary objects.
    Binary,
    /// The object is larger than [`Scan::max_file_size`](crate::Scan::max_file_size).
    TooLarge,
    /// The object is not a regular file but a pipe, a socket, a device, or a symbolic link that the
    /// scan does not follow. It was not opened.
    Special(FileKind),
    /// The detector does not want the object.
    Excluded,
    /// The file was deleted between being listed and being opened.
    Vanished,
    /// The object could not be opened, or could not be read to its end.
    Unreadable(io::Error),
    /// The file became shorter during the scan.
    Shrunk,
    /// The file became longer during the scan. Only its original length was scanned.
    Grown,
    /// The whole object was scanned, but it has more findings of one kind than
    /// [`Scan::max_findings_per_object`](crate::Scan::max_findings_per_object).
    FindingsCut {
        /// The number of findings that the sink did not get.
        left_out: u64,
    },
    /// Only the part before this offset was scanned: up to there, the object takes more work than
    /// its size allows. See [`Scan::work_limit`](crate::Scan::work_limit).
    WorkCut {
        /// The end of the scanned part.
        scanned_to: u64,
    },
    /// The detector or the sink panicked, with this message.
    Panicked(String),
    /// The scan was stopped before the end of the object. An object of a source may not even have
    /// been started.
    Interrupted,
}

impl Outcome {
    /// Returns why the scan of the object is incomplete, if it is.
    pub(crate) fn into_incomplete(self) -> Option<Incomplete> {
        Some(match self {
            Self::Unreadable(error) => Incomplete::Unreadable(error),
            Self::Shrunk => Incomplete::Shrunk,
            Self::Grown => Incomplete::Grown,
            Self::FindingsCut { left_out } => Incomplete::FindingsCut { left_out },
            Self::WorkCut { scanned_to } => Incomplete::WorkCut { scanned_to },
            Self::Panicked(message) => Incomplete::Panicked(message),
            _ => return None,
        })
    }
}

/// Why an object or a directory was not completely scanned.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incomplete {
    /// The object could not be opened, or could not be read to its end.
    Unreadable(io::Error),
    /// The file became shorter during the scan.
    Shrunk,
    /// The file became longer during the scan.
    Grown,
    /// The object has more findings of one kind than the scan reports.
    FindingsCut {
        /// The number of findings that the sink did not get.
        left_out: u64,
    },
    /// The object takes too much work for its size, so only the part before this offset was
    /// scanned.
    WorkCut {
        /// The end of the scanned part.
        scanned_to: u64,
    },
    /// The detector or the sink panicked, with this message.
    Panicked(String),
    /// The walk could not visit the directory, or an entry of it.
    Walk(WalkError),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Shrunk => f.write_str("became shorter while it was scanned; scan it again"),
            Self::Grown => f.write_str("became longer while it was scanned; scan it again"),
            Self::FindingsCut { left_out } => {
                write!(f, "has too many findings; {left_out} of them were left out")
            }
            Self::WorkCut { scanned_to } => {
                write!(
                    f,
                    "has so many places that could be secrets that only its first {scanned_to} \
                     bytes were scanned"
                )
            }
            Self::Panicked(message) => {
                write!(f, "could not be scanned: a detector panicked: {message}")
            }
            Self::Walk(error) => error.fmt(f),
        }
    }
}

macro_rules! outcome_counts {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// The number of objects with each [`Outcome`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct OutcomeCounts { $($(#[$doc])* pub $field: u64),* }

        impl OutcomeCounts {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Returns the number of all objects.
            #[must_use]
            pub fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }
        }
    };
}

outcome_counts! {
    /// Objects that were scanned to the end.
    scanned,
    /// Binary objects that were skipped.
    binary,
    /// Objects over the size limit.
    too_large,
    /// Symbolic links that were not followed.
    symlinks,
    /// Pipes, sockets and devices.
    special,
    /// Objects that the detector did not want. ([`ScanReport::filtered`] counts what a filter
    /// excluded.)
    excluded,
    /// Files that were deleted before they were opened.
    vanished,
    /// Objects that could not be opened, or could not be read to the end.
    unreadable,
    /// Files that became shorter during the scan.
    shrunk,
    /// Files that became longer during the scan.
    grown,
    /// Objects with more findings of one kind than the scan reports.
    findings_cut,
    /// Objects that take too much work for their size, of which only the beginning was scanned.
    work_cut,
    /// Objects at which the detector or the sink panicked.
    panicked,
    /// Objects whose scan was stopped.
    interrupted,
}

impl OutcomeCounts {
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Scanned => &mut self.scanned,
            Outcome::Binary => &mut self.binary,
            Outcome::TooLarge => &mut self.too_large,
            Outcome::Special(FileKind::Symlink) => &mut self.symlinks,
            Outcome::Special(_) => &mut self.special,
            Outcome::Excluded => &mut self.excluded,
            Outcome::Vanished => &mut self.vanished,
            Outcome::Unreadable(_) => &mut self.unreadable,
            Outcome::Shrunk => &mut self.shrunk,
            Outcome::Grown => &mut self.grown,
            Outcome::FindingsCut { .. } => &mut self.findings_cut,
            Outcome::WorkCut { .. } => &mut self.work_cut,
            Outcome::Panicked(_) => &mut self.panicked,
            Outcome::Interrupted => &mut self.interrupted,
        } += 1;
    }
}

/// Why a scan ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// Its token was cancelled.
    Cancelled,
    /// Its deadline passed.
    Deadline,
}

/// The result of a scan.
///
/// The default is the report of a scan without objects: a start for tests of code that shows
/// reports.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ScanReport {
    /// The number of objects with each outcome.
    pub outcomes: OutcomeCounts,
    /// The number of bytes scanned.
    pub bytes: u64,
    /// The number of findings that the sink got.
    pub findings: u64,
    /// The number of findings that the sink did not get, because their objects have too many of
    /// their kind.
    pub findings_left_out: u64,
    /// The number of directories entered.
    pub directories: u64,
    /// The number of directory entries that a filter excluded.
    pub filtered: u64,
    /// Those of them that a [counted glob](heist_walk::Filter::exclude_counted) excluded.
    pub filtered_by_counted_globs: u64,
    /// Those of them that an ignore file excluded.
    pub filtered_by_ignore_files: u64,
    /// Those of them that were excluded because their names begin with a dot.
    pub filtered_hidden: u64,
    /// The number of pseudo file systems below the roots, such as `/proc`, which the scan does not
    /// enter.
    pub pseudo_file_systems: u64,
    /// The first of their paths, sorted.
    pub pseudo_paths: Vec<PathBuf>,
    /// The first roots that are in a pseudo file system, sorted. They are scanned.
    pub pseudo_roots: Vec<PathBuf>,
    /// The objects and directories that were not completely scanned, and why: the first 1,000 of
    /// them, sorted by path; fewer if their paths have more than 4 MiB.
    pub incomplete: Vec<(PathBuf, Incomplete)>,
    /// The number of all objects and directories that were not completely scanned.
    pub incomplete_count: u64,
    /// Why the scan ended early, or `None` if it ran to its end.
    pub stopped: Option<Stopped>,
    /// The number of threads of the scan.
    pub threads: usize,
    /// The metrics of the executor that ran the scan.
    pub metrics: MetricsSnapshot,
}

impl ScanReport {
    /// Returns the number of objects, whatever their outcome.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.outcomes.total()
    }

    /// Returns `true` if the scan was not stopped and nothing in it is
    /// [incomplete](Self::incomplete) or interrupted. Objects that the scan skips on purpose
    /// (binary, too large, excluded) do not count.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.incomplete_count == 0 && self.outcomes.interrupted == 0 && self.stopped.is_none()
    }
}

/// Why a scan could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanError {
    /// The executor could not start: the system refused a thread, or a setting has an impossible
    /// value.
    Start(StartError),
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "cannot start the scan: {error}"),
        }
    }
}

impl std::error::Error for ScanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(error) => Some(error),
        }
    }
}

impl From<StartError> for ScanError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

/// The number of entries in [`ScanReport::incomplete`].
const INCOMPLETE_LISTED: usize = 1000;

/// The size of their paths and messages.
const INCOMPLETE_LISTED_BYTES: usize = 4 << 20;

/// Collects what is incomplete. Which entries are listed does not depend on the order in which they
/// are added.
#[derive(Debug, Default)]
pub(crate) struct IncompleteList {
    listed: Vec<(PathBuf, Incomplete)>,
    /// The size of the paths and messages in the list.
    bytes: usize,
    pub(crate) count: u64,
}

fn bytes_of(path: &Path, why: &Incomplete) -> usize {
    let more = match why {
        Incomplete::Panicked(message) => message.len(),
        Incomplete::Walk(error) => error.path.as_os_str().len(),
        _ => 0,
    };
    path.as_os_str().len() + more
}

impl IncompleteList {
    pub(crate) fn add(&mut self, path: PathBuf, why: Incomplete) {
        self.count += 1;
        self.bytes += bytes_of(&path, &why);
        self.listed.push((path, why));
        // Sorting is rare, so that adding an entry is cheap.
        let is_full = self.listed.len() >= 2 * INCOMPLETE_LISTED;
        if is_full || self.bytes >= 2 * INCOMPLETE_LISTED_BYTES {
            self.cut();
        }
    }

    /// Keeps the first entries that fit.
    fn cut(&mut self) {
        self.listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut kept = 0;
        self.bytes = 0;
        for (path, why) in self.listed.iter().take(INCOMPLETE_LISTED) {
            let bytes = self.bytes + bytes_of(path, why);
            if bytes > INCOMPLETE_LISTED_BYTES {
                break;
            }
            self.bytes = bytes;
            kept += 1;
        }
        self.listed.truncate(kept);
    }

    /// Returns the entries to list, sorted by path.
    pub(crate) fn into_listed(mut self) -> Vec<(PathBuf, Incomplete)> {
        self.cut();
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_paths_are_listed_in_whatever_order_they_are_added() {
        let listed = |numbers: &mut dyn Iterator<Item = u32>, ending: &str| {
            let mut list = IncompleteList::default();
            numbers.for_each(|number| {
                list.add(format!("{number:05}{ending}").into(), Incomplete::Shrunk);
                assert!(list.bytes <= 2 * INCOMPLETE_LISTED_BYTES + 30_000, "{}", list.bytes);
            });
            assert_eq!(list.count, 5000);
            list.into_listed().into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        let forwards = listed(&mut (0..5000), "");
        assert_eq!((forwards.len(), &forwards[999]), (1000, &PathBuf::from("00999")));
        assert_eq!(listed(&mut (0..5000).rev(), ""), forwards);
        let long = "/long".repeat(5_000);
        let forwards = listed(&mut (0..5000), &long);
        assert_eq!(forwards.len(), INCOMPLETE_LISTED_BYTES / (5 + long.len()));
        assert_eq!(listed(&mut (0..5000).rev(), &long), forwards);
    }
}
