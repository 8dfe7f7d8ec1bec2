//! [`Baseline`]: a list of reviewed secrets, identified by keyed hashes.
//!
//! The file is TOML with one line per secret, sorted by hash, so that a change of one secret
//! changes one line:
//!
//! ```toml
//! version = 1
//! key = "64 hexadecimal digits" # heist:allow
//! secrets = [
//!   { fingerprint = "32 hexadecimal digits", rule = "github-pat", place = "src/main.rs:12" },
//! ]
//! ```
//!
//! Invariants: the file contains secrets only as hashes (the caller masks secrets in the places);
//! only the fingerprint identifies a secret, so its entry stays valid when the secret moves. Each
//! file has its own random key, so the hashes of two files cannot be compared. Not guaranteed: a
//! person who has the file also has its key and can check guesses against it. A secret that can be
//! guessed must be changed anyway.

use crate::atomic_file::AtomicFile;
use crate::masked::{Fingerprint, Secret};
use crate::small_file::{read_small_file, read_small_file_below};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version of the format.
const VERSION: i64 = 1;

/// The maximum size of a file: a hundred bytes for each of half a million secrets.
const BYTES_MAX: u64 = 64 << 20;

/// The comment at the beginning of a file.
const HEADER: &str = "\
# Known secrets. Written by `heist baseline`, read by `heist scan --baseline`. Fingerprints are hashes with the key
# below; the rules and places are only for people to read. If you remove a line, its secret is reported again.
";

/// A list of reviewed secrets.
///
/// # Examples
/// ```
/// use heist_scan::Secret;
/// use heist_scan::suppress::Baseline;
///
/// let mut baseline = Baseline::new()?;
/// let secret = Secret::new(*b"not a real one");
/// baseline.insert(&secret, "password", "config.ini:3");
/// let text = baseline.to_text();
/// assert!(!text.contains("not a real one"));
/// let read = Baseline::parse(&text, "known.toml".as_ref())?;
/// assert!(read.contains(&secret));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Baseline {
    key: [u8; 32],
    entries: BTreeMap<Fingerprint, BaselineEntry>,
}

/// What a baseline says about a secret, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaselineEntry {
    /// The name of the rule that found the secret.
    pub rule: String,
    /// Where the secret was when it was added.
    pub place: String,
}

