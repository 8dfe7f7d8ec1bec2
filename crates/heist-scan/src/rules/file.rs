//! Reads one rule file, before it is merged with what it extends. Fields that the file does not set
//! stay `None` or empty.
//!
//! Invariants:
//! - field names are case-insensitive, as in gitleaks;
//! - an unknown field produces a note; a known field with a value that it does not accept is an
//!   error.

use super::budget::RuleNotes;
use super::error::{RuleError, RuleErrorKind, RuleNote};
use super::model::{Allowlist, Condition, ParserKind, RegexTarget};
use super::rule_text::{Expression, RuleText};
use super::value;
use crate::checksum::Checksum;
use crate::confidence::Confidence;
use std::collections::HashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The contents of one rule file.
#[derive(Default)]
pub(super) struct RuleFile {
    pub(super) extend: Extend,
    pub(super) rules: Vec<RuleEntry>,
    /// Each allowlist, the rules it is for (empty: all rules), and its offset in the file.
    pub(super) allowlists: Vec<(Allowlist, Vec<String>, usize)>,
}

/// The `[extend]` table: what the file builds on.
#[derive(Default)]
pub(super) struct Extend {
    pub(super) offset: usize,
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    pub(super) use_default: bool,
    pub(super) disabled: Vec<String>,
}

/// The fields that a file sets for one rule.
#[derive(Clone, Default)]
pub(super) struct RuleEntry {
    pub(super) offset: usize,
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) regex: Option<Expression>,
    pub(super) assignment: Option<Expression>,
    pub(super) detector: Option<ParserKind>,
    pub(super) path: Option<String>,
    pub(super) entropy: Option<f64>,
    pub(super) secret_group: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) confidence: Option<Confidence>,
    pub(super) checksum: Option<Checksum>,
    pub(super) remedy: Option<String>,
    pub(super) generic: Option<bool>,
    pub(super) identifier: Option<bool>,
    pub(super) keywords: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) examples: Option<Vec<String>>,
    pub(super) counter_examples: Option<Vec<String>>,
    pub(super) allowlists: Vec<Allowlist>,
    /// `skipReport`: the rule exists only for other rules that require it.
    pub(super) skip_report: bool,
}

/// A problem with a value, and the offset of the value in the file.
type ErrorAt = (RuleErrorKind, usize);

/// Reads the file.
pub(super) fn read(rule_text: &RuleText<'_>, notes: &mut RuleNotes) -> Result<RuleFile, RuleError> {
    let document = DeTable::parse(rule_text.text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        rule_text.error(RuleErrorKind::Toml(error.message().to_owned()), offset, None)
    })?;
    note_repeated(rule_text, document.get_ref(), None, notes);
    let mut file = RuleFile::default();
    let mut rules = Vec::new();
    for (key, value) in document.get_ref() {
        let at = |kind| rule_text.error(kind, value.span().start, None);
        let there = |(kind, offset)| rule_text.error(kind, offset, None);
        match key.get_ref().to_ascii_lowercase().as_str() {
            "title" | "description" | "minversion" => {}
            "extend" => {
                let table = value::table("extend", value.get_ref()).map_err(at)?;
                file.extend = extend(rule_text, table, value.span().start, notes)?;
            }
            "rules" => rules.extend(value::tables("rules", value).map_err(there)?),
            "allowlist" | "allowlists" => {
                for (table, offset) in value::tables("allowlists", value).map_err(there)? {
                    let read = allowlist(rule_text, table, offset, None, notes);
                    if let (Some(allowlist), targets) = read.map_err(there)? {
                        file.allowlists.push((allowlist, targets, offset));
                    }
                }
            }
            _ => notes.push(|| unknown_field(rule_text, key, None)),
        }
    }
    for (table, offset) in rules {
        if table.is_empty() {
            notes.push(|| rule_text.note("the rule is empty; heist ignores it", offset, None));
            continue;
        }
        file.rules.push(entry(rule_text, table, offset, notes)?);
    }
    Ok(file)
}

