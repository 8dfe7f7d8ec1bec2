//! The files that accept findings: baselines and `.gitleaksignore` files.

use heist::rng::XorShift64;
use heist_scan::Secret;
use heist_scan::suppress::{Baseline, GitleaksIgnore, UnusedReason};
use std::path::Path;

/// Fuzzes the reader and the writer of baselines.
///
/// Checks that an error has a text; that what is written is read back the same, whatever the rules,
/// places and reasons contain; and that a secret which is added or removed is known or unknown.
pub fn baseline(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("known.toml");
    let mut baseline = match Baseline::parse(text, path) {
        Ok(baseline) => baseline,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "the error has no text: {error:?}");
            // Still, the bytes may be a place or a reason.
            Baseline::parse(&format!("version = 2\nkey = \"{}\"\n", "0".repeat(64)), path)
                .expect("an empty baseline")
        }
    };
    let before = read_back(&baseline);
    assert!(before == baseline, "it changes when it is written");
    let secret = Secret::new(data);
    baseline.insert(&secret, text, text);
    baseline.entry(&secret).reason = Some(text.to_owned());
    let known = read_back(&baseline);
    assert!(known == baseline && known.contains(&secret), "it changes when a secret is added");
    let fingerprint = known.fingerprint(&secret);
    let (found, entry) = known.find(&secret).expect("it is known");
    assert!(found == fingerprint && entry.places.iter().any(|place| place == text));
    assert!(baseline.remove(secret.fingerprint()).is_some(), "the secret cannot be removed");
    assert!(!read_back(&baseline).contains(&secret), "a secret that was removed is known");
}

fn read_back(baseline: &Baseline) -> Baseline {
    let text = baseline.to_text();
    let read = Baseline::parse(&text, Path::new("written.toml"));
    read.unwrap_or_else(|error| panic!("heist does not read what it wrote: {error}\n{text}"))
}

/// Fuzzes the reader of `.gitleaksignore` files.
///
/// Checks that each line is used, noted or empty; that a file lists what its lines say; and that
/// lines do not affect each other.
pub fn gitleaksignore(data: &[u8]) {
    let (all, notes) = GitleaksIgnore::parse(data);
    let mut rng = XorShift64::new(data.len() as u64);
    let (mut noted, mut listed) = (Vec::new(), 0);
    for (number, line) in (1..).zip(data.split(|&byte| byte == b'\n')) {
        let (alone, notes) = GitleaksIgnore::parse(line);
        let trimmed = line.trim_ascii();
        let is_empty = trimmed.is_empty() || trimmed.starts_with(b"#");
        let is_malformed = notes.iter().any(|note| note.reason == UnusedReason::Malformed);
        assert_eq!(alone.is_empty(), is_empty || is_malformed, "line {number}");
        let is_of_commit = notes.iter().any(|note| note.reason == UnusedReason::Commit);
        for note in notes {
            assert!(!is_empty && note.line == 1, "line {number}: {note:?}");
            assert!(!note.reason.to_string().is_empty());
            noted.push((number, note.reason));
        }
        if alone.is_empty() || is_of_commit {
            continue;
        }
        listed += alone.len();
        // (Such a line has the form `path:rule:line`.)
        let mut parts = trimmed.rsplitn(3, |&byte| byte == b':');
        let number = parts.next().and_then(|number| std::str::from_utf8(number).ok());
        let number: u64 = number.and_then(|number| number.parse().ok()).expect("a number");
        let rule = parts.next().and_then(|rule| std::str::from_utf8(rule).ok()).expect("a rule");
        let path = parts.next().expect("a path");
        let path = path.strip_prefix(b"./").unwrap_or(path);
        assert!(all.contains(path, rule, number), "the file does not list its own line");
        let other = number ^ (1 << rng.below(63));
        assert!(!alone.contains(path, rule, other), "the line lists another place");
    }
    assert!(all.len() <= listed, "{} findings of {listed}", all.len());
    let all_notes: Vec<_> = notes.iter().map(|note| (note.line, note.reason)).collect();
    assert_eq!(all_notes, noted);
}
