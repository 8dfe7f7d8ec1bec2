//! [`Filter`]: which entries a walk leaves out.
//!
//! The matchers are those of the `ignore` crate, and so is the precedence of the rules (see
//! [`rule_levels`]). A walk with a filter shows what `ignore::WalkBuilder` shows with the same
//! settings. The difference is how rules are found: the walk reads rule files relative to the
//! descriptor of their directory, with one attempt for each kind of file, and a directory without
//! rule files shares the rules of its parent.
//!
//! Not guaranteed: that the walk notices a rule file that changes during the walk. It reads each
//! file once.

mod globs;
mod path;
mod rule_files;
mod rule_levels;

pub use globs::FilterError;
pub use path::PathExclusion;
pub(crate) use rule_levels::DirRules;

use crate::entry::ParentPath;
use crate::metadata::FileKind;
use crate::sys::Dir;
use globs::{GlobDecision, Globs};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::types::Types;
use rule_files::RuleDirectory;
use rule_levels::{FilteredEntry, RootPaths, RuleLevel, RulesInEffect};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Which entries a walk leaves out. The default leaves out nothing.
///
/// The walk does not enter a directory that the filter leaves out. It never leaves out a root. If
/// several rules apply to an entry, the first one in this list decides:
///
/// 1. [`kinds`](Self::kinds), [`exclude`](Self::exclude) and [`include`](Self::include). What they
///    leave out stays out.
/// 2. [`only`](Self::only).
/// 3. Ignore files: [custom ones](Self::custom_ignore_file), then [`.ignore`](Self::ignore_files),
///    [`.gitignore`](Self::git_ignore), [`.git/info/exclude`](Self::git_exclude) and [git's global
///    ignore file](Self::git_global). Among files of one kind the innermost matching one decides,
///    and in a file the last matching line.
/// 4. [`types`](Self::types).
/// 5. [`skip_hidden`](Self::skip_hidden).
///
/// There are two exceptions: types also leave out entries that an ignore file re-includes with `!`,
/// and such a line makes a hidden entry visible.
///
/// ```
/// use heist_walk::{Filter, Walk};
///
/// // What git would look at, but neither its own directory nor anything called `target`.
/// let filter = Filter::new().standard(true).exclude("target")?;
/// let walk = Walk::new(".").filter(filter);
/// # let _ = walk;
/// # Ok::<(), heist_walk::FilterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter {
    /// Whether any of the settings below leaves something out.
    active: bool,
    skip_hidden: bool,
    ignore_files: bool,
    git_ignore: bool,
    git_exclude: bool,
    git_global: bool,
    require_git: bool,
    parents: bool,
    custom_ignore_files: Vec<OsString>,
    globs: Globs,
    types: Option<Arc<Types>>,
    /// A bit for each kind that the walk shows.
    kinds: u32,
    cache: RuleCache,
}

/// Why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExcludedBy {
    /// A glob of [`Filter::exclude_counted`].
    CountedGlob,
    /// An ignore file.
    IgnoreFile,
    /// Its name begins with a dot.
    Hidden,
    /// Another rule, or a border of a file system.
    Other,
}

/// A problem with a rule file: its path and the error.
pub(crate) type RuleError = (PathBuf, io::Error);

/// What a walk reads once for all of its roots.
#[derive(Debug, Default)]
struct RuleCache {
    global: OnceLock<Gitignore>,
    /// The rules of directories above the roots.
    above: Mutex<HashMap<PathBuf, Option<Arc<RuleLevel>>>>,
}

/// A clone starts empty, because the rules may have changed before the next walk.
impl Clone for RuleCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self::new()
    }
}

impl Filter {
    /// Creates a filter that leaves nothing out.
    #[must_use]
    pub fn new() -> Self {
        Self {
            active: false,
            skip_hidden: false,
            ignore_files: false,
            git_ignore: false,
            git_exclude: false,
            git_global: false,
            require_git: true,
            parents: true,
            custom_ignore_files: Vec::new(),
            globs: Globs::default(),
            types: None,
            kinds: u32::MAX,
            cache: RuleCache::default(),
        }
    }

