//! Loading rules: a file, what it extends, and what comes out when both are put together.
//!
//! Invariants:
//! - nothing in a file makes this panic, hang or grow without bounds: files, rules and expressions have a largest size,
//!   and every file must be a regular one;
//! - nothing is left out silently: it is an error or a note;
//! - the rules that are extended come first, in their order, then a file's own.
//!
//! Not guaranteed: that the expressions of the built-in rules can be parsed. A test sees to that, not every start.

use super::assembly::Assembly;
use super::data;
use super::error::{RuleError, RuleErrorKind, RuleNote};
use super::file::{self, Extend};
use super::model::RuleSet;
use super::source::{FILE_BYTES_MAX, Source};
use crate::small_file::read_small_file;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How many files a file may build upon, one upon the other. As in gitleaks.
const EXTEND_DEPTH_MAX: usize = 2;

/// Rules that were loaded, and what is worth knowing about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The rules.
    pub rules: RuleSet,
    /// What is worth knowing: a field that is not understood, a longest match that was cut.
    pub notes: Vec<RuleNote>,
    /// Whether the file, or one that it extends, builds upon the built-in rules: then all of these are among the rules,
    /// but for those that it switches off.
    pub on_built_in: bool,
}

impl RuleSet {
    /// The rules that come with the library. Read once; later calls copy them.
    ///
    /// ```
    /// let rules = heist_scan::RuleSet::builtin();
    /// assert!(rules.rules.iter().any(|rule| rule.id == "generic-secret"));
    /// ```
    #[must_use]
    pub fn builtin() -> Self {
        static BUILT_IN: OnceLock<RuleSet> = OnceLock::new();
        BUILT_IN.get_or_init(read_built_in).clone()
    }

    /// The rules of a file, in the format of gitleaks or in ours, which has more fields.
    ///
    /// # Errors
    ///
    /// The file or one that it extends cannot be read, is too large, is no TOML, or a value in it is wrong. A field
    /// that is not understood is no error, but a note.
    pub fn load(path: &Path) -> Result<Loaded, RuleError> {
        let text = read_file(path).map_err(|kind| RuleError::new(kind).in_file(path))?;
        load_text(&text, path)
    }

    /// The rules of a text. `origin` is what errors call it; files that it extends are looked for beside it.
    ///
    /// ```
    /// let text = r#"
    ///     [[rules]]
    ///     id = "house-token"
    ///     regex = '''house_[a-z0-9]{32}'''
    ///     keywords = ["house_"]
    /// "#;
    /// let loaded = heist_scan::RuleSet::parse(text, "house.toml")?;
    /// assert_eq!(loaded.rules.rules[0].max_length, 38);
    /// assert!(loaded.notes.is_empty());
    /// # Ok::<(), heist_scan::RuleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`RuleSet::load`].
    pub fn parse(text: &str, origin: &str) -> Result<Loaded, RuleError> {
        load_text(text, Path::new(origin))
    }
}

fn load_text(text: &str, origin: &Path) -> Result<Loaded, RuleError> {
    let mut loading = Loading::default();
    let rules = loading.file(text, origin, 0)?;
    Ok(Loaded { rules, notes: loading.notes, on_built_in: loading.on_built_in })
}

/// # Panics
///
/// When the rules in the library itself are no rules, which a test finds out.
fn read_built_in() -> RuleSet {
    match parse_built_in(&data::FILES) {
        Ok(loaded) => loaded.rules,
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn parse_built_in(files: &[(&str, &str)]) -> Result<Loaded, RuleError> {
    let mut loading = Loading::default();
    let mut rules = RuleSet::default();
    for (name, text) in files {
        let source = Source::new(Path::new(name), text, true);
        let file = file::read(&source, &mut loading.notes)?;
        let read = loading.assemble(&source, file, RuleSet::default(), 0)?;
        rules.rules.extend(read.rules);
        rules.allowlists.extend(read.allowlists);
    }
    Ok(Loaded { rules, notes: loading.notes, on_built_in: loading.on_built_in })
}

/// The text of a regular file, unless it is too large.
fn read_file(path: &Path) -> Result<String, RuleErrorKind> {
    let bytes =
        read_small_file(path, FILE_BYTES_MAX as u64).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => file_too_large(FILE_BYTES_MAX + 1),
            _ => RuleErrorKind::Read(error),
        })?;
    String::from_utf8(bytes).map_err(|_| RuleErrorKind::NotText)
}

