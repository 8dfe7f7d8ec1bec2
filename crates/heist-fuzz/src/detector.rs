//! The secret detector as a whole, with the built-in rules and some rules like those that users
//! write.
//!
//! Checks that it does not panic; that matches lie within the object; that it finds the same
//! matches wherever the object is cut, with vector code, without it, and without any prefilter; and
//! that every expression compiles.

use crate::cuts::matches_with_cuts;
use crate::input::Input;
use heist_scan::rules::RuleSet;
use heist_scan::{Detector, DetectorOptions, PrefilterKind, SecretDetector};
use std::path::Path;
use std::sync::LazyLock;

/// Rules without any literal, with a keyword outside of the match, and with a literal far into the
/// match.
const USERS_RULES: &str = r#"
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
"#;

fn detector(prefilter: PrefilterKind) -> SecretDetector {
    let mut rules = RuleSet::builtin();
    let users = RuleSet::parse(USERS_RULES, "users.toml").expect("valid rules");
    rules.rules.extend(users.rules.rules);
    SecretDetector::new(rules, DetectorOptions::default().prefilter(prefilter))
}

static AUTO: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Auto));
static SCALAR: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Scalar));
static OFF: LazyLock<SecretDetector> = LazyLock::new(|| detector(PrefilterKind::Off));

/// The longest object that is also scanned without a prefilter, which is slow: it tries every
/// literal at every position.
const OFF_MAX: usize = 512;

/// Paths that the rules and the noise filter treat differently.
const PATHS: [&str; 4] = ["src/settings.py", "tests/fixtures/keys.json", "id_rsa", "a.lock"];

/// Fuzzes the secret detector as a whole.
pub fn target(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let (object, begin) = input.padded();
    let path = Path::new(PATHS[usize::from(input.choice(3)) % PATHS.len()]);
    let expected = matches_with_cuts(&AUTO, &object, &[], path);
    let cuts = cuts(&input, object.len(), begin);
    assert_eq!(matches_with_cuts(&AUTO, &object, &cuts, path), expected, "cut at {cuts:?}");
    assert_eq!(matches_with_cuts(&SCALAR, &object, &[], path), expected, "without vectors");
    if object.len() <= OFF_MAX {
        assert_eq!(matches_with_cuts(&OFF, &object, &[], path), expected, "without a prefilter");
    }
    AUTO.scan_path(path, &mut Vec::new());
    let failed: Vec<_> = AUTO.failed_rules().map(|rule| &rule.id).collect();
    assert!(failed.is_empty(), "rules whose expressions do not compile: {failed:?}");
}

/// Returns three cuts within the text and, depending on the last choice, further cuts at regular
/// distances.
fn cuts(input: &Input<'_>, length: usize, begin: usize) -> Vec<usize> {
    let in_text = |which: usize| begin + usize::from(input.choice(which)) * input.text.len() / 256;
    let mut cuts = vec![in_text(4), in_text(5), in_text(6)];
    let every = 509 * usize::from(input.choice(7));
    if every > 0 {
        cuts.extend((every..length).step_by(every));
    }
    cuts.sort_unstable();
    cuts
}
