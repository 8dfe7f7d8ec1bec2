//! Loads a rule file together with the files it extends.
//!
//! Invariants:
//! - no input makes the loader panic, hang or use unbounded memory: files, rules and expressions
//!   have size limits, and only regular files are read;
//! - nothing is dropped silently: whatever heist ignores causes an error or a note;
//! - extended rules come first, in their order, followed by the file's own.
//!
//! Not guaranteed: that the built-in rules' expressions are valid. A test checks them, so that not
//! every start has to.

use super::assembly::Assembly;
use super::budget::{RuleBudget, RuleNotes};
use super::data;
use super::error::{RuleError, RuleErrorKind, RuleNote};
use super::file::{self, Extend};
use super::model::RuleSet;
use super::rule_text::{FILE_BYTES_MAX, RuleText};
use crate::small_file::{read_small_file, read_small_file_below};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

/// How deep `extend` may nest. The same limit as in gitleaks.
const EXTEND_DEPTH_MAX: usize = 2;

/// Loaded rules, with notes about them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The rules.
    pub rules: RuleSet,
    /// Remarks for the author of the file, such as unknown fields or a limited match length.
    pub notes: Vec<RuleNote>,
    /// `true` if the file, or a file that it extends, sets `extend.useDefault`. Then `rules`
    /// contains all built-in rules except the disabled ones.
    pub on_built_in: bool,
}

impl RuleSet {
    /// Returns the rules that come with heist. They are parsed once; later calls copy them.
    ///
    /// ```
    /// let rules = heist_scan::rules::RuleSet::builtin();
    /// assert!(rules.rules.iter().any(|rule| rule.id == "generic-secret"));
    /// ```
    #[must_use]
    pub fn builtin() -> Self {
        static BUILT_IN: OnceLock<RuleSet> = OnceLock::new();
        BUILT_IN.get_or_init(read_built_in).clone()
    }

    /// Loads a rule file in gitleaks' format or in heist's extension of it.
    ///
    /// # Errors
    ///
    /// Returns an error if the file, or a file that it extends, cannot be read, is too large, is
    /// not valid TOML, or contains an invalid value. An unknown field is not an error; it causes a
    /// note.
    pub fn load(path: &Path) -> Result<Loaded, RuleError> {
        RuleLoader::new().load(path)
    }

    /// Loads a rule file below `directory`. Neither this file nor the files that it extends may lie
    /// elsewhere, and no symbolic link is followed on the way: for a directory that is not trusted.
    ///
    /// # Errors
    ///
    /// The same as for [`RuleSet::load`]; also, if a file is not below the directory.
    pub fn load_below(directory: &Path, file: &Path) -> Result<Loaded, RuleError> {
        RuleLoader::new().load_below(directory, file)
    }

    /// Parses rules from a text. Errors call it `origin`; files that it extends are searched for
    /// next to `origin`.
    ///
    /// ```
    /// let text = r#"
    ///     [[rules]]
    ///     id = "house-token"
    ///     regex = '''house_[a-z0-9]{32}'''
    ///     keywords = ["house_"]
    /// "#;
    /// let loaded = heist_scan::rules::RuleSet::parse(text, "house.toml")?;
    /// assert_eq!(loaded.rules.rules[0].max_length, 38);
    /// assert!(loaded.notes.is_empty());
    /// # Ok::<(), heist_scan::rules::RuleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`RuleSet::load`].
    pub fn parse(text: &str, origin: &str) -> Result<Loaded, RuleError> {
        RuleLoader::new().load_text(text, Path::new(origin))
    }
}

/// Loads several rule files, which share one budget: the number and the size of their expressions
/// and keywords are limited, because the author of the files that are scanned may have written
/// the rule file, too.
#[derive(Debug, Default)]
pub struct RuleLoader {
    budget: RuleBudget,
}

