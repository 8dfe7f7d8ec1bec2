//! Checks the built-in rules as data: they are complete, and they find their own examples, filled
//! with generated secrets.
//!
//! These tests run the regular expressions over whole texts, without a detector, so that a failure
//! is the rule's own fault.

use heist::rng::XorShift64;
use heist_scan::Confidence;
use heist_scan::rules::{
    Pattern, REMEDY_DEFAULT, Rule, RuleSet, Sampler, check_examples, check_rules, syntax,
};
use regex_automata::meta::Regex;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The minimum number of built-in rules.
const RULES_MIN: usize = 160;

/// The number of secrets to generate and find again for each rule.
const SECRETS_PER_RULE: u64 = 25;

/// Fails with a list of all problems.
#[track_caller]
fn check_none(findings: &[String], expectation: &str) {
    let mut list = String::new();
    for finding in findings {
        let _ = write!(list, "\n  {finding}");
    }
    assert!(findings.is_empty(), "{expectation}:{list}");
}

/// A rule with its compiled expression, if it has one.
struct CompiledRule {
    rule: Rule,
    regex: Option<Regex>,
}

impl CompiledRule {
    fn all() -> Vec<Self> {
        RuleSet::builtin().rules.into_iter().map(Self::new).collect()
    }

    fn new(rule: Rule) -> Self {
        let pattern = match &rule.pattern {
            Pattern::Regex(pattern) => Some(pattern.clone()),
            // An assignment must match the whole value.
            Pattern::Assignment(pattern) => Some(format!("^(?:{pattern})$")),
            Pattern::Parser(_) | Pattern::Path => None,
        };
        let regex = pattern.map(|pattern| {
            let hir =
                syntax::parse(&pattern).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
            syntax::compile(&hir).unwrap_or_else(|error| panic!("{}: {error}", rule.id))
        });
        Self { rule, regex }
    }

    /// Returns the ranges of the secrets that the rule finds in `text`, after its checksum and
    /// allowlists.
    fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(regex) = &self.regex else { return Vec::new() };
        let places = match self.rule.pattern {
            Pattern::Assignment(_) => self.values(text),
            _ => regex
                .captures_iter(text)
                .filter_map(|captures| {
                    captures.get_group(1).or_else(|| captures.get_match().map(|m| m.span()))
                })
                .map(|span| span.range())
                .collect(),
        };
        places.into_iter().filter(|place| self.takes(&text[place.clone()])).collect()
    }

    fn takes(&self, secret: &[u8]) -> bool {
        let lower = String::from_utf8_lossy(secret).to_ascii_lowercase();
        let stopped = self
            .rule
            .allowlists
            .iter()
            .flat_map(|list| &list.stopwords)
            .any(|word| lower.contains(word));
        !stopped && self.rule.checksum.is_none_or(|checksum| checksum.holds(secret))
    }

    /// Returns the ranges of the values after a keyword that match as a whole. A crude stand-in for
    /// the assignment parser, good enough for examples.
    fn values(&self, text: &[u8]) -> Vec<Range<usize>> {
        let regex = self.regex.as_ref().expect("it has an assignment");
        let lower = text.to_ascii_lowercase();
        let Some(keyword) = self
            .rule
            .keywords
            .iter()
            .filter_map(|keyword| memchr::memmem::find(&lower, keyword.as_bytes()))
            .min()
        else {
            return Vec::new();
        };
        let delimiter =
            |byte: &u8| matches!(byte, b'"' | b'\'' | b' ' | b'\n' | b',' | b';' | b'>' | b'<');
        let mut found = Vec::new();
        for begin in keyword..text.len() {
            let opens = begin > 0
                && (delimiter(&text[begin - 1]) || matches!(text[begin - 1], b'=' | b':'));
            if !opens {
                continue;
            }
            let quoted = text[begin - 1] == b'"' || text[begin - 1] == b'\'';
            let ends = |byte: &u8| if quoted { *byte == text[begin - 1] } else { delimiter(byte) };
            let length = text[begin..].iter().position(ends).unwrap_or(text.len() - begin);
            if regex.is_match(&text[begin..begin + length]) {
                found.push(begin..begin + length);
            }
        }
        found
    }
}

