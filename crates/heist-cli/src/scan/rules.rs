//! The detector that the options ask for.

use super::rule_files::Merged;
use super::settings::{Names, Settings};
use crate::escape;
use crate::messages::Messages;
use heist_scan::rules::{Loaded, RuleError, RuleSet};
use heist_scan::{DetectorOptions, SecretDetector};
use std::path::{Path, PathBuf};

/// The rules of these files, or the built-in ones if there are none. What is worth knowing about them is said.
///
/// # Errors
/// A file cannot be read or used; the text says why.
pub(crate) fn load(files: &[PathBuf], messages: &Messages, quiet: bool) -> Result<RuleSet, String> {
    let [first, others @ ..] = files else { return Ok(RuleSet::builtin()) };
    let mut merged = Merged::new(first, load_file(first, messages, quiet)?);
    for file in others {
        merged.add(file, load_file(file, messages, quiet)?);
    }
    Ok(merged.finish())
}

/// The rules of one file.
///
/// # Errors
/// It cannot be read or used; the text says why.
pub(crate) fn load_file(file: &Path, messages: &Messages, quiet: bool) -> Result<RuleSet, String> {
    let Loaded { rules, notes } = RuleSet::load(file).map_err(|error| shown(&error))?;
    for note in notes.iter().filter(|_| !quiet) {
        messages.say(&format!("note: {}", escape::visible(&note.to_string())));
    }
    Ok(rules)
}

/// The detector that the options ask for.
///
/// # Errors
/// The rules cannot be used, or none is left; the text says why.
pub(crate) fn detector(settings: &Settings, messages: &Messages) -> Result<SecretDetector, String> {
    let mut rules = load(&settings.rules, messages, settings.quiet)?;
    let Settings { only, except, .. } = settings;
    let by = |names: &Names, error: &RuleError| format!("{}: {}", names.given_by, shown(error));
    if !only.ids.is_empty() {
        rules = rules.only(&only.ids).map_err(|error| by(only, &error))?;
    }
    if !except.ids.is_empty() {
        rules = rules.except(&except.ids).map_err(|error| by(except, &error))?;
    }
    if rules.rules.is_empty() {
        return Err("there is no rule left to look for anything with".into());
    }
    let options = DetectorOptions {
        noise_filter: settings.noise_filter,
        decode: settings.decode,
        generic: settings.generic,
        ..DetectorOptions::default()
    };
    Ok(SecretDetector::new(rules, options))
}

fn shown(error: &RuleError) -> String {
    escape::visible(&error.to_string().replace('\n', " ")).into_owned()
}
