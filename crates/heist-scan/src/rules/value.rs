//! Reads TOML values. As lenient as gitleaks: a string may stand for a number, and a single value
//! for a list.

use super::error::RuleErrorKind;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

fn wrong_type(field: &'static str, expected: &str, value: &DeValue<'_>) -> RuleErrorKind {
    RuleErrorKind::Value {
        field,
        problem: format!("expected {expected}, found {}", with_article(value.type_str())),
    }
}

/// Puts "a" or "an" before the noun.
fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

pub(super) fn text(field: &'static str, value: &DeValue<'_>) -> Result<String, RuleErrorKind> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => Err(wrong_type(field, "a string", value)),
    }
}

/// Reads a list of strings, each with its offset in the file. A single string counts as a list of
/// one.
pub(super) fn texts(
    field: &'static str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<(String, usize)>, (RuleErrorKind, usize)> {
    let one = |value: &Spanned<DeValue<'_>>| {
        let offset = value.span().start;
        text(field, value.get_ref()).map(|text| (text, offset)).map_err(|kind| (kind, offset))
    };
    match value.get_ref() {
        DeValue::Array(values) => values.iter().map(one).collect(),
        DeValue::String(_) => Ok(vec![one(value)?]),
        other => Err((wrong_type(field, "a list of strings", other), value.span().start)),
    }
}

/// Reads a list of words. A single string is split at its commas.
pub(super) fn words(
    field: &'static str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, (RuleErrorKind, usize)> {
    let alone = value.get_ref().is_str();
    let texts = texts(field, value)?.into_iter().map(|(text, _)| text);
    if alone {
        return Ok(texts
            .flat_map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect());
    }
    Ok(texts.collect())
}

/// Reads a finite number.
pub(super) fn number(field: &'static str, value: &DeValue<'_>) -> Result<f64, RuleErrorKind> {
    let number: Option<f64> = match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number as f64)
        }
        DeValue::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| wrong_type(field, "a number", value))
}

/// Reads a whole number that is not negative.
pub(super) fn count(field: &'static str, value: &DeValue<'_>) -> Result<usize, RuleErrorKind> {
    let count = match value {
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    count.ok_or_else(|| wrong_type(field, "a whole number of 0 or more", value))
}

pub(super) fn boolean(field: &'static str, value: &DeValue<'_>) -> Result<bool, RuleErrorKind> {
    match value {
        DeValue::Boolean(value) => Ok(*value),
        DeValue::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        DeValue::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(wrong_type(field, "true or false", value)),
    }
}

pub(super) fn table<'v, 'i>(
    field: &'static str,
    value: &'v DeValue<'i>,
) -> Result<&'v DeTable<'i>, RuleErrorKind> {
    value.as_table().ok_or_else(|| wrong_type(field, "a table", value))
}

/// Reads a list of tables, each with its offset in the file. A single table counts as a list of
/// one.
pub(super) fn tables<'v, 'i>(
    field: &'static str,
    value: &'v Spanned<DeValue<'i>>,
) -> Result<Vec<(&'v DeTable<'i>, usize)>, (RuleErrorKind, usize)> {
    let one = |value: &'v Spanned<DeValue<'i>>| {
        let offset = value.span().start;
        table(field, value.get_ref()).map(|table| (table, offset)).map_err(|kind| (kind, offset))
    };
    match value.get_ref() {
        DeValue::Array(values) => values.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}
