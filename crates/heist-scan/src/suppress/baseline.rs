//! [`Baseline`]: a list of reviewed secrets, identified by keyed hashes.
//!
//! The file is TOML with one line per secret, sorted by hash, so that a change of one secret
//! changes one line:
//!
//! ```toml
//! version = 2
//! key = "64 hexadecimal digits" # heist:allow
//! secrets = [
//!   { fingerprint = "32 hexadecimal digits", rule = "github-pat", places = ["src/main.rs:12"] },
//!   { fingerprint = "...", more = true, reason = "test account", until = "2027-01-31" },
//! ]
//! ```
//!
//! A `fingerprint` in the file is the keyed hash of the fingerprint that reports show, so a secret
//! can be added and removed without knowing it. Version 1 of the format had the keyed hash of the
//! secret itself. Its entries are kept as `version1` until a scan finds their secrets.
//!
//! Invariants: the file contains secrets only as hashes (the caller masks secrets in the places);
//! only the fingerprint identifies a secret, so its entry stays valid when the secret moves. Each
//! file has its own random key, so the hashes of two files cannot be compared. Not guaranteed: a
//! person who has the file also has its key and can check guesses against it. A secret that can be
//! guessed must be changed anyway.

use super::date::Date;
use crate::atomic_file::AtomicFile;
use crate::masked::{Fingerprint, Secret};
use crate::small_file::{read_small_file, read_small_file_below};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version of the format, and the oldest one that can still be read.
const VERSION: i64 = 2;
const OLDEST_VERSION: i64 = 1;

/// The maximum size of a file: a hundred bytes for each of half a million secrets.
const BYTES_MAX: u64 = 64 << 20;

/// The comment at the beginning of a file.
const HEADER: &str = "\
# Known secrets. Written by `heist baseline`, read by `heist scan`. Fingerprints are hashes with the key below.
# Places are relative to this file; `heist baseline --prune` uses them and the rules. If you remove a line, its
# secret is reported again.
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
    /// Entries of version 1, by the keyed hash of the secret itself.
    old_entries: BTreeMap<Fingerprint, BaselineEntry>,
}

/// What a baseline says about a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaselineEntry {
    /// The name of the rule that found the secret. Empty if it is not known.
    pub rule: String,
    /// Where the secret is known to be: `path:line`, relative to the directory of the baseline.
    pub places: Vec<String>,
    /// Whether the secret may also be in other places.
    pub more_places: bool,
    /// Why the secret is accepted, if a reason was given.
    pub reason: Option<String>,
    /// The last day on which the secret is accepted, if there is one.
    pub until: Option<Date>,
}

impl BaselineEntry {
    /// Returns `true` if the secret is no longer accepted.
    #[must_use]
    pub fn has_expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| today > until)
    }
}

/// Whether a baseline accepts a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acceptance {
    /// The baseline does not contain the secret.
    Unknown,
    /// The baseline contains the secret.
    Accepted,
    /// The baseline accepted the secret until this day, which is over.
    Expired(Date),
}

