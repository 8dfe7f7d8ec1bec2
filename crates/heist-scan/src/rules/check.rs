//! Checks rules for what their authors want to know but loading does not insist on, so that
//! existing files load.
//!
//! Invariant: a rule without problems is usable and testable.
//!
//! [`check_rule`] does not check that a rule finds its examples. [`check_examples`] does, with a
//! detector.

use super::model::{Pattern, Rule, RuleSet};
use super::sample::{Expanded, Sampler};
use super::syntax;
use heist::rng::XorShift64;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// The number of different secrets that each example is tried with.
const SECRETS_PER_EXAMPLE: u64 = 20;

/// A problem with a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The rule's `id`.
    pub rule: String,
    /// What is wrong, and what to do about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {:?}: {}", self.rule, self.text)
    }
}

/// Returns the problems of every rule, and of the set as a whole.
#[must_use]
pub fn check_rules(rules: &RuleSet) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut ids = HashSet::new();
    for rule in &rules.rules {
        if !ids.insert(rule.id.as_str()) {
            let text = "another rule has the same `id`; rename one of them".to_owned();
            problems.push(Problem { rule: rule.id.clone(), text });
        }
        problems.extend(check_rule(rule));
    }
    problems
}

/// Returns the problems of one rule.
///
/// ```
/// use heist_scan::rules::{Pattern, Rule, check_rule};
///
/// let rule = Rule::new("House Token", Pattern::Regex("house_[a-z".to_owned()));
/// let problems = check_rule(&rule);
/// assert!(problems.iter().any(|problem| problem.text.contains("unclosed character class")));
/// ```
#[must_use]
pub fn check_rule(rule: &Rule) -> Vec<Problem> {
    let mut texts = Vec::new();
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if rule.id.is_empty() || !rule.id.bytes().all(allowed) {
        texts.push("the `id` may only contain a-z, 0-9 and -, and must not be empty".to_owned());
    }
    if rule.description.trim().is_empty() {
        texts.push("there is no `description`; say what the rule finds".to_owned());
    }
    check_pattern(rule, &mut texts);
    check_regexes(rule, &mut texts);
    if rule
        .keywords
        .iter()
        .any(|keyword| keyword.is_empty() || *keyword != keyword.to_ascii_lowercase())
    {
        texts.push("a keyword is empty or not in lower case".to_owned());
    }
    if matches!(rule.pattern, Pattern::Assignment(_)) && rule.keywords.is_empty() {
        texts.push(
            "there are no `keywords`; an `assignment` needs one that is part of the name"
                .to_owned(),
        );
    }
    if rule.examples.is_empty() {
        texts.push(
            "there are no `examples`; add texts in which the rule finds its secret".to_owned(),
        );
    }
    let counter_examples = &rule.counter_examples;
    if rule.checksum.is_none() && counter_examples.iter().any(|text| text.contains("{wrong}")) {
        texts.push(
            "a counter-example contains {wrong}, but there is no checksum that could be wrong"
                .to_owned(),
        );
    }
    if rule.examples.iter().any(|text| text.contains("{wrong}")) {
        texts.push("an example contains {wrong}, which is never found".to_owned());
    }
    texts.into_iter().map(|text| Problem { rule: rule.id.clone(), text }).collect()
}

fn check_pattern(rule: &Rule, texts: &mut Vec<String>) {
    let pattern = match &rule.pattern {
        Pattern::Regex(pattern) | Pattern::Assignment(pattern) => pattern,
        Pattern::Path if rule.path.is_none() => {
            texts.push("there is no `path`, and no other pattern either".to_owned());
            return;
        }
        Pattern::Path | Pattern::Parser(_) => return,
    };
    let hir = match syntax::parse(pattern) {
        Ok(hir) => hir,
        Err(error) => {
            texts.push(format!("the regular expression is not usable: {error}"));
            return;
        }
    };
    if let Err(error) = syntax::compile(&hir) {
        texts.push(format!("the regular expression is not usable: {error}"));
        return;
    }
    if hir.properties().minimum_len().is_none_or(|least| least == 0) {
        texts.push("the regular expression matches the empty text, or nothing at all".to_owned());
    }
    let groups = hir.properties().explicit_captures_len();
    if rule.secret_group.is_some_and(|group| group > groups) {
        texts.push(format!("`secretGroup` exceeds the number of groups, {groups}"));
    }
    if Sampler::new(rule).is_none_or(|sampler| sampler.secret(&mut XorShift64::new(1)).is_none()) {
        texts.push(
            "heist can generate no secret that the rule finds, so it cannot fill in examples"
                .to_owned(),
        );
    }
}

