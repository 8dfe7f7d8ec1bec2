//! The detector finds the same with every prefilter, and wherever an object is cut.

use super::cuts::objects;
use super::{all_matches, matches_with_cuts};
use heist_scan::rules::RuleSet;
use heist_scan::{DetectorOptions, PrefilterKind, SecretDetector};
use proptest::prelude::*;
use std::sync::LazyLock;

fn detector(prefilter: PrefilterKind) -> SecretDetector {
    SecretDetector::new(rules(), DetectorOptions::default().prefilter(prefilter))
}

/// Returns the built-in rules, and some of the kinds that users bring: without any literal, with a
/// keyword outside of the match, with a literal far into it.
pub(crate) fn rules() -> RuleSet {
    let mut rules = RuleSet::builtin();
    let users = RuleSet::parse(
        r#"
        [[rules]]
        id = "everywhere"
        regex = '\b[0-9]{4}-[0-9]{5}-[0-9]{6}\b'
        [[rules]]
        id = "near-a-keyword"
        regex = '\b[0-9A-F]{24}\b'
        keywords = ["keyword"]
        maxLength = 200
        [[rules]]
        id = "far-in"
        regex = '(?i)[\w.-]{0,50}?(?:zorbtech)(?:[0-9a-z\-_\t .]{0,20})[ \t]*=[ \t]*([a-z0-9]{20})\b'
        "#,
        "users.toml",
    );
    rules.rules.extend(users.unwrap().rules.rules);
    rules
}

pub(crate) static AUTO: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Auto));
static SCALAR: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Scalar));
static OFF: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Off));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 400 }))]

    #[test]
    fn every_prefilter_finds_the_same(object in objects(&AUTO, 12)) {
        let expected = all_matches(&OFF, &object);
        let (scalar, work) = matches_with_cuts(&SCALAR, &object, &[]);
        prop_assert_eq!(&scalar, &expected);
        prop_assert_eq!(matches_with_cuts(&AUTO, &object, &[]), (expected, work));
    }

    #[test]
    fn cuts_make_no_difference(
        object in objects(&AUTO, 40),
        cuts in proptest::collection::vec(0.0..1.0_f64, 1..12),
        every in proptest::option::of(1_usize..3000),
    ) {
        let expected = matches_with_cuts(&AUTO, &object, &[]);
        let mut cuts: Vec<usize> = match every {
            Some(every) => (every..object.len()).step_by(every.max(object.len() / 200)).collect(),
            None => cuts.iter().map(|cut| (cut * object.len() as f64) as usize).collect(),
        };
        cuts.sort_unstable();
        // The work, too: where a scan stops must not depend on the cuts.
        prop_assert_eq!(matches_with_cuts(&AUTO, &object, &cuts), expected);
    }
}

#[test]
fn the_objects_have_something_in_them() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut found = std::collections::HashSet::new();
    for _ in 0..60 {
        let object = objects(&AUTO, 40).new_tree(&mut runner).unwrap().current();
        found.extend(
            all_matches(&AUTO, &object).into_iter().map(|found| (found.rule, found.encoding)),
        );
    }
    let encodings: std::collections::HashSet<_> =
        found.iter().map(|(_, encoding)| encoding).collect();
    assert!(found.len() > 150, "{} kinds", found.len());
    assert!(encodings.len() >= 6, "{encodings:?}");
    for id in ["everywhere", "near-a-keyword", "far-in"] {
        let index = AUTO.rules().position(|rule| rule.id == id).unwrap();
        assert!(found.iter().any(|(rule, _)| rule.0 as usize == index), "{id}");
    }
}
