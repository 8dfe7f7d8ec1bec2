//! [`Filter`]: which entries a walk leaves out.
//!
//! The matchers are those of the `ignore` crate, and so are the rules of who wins (see [`levels`]): a walk with a
//! filter shows what `ignore::WalkBuilder` shows with the same settings. What is different here is how rules come to
//! a directory: rule files are read relative to its descriptor, one attempt per kind, and a directory without any
//! shares the rules of the one that it is in.
//!
//! Not guaranteed: that a rule file which changes during the walk is seen as it was or as it is; each is read once.

mod files;
mod globs;
mod levels;

pub use globs::FilterError;
pub(crate) use levels::DirRules;

use crate::entry::Surroundings;
use crate::metadata::FileKind;
use crate::sys::Dir;
use files::Place;
use globs::Globs;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::types::Types;
use levels::{Candidate, Level, RootPaths};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Which entries a walk leaves out. The default leaves out nothing.
///
/// A directory that is left out is not entered. Roots are never left out. When several rules speak about an entry, the
/// first of these that does decides:
///
/// 1. [`exclude`](Self::exclude) and [`kinds`](Self::kinds): what they leave out stays out;
/// 2. [`only`](Self::only);
/// 3. [custom ignore files](Self::custom_ignore_file), then [`.ignore`](Self::ignore_files), [`.gitignore`](
///    Self::git_ignore), [`.git/info/exclude`](Self::git_exclude), [git's global ignore file](Self::git_global); of
///    each kind the innermost one that says something, and of its lines the last;
/// 4. [`types`](Self::types);
/// 5. [`skip_hidden`](Self::skip_hidden).
///
/// (Types may leave out what an ignore file wants to have; hidden entries are shown if an ignore file wants to have
/// them.)
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
    /// Whether anything of what follows is on.
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
    /// A bit for each kind that is shown.
    kinds: u32,
    found: Found,
}

/// What could not be used of a file of rules: its path, and why.
pub(crate) type RuleError = (PathBuf, io::Error);

/// What a walk has found out, once for all of its roots.
#[derive(Debug, Default)]
struct Found {
    global: OnceLock<Gitignore>,
    /// The rules in directories that roots are in.
    above: Mutex<HashMap<PathBuf, Option<Arc<Level>>>>,
}