/// Checks all expressions except the pattern itself.
fn check_regexes(rule: &Rule, texts: &mut Vec<String>) {
    let paths = rule.path.iter().map(|pattern| ("`path`", pattern));
    let allowed = rule.allowlists.iter().flat_map(|list| {
        let paths = list.paths.iter().map(|pattern| ("`paths` of an allowlist", pattern));
        paths.chain(list.regexes.iter().map(|pattern| ("`regexes` of an allowlist", pattern)))
    });
    for (field, pattern) in paths.chain(allowed) {
        if let Err(error) = syntax::parse(pattern).and_then(|hir| syntax::compile(&hir)) {
            texts.push(format!("{field} is not usable: {error}"));
        }
    }
}

/// Runs a detector on a text. Returns the `id` of each rule that matched, and the range of its
/// secret.
pub type Find<'f> = dyn Fn(&[u8]) -> Vec<(String, Range<usize>)> + 'f;

/// Tries every example and counter-example of every rule with the detector `find`.
///
/// An example that contains `{secret}` is tried with several random secrets (the same in every
/// run), and the rule must find each of them at its exact place. The examples of rules that only
/// look at paths are paths; these are checked without `find`.
#[must_use]
pub fn check_examples(rules: &RuleSet, find: &Find<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for rule in &rules.rules {
        let mut texts = Vec::new();
        match &rule.pattern {
            Pattern::Path => check_paths(rule, &mut texts),
            _ => check_texts(rule, find, &mut texts),
        }
        problems.extend(texts.into_iter().map(|text| Problem { rule: rule.id.clone(), text }));
    }
    problems
}

fn check_paths(rule: &Rule, texts: &mut Vec<String>) {
    let pattern = rule.path.as_deref().unwrap_or_default();
    let Ok(regex) = syntax::parse(pattern).and_then(|hir| syntax::compile(&hir)) else {
        texts.push("`path` is not a usable regular expression".to_owned());
        return;
    };
    let missed = rule.examples.iter().filter(|path| !regex.is_match(path.as_bytes()));
    texts.extend(
        missed.map(|path| format!("the rule does not find its example, the path {path:?}")),
    );
    let found = rule.counter_examples.iter().filter(|path| regex.is_match(path.as_bytes()));
    texts
        .extend(found.map(|path| format!("the rule finds its counter-example, the path {path:?}")));
}

fn check_texts(rule: &Rule, find: &Find<'_>, texts: &mut Vec<String>) {
    let sampler = Sampler::new(rule);
    let examples = rule.examples.iter().map(|example| (example, true));
    let counter_examples = rule.counter_examples.iter().map(|example| (example, false));
    for (example, wanted) in examples.chain(counter_examples) {
        let filled = example.contains("{secret}") || example.contains("{wrong}");
        for seed in 1..=if filled { SECRETS_PER_EXAMPLE } else { 1 } {
            let expanded = if filled {
                sampler
                    .as_ref()
                    .and_then(|sampler| sampler.expand(example, &mut XorShift64::new(seed)))
            } else {
                Some(Expanded { text: example.clone(), secrets: Vec::new() })
            };
            let Some(expanded) = expanded else {
                texts.push(format!("heist can generate no secret for {example:?}"));
                break;
            };
            let found = find(expanded.text.as_bytes()).into_iter().filter(|(id, _)| *id == rule.id);
            if let Some(text) =
                judge(example, wanted, &expanded, found.map(|(_, place)| place).collect())
            {
                // Other secrets would most likely fail in the same way.
                texts.push(text);
                break;
            }
        }
    }
}

