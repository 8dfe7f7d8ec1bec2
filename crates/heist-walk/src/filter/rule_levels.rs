//! [`RuleLevel`]: the rules of one directory, linked to those of the directories that contain it.
//!
//! The chain has a level only for directories that have rule files or are the top of a repository.
//! All other directories share the level of their parent. The chain continues above the root.
//!
//! Invariant: the levels are consulted from the inside out, separately for each kind of rule file,
//! and git's rules not beyond the innermost repository. Levels above the root see the entry's
//! absolute path, because their rules are relative to it.

use super::rule_files::{RuleDirectory, RuleFile};
use super::{Filter, RuleError};
use crate::entry::ParentPath;
use crate::metadata::FileKind;
use ignore::Match;
use ignore::gitignore::Gitignore;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rules that apply in one directory. The default is no rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirRules {
    pub(super) root: Option<Arc<RootPaths>>,
    pub(super) level: Option<Arc<RuleLevel>>,
}

/// The paths of a root.
#[derive(Debug)]
pub(super) struct RootPaths {
    /// The path as given to the walk.
    pub(super) given: PathBuf,
    /// The absolute path without links. `None` if it is not needed or cannot be determined.
    pub(super) absolute: Option<PathBuf>,
}

/// An entry that is being filtered. It builds its paths when they are needed.
pub(super) struct FilteredEntry<'a> {
    root: Option<&'a RootPaths>,
    within: &'a ParentPath<'a>,
    name: &'a OsStr,
    pub(super) is_dir: bool,
    path: OnceCell<PathBuf>,
    below_root: OnceCell<PathBuf>,
}

impl<'a> FilteredEntry<'a> {
    pub(super) fn new(
        root: Option<&'a RootPaths>,
        within: &'a ParentPath<'a>,
        name: &'a OsStr,
        kind: FileKind,
    ) -> Self {
        let (path, below_root) = (OnceCell::new(), OnceCell::new());
        Self { root, within, name, is_dir: kind.is_dir(), path, below_root }
    }

    /// Returns the path as the walk reports it.
    pub(super) fn path(&self) -> &Path {
        self.path.get_or_init(|| self.within.path().join(self.name))
    }

    /// Returns the path below the root.
    pub(super) fn path_below_root(&self) -> &Path {
        self.below_root.get_or_init(|| {
            let directory = self.within.path();
            let given = self.root.map_or(Path::new(""), |root| &root.given);
            directory.strip_prefix(given).unwrap_or(directory).join(self.name)
        })
    }

    /// Returns the absolute path, or `None` if the root's is not known.
    fn absolute_path(&self) -> Option<PathBuf> {
        let absolute = self.root?.absolute.as_ref()?;
        Some(absolute.join(self.path_below_root()))
    }
}

/// Which of the rules in ignore files count.
#[derive(Clone, Copy, Debug)]
pub(super) struct RulesInEffect {
    /// Git's rules: `.gitignore` and `.git/info/exclude`.
    pub(super) git: bool,
    /// The rules in directories above the root.
    pub(super) above_root: bool,
}

/// The rules of one directory. See the module's documentation.
#[derive(Debug)]
pub(super) struct RuleLevel {
    parent: Option<Arc<RuleLevel>>,
    is_above_root: bool,
    custom: Gitignore,
    ignore: Gitignore,
    git_ignore: Gitignore,
    git_exclude: Gitignore,
    /// Whether this is the top of a repository, so git's rules from further out do not apply here.
    is_repository: bool,
    /// Whether this directory or one that contains it is the top of a repository.
    is_in_repository: bool,
}

/// Drops a chain of levels in a loop. The chain may be deeper than the stack, so drops must not
/// nest.
impl Drop for RuleLevel {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut level) = next.and_then(Arc::into_inner) {
            next = level.parent.take();
        }
    }
}