    /// Sets whether to leave out entries whose names begin with a dot.
    #[must_use]
    pub fn skip_hidden(mut self, skip: bool) -> Self {
        self.skip_hidden = skip;
        self.with_active_updated()
    }

    /// Sets whether to obey `.ignore` files.
    #[must_use]
    pub fn ignore_files(mut self, obey: bool) -> Self {
        self.ignore_files = obey;
        self.with_active_updated()
    }

    /// Sets whether to obey `.gitignore` files inside repositories.
    #[must_use]
    pub fn git_ignore(mut self, obey: bool) -> Self {
        self.git_ignore = obey;
        self.with_active_updated()
    }

    /// Sets whether to obey `.git/info/exclude` of a repository.
    #[must_use]
    pub fn git_exclude(mut self, obey: bool) -> Self {
        self.git_exclude = obey;
        self.with_active_updated()
    }

    /// Sets whether to obey git's global ignore file (`core.excludesFile`) inside repositories.
    ///
    /// Its rules are relative to the current directory. The filter looks for repositories only with
    /// [`git_ignore`](Self::git_ignore) or [`git_exclude`](Self::git_exclude). Without these, this
    /// setting has an effect only with [`require_git(false)`](Self::require_git).
    #[must_use]
    pub fn git_global(mut self, obey: bool) -> Self {
        self.git_global = obey;
        self.with_active_updated()
    }

    /// Sets whether git's rules apply only inside a repository, that is, below a directory with a
    /// `.git` or `.jj`, and not beyond its top. On by default; if off, they apply everywhere.
    #[must_use]
    pub fn require_git(mut self, require: bool) -> Self {
        self.require_git = require;
        self.with_active_updated()
    }

    /// Sets whether to obey the rules of directories above a root. On by default.
    #[must_use]
    pub fn parents(mut self, obey: bool) -> Self {
        self.parents = obey;
        self.with_active_updated()
    }

    /// Adds a name for ignore files, which take precedence over all other ignore files. Of several
    /// names, later ones win.
    #[must_use]
    pub fn custom_ignore_file(mut self, name: impl Into<OsString>) -> Self {
        self.custom_ignore_files.push(name.into());
        self.with_active_updated()
    }

    /// Turns all of git's rules, `.ignore` files and [`skip_hidden`](Self::skip_hidden) on or off.
    #[must_use]
    pub fn standard(self, on: bool) -> Self {
        self.skip_hidden(on).ignore_files(on).git_ignore(on).git_exclude(on).git_global(on)
    }

    /// Leaves out what a glob matches, regardless of all other rules.
    ///
    /// The glob has the meaning of a line in a `.gitignore` file in the root: `target` matches at
    /// any depth, `/target` only in the root, and `target/` only directories. `!target` shows again
    /// what an earlier glob has excluded.
    ///
    /// # Errors
    ///
    /// Returns an error if the glob cannot be parsed.
    pub fn exclude(mut self, glob: impl AsRef<str>) -> Result<Self, FilterError> {
        self.globs.exclude(glob.as_ref(), false)?;
        Ok(self.with_active_updated())
    }

    /// Leaves out what a glob matches, as [`exclude`](Self::exclude) does. The walk also counts
    /// these entries apart, in
    /// [`Totals::excluded_by_counted_globs`](crate::Totals::excluded_by_counted_globs): for globs
    /// that are not trusted.
    ///
    /// # Errors
    ///
    /// Returns an error if the glob cannot be parsed.
    pub fn exclude_counted(mut self, glob: impl AsRef<str>) -> Result<Self, FilterError> {
        self.globs.exclude(glob.as_ref(), true)?;
        Ok(self.with_active_updated())
    }