/// Does not print the key.
impl fmt::Debug for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Baseline").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Baseline {
    /// Creates an empty baseline with a random key.
    ///
    /// # Errors
    /// The system cannot provide random numbers.
    pub fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self { key, entries: BTreeMap::new() })
    }

    /// Reads a baseline from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a baseline.
    pub fn load(path: &Path) -> Result<Self, BaselineError> {
        Self::of_bytes(read_small_file(path, BYTES_MAX), path)
    }

    /// Reads a baseline from a file below `directory`, as
    /// [`read_small_file_below`](crate::read_small_file_below) does.
    ///
    /// # Errors
    /// The file cannot be read, is not below the directory, or is not a baseline.
    pub fn load_below(directory: &Path, file: &Path) -> Result<Self, BaselineError> {
        let bytes = read_small_file_below(directory, file, BYTES_MAX);
        Self::of_bytes(bytes, &directory.join(file))
    }

    fn of_bytes(read: io::Result<Vec<u8>>, path: &Path) -> Result<Self, BaselineError> {
        let cannot = |source| BaselineError::Read { path: path.to_owned(), source };
        let bytes = read.map_err(cannot)?;
        let invalid = |reason: &str| BaselineError::Invalid {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))?;
        Self::parse(&text, path)
    }

    /// Parses the content of a file. Errors name the file as `path`.
    ///
    /// # Errors
    /// The text is not a baseline.
    pub fn parse(text: &str, path: &Path) -> Result<Self, BaselineError> {
        let invalid = |reason: String| BaselineError::Invalid { path: path.to_owned(), reason };
        let file: BaselineFile = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + newlines(&text.as_bytes()[..span.start]));
            let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            invalid(format!("{place}{}", error.message()))
        })?;
        if file.version != VERSION {
            return Err(invalid(format!(
                "it has version {}, but this heist reads version {VERSION}",
                file.version
            )));
        }
        let key = key_of(&file.key)
            .ok_or_else(|| invalid("its key is not 64 hexadecimal digits".to_owned()))?;
        let mut entries = BTreeMap::new();
        for (number, line) in (1..).zip(file.secrets) {
            let fingerprint = Fingerprint::parse(&line.fingerprint).ok_or_else(|| {
                invalid(format!("the fingerprint of secret {number} is not 32 hexadecimal digits"))
            })?;
            entries.insert(fingerprint, BaselineEntry { rule: line.rule, place: line.place });
        }
        Ok(Self { key, entries })
    }

    /// Returns the fingerprint of a secret under the key of this baseline.
    #[must_use]
    pub fn fingerprint(&self, secret: &Secret) -> Fingerprint {
        Fingerprint::keyed(&self.key, secret.reveal())
    }

    /// Returns `true` if the baseline contains the secret.
    #[must_use]
    pub fn contains(&self, secret: &Secret) -> bool {
        !self.entries.is_empty() && self.entries.contains_key(&self.fingerprint(secret))
    }

    /// Adds a secret, or updates the rule and the place of a known one. Returns `true` if it was
    /// not known.
    ///
    /// `place` is written as it is, so the caller must mask a secret that is in it.
    pub fn insert(&mut self, secret: &Secret, rule: &str, place: &str) -> bool {
        let entry = BaselineEntry { rule: rule.to_owned(), place: place.to_owned() };
        self.entries.insert(self.fingerprint(secret), entry).is_none()
    }

    /// Removes the secrets for which `keep` returns `false`. Returns the number of removed secrets.
    pub fn retain(&mut self, mut keep: impl FnMut(Fingerprint, &BaselineEntry) -> bool) -> usize {
        let before = self.entries.len();
        self.entries.retain(|fingerprint, entry| keep(*fingerprint, entry));
        before - self.entries.len()
    }

    /// Returns the secrets, sorted by fingerprint.
    pub fn entries(&self) -> impl Iterator<Item = (Fingerprint, &BaselineEntry)> {
        self.entries.iter().map(|(fingerprint, entry)| (*fingerprint, entry))
    }

    /// Returns the number of secrets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if the baseline contains no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the content of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}version = {VERSION}\nkey = \"");
        // (Writing to a string cannot fail.)
        for byte in self.key {
            let _ = write!(text, "{byte:02x}");
        }
        // The key looks like a secret, so a scan would report it without this comment.
        text.push_str("\" # heist:allow\nsecrets = [\n");
        for (fingerprint, BaselineEntry { rule, place }) in &self.entries {
            let _ = writeln!(
                text,
                "  {{ fingerprint = \"{fingerprint}\", rule = {}, place = {} }},",
                quoted(rule),
                quoted(place)
            );
        }
        text.push_str("]\n");
        text
    }

    /// Writes the baseline to a file, which appears whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), BaselineError> {
        AtomicFile::create(path)
            .and_then(|mut file| {
                file.write_all(self.to_text().as_bytes())?;
                file.commit()
            })
            .map_err(|source| BaselineError::Write { path: path.to_owned(), source })
    }
}

/// The content of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: i64,
    key: String,
    #[serde(default)]
    secrets: Vec<SecretLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretLine {
    fingerprint: String,
    #[serde(default)]
    rule: String,
    #[serde(default)]
    place: String,
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn key_of(text: &str) -> Option<[u8; 32]> {
    let (first, second) = text.split_at_checked(32)?;
    let (first, second) = (Fingerprint::parse(first)?, Fingerprint::parse(second)?);
    let mut key = [0; 32];
    key[..16].copy_from_slice(first.as_bytes());
    key[16..].copy_from_slice(second.as_bytes());
    Some(key)
}

/// Returns `text` as a TOML string in one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

/// Why a baseline could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The file is not a baseline.
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be written.
    Write {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => {
                write!(
                    f,
                    "cannot read the baseline {path:?}: {source}; create it with `heist baseline`"
                )
            }
            Self::Invalid { path, reason } => write!(
                f,
                "{path:?} is not a heist baseline: {reason}; recreate it with `heist baseline`"
            ),
            Self::Write { path, source } => {
                write!(f, "cannot write the baseline {path:?}: {source}")
            }
        }
    }
}

