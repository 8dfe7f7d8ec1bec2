//! Several files of rules become one set.
//!
//! Invariant: a later file takes nothing back that it does not speak of. Files that build upon the built-in rules bring
//! all of these along; of them only what such a file changes or switches off counts.

use heist_scan::read_regular;
use heist_scan::rules::{Rule, RuleSet};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// How many files a file may build upon, one upon the other.
const EXTEND_DEPTH_MAX: usize = 2;

/// The largest file that is read.
const BYTES_MAX: u64 = 16 << 20;

/// The rules of files, in the order in which they were given.
pub(super) struct Merged {
    rules: RuleSet,
    on_built_in: bool,
}

impl Merged {
    /// Those of the first file.
    pub(super) fn new(file: &Path, rules: RuleSet) -> Self {
        Self { rules, on_built_in: builds_on_built_in(file, 0) }
    }

    /// Those of one more file.
    pub(super) fn add(&mut self, file: &Path, more: RuleSet) {
        let on_built_in = builds_on_built_in(file, 0);
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

/// Whether a file that could be loaded builds upon the built-in rules, by itself or by one that it extends.
fn builds_on_built_in(file: &Path, depth: usize) -> bool {
    if depth == EXTEND_DEPTH_MAX {
        return false;
    }
    let Some(extend) = extend_of(file) else { return false };
    let uses_default = match field(&extend, "useDefault") {
        Some(Value::Boolean(uses)) => *uses,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let extended = || match field(&extend, "path") {
        Some(Value::String(path)) if !path.is_empty() => {
            // Beside the file, or else, as in gitleaks, below the working directory.
            let beside = file.parent().unwrap_or(Path::new("")).join(path);
            let path = if beside.exists() { beside } else { PathBuf::from(path) };
            builds_on_built_in(&path, depth + 1)
        }
        _ => false,
    };
    uses_default || extended()
}

fn extend_of(file: &Path) -> Option<Table> {
    let text = String::from_utf8(read_regular(file, BYTES_MAX).ok()?).ok()?;
    let table: Table = text.strip_prefix('\u{FEFF}').unwrap_or(&text).parse().ok()?;
    field(&table, "extend")?.as_table().cloned()
}

/// A value by its name, in whatever case.
fn field<'a>(table: &'a Table, name: &str) -> Option<&'a Value> {
    table.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