/// Does not print the key.
impl fmt::Debug for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Baseline")
            .field("entries", &self.entries)
            .field("old_entries", &self.old_entries)
            .finish_non_exhaustive()
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
        Ok(Self { key, entries: BTreeMap::new(), old_entries: BTreeMap::new() })
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
        if !(OLDEST_VERSION..=VERSION).contains(&file.version) {
            return Err(invalid(format!(
                "it has version {}, but this heist reads versions {OLDEST_VERSION} to {VERSION}",
                file.version
            )));
        }
        let key = key_of(&file.key)
            .ok_or_else(|| invalid("its key is not 64 hexadecimal digits".to_owned()))?;
        let (mut entries, mut old_entries) = (BTreeMap::new(), BTreeMap::new());
        for (number, line) in (1..).zip(file.secrets) {
            let is_old = line.version1.is_some() || file.version == OLDEST_VERSION;
            let text = line.version1.as_ref().or(line.fingerprint.as_ref());
            let text =
                text.ok_or_else(|| invalid(format!("secret {number} has no fingerprint")))?;
            let fingerprint = Fingerprint::parse(text).ok_or_else(|| {
                invalid(format!("the fingerprint of secret {number} is not 32 hexadecimal digits"))
            })?;
            let entry = line.into_entry(is_old).map_err(|until| {
                invalid(format!("`until` of secret {number} is not a date: {until:?}"))
            })?;
            let entries = if is_old { &mut old_entries } else { &mut entries };
            entries.insert(fingerprint, entry);
        }
        Ok(Self { key, entries, old_entries })
    }

    /// Returns the hash that identifies a secret in this baseline.
    #[must_use]
    pub fn fingerprint(&self, secret: &Secret) -> Fingerprint {
        self.fingerprint_of_reported(secret.fingerprint())
    }

    /// Returns the same for a secret with this fingerprint in reports.
    #[must_use]
    pub fn fingerprint_of_reported(&self, reported: Fingerprint) -> Fingerprint {
        Fingerprint::keyed(&self.key, reported.as_bytes())
    }

    fn old_fingerprint(&self, secret: &Secret) -> Fingerprint {
        Fingerprint::keyed(&self.key, secret.reveal())
    }

    /// Returns the entry of a secret and its fingerprint in this baseline, even if the secret is no
    /// longer accepted.
    #[must_use]
    pub fn find(&self, secret: &Secret) -> Option<(Fingerprint, &BaselineEntry)> {
        // Hashing is not free, and most baselines have entries of one kind only.
        let new = (!self.entries.is_empty()).then(|| self.fingerprint(secret));
        let new = new.and_then(|fingerprint| self.entries.get_key_value(&fingerprint));
        let found = new.or_else(|| {
            let old = (!self.old_entries.is_empty()).then(|| self.old_fingerprint(secret))?;
            self.old_entries.get_key_value(&old)
        });
        found.map(|(fingerprint, entry)| (*fingerprint, entry))
    }

    /// Returns `true` if the baseline contains the secret, even if it is no longer accepted.
    #[must_use]
    pub fn contains(&self, secret: &Secret) -> bool {
        self.find(secret).is_some()
    }

    /// Returns whether the baseline accepts the secret.
    #[must_use]
    pub fn acceptance(&self, secret: &Secret, today: Date) -> Acceptance {
        match self.find(secret) {
            None => Acceptance::Unknown,
            Some((_, entry)) => match entry.until {
                Some(until) if entry.has_expired(today) => Acceptance::Expired(until),
                _ => Acceptance::Accepted,
            },
        }
    }

    /// Adds a secret, or sets the rule of a known one and adds the place to its places. Returns
    /// `true` if it was not known.
    ///
    /// `place` is written as it is, so the caller must mask a secret that is in it.
    pub fn insert(&mut self, secret: &Secret, rule: &str, place: &str) -> bool {
        let is_new = !self.contains(secret);
        let entry = self.entry(secret);
        rule.clone_into(&mut entry.rule);
        if !entry.places.iter().any(|known| known == place) {
            entry.places.push(place.to_owned());
            entry.places.sort();
        }
        is_new
    }

    /// Returns the entry of a secret, and adds an empty one if the secret is not known.
    ///
    /// What the caller writes into it must not contain the secret.
    pub fn entry(&mut self, secret: &Secret) -> &mut BaselineEntry {
        let old = self.old_fingerprint(secret);
        let old = self.old_entries.remove(&old);
        let fingerprint = self.fingerprint(secret);
        self.entries.entry(fingerprint).or_insert_with(|| old.unwrap_or_default())
    }

    /// Returns the entry of a secret that has this fingerprint in reports, and adds one if there is
    /// none. The new entry has no rule and no places.
    pub fn entry_of_reported(&mut self, reported: Fingerprint) -> &mut BaselineEntry {
        let fingerprint = self.fingerprint_of_reported(reported);
        self.entries
            .entry(fingerprint)
            .or_insert_with(|| BaselineEntry { more_places: true, ..BaselineEntry::default() })
    }

    /// Removes the entry with a fingerprint of reports, or with a fingerprint in the file itself.
    pub fn remove(&mut self, fingerprint: Fingerprint) -> Option<BaselineEntry> {
        let reported = self.fingerprint_of_reported(fingerprint);
        self.entries
            .remove(&reported)
            .or_else(|| self.entries.remove(&fingerprint))
            .or_else(|| self.old_entries.remove(&fingerprint))
    }

    /// Removes the secrets for which `keep` returns `false`. Returns the number of removed secrets.
    pub fn retain(&mut self, mut keep: impl FnMut(Fingerprint, &BaselineEntry) -> bool) -> usize {
        let before = self.len();
        self.entries.retain(|fingerprint, entry| keep(*fingerprint, entry));
        self.old_entries.retain(|fingerprint, entry| keep(*fingerprint, entry));
        before - self.len()
    }

    /// Returns the secrets, sorted by fingerprint; those of version 1 of the format come last.
    pub fn entries(&self) -> impl Iterator<Item = (Fingerprint, &BaselineEntry)> {
        let entries = self.entries.iter().chain(&self.old_entries);
        entries.map(|(fingerprint, entry)| (*fingerprint, entry))
    }

    /// Returns the number of secrets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() + self.old_entries.len()
    }

    /// Returns `true` if the baseline contains no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.old_entries.is_empty()
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
        let entries = self.entries.iter().map(|entry| ("fingerprint", entry));
        let old_entries = self.old_entries.iter().map(|entry| ("version1", entry));
        for (name, (fingerprint, entry)) in entries.chain(old_entries) {
            let _ = write!(text, "  {{ {name} = \"{fingerprint}\"");
            write_entry(entry, &mut text);
            text.push_str(" },\n");
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
            .map_err(io::Error::from)
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
    fingerprint: Option<String>,
    version1: Option<String>,
    #[serde(default)]
    rule: String,
    /// Of version 1.
    place: Option<String>,
    #[serde(default)]
    places: Vec<String>,
    #[serde(default)]
    more: bool,
    reason: Option<String>,
    until: Option<String>,
}