/// Compares what the detector found with what the example asks for. The secret in the message is a
/// generated one, so it may be shown.
fn judge(
    example: &str,
    wanted: bool,
    expanded: &Expanded,
    found: Vec<Range<usize>>,
) -> Option<String> {
    if !wanted {
        return (!found.is_empty())
            .then(|| format!("the rule finds something in its counter-example {example:?}"));
    }
    if expanded.secrets.is_empty() {
        return found
            .is_empty()
            .then(|| format!("the rule finds nothing in its example {example:?}"));
    }
    let missed = expanded.secrets.iter().find(|secret| !found.contains(secret))?;
    let secret = &expanded.text[missed.clone()];
    let overlaps = |place: &Range<usize>| place.start < missed.end && missed.start < place.end;
    Some(match found.into_iter().find(overlaps) {
        Some(other) => format!(
            "the rule finds bytes {other:?} instead of the secret at {missed:?} in its example \
             {example:?}, filled with {secret:?}"
        ),
        None => format!(
            "the rule does not find the secret in its example {example:?}, filled with {secret:?}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Allowlist;

    fn good() -> Rule {
        Rule {
            description: "A token".to_owned(),
            examples: vec!["key = {secret}".to_owned(), "key = tkn_0000".to_owned()],
            counter_examples: vec!["key = tkn".to_owned()],
            ..Rule::new("token", Pattern::Regex("tkn_[0-9]{4}".to_owned()))
        }
    }

    #[track_caller]
    fn check(rule: &Rule, expected: &[&str]) {
        let problems = check_rule(rule);
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, part) in problems.iter().zip(expected) {
            assert!(problem.text.contains(part), "{problem}");
        }
    }

    #[test]
    fn check_rule_reports_each_problem() {
        check(&good(), &[]);
        check(&Rule { id: "A_b".to_owned(), ..good() }, &["a-z"]);
        check(&Rule { id: String::new(), ..good() }, &["a-z"]);
        check(
            &Rule { description: " ".to_owned(), examples: Vec::new(), ..good() },
            &["description", "examples"],
        );
        let regex = |pattern: &str| Pattern::Regex(pattern.to_owned());
        check(&Rule { pattern: regex("("), ..good() }, &["unclosed group"]);
        check(&Rule { pattern: regex("(?:a{1000}){10000}"), ..good() }, &["larger than"]);
        check(&Rule { pattern: regex("a*"), ..good() }, &["empty text"]);
        check(&Rule { secret_group: Some(1), ..good() }, &["number of groups", "no secret"]);
        check(&Rule { pattern: Pattern::Path, ..good() }, &["no `path`"]);
        check(&Rule { pattern: Pattern::Assignment("a".to_owned()), ..good() }, &["no `keywords`"]);
        check(&Rule { keywords: vec!["A".to_owned()], ..good() }, &["lower case"]);
        check(&Rule { path: Some("[".to_owned()), ..good() }, &["`path`"]);
        check(&Rule { entropy: Some(9.0), ..good() }, &["no secret"]);
        let allowlist = Allowlist { paths: vec!["(".to_owned()], ..Allowlist::default() };
        check(&Rule { allowlists: vec![allowlist], ..good() }, &["`paths`"]);
        check(&Rule { examples: vec!["{wrong}".to_owned()], ..good() }, &["never found"]);
        check(&Rule { counter_examples: vec!["{wrong}".to_owned()], ..good() }, &["no checksum"]);
    }

    #[test]
    fn duplicate_ids_are_a_problem() {
        let rules = RuleSet { rules: vec![good(), good()], ..RuleSet::default() };
        let problems = check_rules(&rules);
        assert!(
            matches!(&problems[..], [problem] if problem.text.contains("same `id`")),
            "{problems:?}"
        );
    }

    /// A detector that finds every `prefix` together with the four bytes after it.
    fn finds(prefix: &str, id: &str, text: &[u8]) -> Vec<(String, Range<usize>)> {
        let found = memchr::memmem::find_iter(text, prefix).map(|at| at..at + prefix.len() + 4);
        found.filter(|place| place.end <= text.len()).map(|place| (id.to_owned(), place)).collect()
    }

    #[track_caller]
    fn check_with(prefix: &str, id: &str, expected: &[&str]) {
        let rules = RuleSet { rules: vec![good()], ..RuleSet::default() };
        let problems = check_examples(&rules, &|text| finds(prefix, id, text));
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, part) in problems.iter().zip(expected) {
            assert!(problem.text.contains(part), "{problem}");
        }
    }

    #[test]
    fn examples_are_tried_on_a_detector() {
        check_with("tkn_", "token", &[]);
        check_with("tkn_", "other", &["does not find", "finds nothing"]);
        check_with("kn_", "token", &["instead of"]);
        check_with("ke", "token", &["does not find", "counter-example"]);
    }

    #[test]
    fn examples_of_rules_on_paths_are_paths() {
        let rule = Rule {
            path: Some(r"\.pem$".to_owned()),
            examples: vec!["a/b.pem".to_owned(), "a/b.txt".to_owned()],
            counter_examples: vec!["b.pem/a".to_owned(), "c.pem".to_owned()],
            ..Rule::new("pem", Pattern::Path)
        };
        let rules = RuleSet { rules: vec![rule], ..RuleSet::default() };
        let problems = check_examples(&rules, &|_| panic!("paths are not passed to the detector"));
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].text.contains("b.txt") && problems[1].text.contains("c.pem"),
            "{problems:?}"
        );
    }

    #[test]
    fn the_built_in_rules_have_no_problems() {
        let problems = check_rules(&RuleSet::builtin());
        assert!(problems.is_empty(), "{problems:#?}");
    }
}
