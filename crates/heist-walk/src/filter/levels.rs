//! [`Level`]: the rules of one directory, in the chain of those of the directories that it is in.
//!
//! A chain has a level only for a directory that has rule files or is the top of a repository; all others share the
//! level of the directory that they are in. Levels of the directories that a root is in come before the root's.
//!
//! Invariant: rules are asked from the inside out, each kind for itself, and git's not beyond the first repository.
//! Above a root they are asked about the entry's absolute path, because that is what they are relative to.

use super::files::{Place, RuleFile};
use super::{Filter, RuleError};
use crate::entry::Surroundings;
use ignore::Match;
use ignore::gitignore::Gitignore;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rules that hold in one directory. By default none.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirRules {
    pub(super) root: Option<Arc<RootPaths>>,
    pub(super) level: Option<Arc<Level>>,
}

/// Where a root is.
#[derive(Debug)]
pub(super) struct RootPaths {
    /// As the walk was given it.
    pub(super) given: PathBuf,
    /// From the top of the file system, without links; `None` if nobody needs it or it cannot be found out.
    pub(super) absolute: Option<PathBuf>,
}

/// An entry that rules are asked about. Its paths are put together when somebody asks.
pub(super) struct Candidate<'a> {
    root: Option<&'a RootPaths>,
    within: &'a Surroundings<'a>,
    name: &'a OsStr,
    path: OnceCell<PathBuf>,
    below_root: OnceCell<PathBuf>,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(
        root: Option<&'a RootPaths>,
        within: &'a Surroundings<'a>,
        name: &'a OsStr,
    ) -> Self {
        Self { root, within, name, path: OnceCell::new(), below_root: OnceCell::new() }
    }

    /// Its path, as the walk has it.
    pub(super) fn path(&self) -> &Path {
        self.path.get_or_init(|| self.within.path().join(self.name))
    }

    /// Its path, from its root.
    pub(super) fn path_below_root(&self) -> &Path {
        self.below_root.get_or_init(|| {
            let directory = self.within.path();
            let given = self.root.map_or(Path::new(""), |root| &root.given);
            directory.strip_prefix(given).unwrap_or(directory).join(self.name)
        })
    }

    /// Its path, from the top of the file system; `None` if the root's cannot be found out.
    fn absolute_path(&self) -> Option<PathBuf> {
        let absolute = self.root?.absolute.as_ref()?;
        Some(absolute.join(self.path_below_root()))
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Level {
    parent: Option<Arc<Level>>,
    is_above_root: bool,
    custom: Gitignore,
    ignore: Gitignore,
    git_ignore: Gitignore,
    git_exclude: Gitignore,
    /// Whether git's rules of directories further out do not hold here.
    is_repository: bool,
    /// Whether this or a directory further out is a repository.
    is_in_repository: bool,
}

/// Level by level: a chain may be deeper than the stack.
impl Drop for Level {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut level) = next.and_then(Arc::into_inner) {
            next = level.parent.take();
        }
    }
}

impl Level {
    /// The level that holds in `place`, which is in a directory where `parent` holds: `parent` itself, unless there is
    /// something new in `place`.
    pub(super) fn within(
        parent: Option<Arc<Level>>,
        filter: &Filter,
        place: &Place<'_>,
        errors: &mut Vec<RuleError>,
    ) -> Option<Arc<Level>> {
        let is_above_root = place.is_above_root();
        // Above the root there may be rules that do not matter, around a repository that does.
        let read = filter.parents || !is_above_root;
        let custom = match &*filter.custom_ignore_files {
            names if read && !names.is_empty() => place.rules(RuleFile::Custom(names), errors),
            _ => Gitignore::empty(),
        };
        let ignore = match filter.ignore_files && read {
            true => place.rules(RuleFile::Ignore, errors),
            false => Gitignore::empty(),
        };
        let git = match filter.looks_for_repositories() || filter.git_exclude {
            true => place.kind_of(OsStr::new(".git")),
            false => None,
        };
        let is_repository = filter.looks_for_repositories()
            // (Above a root only `.gitignore` files care where a repository is.)
            && (filter.git_ignore || !is_above_root)
            && (git.is_some() || place.kind_of(OsStr::new(".jj")).is_some());
        let is_in_repository =
            is_repository || parent.as_ref().is_some_and(|parent| parent.is_in_repository);
        // Git's rules outside of a repository hold nowhere: where there is one further in, they end at its top.
        let reads_git = read && (is_in_repository || !filter.require_git);
        let git_ignore = match filter.git_ignore && reads_git {
            true => place.rules(RuleFile::GitIgnore, errors),
            false => Gitignore::empty(),
        };
        let git_exclude = match git {
            Some(kind) if filter.git_exclude && reads_git => {
                place.rules(RuleFile::GitExclude(kind), errors)
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

    /// What ignore files say about an entry: `git_holds` if git's do, `parents` if those above the root do.
    pub(super) fn verdict(
        &self,
        candidate: &Candidate<'_>,
        is_dir: bool,
        mut git_holds: bool,
        parents: bool,
    ) -> Match<()> {
        let mut by_kind = [Match::None, Match::None, Match::None, Match::None];
        let absolute = OnceCell::new();
        let chain = std::iter::successors(Some(self), |level| level.parent.as_deref());
        for level in chain {
            if level.is_above_root && !parents {
                break;
            }
            let path = if level.is_above_root {
                match absolute.get_or_init(|| candidate.absolute_path()) {
                    Some(path) => path,
                    None => break,
                }
            } else {
                candidate.path()
            };
            let rules = [&level.custom, &level.ignore, &level.git_ignore, &level.git_exclude];
            for (number, (verdict, rules)) in by_kind.iter_mut().zip(rules).enumerate() {
                let is_git = number >= 2;
                if verdict.is_none() && !rules.is_empty() && (git_holds || !is_git) {
                    *verdict = rules.matched(path, is_dir).map(|_| ());
                }
            }
            // Nothing further out can change what comes first.
            if !by_kind[0].is_none() {
                break;
            }
            git_holds &= !level.is_repository;
        }
        by_kind.into_iter().find(|verdict| !verdict.is_none()).unwrap_or(Match::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More levels than a stack has room for, if each took a frame.
    #[test]
    fn a_long_chain_is_dropped_level_by_level() {
        let mut parent = None;
        for _ in 0..200_000 {
            parent = Some(Arc::new(Level {
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
