//! [`Hidden`]: what the scanned tree keeps out of the report, and how.
//!
//! A tree may tune its own scan with comments, ignore files and a configuration. Every format lists
//! what that hides, so that a report which a tree has thinned out never looks like a clean one.

use super::summary::Unreported;
use crate::units::grouped;
use std::fmt;
use std::path::PathBuf;

/// Something that the tree keeps out of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) by: HiddenBy,
    /// The file that hides it, or `None` if several files may do.
    pub(crate) file: Option<PathBuf>,
    /// The setting that hides it, if the file is a configuration.
    pub(crate) setting: Option<&'static str>,
    pub(crate) what: HiddenWhat,
    /// How many are hidden, or `None` if heist cannot count them.
    pub(crate) count: Option<u64>,
}

/// The kind of file or text that hides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenBy {
    /// Comments that allow the secrets on their lines.
    Comment,
    /// `.gitleaksignore` files.
    GitleaksIgnore,
    /// A baseline that the tree brings.
    Baseline,
}

impl HiddenBy {
    /// Returns the name in machine-readable reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::GitleaksIgnore => "gitleaksignore",
            Self::Baseline => "baseline",
        }
    }
}

/// The kind of thing that is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenWhat {
    /// Findings that are not reported.
    Findings,
}

impl HiddenWhat {
    /// Returns the name in machine-readable reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Findings => "findings",
        }
    }
}

impl Hidden {
    /// Returns what comments and ignore files hide.
    pub(crate) fn of_unreported(unreported: &Unreported) -> Vec<Self> {
        [
            (HiddenBy::Comment, unreported.allowed),
            (HiddenBy::GitleaksIgnore, unreported.in_gitleaksignore),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(by, count)| Self {
            by,
            file: None,
            setting: None,
            what: HiddenWhat::Findings,
            count: Some(count),
        })
        .collect()
    }
}

/// Writes a sentence without the file: "comments hide 3 findings".
impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.by {
            HiddenBy::Comment => "comments hide",
            HiddenBy::GitleaksIgnore => ".gitleaksignore hides",
            HiddenBy::Baseline => "the baseline of the tree hides",
        })?;
        let what = self.what.as_str();
        match self.count {
            Some(1) => write!(f, " 1 {}", what.trim_end_matches('s')),
            Some(count) => write!(f, " {} {what}", grouped(count)),
            None => write!(f, " {what}"),
        }?;
        self.setting.map_or(Ok(()), |setting| write!(f, " (`{setting}`)"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hidden, HiddenBy};
    use crate::scan::summary::Unreported;

    #[test]
    fn comments_and_ignore_files_are_listed_with_their_counts() {
        let unreported =
            Unreported { allowed: 1, in_gitleaksignore: 1200, ..Unreported::default() };
        let hidden = Hidden::of_unreported(&unreported);
        let shown: Vec<String> = hidden.iter().map(Hidden::to_string).collect();
        assert_eq!(shown, ["comments hide 1 finding", ".gitleaksignore hides 1,200 findings"]);
        assert_eq!(hidden[0].by, HiddenBy::Comment);
        let unreported = Unreported { in_baseline: 3, ..Unreported::default() };
        assert!(Hidden::of_unreported(&unreported).is_empty());
    }
}
