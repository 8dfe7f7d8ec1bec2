//! The detector that the options ask for.

use super::rule_files::Merged;
use super::settings::{Names, Settings};
use crate::escape;
use crate::messages::{Messages, reason};
use heist_scan::rules::{Loaded, RuleError, RuleErrorKind, RulePlace, RuleSet};
use heist_scan::{DetectorOptions, SecretDetector};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The rules of these files, or the built-in ones if there are none. What is worth knowing about them is said.
///
/// # Errors
/// A file cannot be read or used; the text says why.
pub(crate) fn load(files: &[PathBuf], messages: &Messages, quiet: bool) -> Result<RuleSet, String> {
    let [first, others @ ..] = files else { return Ok(RuleSet::builtin()) };
    let mut merged = Merged::new(load_file(first, messages, quiet)?);
    for file in others {
        merged.add(load_file(file, messages, quiet)?);
    }
    Ok(merged.finish())
}

/// The rules of one file.
///
/// # Errors
/// It cannot be read or used; the text says why.
pub(crate) fn load_file(file: &Path, messages: &Messages, quiet: bool) -> Result<Loaded, String> {
    let loaded = RuleSet::load(file).map_err(|error| shown(&error))?;
    for note in loaded.notes.iter().filter(|_| !quiet) {
        messages.say(&format!("note: {}", escape::visible(&note.to_string())));
    }
    Ok(loaded)
}

/// The detector that the options ask for.
///
/// # Errors
/// The rules cannot be used, or none is left; the text says why.
pub(crate) fn detector(settings: &Settings, messages: &Messages) -> Result<SecretDetector, String> {
    let mut rules = load(&settings.rules, messages, settings.quiet)?;
    let Settings { only, except, .. } = settings;
    let by = |names: &Names, error: &RuleError| format!("{}: {}", names.given_by, shown(error));
    // Both are compared with all rules: that a rule was not chosen does not make its name wrong.
    let left = rules.clone().except(&except.ids).map_err(|error| by(except, &error))?;
    let left: HashSet<&str> = left.rules.iter().map(|rule| &*rule.id).collect();
    if !only.ids.is_empty() {
        rules = rules.only(&only.ids).map_err(|error| by(only, &error))?;
    }
    rules.rules.retain(|rule| left.contains(&*rule.id));
    if rules.rules.is_empty() {
        return Err("there is no rule left to look for anything with".into());
    }
    let options = DetectorOptions::default()
        .noise_filter(settings.noise_filter)
        .decode(settings.decode)
        .generic(settings.generic);
    Ok(SecretDetector::new(rules, options))
}

/// What is wrong with rules, fit to be shown, and what to do.
pub(crate) fn shown(error: &RuleError) -> String {
    let RulePlace { origin, rule, line } = &error.place;
    let path = origin.as_deref().map(|path| escape::for_terminal(path.as_os_str()));
    let path = path.as_deref();
    if let (RuleErrorKind::Read(source), Some(path)) = (&error.kind, path) {
        return format!(
            "cannot read the rules '{path}': {}; give a file of rules, or none to use the built-in ones",
            reason(source)
        );
    }
    let place = match (path, line) {
        (Some(path), Some(line)) => format!("{path}:{line}: "),
        (Some(path), None) => format!("'{path}': "),
        (None, _) => String::new(),
    };
    let rule = rule.as_ref().map(|rule| format!("rule {rule:?}: ")).unwrap_or_default();
    let remedy = match &error.kind {
        RuleErrorKind::UnknownRule { .. } if path.is_none() => " (`heist rules list` has them all)",
        _ => "",
    };
    let what =
        escape::visible(&without_code(&error.kind.to_string()).replace('\n', " ")).into_owned();
    format!("{place}{}{what}{remedy}", escape::visible(&rule))
}

/// A text without the number that the system has for an error in it: as other tools say it.
fn without_code(text: &str) -> String {
    const CODE: &str = " (os error ";
    match text.split_once(CODE).and_then(|(start, rest)| Some((start, rest.split_once(')')?))) {
        Some((start, (code, end))) if code.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{start}{end}")
        }
        _ => text.to_owned(),
    }
}
