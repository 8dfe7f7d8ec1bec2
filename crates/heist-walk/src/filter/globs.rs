//! [`Globs`]: what the caller wants to leave out, or to see alone, wherever it is.
//!
//! A glob is relative to the root that an entry is below, so what it matches does not depend on the current directory.

use super::levels::Candidate;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// A glob that cannot be used.
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

    /// The glob, as it was given.
    #[must_use]
    pub fn glob(&self) -> &str {
        &self.glob
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { glob, reason } = self;
        write!(f, "cannot use the glob '{glob}': {reason} (a backslash takes a character as it is)")
    }
}

impl std::error::Error for FilterError {}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(super) struct Globs {
    exclude: GitignoreBuilder,
    only: OverrideBuilder,
    is_empty: bool,
    /// Made of the builders when the walk starts: a matcher for many globs is dear.
    built: OnceLock<Built>,
}

#[derive(Clone, Debug)]
struct Built {
    exclude: Gitignore,
    only: Override,
}

impl Default for Globs {
    fn default() -> Self {
        let mut exclude = GitignoreBuilder::new("");
        // In a file somebody else's slip is taken as git takes it; here there is a caller to tell.
        exclude.allow_unclosed_class(false);
        Self { exclude, only: OverrideBuilder::new(""), is_empty: true, built: OnceLock::new() }
    }
}

impl Globs {
    pub(super) fn exclude(&mut self, glob: &str) -> Result<(), FilterError> {
        self.exclude.add_line(None, glob).map_err(|error| FilterError::new(glob, &error))?;
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

    /// Makes the matchers, unless they are made already. Fails only if the globs are too much for a matcher.
    pub(super) fn build(&self) -> io::Result<()> {
        if self.is_empty || self.built.get().is_some() {
            return Ok(());
        }
        let exclude = self.exclude.build().map_err(io::Error::other)?;
        let only = self.only.build().map_err(io::Error::other)?;
        // If another root's worker was faster, it made the same.
        let _ = self.built.set(Built { exclude, only });
        Ok(())
    }

    /// Whether an entry is to be left out whatever else is said about it.
    pub(super) fn excludes(&self, candidate: &Candidate<'_>, is_dir: bool) -> bool {
        self.built.get().is_some_and(|built| {
            !built.exclude.is_empty()
                && built.exclude.matched(candidate.path_below_root(), is_dir).is_ignore()
        })
    }

    /// Whether a name by itself is to be left out.
    pub(super) fn excludes_name(&self, name: &OsStr, is_dir: bool) -> io::Result<bool> {
        self.build()?;
        let exclude = self.built.get().map(|built| &built.exclude);
        Ok(exclude.is_some_and(|exclude| exclude.matched(Path::new(name), is_dir).is_ignore()))
    }

    /// What the globs of what is to be seen alone say.
    pub(super) fn chooses(&self, candidate: &Candidate<'_>, is_dir: bool) -> Match<()> {
        match self.built.get() {
            Some(built) if !built.only.is_empty() => {
                built.only.matched(candidate.path_below_root(), is_dir).map(|_| ())
            }
            _ => Match::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_glob_is_named() {
        let mut globs = Globs::default();
        let error = globs.exclude("a{b").expect_err("the brace is open");
        assert_eq!(error.glob(), "a{b");
        assert!(error.to_string().starts_with("cannot use the glob 'a{b': "), "{error}");
        assert!(globs.only("[a").is_err(), "the class is open");
        assert!(globs.is_empty() && globs.exclude("[a]").is_ok() && !globs.is_empty());
    }
}