/// Another walk finds out for itself: rules may have changed.
impl Clone for Found {
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
    /// Leaves nothing out.
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
            found: Found::default(),
        }
    }

    /// Whether entries whose names begin with a dot are left out.
    #[must_use]
    pub fn skip_hidden(mut self, skip: bool) -> Self {
        self.skip_hidden = skip;
        self.noted()
    }

    /// Whether `.ignore` files hold.
    #[must_use]
    pub fn ignore_files(mut self, hold: bool) -> Self {
        self.ignore_files = hold;
        self.noted()
    }

    /// Whether `.gitignore` files hold, inside of a repository.
    #[must_use]
    pub fn git_ignore(mut self, hold: bool) -> Self {
        self.git_ignore = hold;
        self.noted()
    }

    /// Whether a repository's `.git/info/exclude` holds.
    #[must_use]
    pub fn git_exclude(mut self, hold: bool) -> Self {
        self.git_exclude = hold;
        self.noted()
    }

    /// Whether git's global ignore file (`core.excludesFile`) holds, inside of a repository. Its rules are relative to
    /// the current directory. Repositories are looked for only by a filter with [`git_ignore`](Self::git_ignore) or
    /// [`git_exclude`](Self::git_exclude); without these, this needs [`require_git(false)`](Self::require_git).
    #[must_use]
    pub fn git_global(mut self, hold: bool) -> Self {
        self.git_global = hold;
        self.noted()
    }

    /// Whether git's rules hold only inside of a repository (a directory with a `.git` or a `.jj`), and only up to its
    /// top. On by default; if off they hold everywhere.
    #[must_use]
    pub fn require_git(mut self, require: bool) -> Self {
        self.require_git = require;
        self.noted()
    }

    /// Whether the rules of directories that a root is in hold. On by default.
    #[must_use]
    pub fn parents(mut self, hold: bool) -> Self {
        self.parents = hold;
        self.noted()
    }

    /// Files of this name are ignore files, too, and before all others. Of several names, later ones win.
    #[must_use]
    pub fn custom_ignore_file(mut self, name: impl Into<OsString>) -> Self {
        self.custom_ignore_files.push(name.into());
        self.noted()
    }

    /// All of git's rules, ignore files and hidden entries at once.
    #[must_use]
    pub fn standard(self, hold: bool) -> Self {
        self.skip_hidden(hold)
            .ignore_files(hold)
            .git_ignore(hold)
            .git_exclude(hold)
            .git_global(hold)
    }

    /// Leaves out what a glob matches, whatever other rules say. A glob is a line of a `.gitignore` file in the root:
    /// `target` is left out at any depth, `/target` only in the root, `target/` only if it is a directory, and
    /// `!target` is not left out after all.
    ///
    /// # Errors
    /// It is no such glob.
    pub fn exclude(mut self, glob: &str) -> Result<Self, FilterError> {
        self.globs.exclude(glob)?;
        Ok(self.noted())
    }

    /// Whether [`exclude`](Self::exclude) leaves out `root`, by the last name of its path. A walk visits its roots
    /// whatever the filter says; this is for callers who take them from a pattern such as `/*`.
    ///
    /// # Errors
    /// The globs are too much for a matcher.
    pub fn excludes_root(&self, root: &Path) -> io::Result<bool> {
        let Some(name) = root.file_name() else { return Ok(false) };
        self.globs.excludes_name(name, root.is_dir())
    }

    /// Leaves out files that match none of these globs, and shows what matches whatever ignore files say about it. A
    /// glob that begins with `!` leaves out instead; of several that match, the last decides. Directories are entered
    /// unless a glob leaves them out. Otherwise as [`exclude`](Self::exclude).
    ///
    /// # Errors
    /// It is no such glob.
    pub fn only(mut self, glob: &str) -> Result<Self, FilterError> {
        self.globs.only(glob)?;
        Ok(self.noted())
    }

    /// Leaves out files by their type: see [`TypesBuilder`](crate::TypesBuilder).
    #[must_use]
    pub fn types(mut self, types: Types) -> Self {
        self.types = Some(Arc::new(types)).filter(|types| !types.is_empty());
        self.noted()
    }

    /// Leaves out everything that is neither of these kinds nor a directory. In a walk that follows links, a link is of
    /// the kind that it leads to.
    #[must_use]
    pub fn kinds(mut self, kinds: &[FileKind]) -> Self {
        self.kinds =
            kinds.iter().fold(kind_bit(FileKind::Directory), |bits, kind| bits | kind_bit(*kind));
        self.noted()
    }

    fn noted(mut self) -> Self {
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

    /// Whether it matters where repositories are.
    fn looks_for_repositories(&self) -> bool {
        self.require_git && (self.git_ignore || self.git_exclude)
    }

    /// Whether it may leave out anything at all.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// The rules in a root, with what its parents say about it.
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
            self.found.global.get_or_init(|| read_global(errors));
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
            let place = Place::Open { dir, path: &|| root.to_path_buf() };
            Level::within(above, self, &place, errors)
        } else {
            above
        };
        DirRules { root: Some(Arc::new(paths)), level }
    }

    /// The rules in the directories that `root` is in.
    fn level_above(&self, root: &Path, errors: &mut Vec<RuleError>) -> Option<Arc<Level>> {
        let mut known = self.found.above.lock().unwrap_or_else(PoisonError::into_inner);
        let mut level = None;
        let outermost_first: Vec<&Path> = root.ancestors().skip(1).collect();
        for directory in outermost_first.into_iter().rev() {
            if let Some(found) = known.get(directory) {
                level = found.clone();
                continue;
            }
            level = Level::within(level, self, &Place::AboveRoot(directory), errors);
            known.insert(directory.to_path_buf(), level.clone());
        }
        level
    }

    /// The rules in a directory below: its parent's and its own. `path` is found out only if it is needed.
    pub(crate) fn rules_in(
        &self,
        parent: &DirRules,
        path: &dyn Fn() -> PathBuf,
        dir: &Dir,
        errors: &mut Vec<RuleError>,
    ) -> DirRules {
        let mut rules = parent.clone();
        if self.needs_levels() {
            rules.level = Level::within(rules.level, self, &Place::Open { dir, path }, errors);
        }
        rules
    }

    /// Whether an entry (no root) is left out, by the rules of the directory that it is in.
    pub(crate) fn excludes(
        &self,
        rules: &DirRules,
        within: &Surroundings<'_>,
        name: &OsStr,
        kind: FileKind,
    ) -> bool {
        if self.kinds & kind_bit(kind) == 0 {
            return true;
        }
        let is_dir = kind.is_dir();
        let candidate = Candidate::new(rules.root.as_deref(), within, name);
        if self.globs.excludes(&candidate, is_dir) {
            return true;
        }
        let chosen = self.globs.chooses(&candidate, is_dir);
        if !chosen.is_none() {
            return chosen.is_ignore();
        }
        let mut verdict = self.verdict_of_files(rules, &candidate, is_dir);
        if verdict.is_ignore() {
            return true;
        }
        if let Some(types) = &self.types {
            verdict = types.matched(name, is_dir).map(|_| ()).or(verdict);
        }
        match verdict {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => self.skip_hidden && name.as_encoded_bytes().first() == Some(&b'.'),
        }
    }

    fn verdict_of_files(
        &self,
        rules: &DirRules,
        candidate: &Candidate<'_>,
        is_dir: bool,
    ) -> Match<()> {
        let level = rules.level.as_deref();
        let git_holds = !self.require_git || level.is_some_and(Level::is_in_repository);
        let verdict = level
            .map_or(Match::None, |level| level.verdict(candidate, is_dir, git_holds, self.parents));
        verdict.or_else_match(|| match self.found.global.get() {
            Some(global) if git_holds && !global.is_empty() => {
                global.matched(candidate.path(), is_dir).map(|_| ())
            }
            _ => Match::None,
        })
    }
}

