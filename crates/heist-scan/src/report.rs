//! [`ScanReport`]: what a scan came to. Every object has an [`Outcome`], and what could not be scanned is listed.

use heist::{MetricsSnapshot, StartError};
use heist_walk::{FileKind, WalkError};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What became of an object.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// All of it was scanned.
    Scanned,
    /// It is binary, and these were not wanted.
    Binary,
    /// It is larger than objects may be.
    TooLarge,
    /// It is no regular file: a pipe, a socket, a device, a symbolic link that is not followed. Never opened.
    Special(FileKind),
    /// The detector does not want it.
    Excluded,
    /// It was gone when its turn came.
    Vanished,
    /// It could not be opened, or not be read to its end.
    Unreadable(io::Error),
    /// It became shorter while it was scanned.
    Shrunk,
    /// It became longer while it was scanned. Scanned was what was there first.
    Grown,
    /// It has more findings of a kind than objects may have. All of it was scanned.
    FindingsCut {
        /// How many were not given out.
        left_out: u64,
    },
    /// The detector (or the sink) panicked; with what it said.
    Panicked(String),
    /// The scan was stopped before its end. For a source also: before its beginning.
    Interrupted,
}

impl Outcome {
    /// What is missing because of it, if anything is.
    pub(crate) fn into_incomplete(self) -> Option<Incomplete> {
        Some(match self {
            Self::Unreadable(error) => Incomplete::Unreadable(error),
            Self::Shrunk => Incomplete::Shrunk,
            Self::Grown => Incomplete::Grown,
            Self::FindingsCut { left_out } => Incomplete::FindingsCut { left_out },
            Self::Panicked(message) => Incomplete::Panicked(message),
            _ => return None,
        })
    }
}

/// Why something is missing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incomplete {
    /// A file that could not be opened, or not be read to its end.
    Unreadable(io::Error),
    /// A file that became shorter while it was scanned.
    Shrunk,
    /// A file that became longer while it was scanned.
    Grown,
    /// A file with more findings of a kind than objects may have.
    FindingsCut {
        /// How many were not given out.
        left_out: u64,
    },
    /// The detector (or the sink) panicked.
    Panicked(String),
    /// A directory, or something in it, that could not be visited.
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
            Self::Panicked(message) => {
                write!(f, "could not be scanned: a detector panicked: {message}")
            }
            Self::Walk(error) => error.fmt(f),
        }
    }
}

macro_rules! outcome_counts {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// How many objects had which [`Outcome`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct OutcomeCounts { $($(#[$doc])* pub $field: u64),* }

        impl OutcomeCounts {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// All of them.
            #[must_use]
            pub fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }
        }
    };
}

outcome_counts! {
    /// Scanned to the end.
    scanned,
    /// Binary, and these were not wanted.
    binary,
    /// Larger than objects may be.
    too_large,
    /// Symbolic links that were not followed.
    symlinks,
    /// Pipes, sockets, devices.
    special,
    /// The detector does not want them. (What a filter leaves out is [`ScanReport::filtered`].)
    excluded,
    /// Gone when their turn came.
    vanished,
    /// Could not be opened, or not be read to the end.
    unreadable,
    /// Became shorter while they were scanned.
    shrunk,
    /// Became longer while they were scanned.
    grown,
    /// Have more findings of a kind than objects may have.
    findings_cut,
    /// The detector panicked.
    panicked,
    /// The scan was stopped before their end.
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
            Outcome::Panicked(_) => &mut self.panicked,
            Outcome::Interrupted => &mut self.interrupted,
        } += 1;
    }
}

/// Why a scan ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It was cancelled.
    Cancelled,
    /// Its time was up.
    Deadline,
}

/// What a scan came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScanReport {
    /// What became of the objects.
    pub outcomes: OutcomeCounts,
    /// How many bytes were scanned.
    pub bytes: u64,
    /// How many findings were given out ...
    pub findings: u64,
    /// ... and how many were not, because their objects have too many of their kind.
    pub findings_left_out: u64,
    /// How many directories were entered.
    pub directories: u64,
    /// How many entries of directories a filter left out.
    pub filtered: u64,
    /// What is missing, and why: the 1,000 whose paths come first, in their order ...
    pub incomplete: Vec<(PathBuf, Incomplete)>,
    /// ... of so many.
    pub incomplete_count: u64,
    /// Why the scan ended early, if it did: then not everything was scanned.
    pub stopped: Option<Stopped>,
    /// How many workers there were.
    pub workers: usize,
    /// What the executor did.
    pub metrics: MetricsSnapshot,
}

impl ScanReport {
    /// How many objects there were, whatever became of them.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.outcomes.total()
    }

    /// Returns `true` if everything was scanned that was to be: nothing is [missing](Self::incomplete), no object was
    /// interrupted, and the scan was not stopped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.incomplete_count == 0 && self.outcomes.interrupted == 0 && self.stopped.is_none()
    }
}

/// Why a scan could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanError {
    /// The executor could not: the system refuses a thread, or a setting has an impossible value.
    Start(StartError),
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "cannot start to scan: {error}"),
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

/// How many are listed.
const INCOMPLETE_LISTED: usize = 1000;

/// What is missing, so far. Which are listed does not depend on the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct IncompleteList {
    listed: Vec<(PathBuf, Incomplete)>,
    pub(crate) count: u64,
}

impl IncompleteList {
    pub(crate) fn add(&mut self, path: PathBuf, why: Incomplete) {
        self.count += 1;
        self.listed.push((path, why));
        // Seldom, so that each costs little.
        if self.listed.len() >= 2 * INCOMPLETE_LISTED {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.listed.truncate(INCOMPLETE_LISTED);
    }

    /// Those that are listed.
    pub(crate) fn into_listed(mut self) -> Vec<(PathBuf, Incomplete)> {
        self.cut();
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paths_are_listed_in_whatever_order_they_come() {
        let listed = |numbers: &mut dyn Iterator<Item = u32>| {
            let mut list = IncompleteList::default();
            numbers.for_each(|number| {
                list.add(format!("{number:05}").into(), Incomplete::Shrunk);
            });
            assert_eq!(list.count, 5000);
            list.into_listed().into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        let forwards = listed(&mut (0..5000));
        assert_eq!((forwards.len(), &forwards[999]), (1000, &PathBuf::from("00999")));
        assert_eq!(listed(&mut (0..5000).rev()), forwards);
    }
}
