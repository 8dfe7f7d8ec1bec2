//! [`Globs`]: the globs by which the caller excludes entries or selects the only ones to show.
//!
//! A glob is relative to the root of the walk, so what it matches does not depend on the current
//! directory.

use super::ExcludedBy;
use super::rule_levels::FilteredEntry;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Marks the globs of [`Globs::include`] in the matcher.
const INCLUDE: &str = "include";

/// What the globs decide about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobDecision {
    Exclude(ExcludedBy),
    Include,
}

/// A glob that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    glob: String,
    reason: String,
}

impl FilterError {
    fn new(glob: &str, error: &ignore::Error) -> Self {
        let reason = match error {
            ignore::Error::Glob { err, .. } => err.clone(),
            other => other.to_string(),
        };
        Self { glob: glob.to_owned(), reason }
    }

    /// Returns the glob as given by the caller.
    #[must_use]
    pub fn glob(&self) -> &str {
        &self.glob
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { glob, reason } = self;
        write!(
            f,
            "cannot use the glob '{glob}': {reason} (to match a special character literally, put a \
             backslash before it)"
        )
    }
}

impl std::error::Error for FilterError {}

/// The globs of a filter. See the module's documentation.
#[derive(Clone, Debug)]
pub(super) struct Globs {
    exclude: GitignoreBuilder,
    only: OverrideBuilder,
    is_empty: bool,
    /// Built when the walk starts and not for each added glob, because building a matcher is
    /// expensive.
    built: OnceLock<GlobMatchers>,
}

#[derive(Clone, Debug)]
struct GlobMatchers {
    exclude: Gitignore,
    only: Override,
}

impl Default for Globs {
    fn default() -> Self {
        let mut exclude = GitignoreBuilder::new("");
        // In an ignore file an unclosed class has a meaning, because git gives it one. Here it is
        // an error that the caller can correct.
        exclude.allow_unclosed_class(false);
        Self { exclude, only: OverrideBuilder::new(""), is_empty: true, built: OnceLock::new() }
    }
}

impl Globs {
    /// Adds a glob. The matcher keeps a path with each glob, which is that of its ignore file; here
    /// the path only marks the globs that are `counted`, and those of [`include`](Self::include).
    pub(super) fn exclude(&mut self, glob: &str, counted: bool) -> Result<(), FilterError> {
        let mark = counted.then(PathBuf::new);
        self.exclude.add_line(mark, glob).map_err(|error| FilterError::new(glob, &error))?;
        self.changed();
        Ok(())
    }

    /// Adds a glob for entries that are shown whatever other rules say.
    pub(super) fn include(&mut self, glob: &str) -> Result<(), FilterError> {
        let (mark, line) = (Some(PathBuf::from(INCLUDE)), format!("!{glob}"));
        self.exclude.add_line(mark, &line).map_err(|error| FilterError::new(glob, &error))?;
        self.changed();
        Ok(())
    }

    pub(super) fn only(&mut self, glob: &str) -> Result<(), FilterError> {
        self.only.add(glob).map_err(|error| FilterError::new(glob, &error))?;
        self.changed();
        Ok(())
    }

    fn changed(&mut self) {
        self.is_empty = false;
        self.built = OnceLock::new();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Builds the matchers, unless they exist already. Fails only if the globs are too large for a
    /// matcher.
    pub(super) fn build(&self) -> io::Result<()> {
        if self.is_empty || self.built.get().is_some() {
            return Ok(());
        }
        let exclude = self.exclude.build().map_err(io::Error::other)?;
        let only = self.only.build().map_err(io::Error::other)?;
        // If the worker of another root was faster, it has built the same matchers.
        let _ = self.built.set(GlobMatchers { exclude, only });
        Ok(())
    }

    /// Returns what the globs of `exclude` and `include` say about the entry, if they decide.
    pub(super) fn decide(&self, entry: &FilteredEntry<'_>) -> Option<GlobDecision> {
        self.decide_path(entry.path_below_root(), entry.is_dir)
    }

    /// Does the same for a path below a root.
    pub(super) fn decide_path(&self, below_root: &Path, is_dir: bool) -> Option<GlobDecision> {
        let built = self.built.get().filter(|built| !built.exclude.is_empty())?;
        match built.exclude.matched(below_root, is_dir) {
            Match::Ignore(glob) if glob.from().is_some() => {
                Some(GlobDecision::Exclude(ExcludedBy::CountedGlob))
            }
            Match::Ignore(_) => Some(GlobDecision::Exclude(ExcludedBy::Other)),
            // A `!` glob of `exclude`, in contrast, leaves the decision to other rules.
            Match::Whitelist(glob) if glob.from() == Some(Path::new(INCLUDE)) => {
                Some(GlobDecision::Include)
            }
            Match::None | Match::Whitelist(_) => None,
        }
    }

    /// Returns `true` if `exclude` globs leave out a path below a root, or a directory above it.
    pub(super) fn excludes_path(&self, below_root: &Path, is_dir: bool) -> io::Result<bool> {
        self.build()?;
        let exclude = self.built.get().map(|built| &built.exclude);
        Ok(exclude.is_some_and(|exclude| {
            let mut way = below_root.ancestors().filter(|path| !path.as_os_str().is_empty());
            way.any(|path| exclude.matched(path, is_dir || path != below_root).is_ignore())
        }))
    }

    /// Returns `true` if `exclude` globs leave an entry with this name out of its root.
    pub(super) fn excludes_name(&self, name: &OsStr, is_dir: bool) -> io::Result<bool> {
        self.build()?;
        let exclude = self.built.get().map(|built| &built.exclude);
        Ok(exclude.is_some_and(|exclude| exclude.matched(Path::new(name), is_dir).is_ignore()))
    }

    /// Returns what the `only` globs say about the entry.
    pub(super) fn chooses(&self, entry: &FilteredEntry<'_>) -> Match<()> {
        match self.built.get() {
            Some(built) if !built.only.is_empty() => {
                built.only.matched(entry.path_below_root(), entry.is_dir).map(|_| ())
            }
            _ => Match::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_bad_glob() {
        let mut globs = Globs::default();
        let error = globs.exclude("a{b", false).expect_err("the brace is not closed");
        assert_eq!(error.glob(), "a{b");
        assert!(error.to_string().starts_with("cannot use the glob 'a{b': "), "{error}");
        assert!(globs.only("[a").is_err(), "the class is not closed");
        assert!(globs.is_empty() && globs.exclude("[a]", true).is_ok() && !globs.is_empty());
    }
}
