//! From what a file says about a rule to the rule: alone, or upon a rule that it changes.
//!
//! A rule that changes another does so as in gitleaks: what it says replaces, what it does not say stays, and
//! keywords, tags and allowlists come in addition. A new pattern takes with it what belonged to the old one: the
//! checksum, the longest match and the examples.

use super::error::{RuleErrorKind, RuleNote};
use super::file::Entry;
use super::model::{KEYWORD_BYTES_MIN, MAX_LENGTH_DEFAULT, Pattern, Rule};
use super::source::{Facts, Source};
use super::syntax;

/// Why no rule could be made.
pub(super) enum Failed {
    /// It says nothing about what it looks for, and there is no rule that it changes.
    NoPattern,
    /// Something is wrong with it.
    Wrong(RuleErrorKind),
}

/// Makes the rule, upon `base` if there is one.
pub(super) fn build(
    source: &Source<'_>,
    entry: Entry,
    base: Option<&Rule>,
    notes: &mut Vec<RuleNote>,
) -> Result<Rule, Failed> {
    let (offset, max_length) = (entry.offset, entry.max_length);
    let facts = entry.regex.as_ref().or(entry.assignment.as_ref()).and_then(|regex| regex.facts);
    let pattern = pattern(&entry).map_err(Failed::Wrong)?;
    let new_pattern = pattern.is_some();
    let measured = new_pattern || entry.secret_group.is_some() || max_length.is_some();
    let mut rule = match (base, pattern) {
        (Some(base), None) => base.clone(),
        (Some(base), Some(pattern)) => Rule {
            pattern,
            checksum: None,
            max_length: MAX_LENGTH_DEFAULT,
            examples: Vec::new(),
            counter_examples: Vec::new(),
            ..base.clone()
        },
        (None, Some(pattern)) => Rule::new(entry.id.as_str(), pattern),
        (None, None) if entry.path.is_some() => Rule::new(entry.id.as_str(), Pattern::Path),
        (None, None) => return Err(Failed::NoPattern),
    };
    apply(entry, &mut rule);
    check_keywords(&rule).map_err(Failed::Wrong)?;
    if measured && !source.built_in {
        let facts = match facts {
            Some(facts) => Some(facts),
            None => facts_of(&rule).map_err(Failed::Wrong)?,
        };
        if let Some(facts) = facts {
            let tell = max_length.is_none() && new_pattern;
            measure(source, &mut rule, facts, tell, offset, notes).map_err(Failed::Wrong)?;
        }
    }
    Ok(rule)
}

fn pattern(entry: &Entry) -> Result<Option<Pattern>, RuleErrorKind> {
    let regex = entry.regex.as_ref().map(|regex| Pattern::Regex(regex.text.clone()));
    let assignment = entry.assignment.as_ref().map(|regex| Pattern::Assignment(regex.text.clone()));
    let detector = entry.detector.map(Pattern::Parser);
    let mut given = [regex, assignment, detector].into_iter().flatten();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(RuleErrorKind::Pattern(
            "the rule has more than one of `regex`, `assignment` and `detector`; make a rule of each",
        )),
        (pattern, None) => Ok(pattern),
    }
}

/// What the file says, over what is there.
fn apply(entry: Entry, rule: &mut Rule) {
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
    replace(&mut rule.examples, entry.examples);
    replace(&mut rule.counter_examples, entry.counter_examples);
    rule.path = entry.path.or(rule.path.take());
    rule.secret_group = entry.secret_group.or(rule.secret_group);
    rule.entropy = entry.entropy.or(rule.entropy);
    rule.checksum = entry.checksum.or(rule.checksum);
    let any_place = entry.keywords.iter().any(String::is_empty);
    for keyword in entry.keywords {
        add(&mut rule.keywords, keyword.to_ascii_lowercase());
    }
    // An empty keyword is everywhere, so the others say nothing.
    if any_place {
        rule.keywords.clear();
    }
    for tag in entry.tags {
        add(&mut rule.tags, tag);
    }
    rule.allowlists.extend(entry.allowlists);
}

fn add(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// A value that is assigned is found by a keyword in its name, so there has to be one, and one that can be looked for.
fn check_keywords(rule: &Rule) -> Result<(), RuleErrorKind> {
    let can_be_sought = |keyword: &String| keyword.len() >= KEYWORD_BYTES_MIN;
    let is_assignment = matches!(rule.pattern, Pattern::Assignment(_));
    if is_assignment && (rule.keywords.is_empty() || !rule.keywords.iter().all(can_be_sought)) {
        let problem = format!(
            "an `assignment` needs keywords of at least {KEYWORD_BYTES_MIN} characters, one of which is in the name"
        );
        return Err(RuleErrorKind::Value { field: "keywords", problem });
    }
    Ok(())
}

/// What is known of a rule's expression; `None` if it has none.
fn facts_of(rule: &Rule) -> Result<Option<Facts>, RuleErrorKind> {
    let (field, pattern) = match &rule.pattern {
        Pattern::Regex(pattern) => ("regex", pattern),
        Pattern::Assignment(pattern) => ("assignment", pattern),
        Pattern::Parser(_) | Pattern::Path => return Ok(None),
    };
    let hir =
        syntax::parse(pattern).map_err(|error| RuleErrorKind::Regex { field, problem: error.0 })?;
    Ok(Some(Facts::of(&hir)))
}

/// Checks the group and finds the longest match. `tell`: whether a match can be longer than is looked for is worth a
/// note.
fn measure(
    source: &Source<'_>,
    rule: &mut Rule,
    Facts { groups, longest }: Facts,
    tell: bool,
    offset: usize,
    notes: &mut Vec<RuleNote>,
) -> Result<(), RuleErrorKind> {
    if let Some(group) = rule.secret_group.filter(|&group| group > groups) {
        let problem = format!("there is no group {group}: the regular expression has {groups}");
        return Err(RuleErrorKind::Value { field: "secretGroup", problem });
    }
    if tell && longest.is_none_or(|longest| longest > rule.max_length) {
        let text = format!(
            "matches of more than {} bytes are not found, though the regular expression allows them; set `maxLength` \
             if they matter",
            rule.max_length,
        );
        notes.push(source.note(text, offset, Some(&rule.id)));
    }
    // No window is empty, whatever the expression matches.
    rule.max_length = longest.map_or(rule.max_length, |longest| longest.clamp(1, rule.max_length));
    Ok(())
}