    /// Shows what a glob matches, whatever the rules of ignore files, types and hidden names say,
    /// and whatever an earlier [`exclude`](Self::exclude) leaves out. The glob has the same meaning
    /// as there, and a later `exclude` overrides it. What is in a directory that is left out stays
    /// out.
    ///
    /// # Errors
    ///
    /// Returns an error if the glob cannot be parsed.
    pub fn include(mut self, glob: impl AsRef<str>) -> Result<Self, FilterError> {
        self.globs.include(glob.as_ref())?;
        Ok(self.with_active_updated())
    }

    /// Returns `true` if [`exclude`](Self::exclude) leaves out a path below a root, or a directory
    /// above it.
    ///
    /// # Errors
    ///
    /// Returns an error if the globs together are too large for a matcher.
    pub fn excludes_path(&self, below_root: impl AsRef<Path>, is_dir: bool) -> io::Result<bool> {
        self.globs.excludes_path(below_root.as_ref(), is_dir)
    }

    /// Returns `true` if [`exclude`](Self::exclude) leaves out `root`, judged by the last name of
    /// its path.
    ///
    /// A walk visits its roots even if the filter would leave them out. This method is for callers
    /// that obtain their roots from a pattern such as `/*`.
    ///
    /// # Errors
    ///
    /// Returns an error if the globs together are too large for a matcher.
    pub fn excludes_root(&self, root: impl AsRef<Path>) -> io::Result<bool> {
        let root = root.as_ref();
        let Some(name) = root.file_name() else { return Ok(false) };
        self.globs.excludes_name(name, root.is_dir())
    }

    /// Leaves out files that match none of these globs, and shows matching files even if an ignore
    /// file leaves them out.
    ///
    /// A glob that begins with `!` leaves out what it matches. Of several matching globs the last
    /// one decides. The walk enters directories unless a glob leaves them out. Otherwise globs have
    /// the same meaning as in [`exclude`](Self::exclude).
    ///
    /// # Errors
    ///
    /// Returns an error if the glob cannot be parsed.
    pub fn only(mut self, glob: impl AsRef<str>) -> Result<Self, FilterError> {
        self.globs.only(glob.as_ref())?;
        Ok(self.with_active_updated())
    }

    /// Leaves out files by their type. See [`TypesBuilder`](crate::TypesBuilder).
    #[must_use]
    pub fn types(mut self, types: Types) -> Self {
        self.types = Some(Arc::new(types)).filter(|types| !types.is_empty());
        self.with_active_updated()
    }

