//! The rule loader: rule files, and single expressions in the syntax of such files.
//!
//! Checks that it does not panic; that errors and notes have a text; that loaded rules keep their
//! invariants; that a detector can scan with them, with the same result wherever the object is cut;
//! and that translating a translated expression again does not change its meaning.

use crate::cuts::matches_with_cuts;
use heist::rng::XorShift64;
use heist_scan::rules::{Allowlist, Pattern, Rule, RuleSet, Sampler, check_rule, syntax};
use heist_scan::{DetectorOptions, PrefilterKind, SecretDetector};
use std::fmt::Write as _;
use std::path::Path;

/// An input that begins with this byte is an expression; any other input is a rule file.
const EXPRESSION: u8 = b'/';

/// The maximum number of rules of a file to scan with. Compiling more takes too long.
const SCANNED_MAX: usize = 6;

/// Fuzzes the rule loader.
pub fn target(data: &[u8]) {
    if let Some((&EXPRESSION, pattern)) = data.split_first() {
        if let Ok(pattern) = std::str::from_utf8(pattern) {
            check_expression(pattern);
        }
    } else if let Ok(text) = std::str::from_utf8(data) {
        check_file(text);
    }
}

fn check_expression(pattern: &str) {
    let Ok(translated) = syntax::translate(pattern) else { return };
    let Ok(hir) = syntax::parse(&translated) else { return };
    let again = syntax::translate(&translated);
    let again = again.unwrap_or_else(|error| panic!("{translated:?} a second time: {error}"));
    let is_same = syntax::parse(&again).as_ref() == Ok(&hir);
    assert!(is_same, "{pattern:?} becomes {translated:?}, and that becomes {again:?}");
    let mut rule = Rule::new("expression", Pattern::Regex(translated.into_owned()));
    rule.max_length = 256;
    scan_with(&RuleSet::new([rule]), pattern);
}

fn check_file(text: &str) {
    let loaded = match RuleSet::parse(text, "no/such/folder/rules.toml") {
        Ok(loaded) => loaded,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "the error has no text: {error:?}");
            return;
        }
    };
    for note in &loaded.notes {
        assert!(!note.to_string().is_empty(), "the note has no text: {note:?}");
    }
    let mut rules = loaded.rules;
    let has_many_rules = rules.rules.len() > SCANNED_MAX;
    for rule in &rules.rules {
        check_loaded(rule);
    }
    rules.allowlists.iter().for_each(check_allowlist);
    if has_many_rules {
        // The file's own rules come last.
        rules.rules.drain(..rules.rules.len() - SCANNED_MAX);
    }
    scan_with(&rules, text);
}

/// Checks the invariants of a loaded rule.
fn check_loaded(rule: &Rule) {
    let id = &rule.id;
    assert!(!id.is_empty(), "a rule has no name");
    let is_lower = |word: &String| *word == word.to_ascii_lowercase();
    assert!(rule.keywords.iter().all(is_lower), "{id}: a keyword is not in lower case");
    match &rule.pattern {
        Pattern::Regex(pattern) | Pattern::Assignment(pattern) => check_parses(pattern, id),
        Pattern::Path => assert!(rule.path.is_some(), "{id}: a rule on paths has no path"),
        Pattern::Parser(_) => {}
    }
    if let Some(path) = &rule.path {
        check_parses(path, id);
    }
    if let Some(entropy) = rule.entropy {
        assert!(!entropy.is_nan(), "{id}: the entropy is NaN");
    }
    rule.allowlists.iter().for_each(check_allowlist);
}

fn check_allowlist(list: &Allowlist) {
    for pattern in list.paths.iter().chain(&list.regexes) {
        check_parses(pattern, "an allowlist");
    }
}

fn check_parses(pattern: &str, whose: &str) {
    if let Err(error) = syntax::parse(pattern) {
        panic!("{whose}: {pattern:?} was loaded but does not parse: {error}");
    }
}

/// Scans the text of the rules, followed by secrets that they should find.
fn scan_with(rules: &RuleSet, text: &str) {
    let mut rng = XorShift64::new(1);
    let mut object = text.to_owned();
    for rule in &rules.rules {
        let _problems = check_rule(rule);
        if let Some(secret) = Sampler::new(rule).and_then(|sampler| sampler.secret(&mut rng)) {
            let keyword = rule.keywords.first().map_or("", String::as_str);
            let _ = write!(object, "\n{keyword} = \"{secret}\"");
        }
    }
    let detector = |prefilter| {
        SecretDetector::new(rules.clone(), DetectorOptions::default().prefilter(prefilter))
    };
    let (auto, scalar) = (detector(PrefilterKind::Auto), detector(PrefilterKind::Scalar));
    let (object, path) = (object.as_bytes(), Path::new("src/settings.py"));
    let expected = matches_with_cuts(&auto, object, &[], path);
    let cuts = [object.len() / 3, object.len() / 2];
    assert_eq!(matches_with_cuts(&auto, object, &cuts, path), expected, "cut at {cuts:?}");
    assert_eq!(matches_with_cuts(&scalar, object, &[], path), expected, "without vectors");
}
