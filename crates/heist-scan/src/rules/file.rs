//! One file with rules, read but not yet put together with what it extends: every field as it stands there, absent
//! ones absent.
//!
//! Invariants:
//! - names of fields are read in any case, as gitleaks does;
//! - a field that is not understood is a note, one that is understood and has a value that it cannot have an error.

use super::error::{RuleError, RuleErrorKind, RuleNote};
use super::model::{Allowlist, Condition, ParserKind, RegexTarget};
use super::source::{Expression, Source};
use super::value;
use crate::checksum::Checksum;
use crate::confidence::Confidence;
use std::collections::HashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a file says.
#[derive(Default)]
pub(super) struct File {
    pub(super) extend: Extend,
    pub(super) rules: Vec<Entry>,
    /// With the rules that they are for; for all if there are none, and with where they stand.
    pub(super) allowlists: Vec<(Allowlist, Vec<String>, usize)>,
}

/// What a file builds upon.
#[derive(Default)]
pub(super) struct Extend {
    pub(super) offset: usize,
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    pub(super) use_default: bool,
    pub(super) disabled: Vec<String>,
}

/// What a file says about one rule.
#[derive(Clone, Default)]
pub(super) struct Entry {
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
    pub(super) keywords: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) examples: Option<Vec<String>>,
    pub(super) counter_examples: Option<Vec<String>>,
    pub(super) allowlists: Vec<Allowlist>,
    /// Only there for other rules that require it.
    pub(super) skip_report: bool,
}

/// A problem with a value, and where the value stands, if not where its field does.
type Problem = (RuleErrorKind, usize);

/// Reads a file's text.
pub(super) fn read(source: &Source<'_>, notes: &mut Vec<RuleNote>) -> Result<File, RuleError> {
    let document = DeTable::parse(source.text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        source.error(RuleErrorKind::Toml(error.message().to_owned()), offset, None)
    })?;
    note_repeated(source, document.get_ref(), None, notes);
    let mut file = File::default();
    let mut rules = Vec::new();
    for (key, value) in document.get_ref() {
        let at = |kind| source.error(kind, value.span().start, None);
        let there = |(kind, offset)| source.error(kind, offset, None);
        match key.get_ref().to_ascii_lowercase().as_str() {
            "title" | "description" | "minversion" => {}
            "extend" => {
                let table = value::table("extend", value.get_ref()).map_err(at)?;
                file.extend = extend(source, table, value.span().start, notes)?;
            }
            "rules" => rules.extend(value::tables("rules", value).map_err(there)?),
            "allowlist" | "allowlists" => {
                for (table, offset) in value::tables("allowlists", value).map_err(there)? {
                    let read = allowlist(source, table, offset, None, notes);
                    if let (Some(allowlist), targets) = read.map_err(there)? {
                        file.allowlists.push((allowlist, targets, offset));
                    }
                }
            }
            _ => notes.push(not_understood(source, key, None)),
        }
    }
    for (table, offset) in rules {
        if table.is_empty() {
            notes.push(source.note("the rule is empty and left out", offset, None));
            continue;
        }
        file.rules.push(entry(source, table, offset, notes)?);
    }
    Ok(file)
}

fn not_understood(
    source: &Source<'_>,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    rule: Option<&str>,
) -> RuleNote {
    let text = format!("the field `{}` is not understood and has no effect", key.get_ref());
    source.note(text, key.span().start, rule)
}

/// Fields that differ in nothing but their case are the same field; one of them is lost, and that is said.
fn note_repeated(
    source: &Source<'_>,
    table: &DeTable<'_>,
    rule: Option<&str>,
    notes: &mut Vec<RuleNote>,
) {
    if source.built_in {
        return;
    }
    let mut seen = HashSet::new();
    for (key, _) in table {
        if !seen.insert(key.get_ref().to_ascii_lowercase()) {
            let text = format!(
                "the field `{}` is there more than once, in different cases; one of them counts",
                key.get_ref()
            );
            notes.push(source.note(text, key.span().start, rule));
        }
    }
}

fn extend(
    source: &Source<'_>,
    table: &DeTable<'_>,
    offset: usize,
    notes: &mut Vec<RuleNote>,
) -> Result<Extend, RuleError> {
    note_repeated(source, table, None, notes);
    let mut extend = Extend { offset, ..Extend::default() };
    for (key, value) in table {
        let at = |kind| source.error(kind, value.span().start, None);
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
                    .map_err(|(kind, offset)| source.error(kind, offset, None))?;
            }
            _ => notes.push(not_understood(source, key, None)),
        }
    }
    Ok(extend)
}

/// An empty text says as little as none, as in gitleaks.
fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn entry(
    source: &Source<'_>,
    table: &DeTable<'_>,
    offset: usize,
    notes: &mut Vec<RuleNote>,
) -> Result<Entry, RuleError> {
    let named = table.iter().find(|(key, _)| key.get_ref().eq_ignore_ascii_case("id"));
    let id = match named {
        Some((_, value)) => value::text("id", value.get_ref())
            .map_err(|kind| source.error(kind, value.span().start, None))?,
        None => String::new(),
    };
    if id.trim().is_empty() {
        return Err(source.error(RuleErrorKind::NoId, offset, None));
    }
    note_repeated(source, table, Some(&id), notes);
    let mut entry = Entry { offset, id, ..Entry::default() };
    for (key, value) in table {
        let name = key.get_ref().to_ascii_lowercase();
        let known = field(source, &mut entry, &name, value, notes)
            .map_err(|(kind, offset)| source.error(kind, offset, Some(&entry.id)))?;
        if !known {
            notes.push(not_understood(source, key, Some(&entry.id)));
        }
    }
    Ok(entry)
}

