//! [`Filter::exclusion`]: what a filter says about a path without a walk.

use super::globs::GlobDecision;
use super::{ExcludedBy, Filter};
use std::io;
use std::path::Path;

/// What leaves out a path. See [`Filter::exclusion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathExclusion {
    /// A glob of [`Filter::exclude`].
    Glob,
    /// A glob of [`Filter::exclude_counted`].
    CountedGlob,
    /// Its name, or that of a directory above it, begins with a dot.
    Hidden,
}

impl Filter {
    /// Returns what leaves out a file, or a directory above it: the globs of
    /// [`exclude`](Self::exclude), [`exclude_counted`](Self::exclude_counted) and
    /// [`include`](Self::include), and [`skip_hidden`](Self::skip_hidden). This is for files that
    /// no walk visits. Ignore files are not read, and the other settings have no effect.
    ///
    /// # Errors
    ///
    /// Returns an error if the globs together are too large for a matcher.
    ///
    /// # Examples
    /// ```
    /// use heist_walk::{Filter, PathExclusion};
    ///
    /// let filter = Filter::new().skip_hidden(true).exclude("/build")?;
    /// assert_eq!(filter.exclusion("build/x.c")?, Some(PathExclusion::Glob));
    /// assert_eq!(filter.exclusion(".cache/x")?, Some(PathExclusion::Hidden));
    /// assert_eq!(filter.exclusion("src/build.c")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exclusion(&self, below_root: impl AsRef<Path>) -> io::Result<Option<PathExclusion>> {
        self.globs.build()?;
        let path = below_root.as_ref();
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        for part in way {
            let Some(name) = part.file_name() else { continue };
            match self.globs.decide_path(part, part != path) {
                Some(GlobDecision::Exclude(ExcludedBy::CountedGlob)) => {
                    return Ok(Some(PathExclusion::CountedGlob));
                }
                Some(GlobDecision::Exclude(_)) => return Ok(Some(PathExclusion::Glob)),
                Some(GlobDecision::Include) => continue,
                None => {}
            }
            if self.skip_hidden && name.as_encoded_bytes().first() == Some(&b'.') {
                return Ok(Some(PathExclusion::Hidden));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_judged_with_the_directories_above_it() {
        let filter = Filter::new().skip_hidden(true);
        let filter = filter.exclude("*.lock").and_then(|filter| filter.exclude("tmp/"));
        let filter = filter.and_then(|filter| filter.exclude_counted("/secret"));
        let filter = filter.and_then(|filter| filter.include("/.github")).expect("globs");
        for (path, expected) in [
            ("a/Cargo.lock", Some(PathExclusion::Glob)),
            ("a/tmp/x", Some(PathExclusion::Glob)),
            ("a/tmp", None),
            ("secret", Some(PathExclusion::CountedGlob)),
            ("secret/a/b", Some(PathExclusion::CountedGlob)),
            ("a/secret", None),
            (".a/b", Some(PathExclusion::Hidden)),
            (".github/x", None),
            (".github/.x", Some(PathExclusion::Hidden)),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(filter.exclusion(path).expect("a matcher"), expected, "{path}");
        }
        assert_eq!(Filter::new().exclusion(".a").expect("a matcher"), None);
    }
}