impl RuleLevel {
    /// Returns the level of `directory`, whose parent has the level `parent`. It is `parent` itself
    /// if `directory` adds nothing.
    pub(super) fn within(
        parent: Option<Arc<RuleLevel>>,
        filter: &Filter,
        directory: &RuleDirectory<'_>,
        errors: &mut Vec<RuleError>,
    ) -> Option<Arc<RuleLevel>> {
        let is_above_root = directory.is_above_root();
        // Above the root, a repository may matter even if its rules do not.
        let read = filter.parents || !is_above_root;
        let custom = match &*filter.custom_ignore_files {
            names if read && !names.is_empty() => directory.rules(RuleFile::Custom(names), errors),
            _ => Gitignore::empty(),
        };
        let ignore = match filter.ignore_files && read {
            true => directory.rules(RuleFile::Ignore, errors),
            false => Gitignore::empty(),
        };
        let git = match filter.looks_for_repositories() || filter.git_exclude {
            true => directory.kind_of(OsStr::new(".git")),
            false => None,
        };
        let is_repository = filter.looks_for_repositories()
            // Above a root, only `.gitignore` files depend on where a repository begins.
            && (filter.git_ignore || !is_above_root)
            && (git.is_some() || directory.kind_of(OsStr::new(".jj")).is_some());
        let is_in_repository =
            is_repository || parent.as_ref().is_some_and(|parent| parent.is_in_repository);
        // Outside a repository git's rules apply nowhere, because a repository further in ends them
        // at its top.
        let reads_git = read && (is_in_repository || !filter.require_git);
        let git_ignore = match filter.git_ignore && reads_git {
            true => directory.rules(RuleFile::GitIgnore, errors),
            false => Gitignore::empty(),
        };
        let git_exclude = match git {
            Some(kind) if filter.git_exclude && reads_git => {
                directory.rules(RuleFile::GitExclude(kind), errors)
            }
            _ => Gitignore::empty(),
        };
        let all = [&custom, &ignore, &git_ignore, &git_exclude];
        if !is_repository && all.iter().all(|rules| rules.is_empty()) {
            return parent;
        }
        Some(Arc::new(Self {
            parent,
            is_above_root,
            custom,
            ignore,
            git_ignore,
            git_exclude,
            is_repository,
            is_in_repository,
        }))
    }

    pub(super) fn is_in_repository(&self) -> bool {
        self.is_in_repository
    }

    /// Returns what the ignore files in effect say about an entry.
    pub(super) fn decision(
        &self,
        entry: &FilteredEntry<'_>,
        mut in_effect: RulesInEffect,
    ) -> Match<()> {
        let mut by_kind = [Match::None, Match::None, Match::None, Match::None];
        let absolute = OnceCell::new();
        let chain = std::iter::successors(Some(self), |level| level.parent.as_deref());
        for level in chain {
            if level.is_above_root && !in_effect.above_root {
                break;
            }
            let path = if level.is_above_root {
                match absolute.get_or_init(|| entry.absolute_path()) {
                    Some(path) => path,
                    None => break,
                }
            } else {
                entry.path()
            };
            let rules = [&level.custom, &level.ignore, &level.git_ignore, &level.git_exclude];
            for (number, (decision, rules)) in by_kind.iter_mut().zip(rules).enumerate() {
                let is_git = number >= 2;
                if decision.is_none() && !rules.is_empty() && (in_effect.git || !is_git) {
                    *decision = rules.matched(path, entry.is_dir).map(|_| ());
                }
            }
            // Custom files take precedence over everything further out.
            if !by_kind[0].is_none() {
                break;
            }
            in_effect.git &= !level.is_repository;
        }
        by_kind.into_iter().find(|decision| !decision.is_none()).unwrap_or(Match::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If each level took a stack frame, this many would overflow the stack.
    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let mut parent = None;
        for _ in 0..200_000 {
            parent = Some(Arc::new(RuleLevel {
                parent,
                is_above_root: false,
                custom: Gitignore::empty(),
                ignore: Gitignore::empty(),
                git_ignore: Gitignore::empty(),
                git_exclude: Gitignore::empty(),
                is_repository: true,
                is_in_repository: true,
            }));
        }
        let small = std::thread::Builder::new().stack_size(64 << 10);
        small.spawn(move || drop(parent)).expect("a thread").join().expect("no overflow");
    }
}