#[test]
fn there_are_enough_rules_and_each_is_complete() {
    let rules = RuleSet::builtin();
    assert!(rules.rules.len() >= RULES_MIN, "{} rules", rules.rules.len());
    let mut findings: Vec<String> = check_rules(&rules).iter().map(ToString::to_string).collect();
    for rule in &rules.rules {
        let mut expect = |right: bool, what: &str| {
            if !right {
                findings.push(format!("{}: {what}", rule.id));
            }
        };
        expect(rule.description.ends_with('.'), "the description does not end with a period");
        expect(rule.description.len() <= 100, "the description is longer than 100 bytes");
        expect(rule.remedy.ends_with('.') && rule.remedy != REMEDY_DEFAULT, "no specific remedy");
        expect(!rule.counter_examples.is_empty(), "no counter-example");
        expect(rule.confidence != Confidence::Certain, "only a checksum makes a match certain");
        let wrong = rule.counter_examples.iter().any(|text| text.contains("{wrong}"));
        expect(wrong == rule.checksum.is_some(), "a checksum and {wrong} go together");
    }
    check_none(&findings, "each rule is complete");
}

#[test]
fn matches_are_bounded() {
    let mut findings = Vec::new();
    for rule in RuleSet::builtin().rules {
        let (Pattern::Regex(pattern) | Pattern::Assignment(pattern)) = &rule.pattern else {
            continue;
        };
        let hir = syntax::parse(pattern).expect("it is checked elsewhere");
        match hir.properties().maximum_len() {
            Some(longest) if longest <= rule.max_length => {}
            longest => findings.push(format!("{}: {longest:?} bytes", rule.id)),
        }
    }
    check_none(&findings, "no match is longer than the rule's longest");
}

#[test]
fn examples_are_found_and_counter_examples_are_not() {
    let mut findings = Vec::new();
    for compiled in CompiledRule::all() {
        if matches!(compiled.rule.pattern, Pattern::Parser(_)) {
            continue;
        }
        // One rule at a time: other rules may find something in its examples as well.
        let alone = RuleSet::new([compiled.rule.clone()]);
        let id = &compiled.rule.id;
        let problems = check_examples(&alone, &|text| {
            compiled.find(text).into_iter().map(|place| (id.clone(), place)).collect()
        });
        findings.extend(problems.iter().map(ToString::to_string));
    }
    check_none(&findings, "rules are right about their examples");
}

#[test]
fn generated_secrets_are_found_as_a_whole() {
    let mut findings = Vec::new();
    for compiled in CompiledRule::all().iter().filter(|compiled| compiled.regex.is_some()) {
        let rule = &compiled.rule;
        let sampler = Sampler::new(rule).unwrap_or_else(|| panic!("{}: no samples", rule.id));
        let example = rule.examples.first().unwrap_or_else(|| panic!("{}: no example", rule.id));
        for seed in 1..=SECRETS_PER_RULE {
            let expanded = sampler
                .expand(example, &mut XorShift64::new(seed * 7919))
                .unwrap_or_else(|| panic!("{}: no secret", rule.id));
            let found = compiled.find(expanded.text.as_bytes());
            if expanded.secrets.iter().any(|secret| !found.contains(secret)) {
                findings.push(format!("{}: not all of a secret in {example:?}", rule.id));
                break;
            }
        }
    }
    check_none(&findings, "every secret of a rule's form is found");
}

/// The rule files must not set off any secret scanner, least of all heist.
#[test]
fn the_rule_files_contain_no_secrets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules/data");
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of the data").flatten() {
        texts.push((entry.path(), fs::read(entry.path()).expect("a file of the data")));
    }
    assert!(!texts.is_empty(), "there is data");
    let mut findings = Vec::new();
    for compiled in CompiledRule::all() {
        if !matches!(compiled.rule.pattern, Pattern::Regex(_)) {
            continue;
        }
        for (path, text) in &texts {
            for place in compiled.find(text) {
                let found = String::from_utf8_lossy(&text[place]).into_owned();
                findings.push(format!("{}: {} finds {found:?}", path.display(), compiled.rule.id));
            }
        }
    }
    check_none(&findings, "no rule finds anything in the rules");
}

#[test]
fn names_are_unique_and_well_known_rules_exist() {
    let rules = RuleSet::builtin().rules;
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids.len(), rules.len(), "names are unique");
    for known in
        ["aws-access-key-id", "github-personal-token", "private-key", "generic-secret", "jwt"]
    {
        assert!(ids.contains(known), "{known}");
    }
}
