//! Turns a rule entry of a file into a [`Rule`], either a new one or a change to an existing one.
//!
//! Changes work as in gitleaks: fields that the entry sets replace the old values, other fields
//! stay, and keywords, tags and allowlists are added. A new pattern discards everything that
//! belonged to the old one: its checksum, its longest match and its examples.

use super::budget::{RuleNotes, check_search};
use super::error::RuleErrorKind;
use super::file::RuleEntry;
use super::model::{KEYWORD_BYTES_MIN, MAX_LENGTH_DEFAULT, Pattern, Rule};
use super::rule_text::{RegexFacts, RuleText};
use super::syntax;
use std::collections::HashSet;

/// Why an entry does not yield a rule.
pub(super) enum BuildError {
    /// The entry has no pattern, and there is no rule for it to change.
    NoPattern,
    /// A field has an unusable value.
    Wrong(RuleErrorKind),
}

/// Builds the rule. `base` is the rule that the entry changes, if any.
pub(super) fn build(
    rule_text: &RuleText<'_>,
    entry: RuleEntry,
    base: Option<&Rule>,
    notes: &mut RuleNotes,
) -> Result<Rule, BuildError> {
    let (offset, max_length) = (entry.offset, entry.max_length);
    let facts = entry.regex.as_ref().or(entry.assignment.as_ref()).and_then(|regex| regex.facts);
    let pattern = pattern(&entry).map_err(BuildError::Wrong)?;
    let new_pattern = pattern.is_some();
    let measured = new_pattern || entry.secret_group.is_some() || max_length.is_some();
    let mut rule = match (base, pattern) {
        (Some(base), None) => base.clone(),
        (Some(base), Some(pattern)) => Rule {
            pattern,
            checksum: None,
            identifier: false,
            max_length: MAX_LENGTH_DEFAULT,
            examples: Vec::new(),
            counter_examples: Vec::new(),
            ..base.clone()
        },
        (None, Some(pattern)) => Rule::new(entry.id.as_str(), pattern),
        (None, None) if entry.path.is_some() => Rule::new(entry.id.as_str(), Pattern::Path),
        (None, None) => return Err(BuildError::NoPattern),
    };
    apply(entry, &mut rule);
    check_keywords(&rule).map_err(BuildError::Wrong)?;
    if measured && !rule_text.is_built_in() {
        let facts = match facts {
            Some(facts) => Some(facts),
            None => facts_of(&rule).map_err(BuildError::Wrong)?,
        };
        if let Some(facts) = facts {
            let note_limit = max_length.is_none() && new_pattern;
            measure(rule_text, &mut rule, facts, note_limit, offset, notes)
                .map_err(BuildError::Wrong)?;
        }
    }
    Ok(rule)
}

fn pattern(entry: &RuleEntry) -> Result<Option<Pattern>, RuleErrorKind> {
    let regex = entry.regex.as_ref().map(|regex| Pattern::Regex(regex.text.clone()));
    let assignment = entry.assignment.as_ref().map(|regex| Pattern::Assignment(regex.text.clone()));
    let detector = entry.detector.map(Pattern::Parser);
    let mut given = [regex, assignment, detector].into_iter().flatten();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(RuleErrorKind::Pattern(
            "the rule sets more than one of `regex`, `assignment` and `detector`; split it up",
        )),
        (pattern, None) => Ok(pattern),
    }
}

/// Applies the fields that the entry sets to `rule`.
fn apply(entry: RuleEntry, rule: &mut Rule) {
    fn replace<T>(value: &mut T, new: Option<T>) {
        if let Some(new) = new {
            *value = new;
        }
    }
    replace(&mut rule.description, entry.description);
    replace(&mut rule.remedy, entry.remedy);
    replace(&mut rule.confidence, entry.confidence);
    replace(&mut rule.max_length, entry.max_length);
    replace(&mut rule.generic, entry.generic);
    replace(&mut rule.identifier, entry.identifier);
    replace(&mut rule.examples, entry.examples);
    replace(&mut rule.counter_examples, entry.counter_examples);
    rule.path = entry.path.or(rule.path.take());
    rule.secret_group = entry.secret_group.or(rule.secret_group);
    rule.entropy = entry.entropy.or(rule.entropy);
    rule.checksum = entry.checksum.or(rule.checksum);
    let any_place = entry.keywords.iter().any(String::is_empty);
    add_all(&mut rule.keywords, entry.keywords.iter().map(|word| word.to_ascii_lowercase()));
    // An empty keyword occurs everywhere, so the other keywords restrict nothing.
    if any_place {
        rule.keywords.clear();
    }
    add_all(&mut rule.tags, entry.tags.into_iter());
    rule.allowlists.extend(entry.allowlists);
}

/// Adds the texts that the list does not contain yet.
fn add_all(list: &mut Vec<String>, texts: impl Iterator<Item = String>) {
    let mut known: HashSet<String> = list.iter().cloned().collect();
    list.extend(texts.filter(|text| known.insert(text.clone())));
}

/// Checks that an assignment rule has keywords long enough to search for: it finds a value by the
/// keyword in the name before it.
fn check_keywords(rule: &Rule) -> Result<(), RuleErrorKind> {
    let can_be_sought = |keyword: &String| keyword.len() >= KEYWORD_BYTES_MIN;
    let is_assignment = matches!(rule.pattern, Pattern::Assignment(_));
    if is_assignment && (rule.keywords.is_empty() || !rule.keywords.iter().all(can_be_sought)) {
        let problem = format!(
            "an `assignment` needs keywords of at least {KEYWORD_BYTES_MIN} characters, one of \
             which is part of the name"
        );
        return Err(RuleErrorKind::Value { field: "keywords", problem });
    }
    Ok(())
}

/// Returns what is known about the rule's expression, or `None` if it has no expression.
fn facts_of(rule: &Rule) -> Result<Option<RegexFacts>, RuleErrorKind> {
    let (field, pattern) = match &rule.pattern {
        Pattern::Regex(pattern) => ("regex", pattern),
        Pattern::Assignment(pattern) => ("assignment", pattern),
        Pattern::Parser(_) | Pattern::Path => return Ok(None),
    };
    let hir =
        syntax::parse(pattern).map_err(|error| RuleErrorKind::Regex { field, problem: error.0 })?;
    Ok(Some(RegexFacts::of(&hir)))
}

/// Checks the secret's group and sets the longest match. With `note_limit`, adds a note if the
/// expression allows longer matches than the scanner finds.
fn measure(
    rule_text: &RuleText<'_>,
    rule: &mut Rule,
    RegexFacts { groups, longest, states }: RegexFacts,
    note_limit: bool,
    offset: usize,
    notes: &mut RuleNotes,
) -> Result<(), RuleErrorKind> {
    if let Some(group) = rule.secret_group.filter(|&group| group > groups) {
        let problem = format!("there is no group {group}; the regular expression has {groups}");
        return Err(RuleErrorKind::Value { field: "secretGroup", problem });
    }
    if note_limit && longest.is_none_or(|longest| longest > rule.max_length) {
        let text = format!(
            "heist does not find matches longer than {} bytes, although the regular expression \
             allows them; set `maxLength` if you need them",
            rule.max_length,
        );
        notes.push(|| rule_text.note(text, offset, Some(&rule.id)));
    }
    let searched = longest.map_or(rule.max_length, |longest| longest.min(rule.max_length));
    check_search(states, searched)?;
    // At least 1, even if the expression matches only the empty text: the search window must not be
    // empty.
    rule.max_length = longest.map_or(rule.max_length, |longest| longest.clamp(1, rule.max_length));
    Ok(())
}
