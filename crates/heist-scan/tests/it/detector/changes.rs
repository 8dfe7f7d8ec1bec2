//! What is found in a version of an object, given what changed, is what a scan of the whole version
//! finds: for every delta, and under every path.

use super::cuts::objects;
use super::equality::rules;
use heist::rng::XorShift64;
use heist_scan::decode::utf16_guess;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Chunk, Copied, Detector, DetectorOptions, Match, Memory, Scratch, SecretDetector, Version,
};
use proptest::prelude::*;
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

/// How many matches were compared.
static COMPARED: AtomicU64 = AtomicU64::new(0);

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

/// Makes a version of `base`: copies from anywhere and pieces of `new` between them.
struct Maker<'a> {
    rng: XorShift64,
    base: &'a [u8],
    new: &'a [u8],
    version: Vec<u8>,
    copies: Vec<Copied>,
}

impl Maker<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.rng.below_usize(limit.max(1))
    }

    /// Returns a length: mostly short, sometimes long.
    fn length(&mut self) -> usize {
        let limit = [3, 20, 200, 2000, 30_000][self.below(5)];
        self.below(limit)
    }

    fn copy(&mut self, from: usize, len: usize) {
        let from = from.min(self.base.len());
        let len = len.min(self.base.len() - from);
        let to = self.version.len() as u64;
        self.copies.push(Copied { from: from as u64, to, len: len as u64 });
        self.version.extend(&self.base[from..from + len]);
    }

    fn insert(&mut self) {
        let (from, len) = (self.below(self.new.len()), self.length());
        let len = len.min(self.new.len() - from);
        self.version.extend(&self.new[from..from + len]);
    }

    /// A few places change, or only seem to: what is inserted there is what was there.
    fn edits(&mut self) {
        let edits = self.below(6);
        let mut places: Vec<usize> = (0..edits).map(|_| self.below(self.base.len())).collect();
        places.sort_unstable();
        let mut from = 0;
        for place in places {
            if place < from {
                continue;
            }
            self.copy(from, place - from);
            from = place;
            let removed = self.length().min(self.base.len() - from);
            match self.below(4) {
                0 => self.version.extend(&self.base[from..from + removed]),
                1 => self.insert(),
                2 => {
                    self.version.extend(&b"\n \"=a0_\\%/+-\0"[self.rng.below_usize(12)..][..1]);
                    continue;
                }
                _ => {}
            }
            from += removed;
        }
        self.copy(from, usize::MAX);
    }

    /// Copies from anywhere, also twice, and new text between some of them.
    fn moves(&mut self) {
        for _ in 0..self.below(8) {
            let (from, len) = (self.below(self.base.len()), self.length());
            self.copy(from, len);
            if self.below(3) == 0 {
                self.insert();
            }
        }
        if self.below(2) == 0 {
            let from = self.below(self.base.len());
            self.copy(from, usize::MAX);
        }
    }
}

fn version(base: &[u8], new: &[u8], seed: u64) -> (Vec<u8>, Vec<Copied>) {
    let rng = XorShift64::new(seed);
    let mut maker = Maker { rng, base, new, version: Vec::new(), copies: Vec::new() };
    match maker.below(3) {
        0 => maker.moves(),
        _ => maker.edits(),
    }
    (maker.version, maker.copies)
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
    let mut from_memory = 0;
    for (number, seed) in std::iter::once(&1).chain(seeds).enumerate() {
        if number > 0 {
            (object, copies) = version(&object, new, *seed);
        }
        let mut matches = Vec::new();
        let changed = Version::new(&object).based_on(&memory, &copies);
        from_memory += usize::from(!memory.is_empty());
        let next = detector.scan_changed(&changed, &mut scratch, &mut matches);
        let path = PATHS[*seed as usize % PATHS.len()];
        let settled = matches.iter().filter_map(|one| detector.settle(one, Path::new(path)));
        let found = in_order(settled.collect());
        let expected = whole(detector, &object, path, &mut other);
        COMPARED.fetch_add(expected.len() as u64, Ordering::Relaxed);
        prop_assert_eq!(&found, &expected, "version {} under {:?}", number, path);
        memory = next;
    }
    let _ = from_memory;
    Ok(())
}

/// Text that rules about paths match, to be put between other text.
fn about_paths() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec("(here|there)_[abc][0-9a-z]{9}[ \n]", 0..6)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 400 }))]

    #[test]
    fn changes_alone_are_as_good_as_the_whole(
        object in objects(&DETECTOR, 40),
        more in about_paths(),
        new in objects(&DETECTOR, 12),
        seeds in prop::collection::vec(any::<u64>(), 1..6),
    ) {
        let object = [&object, &more[..]].concat();
        check_chain(&DETECTOR, object.clone(), &new, &seeds)?;
        check_chain(&BUILT_IN, object, &new, &seeds)?;
    }
}
