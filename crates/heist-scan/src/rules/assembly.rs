//! [`Assembly`]: one file's rules, put together with those that it extends.
//!
//! As in gitleaks: a rule whose name is among the extended ones changes that one; a disabled rule is as if it were not
//! there; allowlists for certain rules become part of these, and the others of both sides hold for all rules.

use super::build::{self, Failed};
use super::error::{RuleError, RuleErrorKind, RuleNote};
use super::file::Entry;
use super::gitleaks_names::our_names;
use super::model::{Allowlist, Rule, RuleSet};
use super::names;
use super::source::{RULES_MAX, Source};
use std::collections::HashMap;

/// One file's rules while they are put together with those that it extends.
pub(super) struct Assembly<'s, 't> {
    source: &'s Source<'t>,
    /// What is extended, by name.
    base: HashMap<String, Rule>,
    /// What is extended or new, in its order; `None` is switched off.
    rules: Vec<Option<Rule>>,
    /// Where a rule is.
    places: HashMap<String, usize>,
    /// The file's own rules, to find those that are there twice.
    own: HashMap<String, usize>,
    allowlists: Vec<Allowlist>,
    base_allowlists: Vec<Allowlist>,
}

impl<'s, 't> Assembly<'s, 't> {
    pub(super) fn new(source: &'s Source<'t>, base: RuleSet) -> Self {
        let places =
            base.rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
        Self {
            source,
            base: base.rules.iter().map(|rule| (rule.id.clone(), rule.clone())).collect(),
            rules: base.rules.into_iter().map(Some).collect(),
            places,
            own: HashMap::new(),
            allowlists: Vec::new(),
            base_allowlists: base.allowlists,
        }
    }

    /// Our names for a rule: its own if it is there.
    fn names<'n>(&self, name: &'n str) -> Vec<&'n str> {
        if self.places.contains_key(name) {
            return vec![name];
        }
        let ours = our_names(name).iter().copied();
        ours.filter(|name| self.places.contains_key(*name)).collect()
    }

    /// Switches off what is extended; whether it is there.
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
        entry: Entry,
        on_built_in: bool,
        notes: &mut Vec<RuleNote>,
    ) -> Result<(), RuleError> {
        let (id, offset) = (entry.id.clone(), entry.offset);
        if entry.skip_report {
            let text = "the rule is left out, as it is only there for rules that require it (`skipReport`)";
            notes.push(self.source.note(text, offset, Some(&id)));
            return Ok(());
        }
        if self.own.insert(id.clone(), offset).is_some() {
            let text = "another rule of this file has the same `id` and is replaced by this one; rename one of them";
            notes.push(self.source.note(text, offset, Some(&id)));
        }
        let has_pattern =
            entry.regex.is_some() || entry.assignment.is_some() || entry.detector.is_some();
        let changed =
            if has_pattern || self.base.contains_key(&id) { Vec::new() } else { self.names(&id) };
        if let (Some(our), None) = (changed.first(), self.base.get(&id)) {
            let text = format!("changes what is called {our:?} here");
            notes.push(self.source.note(text, offset, Some(&id)));
            return self.change_otherwise_called(&entry, &changed, notes);
        }
        let base = self.base.get(&id);
        let rule = match build::build(self.source, entry, base, notes) {
            Ok(rule) => rule,
            Err(Failed::Wrong(kind)) => return Err(self.source.error(kind, offset, Some(&id))),
            Err(Failed::NoPattern) if on_built_in => {
                let text =
                    "the rule has no effect: it changes a rule that is not among the built-in ones";
                notes.push(self.source.note(text, offset, Some(&id)));
                return Ok(());
            }
            Err(Failed::NoPattern) => {
                let kind = RuleErrorKind::Pattern(
                    "the rule looks for nothing; give it a `regex` or a `path`",
                );
                return Err(self.source.error(kind, offset, Some(&id)));
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
                what: "a set of rules",
                unit: "rules",
                size: self.rules.len(),
                limit: RULES_MAX,
            };
            return Err(self.source.error(kind, offset, None));
        }
        Ok(())
    }

    /// What a file says about a rule of gitleaks, upon those that we have in its place.
    fn change_otherwise_called(
        &mut self,
        entry: &Entry,
        ours: &[&str],
        notes: &mut Vec<RuleNote>,
    ) -> Result<(), RuleError> {
        let (id, offset) = (entry.id.clone(), entry.offset);
        for our in ours {
            let Some(&at) = self.places.get(*our) else { continue };
            let base = self.rules[at].take();
            match build::build(self.source, entry.clone(), base.as_ref(), notes) {
                Ok(rule) => self.rules[at] = Some(rule),
                Err(Failed::Wrong(kind)) => return Err(self.source.error(kind, offset, Some(&id))),
                Err(Failed::NoPattern) => self.rules[at] = base,
            }
        }
        Ok(())
    }

    /// An allowlist for all rules, or for those that it names.
    pub(super) fn allow(
        &mut self,
        allowlist: &Allowlist,
        targets: &[String],
        offset: usize,
        lenient: bool,
        notes: &mut Vec<RuleNote>,
    ) -> Result<(), RuleError> {
        if targets.is_empty() {
            self.allowlists.push(allowlist.clone());
        }
        for target in targets {
            let names = self.names(target);
            if names.is_empty() && lenient {
                let text = format!("`targetRules`: there is no rule {target:?}");
                notes.push(self.source.note(text, offset, None));
            } else if names.is_empty() {
                let rules: Vec<_> = self.rules.iter().flatten().cloned().collect();
                return Err(self.source.error(names::unknown(target, &rules), offset, None));
            }
            for name in names {
                if let Some(rule) = self.places.get(name).and_then(|&at| self.rules[at].as_mut()) {
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