/// Puts one field of a rule into its entry; whether it is one.
fn field(
    source: &Source<'_>,
    entry: &mut Entry,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    notes: &mut Vec<RuleNote>,
) -> Result<bool, Problem> {
    let offset = value.span().start;
    let here = |kind| (kind, offset);
    let text = |field| value::text(field, value.get_ref()).map(not_empty).map_err(here);
    let regex = |field| match text(field)? {
        Some(pattern) => source.regex(field, &pattern).map(Some).map_err(here),
        None => Ok(None),
    };
    let list = |field| -> Result<Vec<String>, Problem> {
        Ok(value::texts(field, value)?.into_iter().map(|(text, _)| text).collect())
    };
    match name {
        "id" => {}
        "description" => entry.description = text("description")?,
        "remedy" => entry.remedy = text("remedy")?,
        "regex" => entry.regex = regex("regex")?,
        "assignment" => entry.assignment = regex("assignment")?,
        "path" => entry.path = regex("path")?.map(|regex| regex.text),
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
            // As in gitleaks, group 0 says as much as none.
            entry.secret_group = Some(group).filter(|&group| group > 0);
        }
        "maxlength" => entry.max_length = Some(max_length(value.get_ref()).map_err(here)?),
        "generic" => {
            entry.generic = Some(value::boolean("generic", value.get_ref()).map_err(here)?);
        }
        "skipreport" => {
            entry.skip_report = value::boolean("skipReport", value.get_ref()).map_err(here)?;
        }
        "keywords" => entry.keywords = value::words("keywords", value)?,
        "tags" => entry.tags = value::words("tags", value)?,
        "examples" => entry.examples = Some(list("examples")?),
        "counterexamples" => entry.counter_examples = Some(list("counterExamples")?),
        "allowlist" | "allowlists" => {
            for (table, offset) in value::tables("allowlists", value)? {
                let (allowlist, _) = allowlist(source, table, offset, Some(&entry.id), notes)?;
                entry.allowlists.extend(allowlist);
            }
        }
        "required" => notes.push(source.note(
            "`required` is not applied: the rule also finds what stands alone",
            offset,
            Some(&entry.id),
        )),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The longest that `maxLength` may be: so much is kept at the border of every chunk.
const MAX_LENGTH_LIMIT: usize = 64 << 10;

fn max_length(value: &DeValue<'_>) -> Result<usize, RuleErrorKind> {
    let length = value::count("maxLength", value)?;
    if (1..=MAX_LENGTH_LIMIT).contains(&length) {
        return Ok(length);
    }
    let problem = format!("{length} is not from 1 to {MAX_LENGTH_LIMIT} bytes");
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

/// An allowlist and the rules that it is for. `None`: it can never allow anything.
fn allowlist(
    source: &Source<'_>,
    table: &DeTable<'_>,
    offset: usize,
    rule: Option<&str>,
    notes: &mut Vec<RuleNote>,
) -> Result<(Option<Allowlist>, Vec<String>), Problem> {
    note_repeated(source, table, rule, notes);
    let mut allowlist = Allowlist::default();
    let mut targets = Vec::new();
    let mut by_commit = false;
    for (key, value) in table {
        let here = |kind| (kind, value.span().start);
        let regexes = |field| {
            // An empty one matches everything; nobody means that.
            let patterns =
                value::texts(field, value)?.into_iter().filter(|(pattern, _)| !pattern.is_empty());
            let checked = patterns.map(|(pattern, offset)| {
                source.regex(field, &pattern).map(|regex| regex.text).map_err(|kind| (kind, offset))
            });
            checked.collect::<Result<Vec<_>, Problem>>()
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
                let words = value::words("stopwords", value)?.into_iter();
                // An empty one is in every secret; nobody means that.
                allowlist.stopwords = words
                    .filter(|word| !word.is_empty())
                    .map(|word| word.to_ascii_lowercase())
                    .collect();
            }
            "targetrules" if rule.is_none() => targets = value::words("targetRules", value)?,
            _ => notes.push(not_understood(source, key, rule)),
        }
    }
    let empty = allowlist.paths.is_empty()
        && allowlist.regexes.is_empty()
        && allowlist.stopwords.is_empty();
    let never = empty || by_commit && allowlist.condition == Condition::All;
    match (by_commit, never) {
        (true, true) => notes.push(source.note(
            "the allowlist has no effect: it is for certain commits, and files have none",
            offset,
            rule,
        )),
        (true, false) => notes.push(source.note(
            "`commits` of the allowlist has no effect, as files have none; the rest of it has",
            offset,
            rule,
        )),
        (false, true) => notes.push(source.note(
            "the allowlist has no effect: it has neither paths nor regexes nor stopwords",
            offset,
            rule,
        )),
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
                "{text:?} is no condition: \"or\" (one kind of check is enough) or \"and\""
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
            problem: format!("{text:?} is no target: \"secret\", \"match\" or \"line\""),
        }),
    }
}
