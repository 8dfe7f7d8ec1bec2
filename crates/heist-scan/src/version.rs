//! [`Version`]: a whole object in memory, and what is known of an object that it was made from.
//!
//! A history keeps most objects as deltas: ranges *copied* from a base object, and new bytes
//! between them. A detector that has scanned the base need not scan a copied range again, because
//! what it finds there depends on a bounded window around each position. So
//! [`Detector::scan_changed`](crate::Detector::scan_changed) returns a [`Memory`] of each object,
//! and takes the memory of the base together with the delta.
//!
//! The path of such an object is often unknown while its bytes are in memory, or there are several
//! paths. So the result is a list of [`PathFreeMatch`]es.
//! [`Detector::settle`](crate::Detector::settle) decides about each of them under one path.

use crate::chunk::StopCheck;
use crate::decode::utf16_guess;
use crate::detector::Match;
use crate::encoding::Encoding;
use crate::secrets::{Conditions, Remembered};
use std::ops::Range;

/// A range of a version that was copied from its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Where the range begins in the base.
    pub from: u64,
    /// Where it begins in the version.
    pub to: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// A whole object in memory. It may be a version of an object that was scanned before.
///
/// # Examples
/// ```
/// use heist_scan::rules::RuleSet;
/// use heist_scan::{Copied, Detector, DetectorOptions, SecretDetector, Version};
///
/// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
/// let (mut scratch, mut matches) = (detector.scratch(), Vec::new());
/// let base = "nothing here\n".repeat(900);
/// let memory = detector.scan_changed(&Version::new(base.as_bytes()), &mut scratch, &mut matches);
/// assert!(matches.is_empty());
///
/// let version = format!("{base}password = \"7tRmq!x2Lw9z\"\n"); // heist:allow
/// let copies = [Copied { from: 0, to: 0, len: base.len() as u64 }];
/// let version = Version::new(version.as_bytes()).based_on(&memory, &copies);
/// let _memory = detector.scan_changed(&version, &mut scratch, &mut matches);
/// assert_eq!(matches.len(), 1);
/// let found = detector.settle(&matches[0], "settings.ini".as_ref()).expect("reported");
/// assert_eq!(found.secret.start, base.len() as u64 + 12);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) encoding: Encoding,
    pub(crate) base: Option<(&'a Memory, &'a [Copied])>,
    pub(crate) wants_memory: bool,
    pub(crate) stop: StopCheck<'a>,
}

impl<'a> Version<'a> {
    /// Creates an object about whose base nothing is known. Guesses from its first bytes whether it
    /// is UTF-16, as a scan of a file does.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            encoding: utf16_guess(bytes).unwrap_or_default(),
            base: None,
            wants_memory: true,
            stop: StopCheck::default(),
        }
    }

    /// Sets the memory of the object's base, and the ranges that were copied from the base, in the
    /// order of their places in the version.
    ///
    /// The bytes of each range must be those of the base. The memory must come from the same
    /// detector. If the ranges overlap in the version, or lie outside of it or of the base, the
    /// whole object is scanned.
    #[must_use]
    pub fn based_on(mut self, base: &'a Memory, copies: &'a [Copied]) -> Self {
        self.base = Some((base, copies));
        self
    }

    /// Says that the memory of this object is not needed, because no other object is based on it.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.wants_memory = false;
        self
    }

    /// Returns the bytes of the object.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the encoding of the object: UTF-16 of either byte order, or [`Encoding::Plain`].
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}

/// What a detector keeps of a scanned object, so that it can scan versions of it faster.
///
/// The default is an empty memory: a version of that object is scanned whole.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) remembered: Option<Box<Remembered>>,
}

impl Memory {
    /// Returns about how many bytes it takes, for the caller's budget. For most texts that is a
    /// few percent of the object.
    #[must_use]
    pub fn size(&self) -> usize {
        self.remembered.as_ref().map_or(0, |remembered| remembered.size())
    }

    /// Returns `true` if a version of the object would be scanned whole.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remembered.is_none()
    }
}

/// A match in an object whose path is not known yet.
///
/// [`Detector::settle`](crate::Detector::settle) turns it into a [`Match`] under a path, or drops
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFreeMatch {
    /// The match as it is if the path changes nothing.
    pub(crate) found: Match,
    /// What the path can change.
    pub(crate) conditions: Conditions,
}

impl PathFreeMatch {
    /// Creates a match that is the same under every path.
    #[must_use]
    pub fn under_every_path(found: Match) -> Self {
        Self { found, conditions: Conditions::default() }
    }

    /// Returns the match as it is under a path that changes nothing.
    #[must_use]
    pub fn unsettled(&self) -> &Match {
        &self.found
    }

    /// Returns where the secret is in the object.
    #[must_use]
    pub fn secret(&self) -> Range<u64> {
        self.found.secret.clone()
    }
}