    /// Leaves out everything except these kinds and directories. If the walk follows a link, the
    /// kind is that of the link's target.
    #[must_use]
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = FileKind>) -> Self {
        let directory = kind_bit(FileKind::Directory);
        self.kinds = kinds.into_iter().fold(directory, |bits, kind| bits | kind_bit(kind));
        self.with_active_updated()
    }

    fn with_active_updated(mut self) -> Self {
        self.active = self.skip_hidden
            || self.needs_levels()
            || !self.globs.is_empty()
            || self.types.is_some()
            || self.kinds != u32::MAX;
        self
    }

    fn needs_levels(&self) -> bool {
        self.ignore_files || self.uses_git() || !self.custom_ignore_files.is_empty()
    }

    fn uses_git(&self) -> bool {
        self.git_ignore || self.git_exclude || self.git_global
    }

    /// Returns `true` if the filter has to know where repositories are.
    fn looks_for_repositories(&self) -> bool {
        self.require_git && (self.git_ignore || self.git_exclude)
    }

    /// Returns `true` if the filter may leave anything out.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Reads the rules in a root and in the directories above it.
    pub(crate) fn rules_in_root(
        &self,
        root: &Path,
        dir: &Dir,
        errors: &mut Vec<RuleError>,
    ) -> DirRules {
        if let Err(error) = self.globs.build() {
            errors.push((root.to_path_buf(), error));
        }
        if self.git_global {
            self.cache.global.get_or_init(|| read_global(errors));
        }
        let mut paths = RootPaths { given: root.to_path_buf(), absolute: None };
        let mut above = None;
        if self.needs_levels()
            && (self.parents || self.uses_git())
            && let Ok(absolute) = root.canonicalize()
        {
            above = self.level_above(&absolute, errors);
            paths.absolute = Some(absolute);
        }
        let level = if self.needs_levels() {
            let directory = RuleDirectory::Open { dir, path: &|| root.to_path_buf() };
            RuleLevel::within(above, self, &directory, errors)
        } else {
            above
        };
        DirRules { root: Some(Arc::new(paths)), level }
    }

    /// Reads the rules in the directories above `root`.
    fn level_above(&self, root: &Path, errors: &mut Vec<RuleError>) -> Option<Arc<RuleLevel>> {
        let mut known = self.cache.above.lock().unwrap_or_else(PoisonError::into_inner);
        let mut level = None;
        let outermost_first: Vec<&Path> = root.ancestors().skip(1).collect();
        for directory in outermost_first.into_iter().rev() {
            if let Some(found) = known.get(directory) {
                level = found.clone();
                continue;
            }
            level = RuleLevel::within(level, self, &RuleDirectory::AboveRoot(directory), errors);
            known.insert(directory.to_path_buf(), level.clone());
        }
        level
    }

    /// Reads the rules in a directory below a root and adds them to its parent's. It calls `path`
    /// only if needed.
    pub(crate) fn rules_in(
        &self,
        parent: &DirRules,
        path: &dyn Fn() -> PathBuf,
        dir: &Dir,
        errors: &mut Vec<RuleError>,
    ) -> DirRules {
        let mut rules = parent.clone();
        if self.needs_levels() {
            rules.level =
                RuleLevel::within(rules.level, self, &RuleDirectory::Open { dir, path }, errors);
        }
        rules
    }

    /// Returns why the rules of its directory leave out an entry that is not a root, if they do.
    pub(crate) fn excludes(
        &self,
        rules: &DirRules,
        within: &ParentPath<'_>,
        name: &OsStr,
        kind: FileKind,
    ) -> Option<ExcludedBy> {
        if self.kinds & kind_bit(kind) == 0 {
            return Some(ExcludedBy::Other);
        }
        let entry = FilteredEntry::new(rules.root.as_deref(), within, name, kind);
        match self.globs.decide(&entry) {
            Some(GlobDecision::Exclude(by)) => return Some(by),
            Some(GlobDecision::Include) => return None,
            None => {}
        }
        let chosen = self.globs.chooses(&entry);
        if !chosen.is_none() {
            return chosen.is_ignore().then_some(ExcludedBy::Other);
        }
        let mut decision = self.decision_of_files(rules, &entry);
        if decision.is_ignore() {
            return Some(ExcludedBy::IgnoreFile);
        }
        if let Some(types) = &self.types {
            decision = types.matched(name, entry.is_dir).map(|_| ()).or(decision);
        }
        match decision {
            Match::Ignore(()) => Some(ExcludedBy::Other),
            Match::Whitelist(()) => None,
            Match::None => {
                let is_hidden = name.as_encoded_bytes().first() == Some(&b'.');
                (self.skip_hidden && is_hidden).then_some(ExcludedBy::Hidden)
            }
        }
    }

    fn decision_of_files(&self, rules: &DirRules, entry: &FilteredEntry<'_>) -> Match<()> {
        let level = rules.level.as_deref();
        let git = !self.require_git || level.is_some_and(RuleLevel::is_in_repository);
        let in_effect = RulesInEffect { git, above_root: self.parents };
        let decision = level.map_or(Match::None, |level| level.decision(entry, in_effect));
        decision.or_else_match(|| match self.cache.global.get() {
            Some(global) if git && !global.is_empty() => {
                global.matched(entry.path(), entry.is_dir).map(|_| ())
            }
            _ => Match::None,
        })
    }
}

