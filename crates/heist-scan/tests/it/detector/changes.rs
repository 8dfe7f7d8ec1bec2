//! What is found in a version of an object, given what changed, is what a scan of the whole version
//! finds: for every delta, and under every path.

use super::cuts::objects;
use super::equality::rules;
use crate::support::deltas;
use heist_scan::decode::utf16_guess;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Chunk, Copied, Detector, DetectorOptions, Match, Memory, Scratch, SecretDetector, Version,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rules of the other tests, and some that look at paths in every way.
fn rules_about_paths() -> RuleSet {
    let mut rules = rules();
    let users = RuleSet::parse(
        r#"
        [[rules]]
        id = "here-alone"
        regex = '\bhere_[0-9a-z]{8,20}\b'
        path = '\.py$'
        [[rules]]
        id = "not-there"
        regex = '\bthere_[0-9a-z]{8,20}\b'
        [[rules.allowlists]]
        paths = ['^docs/']
        [[rules.allowlists]]
        condition = "AND"
        paths = ['^tests/']
        regexes = ['there_a']
        [[rules.allowlists]]
        condition = "AND"
        paths = ['\.py$']
        stopwords = ['e_b']
        "#,
        "paths.toml",
    );
    // The last three of the other rules stay the last: the objects have examples of them.
    let users = users.unwrap().rules.rules;
    rules.rules.splice(0..0, users);
    rules
}

static DETECTOR: LazyLock<SecretDetector> =
    LazyLock::new(|| SecretDetector::new(rules_about_paths(), DetectorOptions::default()));

/// Without the rules that have no literal, as most detectors are.
static BUILT_IN: LazyLock<SecretDetector> =
    LazyLock::new(|| SecretDetector::new(RuleSet::builtin(), DetectorOptions::default()));

const PATHS: [&str; 4] = ["src/settings.py", "tests/data.json", "docs/guide.md", ""];

/// How many matches were compared, and how many versions had a base with a memory.
static COMPARED: AtomicU64 = AtomicU64::new(0);
static FROM_MEMORY: AtomicU64 = AtomicU64::new(0);

/// How many random chains the property is checked for: more in a long run.
fn cases() -> u32 {
    let cases = std::env::var("HEIST_CASES").ok().and_then(|cases| cases.parse().ok());
    cases.unwrap_or(if cfg!(debug_assertions) { 40 } else { 400 })
}

fn in_order(mut matches: Vec<Match>) -> Vec<Match> {
    let key = |one: &Match| {
        let Match { secret, whole, rule, encoding, decoded, .. } = one;
        let ranges = (secret.start, secret.end, whole.start, whole.end);
        (ranges, *rule, encoding.as_str(), decoded.clone())
    };
    matches.sort_by_cached_key(key);
    matches.dedup();
    matches
}

/// Returns what a scan of the whole object finds.
fn whole(
    detector: &SecretDetector,
    object: &[u8],
    path: &str,
    scratch: &mut Scratch,
) -> Vec<Match> {
    let encoding = utf16_guess(object).unwrap_or_default();
    let chunk = Chunk::whole(object, Path::new(path)).with_encoding(encoding);
    let mut matches = Vec::new();
    detector.scan(&chunk, scratch, &mut matches);
    in_order(matches)
}

/// Scans a chain of versions, each by what changed, and compares each with a scan of the whole.
fn check_chain(
    detector: &SecretDetector,
    object: Vec<u8>,
    new: &[u8],
    seeds: &[u64],
) -> Result<(), TestCaseError> {
    let (mut scratch, mut other) = (detector.scratch(), detector.scratch());
    let mut memory = Memory::default();
    let (mut object, mut copies) = (object, Vec::new());
    for (number, seed) in std::iter::once(&1).chain(seeds).enumerate() {
        if number > 0 {
            let (next, copied) = deltas::version(&object, new, *seed);
            let copied = copied.into_iter().map(|(from, to, len)| Copied {
                from: from as u64,
                to: to as u64,
                len: len as u64,
            });
            copies = copied.collect();
            object = next;
        }
        let mut matches = Vec::new();
        let changed = Version::new(&object).based_on(&memory, &copies);
        FROM_MEMORY.fetch_add(u64::from(!memory.is_empty()), Ordering::Relaxed);
        let next = detector.scan_changed(&changed, &mut scratch, &mut matches);
        let path = PATHS[*seed as usize % PATHS.len()];
        let settled = matches.iter().filter_map(|one| detector.settle(one, Path::new(path)));
        let found = in_order(settled.collect());
        let expected = whole(detector, &object, path, &mut other);
        COMPARED.fetch_add(expected.len() as u64, Ordering::Relaxed);
        prop_assert_eq!(&found, &expected, "version {} under {:?}", number, path);
        memory = next;
    }
    Ok(())
}

/// Text that rules about paths match, to be put between other text.
fn about_paths() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec("(here|there)_[abc][0-9a-z]{9}[ \n]", 0..6)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

#[test]
fn changes_alone_are_as_good_as_the_whole() {
    let strategy = (
        objects(&DETECTOR, 40),
        about_paths(),
        objects(&DETECTOR, 12),
        prop::collection::vec(any::<u64>(), 1..6),
    );
    let config =
        ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(cases()) };
    let mut runner = TestRunner::new(config);
    let property = |(object, more, new, seeds): (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u64>)| {
        let object = [&object, &more[..]].concat();
        check_chain(&DETECTOR, object.clone(), &new, &seeds)?;
        check_chain(&BUILT_IN, object, &new, &seeds)
    };
    if let Err(failed) = runner.run(&strategy, property) {
        panic!("{failed}");
    }
    let (compared, from_memory) =
        (COMPARED.load(Ordering::Relaxed), FROM_MEMORY.load(Ordering::Relaxed));
    println!("{compared} matches in {from_memory} versions");
    assert!(compared > 20 * u64::from(cases()) && from_memory > 2 * u64::from(cases()));
}