fn unknown_field(
    rule_text: &RuleText<'_>,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    rule: Option<&str>,
) -> RuleNote {
    let text = format!("unknown field `{}`; heist ignores it", key.get_ref());
    rule_text.note(text, key.span().start, rule)
}

/// Adds a note for every field that appears twice in different case: only one of the values counts.
fn note_repeated(
    rule_text: &RuleText<'_>,
    table: &DeTable<'_>,
    rule: Option<&str>,
    notes: &mut RuleNotes,
) {
    if rule_text.is_built_in() {
        return;
    }
    let mut seen = HashSet::new();
    for (key, _) in table {
        if !seen.insert(key.get_ref().to_ascii_lowercase()) {
            let text = format!(
                "the field `{}` is set twice, in different case; only one of the values counts",
                key.get_ref()
            );
            notes.push(|| rule_text.note(text, key.span().start, rule));
        }
    }
}

fn extend(
    rule_text: &RuleText<'_>,
    table: &DeTable<'_>,
    offset: usize,
    notes: &mut RuleNotes,
) -> Result<Extend, RuleError> {
    note_repeated(rule_text, table, None, notes);
    let mut extend = Extend { offset, ..Extend::default() };
    for (key, value) in table {
        let at = |kind| rule_text.error(kind, value.span().start, None);
        match key.get_ref().to_ascii_lowercase().as_str() {
            "path" => {
                extend.path = not_empty(value::text("extend.path", value.get_ref()).map_err(at)?);
            }
            "url" => {
                extend.url = not_empty(value::text("extend.url", value.get_ref()).map_err(at)?);
            }
            "usedefault" => {
                extend.use_default =
                    value::boolean("extend.useDefault", value.get_ref()).map_err(at)?;
            }
            "disabledrules" => {
                extend.disabled = value::words("extend.disabledRules", value)
                    .map_err(|(kind, offset)| rule_text.error(kind, offset, None))?;
            }
            _ => notes.push(|| unknown_field(rule_text, key, None)),
        }
    }
    Ok(extend)
}

/// As in gitleaks, an empty string counts as unset.
fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn entry(
    rule_text: &RuleText<'_>,
    table: &DeTable<'_>,
    offset: usize,
    notes: &mut RuleNotes,
) -> Result<RuleEntry, RuleError> {
    let named = table.iter().find(|(key, _)| key.get_ref().eq_ignore_ascii_case("id"));
    let id = match named {
        Some((_, value)) => value::text("id", value.get_ref())
            .map_err(|kind| rule_text.error(kind, value.span().start, None))?,
        None => String::new(),
    };
    if id.trim().is_empty() {
        return Err(rule_text.error(RuleErrorKind::NoId, offset, None));
    }
    note_repeated(rule_text, table, Some(&id), notes);
    let mut entry = RuleEntry { offset, id, ..RuleEntry::default() };
    for (key, value) in table {
        let name = key.get_ref().to_ascii_lowercase();
        let known = field(rule_text, &mut entry, &name, value, notes)
            .map_err(|(kind, offset)| rule_text.error(kind, offset, Some(&entry.id)))?;
        if !known {
            notes.push(|| unknown_field(rule_text, key, Some(&entry.id)));
        }
    }
    Ok(entry)
}

