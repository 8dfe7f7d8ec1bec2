//! Every rule's examples are found, its counter-examples are not, and a thousand random secrets of
//! each are found.

use super::all_matches;
use heist::rng::XorShift64;
use heist_scan::rules::{Pattern, RuleSet, Sampler, check_examples, check_rules};
use heist_scan::{DetectorOptions, SecretDetector};
use std::ops::Range;

fn detector() -> SecretDetector {
    SecretDetector::new(RuleSet::builtin(), DetectorOptions::default())
}

fn ranges(detector: &SecretDetector, text: &[u8]) -> Vec<(String, Range<usize>)> {
    let ids: Vec<&str> = detector.rules().map(|rule| rule.id.as_str()).collect();
    all_matches(detector, text)
        .into_iter()
        .map(|found| {
            let secret = found.secret.start as usize..found.secret.end as usize;
            (ids[found.rule.0 as usize].to_owned(), secret)
        })
        .collect()
}

#[test]
fn every_example_is_found_and_no_counter_example() {
    let rules = RuleSet::builtin();
    let detector = detector();
    let problems = check_examples(&rules, &|text| ranges(&detector, text));
    assert!(problems.is_empty(), "{}", listed(&problems));
}

#[test]
fn every_rule_is_as_it_should_be() {
    let problems = check_rules(&RuleSet::builtin());
    assert!(problems.is_empty(), "{}", listed(&problems));
}

#[test]
fn a_thousand_random_secrets_of_each_rule_are_found() {
    let detector = detector();
    let mut rng = XorShift64::new(0x7e57);
    let mut missed = Vec::new();
    for rule in detector.rules() {
        if rule.pattern == Pattern::Path {
            continue;
        }
        let sampler = Sampler::new(rule).unwrap_or_else(|| panic!("{}: no secrets", rule.id));
        let with_secret: Vec<_> =
            rule.examples.iter().filter(|example| example.contains("{secret}")).collect();
        assert!(!with_secret.is_empty(), "{}: no example with a secret", rule.id);
        let mut text = String::new();
        let mut secrets = Vec::new();
        for number in 0..1000 {
            let example = with_secret[number % with_secret.len()];
            let expanded = sampler.expand(example, &mut rng).expect("a secret");
            let at = text.len();
            secrets.extend(expanded.secrets.iter().map(|range| range.start + at..range.end + at));
            text.push_str(&expanded.text);
            text.push_str("\n\n");
        }
        let found: std::collections::HashSet<_> = ranges(&detector, text.as_bytes())
            .into_iter()
            .filter(|(id, _)| *id == rule.id)
            .map(|(_, range)| (range.start, range.end))
            .collect();
        let not_found: Vec<&str> = secrets
            .iter()
            .filter(|range| !found.contains(&(range.start, range.end)))
            .map(|range| &text[range.clone()])
            .collect();
        // What a generic secret is, is a matter of judgement: a random value can look like words.
        let may_miss = if rule.generic { secrets.len() / 100 } else { 0 };
        if let Some(first) = not_found.first().filter(|_| not_found.len() > may_miss) {
            missed.push(format!(
                "{}: {} of {}, e.g. {first}",
                rule.id,
                not_found.len(),
                secrets.len()
            ));
        }
    }
    assert!(missed.is_empty(), "{}", listed(&missed));
}

fn listed(problems: &[impl std::fmt::Display]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("{} problems\n{}", lines.len(), lines.join("\n"))
}