fn kind_bit(kind: FileKind) -> u32 {
    1 << kind as u32
}

/// Git's global ignore file.
fn read_global(errors: &mut Vec<RuleError>) -> Gitignore {
    // Without a current directory it has no place to be relative to.
    let Ok(here) = std::env::current_dir() else { return Gitignore::empty() };
    let (global, error) = GitignoreBuilder::new(here).build_global();
    if let Some(error) = error {
        let path = ignore::gitignore::gitconfig_excludes_path().unwrap_or_default();
        files::report(&path, error, errors);
    }
    global
}

/// What [`Match`] has only for a value that is there already.
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
    use crate::sys::fault::{Call, Plan};
    use crate::{Enter, Entry, Flow, Visitor, Walk, WalkError};

    struct Nothing;

    impl Visitor for Nothing {
        type Dir = ();

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

    /// How often a walk over three directories makes a call.
    fn uses(call: Call, filter: Filter) -> u64 {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("a/b")).expect("directories");
        std::fs::write(root.path().join("a/b/c"), "").expect("a file");
        // A plan that never comes to its fault.
        let plan = Plan::new(call, u64::MAX, 1, rustix::io::Errno::IO);
        Plan::install(Some(Arc::clone(&plan)));
        let walked = Walk::new(root.path()).filter(filter.parents(false)).run(|_| Nothing);
        Plan::install(None);
        assert_eq!(walked.expect("a walk").totals.entries(), 4);
        plan.uses()
    }

    #[test]
    fn each_kind_of_rule_file_is_looked_for_once_in_a_directory() {
        assert_eq!(uses(Call::OpenFile, Filter::new()), 0);
        assert_eq!(uses(Call::OpenFile, Filter::new().skip_hidden(true)), 0);
        assert_eq!(uses(Call::OpenFile, Filter::new().ignore_files(true)), 3);
        let all = Filter::new().standard(true).custom_ignore_file(".x");
        assert_eq!(uses(Call::OpenFile, all.clone().require_git(false)), 9);
        assert_eq!(uses(Call::OpenFile, all), 6, "git's rules, and there is no repository");
    }

    #[test]
    fn a_filter_that_reads_no_files_asks_nothing_either() {
        let none = uses(Call::Stat, Filter::new());
        let names = Filter::new().skip_hidden(true).kinds(&[FileKind::File]);
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