/// Stores one field of a rule in its entry. Returns `false` if the field is unknown.
fn field(
    rule_text: &RuleText<'_>,
    entry: &mut RuleEntry,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    notes: &mut RuleNotes,
) -> Result<bool, ErrorAt> {
    let offset = value.span().start;
    let here = |kind| (kind, offset);
    let text = |field| value::text(field, value.get_ref()).map(not_empty).map_err(here);
    let regex = |field| match text(field)? {
        Some(pattern) => rule_text.regex(field, &pattern).map(Some).map_err(here),
        None => Ok(None),
    };
    let list = |field| -> Result<Vec<String>, ErrorAt> {
        Ok(value::texts(field, value)?.into_iter().map(|(text, _)| text).collect())
    };
    match name {
        "id" => {}
        "description" => entry.description = text("description")?,
        "remedy" => entry.remedy = text("remedy")?,
        "regex" => entry.regex = regex("regex")?,
        "assignment" => entry.assignment = regex("assignment")?,
        "path" => {
            let pattern = text("path")?;
            let checked = pattern.map(|pattern| rule_text.path_regex("path", &pattern));
            entry.path = checked.transpose().map_err(here)?;
        }
        "detector" => entry.detector = parsed("detector", text("detector")?).map_err(here)?,
        "confidence" => {
            entry.confidence = parsed("confidence", text("confidence")?).map_err(here)?;
        }
        "checksum" => entry.checksum = parsed("checksum", text("checksum")?).map_err(here)?,
        "entropy" => {
            let entropy = value::number("entropy", value.get_ref()).map_err(here)?;
            entry.entropy = Some(entropy).filter(|&entropy| entropy > 0.0);
        }
        "secretgroup" => {
            let group = value::count("secretGroup", value.get_ref()).map_err(here)?;
            // As in gitleaks, group 0 counts as unset.
            entry.secret_group = Some(group).filter(|&group| group > 0);
        }
        "maxlength" => entry.max_length = Some(max_length(value.get_ref()).map_err(here)?),
        "generic" => {
            entry.generic = Some(value::boolean("generic", value.get_ref()).map_err(here)?);
        }
        "identifier" => {
            entry.identifier = Some(value::boolean("identifier", value.get_ref()).map_err(here)?);
        }
        "skipreport" => {
            entry.skip_report = value::boolean("skipReport", value.get_ref()).map_err(here)?;
        }
        "keywords" => {
            entry.keywords = value::words("keywords", value)?;
            rule_text.charge_words(&entry.keywords).map_err(here)?;
        }
        "tags" => entry.tags = value::words("tags", value)?,
        "examples" => entry.examples = Some(list("examples")?),
        "counterexamples" => entry.counter_examples = Some(list("counterExamples")?),
        "allowlist" | "allowlists" => {
            for (table, offset) in value::tables("allowlists", value)? {
                let (allowlist, _) = allowlist(rule_text, table, offset, Some(&entry.id), notes)?;
                entry.allowlists.extend(allowlist);
            }
        }
        "required" => notes.push(|| {
            rule_text.note(
            "`required` is not supported: the rule also reports matches without the required ones",
            offset,
            Some(&entry.id),
        )
        }),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The upper limit for `maxLength`: the scanner carries this many bytes over from chunk to chunk.
const MAX_LENGTH_LIMIT: usize = 64 << 10;

fn max_length(value: &DeValue<'_>) -> Result<usize, RuleErrorKind> {
    let length = value::count("maxLength", value)?;
    if (1..=MAX_LENGTH_LIMIT).contains(&length) {
        return Ok(length);
    }
    let problem = format!("{length} is out of range: use 1 to {MAX_LENGTH_LIMIT} bytes");
    Err(RuleErrorKind::Value { field: "maxLength", problem })
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &'static str,
    text: Option<String>,
) -> Result<Option<T>, RuleErrorKind> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.to_ascii_lowercase().parse();
    parsed
        .map(Some)
        .map_err(|error: T::Err| RuleErrorKind::Value { field, problem: error.to_string() })
}

/// Reads an allowlist and the names of the rules that it is for. Returns `None` instead of the
/// allowlist if it can never allow anything.
fn allowlist(
    rule_text: &RuleText<'_>,
    table: &DeTable<'_>,
    offset: usize,
    rule: Option<&str>,
    notes: &mut RuleNotes,
) -> Result<(Option<Allowlist>, Vec<String>), ErrorAt> {
    note_repeated(rule_text, table, rule, notes);
    let mut allowlist = Allowlist::default();
    let mut targets = Vec::new();
    let mut by_commit = false;
    for (key, value) in table {
        let here = |kind| (kind, value.span().start);
        let regexes = |field| {
            // An empty expression would match everything, which is never what the author meant.
            let patterns =
                value::texts(field, value)?.into_iter().filter(|(pattern, _)| !pattern.is_empty());
            let checked = patterns.map(|(pattern, offset)| {
                let text = match field {
                    "paths" => rule_text.path_regex(field, &pattern),
                    _ => rule_text.allowed_regex(field, &pattern),
                };
                text.map_err(|kind| (kind, offset))
            });
            checked.collect::<Result<Vec<_>, ErrorAt>>()
        };
        match key.get_ref().to_ascii_lowercase().as_str() {
            "description" => {
                allowlist.description =
                    value::text("description", value.get_ref()).map_err(here)?;
            }
            "condition" => allowlist.condition = condition(value.get_ref()).map_err(here)?,
            "regextarget" => {
                allowlist.regex_target = regex_target(value.get_ref()).map_err(here)?;
            }
            "commits" => by_commit = !value::words("commits", value)?.is_empty(),
            "paths" => allowlist.paths = regexes("paths")?,
            "regexes" => allowlist.regexes = regexes("regexes")?,
            "stopwords" => {
                let words = value::words("stopwords", value)?;
                rule_text.charge_words(&words).map_err(here)?;
                let words = words.into_iter();
                // An empty stopword would be in every secret, which is never what the author meant.
                allowlist.stopwords = words
                    .filter(|word| !word.is_empty())
                    .map(|word| word.to_ascii_lowercase())
                    .collect();
            }
            "targetrules" if rule.is_none() => targets = value::words("targetRules", value)?,
            _ => notes.push(|| unknown_field(rule_text, key, rule)),
        }
    }
    if let Some(budget) = rule_text.budget {
        budget.add_allowlist(&allowlist).map_err(|kind| (kind, offset))?;
    }
    let empty = allowlist.paths.is_empty()
        && allowlist.regexes.is_empty()
        && allowlist.stopwords.is_empty();
    let never = empty || by_commit && allowlist.condition == Condition::All;
    match (by_commit, never) {
        (true, true) => notes.push(|| {
            rule_text.note(
            "the allowlist has no effect: it is limited to `commits`, but scanned files have none",
            offset,
            rule,
        )
        }),
        (true, false) => notes.push(|| {
            rule_text.note(
                "heist ignores `commits`, because scanned files have none; the other checks apply",
                offset,
                rule,
            )
        }),
        (false, true) => notes.push(|| {
            rule_text.note(
                "the allowlist has no effect: set `paths`, `regexes` or `stopwords`",
                offset,
                rule,
            )
        }),
        (false, false) => {}
    }
    Ok((Some(allowlist).filter(|_| !never), targets))
}

fn condition(value: &DeValue<'_>) -> Result<Condition, RuleErrorKind> {
    let text = value::text("condition", value)?;
    match text.to_ascii_lowercase().as_str() {
        "" | "or" | "||" | "any" => Ok(Condition::Any),
        "and" | "&&" | "all" => Ok(Condition::All),
        _ => Err(RuleErrorKind::Value {
            field: "condition",
            problem: format!(
                "{text:?} is not a condition; use \"OR\" (one kind of check suffices) or \"AND\""
            ),
        }),
    }
}

fn regex_target(value: &DeValue<'_>) -> Result<RegexTarget, RuleErrorKind> {
    let text = value::text("regexTarget", value)?;
    match text.to_ascii_lowercase().as_str() {
        "" | "secret" => Ok(RegexTarget::Secret),
        "match" => Ok(RegexTarget::Match),
        "line" => Ok(RegexTarget::Line),
        _ => Err(RuleErrorKind::Value {
            field: "regexTarget",
            problem: format!("{text:?} is not a target; use \"secret\", \"match\" or \"line\""),
        }),
    }
}
