//! Loads rules and builds the detector that the settings ask for.

use super::hidden::HidingSetting;
use super::obedience::forbid;
use super::origin::{NamedFile, Origin, Setting, SettingName};
use super::policy::{Demand, Overruled};
use super::rule_files::MergedRules;
use super::settings::Settings;
use crate::error::CliError;
use crate::escape;
use crate::messages::Messages;
use heist_scan::rules::{Allowlist, Loaded, Rule, RuleError, RuleLoader, RuleSet};
use heist_scan::{DetectorOptions, SecretDetector, TreeRules};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How long after `--timeout` the loading of rules becomes an error. Ordinary rules take a few
/// milliseconds, and a report that says how far the scan came is more useful than an error.
const LOADING_GRACE: Duration = Duration::from_millis(500);

/// Loads the rules of these files, or the built-in rules if there are none, and prints notes about
/// the files.
///
/// # Errors
/// A file cannot be read or is not valid.
pub(crate) fn load(
    files: &[NamedFile],
    loader: &RuleLoader,
    messages: &Messages,
    quiet: bool,
) -> Result<RuleSet, CliError> {
    let [first, others @ ..] = files else { return Ok(RuleSet::builtin()) };
    let mut merged = MergedRules::new(load_file(first, loader, messages, quiet)?);
    for file in others {
        merged.add(load_file(file, loader, messages, quiet)?);
    }
    Ok(merged.finish())
}

/// Loads the rules of one file and prints notes about it.
///
/// # Errors
/// The file cannot be read or is not valid.
pub(crate) fn load_file(
    file: &NamedFile,
    loader: &RuleLoader,
    messages: &Messages,
    quiet: bool,
) -> Result<Loaded, CliError> {
    let loaded = file.load_rules(loader)?;
    for note in loaded.notes.iter().filter(|_| !quiet) {
        messages.say(&format!("note: {}", escape::visible(&note.to_string())));
    }
    Ok(loaded)
}

/// A detector, and what the scanned tree switches off in it.
#[derive(Debug)]
pub(crate) struct Detection {
    pub(crate) detector: SecretDetector,
    /// The rules that the tree switches off, and what does so.
    pub(crate) off: HashMap<String, HidingSetting>,
    /// What the policies overrule about the rules.
    pub(crate) overruled: Vec<Overruled>,
}

/// The rules that the user chose, and what the tree changes about them.
#[derive(Default)]
struct Selection {
    chosen: RuleSet,
    tree: TreeRules,
    off: HashMap<String, HidingSetting>,
}

/// Builds the detector that the settings ask for. What the tree switches off is searched for all
/// the same, so that heist can count what the tree hides.
///
/// # Errors
/// A rule file is not valid, a rule id is unknown, or no rule is left.
pub(crate) fn detector(settings: &Settings, messages: &Messages) -> Result<Detection, CliError> {
    let Settings { rules: files, only, except, generic, decode, .. } = settings;
    let deadline = settings.deadline.and_then(|deadline| deadline.checked_add(LOADING_GRACE));
    let loader = RuleLoader::new().deadline(deadline);
    let loaded = load(&files.value, &loader, messages, settings.quiet)?;
    let mut selection = match files.is_of_tree() {
        true => Selection::of_tree(RuleSet::builtin(), loaded),
        false => Selection { chosen: loaded, ..Selection::default() },
    };
    let all = selection.all();
    let by = |key, setting: &Setting<_>, source: RuleError| CliError::RuleSelection {
        setting: SettingName { origin: setting.origin.clone(), key },
        source: Box::new(source),
    };
    // Check both against all rules: an id is not unknown only because the other option excludes it.
    let left = all.clone().except(&except.value);
    let left = ids(left.map_err(|error| by("except", except, error))?);
    if !only.value.is_empty() {
        let left = all.only(&only.value).map_err(|error| by("only", only, error))?;
        selection.keep(&ids(left), only.is_of_tree().then_some(HidingSetting::Only));
    }
    selection.keep(&left, except.is_of_tree().then_some(HidingSetting::Except));
    if generic.is_of_tree() && !generic.value {
        let all = selection.all().rules.into_iter();
        let left = all.filter(|rule| !rule.generic).map(|rule| rule.id).collect();
        selection.keep(&left, Some(HidingSetting::NoGeneric));
    }
    let mut generic = generic.clone();
    let overruled = selection.require(settings, &mut generic)?;
    let Selection { chosen, mut tree, off } = selection;
    if chosen.rules.is_empty() && tree.added.is_empty() {
        return Err(CliError::NoRuleLeft);
    }
    tree.off = off.keys().cloned().collect();
    tree.no_decode = decode.is_of_tree() && !decode.value;
    let options = DetectorOptions::default()
        .noise_filter(settings.noise_filter)
        .decode(decode.value || tree.no_decode)
        .generic(generic.value || generic.is_of_tree());
    let detector = SecretDetector::with_tree_rules(chosen, tree, options);
    Ok(Detection { detector, off, overruled })
}