impl std::error::Error for BaselineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Baseline, BaselineError};
    use crate::masked::Secret;
    use proptest::prelude::*;
    use std::path::Path;

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes())
    }

    #[test]
    fn a_baseline_parses_its_own_text_which_contains_no_secret() {
        let mut baseline = Baseline::new().expect("random numbers");
        assert!(baseline.insert(&secret("correct horse"), "password", "a \"b\"\\\n\u{1b}:3"));
        assert!(baseline.insert(&secret("battery staple"), "password", "c:1"));
        assert!(!baseline.insert(&secret("correct horse"), "password", "d:4"));
        assert!(baseline.insert(&secret("third"), "r", "a \"b\"\\\n\u{1b}:3"));
        let text = baseline.to_text();
        assert!(!text.contains("horse") && !text.contains("battery"), "{text}");
        // One line per secret, whatever the places contain.
        assert_eq!(text.lines().filter(|line| line.contains("fingerprint =")).count(), 3);
        let read = Baseline::parse(&text, Path::new("x")).expect("its own text");
        assert_eq!(read, baseline);
        assert!(read.contains(&secret("correct horse")) && !read.contains(&secret("other")));
        assert!(
            !format!("{baseline:?}")
                .contains(&text[text.find("key").expect("it has one")..][7..71])
        );
    }

    #[test]
    fn two_baselines_have_different_fingerprints() {
        let [first, second] = [(), ()].map(|()| Baseline::new().expect("random numbers"));
        assert_ne!(first.fingerprint(&secret("x")), second.fingerprint(&secret("x")));
        assert_ne!(first.fingerprint(&secret("x")), secret("x").fingerprint());
    }

    #[test]
    fn a_baseline_can_be_saved_and_loaded() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("known.toml");
        assert!(matches!(Baseline::load(&path), Err(BaselineError::Read { .. })));
        let mut baseline = Baseline::new().expect("random numbers");
        baseline.insert(&secret("x"), "r", "p:1");
        baseline.save(&path).expect("there is room");
        assert_eq!(Baseline::load(&path).expect("its own file"), baseline);
        std::fs::write(&path, b"\xff").expect("a file");
        assert!(matches!(Baseline::load(&path), Err(BaselineError::Invalid { .. })));
        let nowhere = directory.path().join("no/where");
        assert!(matches!(baseline.save(&nowhere), Err(BaselineError::Write { .. })));
    }

    #[test]
    fn errors_name_the_file_and_the_problem() {
        let key = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            ("".to_owned(), "version"),
            (format!("version = 2\nkey = \"{key}\""), "version 2"),
            ("version = 1\nkey = \"12\"".to_owned(), "64 hexadecimal"),
            (format!("version = 1\nkey = \"{key}\"\nsecrets = [{{}}]"), "line 3: missing"),
            (
                format!("version = 1\nkey = \"{key}\"\nsecrets = [{{ fingerprint = \"1\" }}]"),
                "secret 1",
            ),
            (format!("version = 1\nkey = \"{key}\"\nother = 1"), "line 3: unknown field"),
        ] {
            let error = Baseline::parse(&text, Path::new("known.toml")).expect_err("not valid");
            let message = error.to_string();
            assert!(message.contains(expected) && message.contains("known.toml"), "{message}");
        }
    }

    #[test]
    fn retain_removes_secrets() {
        let mut baseline = Baseline::new().expect("random numbers");
        for name in ["a", "b", "c"] {
            baseline.insert(&secret(name), "r", name);
        }
        assert_eq!(baseline.retain(|_, entry| entry.place != "b"), 1);
        assert!(baseline.contains(&secret("a")) && !baseline.contains(&secret("b")));
        assert_eq!((baseline.len(), baseline.is_empty()), (2, false));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            text in "(?s)(version = 1\n)?(key = \"[0-9a-f]{64}\"\n)?.{0,60}",
        ) {
            if let Ok(baseline) = Baseline::parse(&text, Path::new("x")) {
                let again = Baseline::parse(&baseline.to_text(), Path::new("x"));
                prop_assert_eq!(again.expect("its own"), baseline);
            }
        }

        #[test]
        fn every_rule_name_and_place_survives_a_round_trip(
            rule in any::<String>(), place in any::<String>(),
        ) {
            let mut baseline = Baseline::new().expect("random numbers");
            baseline.insert(&Secret::new(*b"s"), &rule, &place);
            let again = Baseline::parse(&baseline.to_text(), Path::new("x"));
            prop_assert_eq!(again.expect("its own"), baseline);
        }
    }
}