fn file_too_large(size: usize) -> RuleErrorKind {
    RuleErrorKind::TooLarge { what: "a file", unit: "bytes", size, limit: FILE_BYTES_MAX }
}

/// What is going on while a file and those that it extends are loaded.
#[derive(Default)]
struct Loading {
    notes: Vec<RuleNote>,
    /// Some file builds upon the built-in rules. Names of rules that do not exist are then those of gitleaks' own, and
    /// no mistake.
    on_built_in: bool,
    /// The files that are being read, each of which extends the next, as the system calls them.
    open: Vec<PathBuf>,
}

impl Loading {
    /// The rules of one file, with those that it extends.
    fn file(&mut self, text: &str, origin: &Path, depth: usize) -> Result<RuleSet, RuleError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        if text.len() > FILE_BYTES_MAX {
            return Err(RuleError::new(file_too_large(text.len())).in_file(origin));
        }
        let source = Source::new(origin, text, false);
        let file = file::read(&source, &mut self.notes)?;
        // (A text that is no file extends nothing that leads back to it.)
        let is_file = origin.canonicalize().map(|path| self.open.push(path)).is_ok();
        let base = self.base(&source, &file.extend, depth)?;
        if is_file {
            self.open.pop();
        }
        self.assemble(&source, file, base, depth)
    }

    /// The rules that a file builds upon.
    fn base(
        &mut self,
        source: &Source<'_>,
        extend: &Extend,
        depth: usize,
    ) -> Result<RuleSet, RuleError> {
        if let Some(url) = &extend.url {
            return Err(source.error(RuleErrorKind::Network(url.clone()), extend.offset, None));
        }
        let mut base = RuleSet::default();
        if depth == EXTEND_DEPTH_MAX && (extend.use_default || extend.path.is_some()) {
            let text = format!(
                "`extend` has no effect here: files are followed {EXTEND_DEPTH_MAX} deep; put some of them together"
            );
            self.notes.push(source.note(text, extend.offset, None));
            return Ok(base);
        }
        if extend.use_default {
            self.on_built_in = true;
            base = RuleSet::builtin();
        }
        if let Some(path) = &extend.path {
            let path = self.find(source, extend, path)?;
            if path.canonicalize().is_ok_and(|path| self.open.contains(&path)) {
                let text = format!(
                    "`extend.path` has no effect here: {path:?} extends itself, in the end; take one of these \
                     `extend.path` out"
                );
                self.notes.push(source.note(text, extend.offset, None));
                return Ok(base);
            }
            let in_path = |kind| RuleError::new(kind).in_file(&path);
            let text = read_file(&path).map_err(in_path)?;
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

    /// Where the file is that is extended: beside the one that extends it, or else, as gitleaks has it, below the
    /// working folder.
    fn find(
        &mut self,
        source: &Source<'_>,
        extend: &Extend,
        path: &str,
    ) -> Result<PathBuf, RuleError> {
        let beside = source.origin.parent().unwrap_or(Path::new("")).join(path);
        let failed = |kind| source.error(kind, extend.offset, None);
        let unreadable = |path: &Path, error: &io::Error| {
            let problem = format!(
                "{} cannot be read: {}; the path is taken from this file on",
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
                        "{path:?} is not beside this file; the one below the working folder is used"
                    );
                    self.notes.push(source.note(text, extend.offset, None));
                    (PathBuf::from(path), metadata)
                }
                Err(_) => return Err(failed(unreadable(&beside, &error))),
            },
        };
        if !metadata.is_file() {
            // A pipe or a device could go on for ever.
            let problem = format!("{} is no regular file", found.display());
            return Err(failed(RuleErrorKind::Value { field: "extend.path", problem }));
        }
        Ok(found)
    }

    /// A file's own rules upon those that it extends.
    fn assemble(
        &mut self,
        source: &Source<'_>,
        file: file::File,
        base: RuleSet,
        depth: usize,
    ) -> Result<RuleSet, RuleError> {
        let mut assembly = Assembly::new(source, base);
        for name in &file.extend.disabled {
            if !assembly.disable(name) {
                let text = format!("`disabledRules`: there is no rule {name:?} to switch off");
                self.notes.push(source.note(text, file.extend.offset, None));
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
    fn the_built_in_rules_are_understood() {
        let loaded = parse_built_in(&data::FILES).expect("they are rules");
        assert!(loaded.notes.is_empty(), "{:#?}", loaded.notes);
        assert!(!loaded.rules.rules.is_empty());
    }

    /// What is read for a start, without and with what a user's file costs in addition.
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