fn kind_bit(kind: FileKind) -> u32 {
    1 << kind as u32
}

/// Reads git's global ignore file.
fn read_global(errors: &mut Vec<RuleError>) -> Gitignore {
    // The rules would be relative to the current directory, so without one they mean nothing.
    let Ok(here) = std::env::current_dir() else { return Gitignore::empty() };
    let (global, error) = GitignoreBuilder::new(here).build_global();
    if let Some(error) = error {
        let path = ignore::gitignore::gitconfig_excludes_path().unwrap_or_default();
        rule_files::report(&path, error, errors);
    }
    global
}

/// [`Match`] has this only for a value that is computed already.
trait OrElseMatch: Sized {
    fn or_else_match(self, other: impl FnOnce() -> Self) -> Self;
}

impl OrElseMatch for Match<()> {
    fn or_else_match(self, other: impl FnOnce() -> Self) -> Self {
        if self.is_none() { other() } else { self }
    }
}

#[cfg(all(test, target_os = "linux", not(heist_portable)))]
mod tests {
    use super::*;
    use crate::sys::fault::{Call, FaultPlan};
    use crate::{Enter, Entry, Flow, Visitor, Walk, WalkError};
    use std::convert::Infallible;

    struct Nothing;

    impl Visitor for Nothing {
        type Dir = ();
        type Task = Infallible;

        fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
            Enter::Into(())
        }

        fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
            Flow::Continue
        }

        fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
            panic!("{error}");
        }
    }

    /// Returns how often a walk over three directories makes a call.
    fn uses(call: Call, filter: Filter) -> u64 {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("a/b")).expect("directories");
        std::fs::write(root.path().join("a/b/c"), "").expect("a file");
        // This plan counts and never fails.
        let plan = FaultPlan::new(call, u64::MAX, 1, rustix::io::Errno::IO);
        FaultPlan::install(Some(Arc::clone(&plan)));
        let report = Walk::new(root.path()).filter(filter.parents(false)).run(|_| Nothing);
        FaultPlan::install(None);
        assert_eq!(report.expect("a walk").totals.entries(), 4);
        plan.uses()
    }

    #[test]
    fn a_directory_is_searched_once_for_each_kind_of_rule_file() {
        assert_eq!(uses(Call::OpenFile, Filter::new()), 0);
        assert_eq!(uses(Call::OpenFile, Filter::new().skip_hidden(true)), 0);
        assert_eq!(uses(Call::OpenFile, Filter::new().ignore_files(true)), 3);
        let all = Filter::new().standard(true).custom_ignore_file(".x");
        assert_eq!(uses(Call::OpenFile, all.clone().require_git(false)), 9);
        assert_eq!(
            uses(Call::OpenFile, all),
            6,
            "there is no repository, so git's files are not read"
        );
    }

    #[test]
    fn a_filter_without_rule_files_makes_no_calls() {
        let none = uses(Call::Stat, Filter::new());
        let names = Filter::new().skip_hidden(true).kinds([FileKind::File]);
        assert_eq!(uses(Call::Stat, names.exclude("x").expect("a glob")), none);
    }

    #[test]
    fn a_directory_without_rules_shares_those_of_its_parent() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::write(root.path().join(".ignore"), "a").expect("a file");
        std::fs::create_dir(root.path().join("b")).expect("a directory");
        let filter = Filter::new().ignore_files(true);
        let mut errors = Vec::new();
        let open = |path: &Path| Dir::open_root(path, true).expect("a directory");
        let above = filter.rules_in_root(root.path(), &open(root.path()), &mut errors);
        let below = root.path().join("b");
        let rules = filter.rules_in(&above, &|| below.clone(), &open(&below), &mut errors);
        assert!(errors.is_empty());
        let (above, rules) = (above.level.expect("a level"), rules.level.expect("a level"));
        assert!(Arc::ptr_eq(&above, &rules));
    }
}
