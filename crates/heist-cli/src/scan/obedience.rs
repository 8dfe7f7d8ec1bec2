//! Applies [`Policies`] to the [`Settings`] and to the rules of a scan.

use super::origin::{NamedFile, Origin, Setting};
use super::policy::{Demand, Overruled, Policies};
use super::settings::Settings;
use crate::error::CliError;

impl Settings {
    /// Replaces what is weaker than the policies demand.
    ///
    /// # Errors
    /// The command line asks for it.
    pub(super) fn obey(&mut self) -> Result<(), CliError> {
        let Self { policies, overruled, confidence, .. } = self;
        if let Some((most, demand)) = policies.lower_confidence(confidence.value) {
            overruled.extend(forbid("confidence", &confidence.origin, demand)?);
            *confidence = Setting::new(most, Origin::Default);
        }
        reset(policies, "only", &mut self.only, overruled)?;
        reset(policies, "except", &mut self.except, overruled)?;
        reset(policies, "rules", &mut self.rules, overruled)?;
        for (name, is_on) in [("no-generic", &mut self.generic), ("no-decode", &mut self.decode)] {
            let mut is_off = is_on.clone().map(|is_on| !is_on);
            reset(policies, name, &mut is_off, overruled)?;
            *is_on = is_off.map(|is_off| !is_off);
        }
        remove(policies, "max-size", &mut self.max_size, overruled)?;
        remove(policies, "baseline", &mut self.baseline, overruled)
    }

    /// Uses a baseline that heist found by itself, unless a policy forbids it.
    pub(super) fn use_found_baseline(&mut self, found: Option<Setting<NamedFile>>) {
        if let (Some(found), Some(by)) = (&found, self.policies.forbids("baseline")) {
            let file = found.value.path().to_owned();
            self.overruled.push(Overruled { setting: "baseline", file, is_whole_file: true, by });
            return;
        }
        self.baseline_is_found = found.is_some();
        self.baseline = found;
    }
}

/// Decides about a setting that is weaker than a policy demands: in a file it has no effect.
///
/// # Errors
/// The command line has the setting.
pub(super) fn forbid(
    setting: &'static str,
    origin: &Origin,
    by: Demand,
) -> Result<Option<Overruled>, CliError> {
    match origin {
        Origin::UserFile(file) | Origin::Tree(file) => {
            let file = file.to_path_buf();
            Ok(Some(Overruled { setting, file, is_whole_file: false, by }))
        }
        Origin::CommandLine => {
            Err(CliError::AgainstPolicy { what: format!("--{setting}"), demand: by })
        }
        Origin::Default => Ok(None),
    }
}

/// Resets a setting to its default if a policy forbids it.
pub(super) fn reset<T: Default + PartialEq>(
    policies: &Policies,
    name: &'static str,
    setting: &mut Setting<T>,
    overruled: &mut Vec<Overruled>,
) -> Result<(), CliError> {
    if let Some(demand) = policies.forbids(name)
        && setting.value != T::default()
    {
        overruled.extend(forbid(name, &setting.origin, demand)?);
        *setting = Setting::default();
    }
    Ok(())
}

/// Removes a setting if a policy forbids it.
fn remove<T>(
    policies: &Policies,
    name: &'static str,
    setting: &mut Option<Setting<T>>,
    overruled: &mut Vec<Overruled>,
) -> Result<(), CliError> {
    if let (Some(current), Some(demand)) = (&*setting, policies.forbids(name)) {
        overruled.extend(forbid(name, &current.origin, demand)?);
        *setting = None;
    }
    Ok(())
}