impl SecretLine {
    /// Returns the entry, or the value of `until` if it is not a date. Version 1 has one place, and
    /// does not say whether there are others.
    fn into_entry(self, is_old: bool) -> Result<BaselineEntry, String> {
        let until = match self.until {
            None => None,
            Some(text) => Some(Date::parse(&text).ok_or(text)?),
        };
        let mut places = self.places;
        places.extend(self.place);
        let more_places = self.more || is_old;
        Ok(BaselineEntry { rule: self.rule, places, more_places, reason: self.reason, until })
    }
}

/// Writes the fields of an entry after its fingerprint. (Writing to a string cannot fail.)
fn write_entry(entry: &BaselineEntry, text: &mut String) {
    let BaselineEntry { rule, places, more_places, reason, until } = entry;
    if !rule.is_empty() {
        let _ = write!(text, ", rule = {}", quoted(rule));
    }
    if !places.is_empty() {
        let places: Vec<String> = places.iter().map(|place| quoted(place)).collect();
        let _ = write!(text, ", places = [{}]", places.join(", "));
    }
    if *more_places {
        text.push_str(", more = true");
    }
    if let Some(reason) = reason {
        let _ = write!(text, ", reason = {}", quoted(reason));
    }
    if let Some(until) = until {
        let _ = write!(text, ", until = \"{until}\"");
    }
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
    use super::{Acceptance, Baseline, BaselineError};
    use crate::masked::Fingerprint;
    use crate::masked::Secret;
    use crate::suppress::Date;
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
            ("version = 1\nkey = \"12\"".to_owned(), "64 hexadecimal"),
            (format!("version = 3\nkey = \"{key}\""), "version 3"),
            (format!("version = 2\nkey = \"{key}\"\nsecrets = [{{}}]"), "secret 1 has no"),
            (
                format!(
                    "version = 2\nkey = \"{key}\"\nsecrets = [{{ fingerprint = \"{}\", until = \"soon\" }}]",
                    &key[..32]
                ),
                "`until` of secret 1",
            ),
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
        assert_eq!(baseline.retain(|_, entry| entry.places != ["b"]), 1);
        assert!(baseline.contains(&secret("a")) && !baseline.contains(&secret("b")));
        assert_eq!((baseline.len(), baseline.is_empty()), (2, false));
    }

    /// The file that an earlier heist wrote for the secrets "x" and "y".
    fn version_1() -> String {
        let key = [7; 32];
        let line = |secret: &[u8], place: &str| {
            let fingerprint = Fingerprint::keyed(&key, secret);
            format!("  {{ fingerprint = \"{fingerprint}\", rule = \"r\", place = \"{place}\" }},\n")
        };
        let lines = line(b"x", "a:1") + &line(b"y", "b:2");
        format!("version = 1\nkey = \"{}\"\nsecrets = [\n{lines}]\n", "07".repeat(32))
    }

    #[test]
    fn a_file_of_version_1_is_read_and_upgraded() {
        let mut baseline = Baseline::parse(&version_1(), Path::new("x")).expect("valid");
        assert!(baseline.contains(&secret("x")) && baseline.contains(&secret("y")));
        assert!(baseline.entries().all(|(_, entry)| entry.more_places && entry.places.len() == 1));
        // A known secret stays one entry.
        assert!(!baseline.insert(&secret("x"), "r", "c:3"));
        let text = baseline.to_text();
        assert!(text.contains("version = 2") && text.contains("version1 = "), "{text}");
        let read = Baseline::parse(&text, Path::new("x")).expect("its own text");
        assert_eq!((read.len(), &read), (2, &baseline));
        assert!(read.contains(&secret("x")) && read.contains(&secret("y")));
    }

    #[test]
    fn a_secret_is_accepted_and_removed_by_the_fingerprint_in_reports() {
        let mut baseline = Baseline::new().expect("random numbers");
        let (day, next) = ("2026-05-01", "2026-05-02");
        let [day, next] = [day, next].map(|day| Date::parse(day).expect("a day"));
        let entry = baseline.entry_of_reported(secret("x").fingerprint());
        assert!(entry.more_places);
        (entry.reason, entry.until) = (Some("a \"test\"".to_owned()), Some(day));
        let mut baseline = Baseline::parse(&baseline.to_text(), Path::new("x")).expect("valid");
        assert_eq!(baseline.acceptance(&secret("x"), day), Acceptance::Accepted);
        assert_eq!(baseline.acceptance(&secret("x"), next), Acceptance::Expired(day));
        assert_eq!(baseline.acceptance(&secret("y"), next), Acceptance::Unknown);
        // A scan that finds it keeps the reason and the date.
        assert!(!baseline.insert(&secret("x"), "r", "a:1"));
        let (fingerprint, entry) = baseline.entries().next().expect("it is there");
        assert_eq!((entry.reason.as_deref(), entry.until), (Some("a \"test\""), Some(day)));
        let mut same = baseline.clone();
        assert!(same.remove(fingerprint).is_some() && same.is_empty());
        assert!(baseline.remove(secret("y").fingerprint()).is_none());
        assert!(baseline.remove(secret("x").fingerprint()).is_some() && baseline.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            text in "(?s)(version = [12]\n)?(key = \"[0-9a-f]{64}\"\n)?.{0,60}",
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
