//! Merges several rule files into one rule set.
//!
//! Invariant: a later file changes only the rules that it names. A file that extends the built-in
//! rules contains all of them after loading; only those that the file changes or disables count.

use heist_scan::rules::{Loaded, Rule, RuleSet};
use std::collections::{HashMap, HashSet};

/// The rules of the files read so far.
pub(super) struct MergedRules {
    rules: RuleSet,
    on_built_in: bool,
}

impl MergedRules {
    /// Starts with the rules of the first file.
    pub(super) fn new(Loaded { rules, on_built_in, .. }: Loaded) -> Self {
        Self { rules, on_built_in }
    }

    /// Adds the rules of another file.
    pub(super) fn add(&mut self, Loaded { rules: more, on_built_in, .. }: Loaded) {
        let built_in = if on_built_in { RuleSet::builtin().rules } else { Vec::new() };
        let named: HashSet<&str> = more.rules.iter().map(|rule| &*rule.id).collect();
        let off: HashSet<&str> =
            built_in.iter().map(|rule| &*rule.id).filter(|id| !named.contains(id)).collect();
        self.rules.rules.retain(|rule| !off.contains(&*rule.id));
        let built_in: HashMap<&str, &Rule> =
            built_in.iter().map(|rule| (&*rule.id, rule)).collect();
        for rule in more.rules {
            let is_unchanged = built_in.get(&*rule.id) == Some(&&rule);
            match self.rules.rules.iter_mut().find(|known| known.id == rule.id) {
                Some(_) if is_unchanged => {}
                // The later file redefines the rule.
                Some(known) => *known = rule,
                // An earlier file has disabled the rule.
                None if is_unchanged && self.on_built_in => {}
                None => self.rules.rules.push(rule),
            }
        }
        self.rules.allowlists.extend(more.allowlists);
        self.on_built_in |= on_built_in;
    }

    /// Returns the merged rule set.
    pub(super) fn finish(self) -> RuleSet {
        self.rules
    }
}
