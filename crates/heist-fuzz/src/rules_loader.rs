//! The loader of rules: files of rules, and single expressions in the syntax that such files have.
//!
//! What must hold: no panic; an error says something; what was loaded keeps the invariants of loaded rules, and a
//! detector can be made of it and scans with it, the same wherever the object is cut; an expression that was translated
//! means the same when it is translated once more.

use crate::cuts::matches_with_cuts;
use heist::XorShift64;
use heist_scan::rules::{Sampler, check_rule, syntax};
use heist_scan::{
    Allowlist, DetectorOptions, Pattern, PrefilterKind, Rule, RuleSet, SecretDetector,
};
use std::fmt::Write as _;
use std::path::Path;

/// What begins with this is one expression; everything else is a file.
const EXPRESSION: u8 = b'/';

/// Of a set with more rules than this, the others are not scanned with: compiling takes its time.
const SCANNED_MAX: usize = 6;

/// The loader of rules.
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
    assert!(is_same, "{pattern:?} is {translated:?}, and that is {again:?}");
    let mut rule = Rule::new("expression", Pattern::Regex(translated.into_owned()));
    rule.max_length = 256;
    scan_with(&RuleSet { rules: vec![rule], allowlists: Vec::new() }, pattern);
}

fn check_file(text: &str) {
    let loaded = match RuleSet::parse(text, "no/such/folder/rules.toml") {
        Ok(loaded) => loaded,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong: {error:?}");
            return;
        }
    };
    for note in &loaded.notes {
        assert!(!note.to_string().is_empty(), "a note says something: {note:?}");
    }
    let mut rules = loaded.rules;
    let is_built_upon_others = rules.rules.len() > SCANNED_MAX;
    for rule in &rules.rules {
        check_loaded(rule);
    }
    rules.allowlists.iter().for_each(check_allowlist);
    if is_built_upon_others {
        // What the file itself says comes last.
        rules.rules.drain(..rules.rules.len() - SCANNED_MAX);
    }
    scan_with(&rules, text);
}

/// What is promised of every rule that was loaded.
fn check_loaded(rule: &Rule) {
    let id = &rule.id;
    assert!(!id.is_empty(), "a rule has a name");
    let is_lower = |word: &String| *word == word.to_ascii_lowercase();
    assert!(rule.keywords.iter().all(is_lower), "{id}: keywords in lower case");
    match &rule.pattern {
        Pattern::Regex(pattern) | Pattern::Assignment(pattern) => check_parses(pattern, id),
        Pattern::Path => assert!(rule.path.is_some(), "{id}: a rule about paths has one"),
        Pattern::Parser(_) => {}
    }
    if let Some(path) = &rule.path {
        check_parses(path, id);
    }
    if let Some(entropy) = rule.entropy {
        assert!(!entropy.is_nan(), "{id}: an entropy that nothing is less than");
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
        panic!("{whose}: {pattern:?} was loaded and is none: {error}");
    }
}

/// Scans the rules' own text, and what they are to find.
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