impl RuleLoader {
    /// Creates a loader.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when loading must end. `None` by default.
    #[must_use]
    pub fn deadline(self, deadline: Option<Instant>) -> Self {
        Self { budget: RuleBudget::new(deadline) }
    }

    /// Loads a rule file, as [`RuleSet::load`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`RuleSet::load`], with the files that this loader has loaded before counted
    /// in; and an error if the deadline has passed.
    pub fn load(&self, path: &Path) -> Result<Loaded, RuleError> {
        let text = read_file(path).map_err(|kind| RuleError::new(kind).in_file(path))?;
        self.load_text(&text, path)
    }

    /// Loads a rule file below `directory`, as [`RuleSet::load_below`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`load`](Self::load); also, if a file is not below the directory.
    pub fn load_below(&self, directory: &Path, file: &Path) -> Result<Loaded, RuleError> {
        let path = directory.join(file);
        let loader = Loader { below: Some(directory.to_owned()), ..Loader::new(&self.budget) };
        let text = loader.read(&path).map_err(|kind| RuleError::new(kind).in_file(&path))?;
        loader.load(&text, &path)
    }

    fn load_text(&self, text: &str, origin: &Path) -> Result<Loaded, RuleError> {
        Loader::new(&self.budget).load(text, origin)
    }
}

/// # Panics
///
/// Panics if the built-in rules are invalid, which a test rules out.
fn read_built_in() -> RuleSet {
    match parse_built_in(&data::FILES) {
        Ok(loaded) => loaded.rules,
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn parse_built_in(files: &[(&str, &str)]) -> Result<Loaded, RuleError> {
    let budget = RuleBudget::default();
    let mut loader = Loader::new(&budget);
    let mut rules = RuleSet::default();
    for (name, text) in files {
        let rule_text = RuleText::new(Path::new(name), text, None);
        let file = file::read(&rule_text, &mut loader.notes)?;
        let read = loader.assemble(&rule_text, file, RuleSet::default(), 0)?;
        rules.rules.extend(read.rules);
        rules.allowlists.extend(read.allowlists);
    }
    Ok(loader.loaded(rules))
}

/// Reads the text of a regular file, up to the size limit.
fn read_file(path: &Path) -> Result<String, RuleErrorKind> {
    text_of(read_small_file(path, FILE_BYTES_MAX as u64))
}

fn text_of(read: io::Result<Vec<u8>>) -> Result<String, RuleErrorKind> {
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => file_too_large(FILE_BYTES_MAX + 1),
        _ => RuleErrorKind::Read(error),
    })?;
    String::from_utf8(bytes).map_err(|_| RuleErrorKind::NotText)
}

fn file_too_large(size: usize) -> RuleErrorKind {
    RuleErrorKind::TooLarge { what: "a file", unit: "bytes", size, limit: FILE_BYTES_MAX }
}

/// The state while a file and the files it extends are loaded.
struct Loader<'b> {
    budget: &'b RuleBudget,
    notes: RuleNotes,
    /// `true` once a file extends the built-in rules. From then on, unknown rule names may be
    /// gitleaks' names of rules that heist does not have, so they are not errors.
    on_built_in: bool,
    /// The canonical paths of the files being read, each of which extends the next.
    open: Vec<PathBuf>,
    /// The directory that every file must be below, if there is one.
    below: Option<PathBuf>,
}

impl<'b> Loader<'b> {
    fn new(budget: &'b RuleBudget) -> Self {
        let notes = RuleNotes::default();
        Self { budget, notes, on_built_in: false, open: Vec::new(), below: None }
    }

    fn load(mut self, text: &str, origin: &Path) -> Result<Loaded, RuleError> {
        let rules = self.file(text, origin, 0)?;
        Ok(self.loaded(rules))
    }

    fn loaded(self, rules: RuleSet) -> Loaded {
        Loaded { rules, notes: self.notes.finish(), on_built_in: self.on_built_in }
    }

