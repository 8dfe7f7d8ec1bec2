//! Several files of rules become one set.
//!
//! Invariant: a later file takes nothing back that it does not speak of. Files that build upon the built-in rules bring
//! all of these along; of them only what such a file changes or switches off counts.

use heist_scan::rules::{Loaded, Rule, RuleSet};
use std::collections::{HashMap, HashSet};

/// The rules of files, in the order in which they were given.
pub(super) struct Merged {
    rules: RuleSet,
    on_built_in: bool,
}

impl Merged {
    /// Those of the first file.
    pub(super) fn new(Loaded { rules, on_built_in, .. }: Loaded) -> Self {
        Self { rules, on_built_in }
    }

    /// Those of one more file.
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
                // A later file may say it better.
                Some(known) => *known = rule,
                // An earlier file has switched it off.
                None if is_unchanged && self.on_built_in => {}
                None => self.rules.rules.push(rule),
            }
        }
        self.rules.allowlists.extend(more.allowlists);
        self.on_built_in |= on_built_in;
    }

    /// All of them.
    pub(super) fn finish(self) -> RuleSet {
        self.rules
    }
}