impl Selection {
    /// The `loaded` rules of the tree replace the chosen ones, as in gitleaks.
    fn of_tree(chosen: RuleSet, loaded: RuleSet) -> Self {
        let mut tree = TreeRules::default();
        let RuleSet { rules, allowlists, .. } = loaded;
        tree.allowlists =
            allowlists.into_iter().filter(|list| !chosen.allowlists.contains(list)).collect();
        let by_id: HashMap<&str, &Rule> =
            chosen.rules.iter().map(|rule| (&*rule.id, rule)).collect();
        let (same, mut added): (Vec<Rule>, Vec<Rule>) =
            rules.into_iter().partition(|rule| by_id.get(&*rule.id) == Some(&rule));
        for rule in &mut added {
            rule.allowlists.extend(tree.allowlists.iter().cloned());
        }
        tree.added = added;
        let same: HashSet<String> = same.into_iter().map(|rule| rule.id).collect();
        let off = chosen.rules.iter().filter(|rule| !same.contains(&rule.id));
        let off = off.map(|rule| (rule.id.clone(), HidingSetting::Rules)).collect();
        Self { chosen, tree, off }
    }

    /// Returns all rules, those of the tree last.
    fn all(&self) -> RuleSet {
        let rules = self.chosen.rules.iter().chain(&self.tree.added).cloned().collect();
        let mut all = RuleSet::default();
        all.rules = rules;
        all
    }

    /// Adds the rules that the policies demand, where a setting has removed, changed or switched
    /// them off, and keeps the allowlists of rule files away from them. Returns what has no effect.
    ///
    /// # Errors
    /// The command line keeps a rule from running, or a policy names an unknown rule.
    fn require(
        &mut self,
        settings: &Settings,
        generic: &mut Setting<bool>,
    ) -> Result<Vec<Overruled>, CliError> {
        let Settings { only, except, rules: files, .. } = settings;
        let mut demanded = HashSet::new();
        let mut overruled = Vec::new();
        for (ids, by) in settings.policies.rules() {
            let mut blame = |setting, origin: &Origin| -> Result<(), CliError> {
                let without_effect = forbid(setting, origin, Demand::clone(&by))?;
                overruled.extend(without_effect.filter(|new| !overruled.contains(new)));
                Ok(())
            };
            for rule in RuleSet::builtin().only(ids)?.rules {
                if rule.generic && !generic.value && !generic.is_of_tree() {
                    blame("no-generic", &generic.origin)?;
                }
                if !self.chosen.rules.contains(&rule) {
                    for (setting, origin, is_set) in [
                        ("only", &only.origin, !only.value.is_empty()),
                        ("except", &except.origin, !except.value.is_empty()),
                        ("rules", &files.origin, !files.value.is_empty()),
                    ] {
                        if is_set {
                            blame(setting, origin)?;
                        }
                    }
                    self.chosen.rules.retain(|known| known.id != rule.id);
                    self.chosen.rules.push(rule.clone());
                } else if let Some(setting) = self.off.remove(&rule.id)
                    && let Some(file) = settings.tree_file()
                {
                    blame(setting.as_str(), &Origin::Tree(file.into()))?;
                }
                demanded.insert(rule.id);
            }
            if !self.tree.allowlists.is_empty() {
                blame("rules", &files.origin)?;
                self.tree.allowlists.clear();
            }
        }
        if demanded.is_empty() {
            return Ok(overruled);
        }
        self.keep_allowlists_from(&demanded);
        if !generic.value && !generic.is_of_tree() {
            // The detector's switch would also turn off the demanded ones.
            let stays = |rule: &Rule| !rule.generic || demanded.contains(&rule.id);
            self.chosen.rules.retain(stays);
            self.tree.added.retain(|rule| !rule.generic);
            *generic = Setting::new(true, Origin::Default);
        }
        Ok(overruled)
    }

    /// Lets allowlists that are not built in apply only to rules that no policy demands.
    fn keep_allowlists_from(&mut self, demanded: &HashSet<String>) {
        let built_in = RuleSet::builtin().allowlists;
        let all = std::mem::take(&mut self.chosen.allowlists);
        let (built_in, of_files): (Vec<Allowlist>, Vec<Allowlist>) =
            all.into_iter().partition(|list| built_in.contains(list));
        self.chosen.allowlists = built_in;
        for rule in self.chosen.rules.iter_mut().filter(|rule| !demanded.contains(&rule.id)) {
            rule.allowlists.extend(of_files.iter().cloned());
        }
    }

    /// Keeps only the rules with these ids. If a setting of the tree chose them, the other rules
    /// are only switched off.
    fn keep(&mut self, ids: &HashSet<String>, of_tree: Option<HidingSetting>) {
        self.tree.added.retain(|rule| ids.contains(&rule.id));
        match of_tree {
            None => self.chosen.rules.retain(|rule| ids.contains(&rule.id)),
            Some(setting) => {
                let others = self.chosen.rules.iter().filter(|rule| !ids.contains(&rule.id));
                for rule in others {
                    self.off.entry(rule.id.clone()).or_insert(setting);
                }
            }
        }
    }
}

fn ids(rules: RuleSet) -> HashSet<String> {
    rules.rules.into_iter().map(|rule| rule.id).collect()
}
