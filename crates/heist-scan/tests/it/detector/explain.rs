//! Explanations: what they say of a candidate is what a scan does with it.

use super::all_matches;
use super::cuts::objects;
use super::equality::AUTO;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Chunk, DetectorOptions, Encoding, Explanation, Match, SecretDetector, Step, StepOutcome,
    Verdict,
};
use proptest::prelude::*;
use std::path::Path;

fn builtin() -> SecretDetector {
    SecretDetector::new(RuleSet::builtin(), DetectorOptions::default())
}

/// Returns the only explanation of a text's last line by one rule.
#[track_caller]
fn explained(detector: &SecretDetector, path: &str, text: &str, rule: &str) -> Explanation {
    let line = text.lines().count() as u64;
    let explained = detector.explain_line(text.as_bytes(), Path::new(path), line).expect("a line");
    let is_of_rule =
        |one: &Explanation| detector.rules().nth(one.rule.0 as usize).expect("a rule").id == rule;
    let mut of_rule = explained.into_iter().filter(is_of_rule);
    let one = of_rule.next().unwrap_or_else(|| panic!("{text}: not a candidate of {rule}"));
    assert_eq!(of_rule.next(), None);
    one
}

#[track_caller]
fn check_rejected(detector: &SecretDetector, text: &str, rule: &str, expected: Step) {
    let one = explained(detector, "src/settings.py", text, rule);
    let Verdict::Rejected { step, .. } = one.verdict else { panic!("{text}: {one:?}") };
    assert_eq!(step, expected, "{text}");
    let last = one.steps.last().expect("a step");
    assert_eq!((last.step, last.outcome), (expected, StepOutcome::Failed), "{text}");
    assert!(one.steps.is_sorted_by_key(|step| step.step), "{text}: {:?}", one.steps);
}

#[test]
fn each_rejection_names_its_step() {
    let detector = builtin();
    let random = ["k3Qz9fVq", "3rT8xLm2", "Zp6KwYb4", "Nc7H"].concat();
    check_rejected(&detector, "password = \"password\"", "password", Step::Form);
    check_rejected(&detector, "password = \"abc\"", "password", Step::Form);
    check_rejected(&detector, "x=1\nhttps://a:secret@b.net/", "url-credentials", Step::Form);
    let github = format!("token = \"ghp_{random}q5Wd8sJx\"");
    check_rejected(&detector, &github, "github-personal-token", Step::Checksum);
    check_rejected(
        &detector,
        "api_key = \"0a1b2c3d4e5f0a1b2c3d4e5f\"",
        "generic-secret",
        Step::Noise,
    );
    check_rejected(&detector, &github, "generic-secret", Step::VendorChecksum);
    let rules = r#"
        [[rules]]
        id = "near"
        regex = '\b[0-9A-F]{24}\b'
        keywords = ["keyword"]
        [[rules]]
        id = "flat"
        regex = 'flat_[a-z]{20}'
        entropy = 3.5
        [[rules]]
        id = "known"
        regex = 'known_[a-z]{20}'
        path = '\.py$'
        [[rules.allowlists]]
        description = "Our own."
        stopwords = ["ours"]
        [[rules]]
        id = "elsewhere"
        regex = 'elsewhere_[a-z]{20}'
        path = '\.rs$'
        [[rules]]
        id = "beside"
        regex = 'beside_[a-z]{20}'
        [[rules.allowlists]]
        condition = "AND"
        paths = ['settings']
        stopwords = ["ours"]
    "#;
    let rules = RuleSet::parse(rules, "rules.toml").unwrap_or_else(|error| panic!("{error}")).rules;
    let detector = SecretDetector::new(rules, DetectorOptions::default());
    let letters = "qhzkwvbnrmtplcxdgjyf";
    check_rejected(&detector, &format!("flat_{}", "aabb".repeat(5)), "flat", Step::Entropy);
    let ours = format!("ours{}", &letters[4..]);
    check_rejected(&detector, &format!("known_{ours}"), "known", Step::Allowlist);
    check_rejected(&detector, &format!("elsewhere_{letters}"), "elsewhere", Step::Path);
    check_rejected(&detector, &format!("beside_{ours}"), "beside", Step::PathAllowlist);
    let one = explained(&detector, "a/settings.py", &format!("known_{ours}"), "known");
    let last = one.steps.last().expect("a step");
    assert_eq!(last.detail, "an allowlist names it: Our own.");
}

#[test]
fn a_lowered_candidate_says_where() {
    let text = format!("api_key = \"{}\"", ["k3Qz9fVq", "3rT8xLm2", "Zp6KwYb4"].concat());
    let one = explained(&builtin(), "tests/a.py", &text, "generic-secret");
    let last = one.steps.last().expect("a step");
    assert_eq!((last.step, last.outcome), (Step::Location, StepOutcome::Lowered));
    assert!(one.masked.starts_with("k3Qz***") && !format!("{one:?}").contains("k3Qz9f"));
}

#[test]
fn decoded_text_and_paths_are_explained() {
    use base64::Engine as _;
    let detector = builtin();
    let assignment = format!("api_key = \"{}\"", ["k3Qz9fVq", "3rT8xLm2", "Zp6KwYb4"].concat());
    let encoded = base64::prelude::BASE64_STANDARD.encode(&assignment);
    let one = explained(&detector, "a.py", &format!("x\n{encoded} "), "generic-secret");
    assert_eq!(one.encoding, Encoding::Base64);
    assert!(matches!(one.verdict, Verdict::Rejected { step: Step::Encoding, .. }));
    let by_path = |line| {
        let explained = detector.explain_line(b"a\nb\n", Path::new("home/.ssh/id_ed25519"), line);
        explained.expect("a line").into_iter().filter(|one| one.masked.is_empty()).count()
    };
    assert_eq!((by_path(1), by_path(2)), (1, 0));
    assert_eq!(detector.explain_line(b"a\nb\n", Path::new("a"), 3), None);
    assert_eq!(detector.explain_line(b"", Path::new("a"), 1), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 24 } else { 200 }))]

    /// All that is reported is explained, and the other way round, for any part of an object.
    #[test]
    fn an_explanation_agrees_with_the_scan(
        object in objects(&AUTO, 12),
        part in (0.0..1.0_f64, 0.0..1.0_f64),
    ) {
        let at = |share: f64| (share * object.len() as f64) as u64;
        let touched = at(part.0.min(part.1))..at(part.0.max(part.1)) + 1;
        let encoding = heist_scan::decode::utf16_guess(&object).unwrap_or_default();
        let chunk = Chunk::whole(&object, Path::new("src/settings.py")).with_encoding(encoding);
        let touches = |found: &&Match| {
            found.whole.start < touched.end && touched.start < found.whole.end
        };
        let key = |rule: u32, whole: &std::ops::Range<u64>, secret: &std::ops::Range<u64>| {
            (whole.start, whole.end, secret.start, secret.end, rule)
        };
        let mut expected: Vec<_> = all_matches(&AUTO, &object)
            .iter()
            .filter(touches)
            .map(|found| (key(found.rule.0, &found.whole, &found.secret), found.confidence))
            .collect();
        let mut explained: Vec<_> = AUTO
            .explain(&chunk, touched.clone())
            .into_iter()
            .filter_map(|one| match one.verdict {
                Verdict::Reported { confidence, .. } => {
                    Some((key(one.rule.0, &one.whole, &one.secret), confidence))
                }
                Verdict::Rejected { .. } => None,
            })
            .collect();
        expected.sort_unstable();
        expected.dedup();
        explained.sort_unstable();
        explained.dedup();
        prop_assert_eq!(explained, expected);
    }
}
