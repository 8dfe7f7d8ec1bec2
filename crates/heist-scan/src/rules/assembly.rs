//! [`Assembly`] merges the rules of one file with the rules that the file extends.
//!
//! As in gitleaks: a rule with the name of an extended rule changes that rule; a disabled rule is
//! gone; an allowlist with `targetRules` becomes part of those rules; and the other allowlists of
//! both sides apply to all rules.

use super::budget::RuleNotes;
use super::build::{self, BuildError};
use super::error::{RuleError, RuleErrorKind};
use super::file::RuleEntry;
use super::gitleaks_names::our_names;
use super::model::{Allowlist, Rule, RuleSet};
use super::names;
use super::rule_text::{RULES_MAX, RuleText};
use std::collections::HashMap;

/// The rules of one file while they are merged with the rules it extends.
pub(super) struct Assembly<'s, 't> {
    rule_text: &'s RuleText<'t>,
    /// The extended rules by name.
    base: HashMap<String, Rule>,
    /// The extended rules, then the new ones; `None` marks a disabled rule.
    rules: Vec<Option<Rule>>,
    /// The index of each rule in `rules`.
    places: HashMap<String, usize>,
    /// The file's own rules, to detect duplicates.
    own: HashMap<String, usize>,
    allowlists: Vec<Allowlist>,
    base_allowlists: Vec<Allowlist>,
}

impl<'s, 't> Assembly<'s, 't> {
    pub(super) fn new(rule_text: &'s RuleText<'t>, base: RuleSet) -> Self {
        let places =
            base.rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
        Self {
            rule_text,
            base: base.rules.iter().map(|rule| (rule.id.clone(), rule.clone())).collect(),
            rules: base.rules.into_iter().map(Some).collect(),
            places,
            own: HashMap::new(),
            allowlists: Vec::new(),
            base_allowlists: base.allowlists,
        }
    }

    /// Returns the rules that `name` refers to: the rule of that name, or heist's rules for that
    /// name in gitleaks.
    fn names<'n>(&self, name: &'n str) -> Vec<&'n str> {
        if self.places.contains_key(name) {
            return vec![name];
        }
        let ours = our_names(name).iter().copied();
        ours.filter(|name| self.places.contains_key(*name)).collect()
    }

    /// Disables an extended rule. Returns `false` if it does not exist.
    pub(super) fn disable(&mut self, name: &str) -> bool {
        let names = self.names(name);
        for name in &names {
            if let Some(at) = self.places.remove(*name) {
                self.rules[at] = None;
            }
            self.base.remove(*name);
        }
        !names.is_empty()
    }

    pub(super) fn add(
        &mut self,
        entry: RuleEntry,
        on_built_in: bool,
        notes: &mut RuleNotes,
    ) -> Result<(), RuleError> {
        let (id, offset) = (entry.id.clone(), entry.offset);
        if entry.skip_report {
            let text = "heist ignores this rule: with `skipReport` it only serves other rules";
            notes.push(|| self.rule_text.note(text, offset, Some(&id)));
            return Ok(());
        }
        if self.own.insert(id.clone(), offset).is_some() {
            let text = "this rule replaces another one with the same `id` in this file; rename one";
            notes.push(|| self.rule_text.note(text, offset, Some(&id)));
        }
        let has_pattern =
            entry.regex.is_some() || entry.assignment.is_some() || entry.detector.is_some();
        let changed =
            if has_pattern || self.base.contains_key(&id) { Vec::new() } else { self.names(&id) };
        if let (Some(our), None) = (changed.first(), self.base.get(&id)) {
            let text = format!("heist calls this rule {our:?}; the change applies there");
            notes.push(|| self.rule_text.note(text, offset, Some(&id)));
            return self.change_by_gitleaks_name(&entry, &changed, notes);
        }
        let base = self.base.get(&id);
        let rule = match build::build(self.rule_text, entry, base, notes) {
            Ok(rule) => rule,
            Err(BuildError::Wrong(kind)) => {
                return Err(self.rule_text.error(kind, offset, Some(&id)));
            }
            Err(BuildError::NoPattern) if on_built_in => {
                let text =
                    "the rule has no effect: it has no pattern, and no built-in rule has this `id`";
                notes.push(|| self.rule_text.note(text, offset, Some(&id)));
                return Ok(());
            }
            Err(BuildError::NoPattern) => {
                let kind = RuleErrorKind::Pattern(
                    "the rule has no pattern; give it a `regex` or a `path`",
                );
                return Err(self.rule_text.error(kind, offset, Some(&id)));
            }
        };
        match self.places.get(&id) {
            Some(&at) => self.rules[at] = Some(rule),
            None => {
                self.places.insert(id, self.rules.len());
                self.rules.push(Some(rule));
            }
        }
        if self.rules.len() > RULES_MAX {
            let kind = RuleErrorKind::TooLarge {
                what: "a set",
                unit: "rules",
                size: self.rules.len(),
                limit: RULES_MAX,
            };
            return Err(self.rule_text.error(kind, offset, None));
        }
        Ok(())
    }

    /// Applies an entry for one of gitleaks' rules to heist's rules for the same secrets.
    fn change_by_gitleaks_name(
        &mut self,
        entry: &RuleEntry,
        ours: &[&str],
        notes: &mut RuleNotes,
    ) -> Result<(), RuleError> {
        let (id, offset) = (entry.id.clone(), entry.offset);
        for our in ours {
            let Some(&at) = self.places.get(*our) else { continue };
            let base = self.rules[at].take();
            match build::build(self.rule_text, entry.clone(), base.as_ref(), notes) {
                Ok(rule) => self.rules[at] = Some(rule),
                Err(BuildError::Wrong(kind)) => {
                    return Err(self.rule_text.error(kind, offset, Some(&id)));
                }
                Err(BuildError::NoPattern) => self.rules[at] = base,
            }
        }
        Ok(())
    }

    /// Adds an allowlist for the rules in `targets`, or for all rules if `targets` is empty.
    pub(super) fn allow(
        &mut self,
        allowlist: &Allowlist,
        targets: &[String],
        offset: usize,
        lenient: bool,
        notes: &mut RuleNotes,
    ) -> Result<(), RuleError> {
        if targets.is_empty() {
            self.allowlists.push(allowlist.clone());
        }
        for target in targets {
            let names = self.names(target);
            if names.is_empty() && lenient {
                let text = format!("`targetRules`: no rule is called {target:?}");
                notes.push(|| self.rule_text.note(text, offset, None));
            } else if names.is_empty() {
                let rules: Vec<_> = self.rules.iter().flatten().cloned().collect();
                return Err(self.rule_text.error(names::unknown(target, &rules), offset, None));
            }
            for name in names {
                if let Some(rule) = self.places.get(name).and_then(|&at| self.rules[at].as_mut()) {
                    let charged = self.rule_text.budget.map(|budget| budget.add_copy(allowlist));
                    charged.transpose().map_err(|kind| self.rule_text.error(kind, offset, None))?;
                    rule.allowlists.push(allowlist.clone());
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> RuleSet {
        self.allowlists.extend(self.base_allowlists);
        RuleSet { rules: self.rules.into_iter().flatten().collect(), allowlists: self.allowlists }
    }
}