    /// Reads a file, below the directory if there is one.
    fn read(&self, path: &Path) -> Result<String, RuleErrorKind> {
        let Some(directory) = &self.below else { return read_file(path) };
        let outside = || {
            let why = "it is not below the directory of the configuration that leads to it";
            RuleErrorKind::Read(io::Error::new(io::ErrorKind::PermissionDenied, why))
        };
        let file = path.strip_prefix(directory).map_err(|_| outside())?;
        text_of(read_small_file_below(directory, file, FILE_BYTES_MAX as u64))
    }

    /// Loads the rules of one file and the files it extends.
    fn file(&mut self, text: &str, origin: &Path, depth: usize) -> Result<RuleSet, RuleError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        if text.len() > FILE_BYTES_MAX {
            return Err(RuleError::new(file_too_large(text.len())).in_file(origin));
        }
        self.budget.add_file(text).map_err(|kind| RuleError::new(kind).in_file(origin))?;
        let rule_text = RuleText::new(origin, text, Some(self.budget));
        let file = file::read(&rule_text, &mut self.notes)?;
        // A text that is not a file cannot be extended, so it cannot be part of a cycle.
        let is_file = origin.canonicalize().map(|path| self.open.push(path)).is_ok();
        let base = self.base(&rule_text, &file.extend, depth)?;
        if is_file {
            self.open.pop();
        }
        self.assemble(&rule_text, file, base, depth)
    }

    /// Loads the rules that a file extends.
    fn base(
        &mut self,
        rule_text: &RuleText<'_>,
        extend: &Extend,
        depth: usize,
    ) -> Result<RuleSet, RuleError> {
        if let Some(url) = &extend.url {
            return Err(rule_text.error(RuleErrorKind::Network(url.clone()), extend.offset, None));
        }
        let mut base = RuleSet::default();
        if depth == EXTEND_DEPTH_MAX && (extend.use_default || extend.path.is_some()) {
            let text = format!(
                "heist ignores `extend` here: it follows at most {EXTEND_DEPTH_MAX} levels of \
                 files; merge some of them"
            );
            self.notes.push(|| rule_text.note(text, extend.offset, None));
            return Ok(base);
        }
        if extend.use_default {
            self.on_built_in = true;
            base = RuleSet::builtin();
        }
        if let Some(path) = &extend.path {
            let path = self.find(rule_text, extend, path)?;
            if path.canonicalize().is_ok_and(|path| self.open.contains(&path)) {
                let text = format!(
                    "heist ignores `extend.path` here: {path:?} extends itself, directly or through \
                     other files; remove one of these `extend.path` lines"
                );
                self.notes.push(|| rule_text.note(text, extend.offset, None));
                return Ok(base);
            }
            let in_path = |kind| RuleError::new(kind).in_file(&path);
            let text = self.read(&path).map_err(in_path)?;
            let extended = self.file(&text, &path, depth + 1)?;
            let index: HashMap<_, _> =
                base.rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
            for rule in extended.rules {
                match index.get(&rule.id) {
                    Some(&at) => base.rules[at] = rule,
                    None => base.rules.push(rule),
                }
            }
            base.allowlists.splice(0..0, extended.allowlists);
        }
        Ok(base)
    }

    /// Finds the extended file: next to the file that extends it or else, as in gitleaks, below the
    /// working directory.
    fn find(
        &mut self,
        rule_text: &RuleText<'_>,
        extend: &Extend,
        path: &str,
    ) -> Result<PathBuf, RuleError> {
        let beside = rule_text.origin.parent().unwrap_or(Path::new("")).join(path);
        if self.below.is_some() {
            // Even whether a file exists elsewhere must not show, so leave it to `read`.
            return Ok(beside);
        }
        let failed = |kind| rule_text.error(kind, extend.offset, None);
        let unreadable = |path: &Path, error: &io::Error| {
            let problem = format!(
                "cannot read {}: {}; give a path relative to this file",
                path.display(),
                error.kind()
            );
            RuleErrorKind::Value { field: "extend.path", problem }
        };
        let (found, metadata) = match fs::metadata(&beside) {
            Ok(metadata) => (beside, metadata),
            Err(error) => match fs::metadata(path) {
                Ok(metadata) => {
                    let text = format!(
                        "{path:?} is not next to this file; heist uses it from the working directory"
                    );
                    self.notes.push(|| rule_text.note(text, extend.offset, None));
                    (PathBuf::from(path), metadata)
                }
                Err(_) => return Err(failed(unreadable(&beside, &error))),
            },
        };
        if !metadata.is_file() {
            // Reading a pipe or a device might never end.
            let problem =
                format!("{} is not a regular file; give the path of a rule file", found.display());
            return Err(failed(RuleErrorKind::Value { field: "extend.path", problem }));
        }
        Ok(found)
    }

    /// Merges a file's own rules with the rules it extends.
    fn assemble(
        &mut self,
        rule_text: &RuleText<'_>,
        file: file::RuleFile,
        base: RuleSet,
        depth: usize,
    ) -> Result<RuleSet, RuleError> {
        let mut assembly = Assembly::new(rule_text, base);
        for name in &file.extend.disabled {
            if !assembly.disable(name) {
                let text = format!("`disabledRules`: no rule is called {name:?}");
                self.notes.push(|| rule_text.note(text, file.extend.offset, None));
            }
        }
        for entry in file.rules {
            assembly.add(entry, self.on_built_in, &mut self.notes)?;
        }
        for (allowlist, targets, offset) in file.allowlists {
            assembly.allow(
                &allowlist,
                &targets,
                offset,
                self.on_built_in || depth > 0,
                &mut self.notes,
            )?;
        }
        Ok(assembly.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_built_in_rules_load_without_notes() {
        let loaded = parse_built_in(&data::FILES).expect("they are rules");
        assert!(loaded.notes.is_empty(), "{:#?}", loaded.notes);
        assert!(!loaded.rules.rules.is_empty());
    }

    /// Measures how long parsing takes, for built-in rules and for a user's file, which is also
    /// validated.
    #[test]
    #[ignore = "a measurement: run it in release, alone"]
    fn reading_many_rules_takes_little_time() {
        let one = |number: usize| {
            format!(
                r#"
[[rules]]
id = "vendor-{number}-token"
description = "Token of the vendor number {number}, as it hands them out"
remedy = "Revoke it in the vendor's console under settings, then tokens; and make a new one."
regex = """\\b(vnd{number}_[0-9A-Za-z]{{36}})(?:['\"\\s`;]|$)"""
keywords = ["vnd{number}_", "vendor{number}"]
confidence = "high"
entropy = 3.0
tags = ["vendor", "token"]
examples = ['''token = "{{secret}}"''', '''VENDOR_TOKEN={{secret}}''', '''-H "Authorization: Bearer {{secret}}"''']
counterExamples = ['''vnd{number}_short''', '''token = "vnd{number}_${{TOKEN}}"''']
"#
            )
        };
        let text: String = (0..150).map(one).collect();
        let fastest = |read: &dyn Fn() -> usize| {
            let times = (0..50).map(|_| {
                let start = Instant::now();
                assert!(read() > 0);
                start.elapsed()
            });
            times.min().expect("some")
        };
        let made = fastest(&|| parse_built_in(&[("x", &text)]).expect("rules").rules.rules.len());
        let users = fastest(&|| RuleSet::parse(&text, "x").expect("rules").rules.rules.len());
        let ours = fastest(&|| parse_built_in(&data::FILES).expect("rules").rules.rules.len());
        let (length, count) = (text.len(), RuleSet::builtin().rules.len());
        println!(
            "150 made rules ({length} bytes): as built-in ones {made:?}, as a user's {users:?}"
        );
        println!("the {count} built-in rules: {ours:?}");
        assert!(made < Duration::from_millis(5));
    }
}
