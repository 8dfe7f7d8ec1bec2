//! Loads rules and builds the detector that the settings ask for.

use super::origin::{NamedFile, Setting, SettingName};
use super::rule_files::MergedRules;
use super::settings::Settings;
use crate::error::CliError;
use crate::escape;
use crate::messages::Messages;
use heist_scan::rules::{Loaded, RuleError, RuleSet};
use heist_scan::{DetectorOptions, SecretDetector};
use std::collections::HashSet;

/// Loads the rules of these files, or the built-in rules if there are none, and prints notes about
/// the files.
///
/// # Errors
/// A file cannot be read or is not valid.
pub(crate) fn load(
    files: &[NamedFile],
    messages: &Messages,
    quiet: bool,
) -> Result<RuleSet, CliError> {
    let [first, others @ ..] = files else { return Ok(RuleSet::builtin()) };
    let mut merged = MergedRules::new(load_file(first, messages, quiet)?);
    for file in others {
        merged.add(load_file(file, messages, quiet)?);
    }
    Ok(merged.finish())
}

/// Loads the rules of one file and prints notes about it.
///
/// # Errors
/// The file cannot be read or is not valid.
pub(crate) fn load_file(
    file: &NamedFile,
    messages: &Messages,
    quiet: bool,
) -> Result<Loaded, CliError> {
    let loaded = file.load_rules()?;
    for note in loaded.notes.iter().filter(|_| !quiet) {
        messages.say(&format!("note: {}", escape::visible(&note.to_string())));
    }
    Ok(loaded)
}

/// Builds the detector that the settings ask for.
///
/// # Errors
/// A rule file is not valid, a rule id is unknown, or no rule is left.
pub(crate) fn detector(
    settings: &Settings,
    messages: &Messages,
) -> Result<SecretDetector, CliError> {
    let mut rules = load(&settings.rules.value, messages, settings.quiet)?;
    let Settings { only, except, .. } = settings;
    let by = |key, setting: &Setting<_>, source: RuleError| CliError::RuleSelection {
        setting: SettingName { origin: setting.origin.clone(), key },
        source: Box::new(source),
    };
    // Check both against all rules: an id is not unknown only because the other option excludes it.
    let left = rules.clone().except(&except.value);
    let left = left.map_err(|error| by("except", except, error))?;
    let left: HashSet<&str> = left.rules.iter().map(|rule| &*rule.id).collect();
    if !only.value.is_empty() {
        rules = rules.only(&only.value).map_err(|error| by("only", only, error))?;
    }
    rules.rules.retain(|rule| left.contains(&*rule.id));
    if rules.rules.is_empty() {
        return Err(CliError::NoRuleLeft);
    }
    let options = DetectorOptions::default()
        .noise_filter(settings.noise_filter)
        .decode(settings.decode.value)
        .generic(settings.generic.value);
    Ok(SecretDetector::new(rules, options))
}
