//! Tests of what is shown.

use super::step::Step;
use crate::rules::{Pattern, Rule, RuleSet};
use crate::secrets::{DetectorOptions, SecretDetector};

/// Returns a detector that finds the word `needle`, and what the built-in rules find or not.
fn detector(with_builtin: bool) -> SecretDetector {
    let needle = Rule::new("needle", Pattern::Regex(r"\bneedle\b".to_owned()));
    let mut rules = if with_builtin { RuleSet::builtin() } else { RuleSet::default() };
    rules.rules.push(needle);
    SecretDetector::new(rules, DetectorOptions::default())
}

/// Returns the excerpts of all findings of a text.
fn excerpts(text: &str, with_builtin: bool) -> Vec<String> {
    let findings = detector(with_builtin).find(text.as_bytes());
    findings.into_iter().map(|finding| finding.excerpt).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(excerpts(text, false), expected, "{text}");
}

#[test]
fn each_step_is_needed() {
    // Each line shows its secret if one step is left out, and nothing of it otherwise.
    for (step, text, secret) in [
        (
            Step::Repetitions,
            "password = \"seven green hills\" needle seven green hills",
            "seven green",
        ),
        (Step::Doubtful, "needle k3Qz9fVq3rT8xLm2Zp6K", "k3Qz9fVq"),
        (Step::Rests, "password=\"ab-d7cd\" needle ab-d7cd#x9", "#x9"),
    ] {
        let shown = |excerpts: Vec<String>| excerpts.iter().any(|text| text.contains(secret));
        assert!(!shown(excerpts(text, false)), "{text}");
        let without = step.left_out(|| excerpts(text, false));
        assert!(shown(without), "{step:?} makes no difference in {text}");
    }
}

#[test]
fn ordinary_text_stays_readable() {
    check(
        "let config = server::connect(needle, timeout_seconds, \"src/main/resources\"); // version 1.2.3",
        &[
            "let config = server::connect(n******, timeout_seconds, \"src/main/resources\"); // version 1.2.3",
        ],
    );
    check(
        "2024-01-31 12:00:07 [info] needle of 1234 requests",
        &["2024-01-31 12:00:07 [info] n****** of 1234 requests"],
    );
}

#[test]
fn values_of_telling_names_are_hidden_in_many_notations() {
    for (text, expected) in [
        ("needle password = \"a b c\"", "n****** password = \"******\""),
        (
            "needle { \"authToken\": \"abc\", \"user\": \"bob\" }",
            "n****** { \"authToken\": \"******\", \"user\": \"bob\" }",
        ),
        (
            "needle <secret>abc</secret><user>bob</user>",
            "n****** <secret>******</secret><user>bob</user>",
        ),
        ("needle?token=abc&user=bob", "n******?token=******&user=bob"),
        ("needle --api-key abc --user bob", "n****** --api-key ****** --user bob"),
        ("needle api_key: abc # of the test", "n****** api_key: ****** # of the test"),
        ("needle keys: [\"abc\", \"def\"] end", "n****** keys: [\"******\", \"******\"] end"),
        ("needle set_password(\"abc\", 7)", "n****** set_password(\"******\", 7)"),
        ("needle author: Jane, language: us", "n****** author: Jane, language: us"),
        ("needle token_type: bearer", "n****** token_type: bearer"),
        ("needle https://bob:abc@example.org/x", "n****** https://bob:******@example.org/x"),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn a_name_outside_of_the_excerpt_hides_its_value() {
    let text = format!("password = \"quiet {} harbour\" needle", "and so on ".repeat(9));
    check(&text, &["******\" n******"]);
    let lines = "password: |\n  some quiet words\n  needle\n";
    check(lines, &["n******"]);
}

#[test]
fn identifiers_are_shown_unless_they_are_a_part_of_something() {
    let id = format!("AKIA{}", "Q7XWZ2MNB4RTK6JD");
    let shown = excerpts(&format!("needle, aws_access_key_id = {id}"), true);
    let expected = |needle| format!("{needle}, aws_access_key_id = {id}");
    assert_eq!(shown, [expected("n******"), expected("******")]);
    let hidden = excerpts(&format!("needle password = \"x-{id}-y!\""), true);
    assert!(hidden.iter().all(|text| !text.contains(&id)), "{hidden:?}");
}
