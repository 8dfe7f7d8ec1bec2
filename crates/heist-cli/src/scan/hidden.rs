//! [`Hidden`]: what the scanned tree hides from the report, and by what.
//!
//! The reference is the scan that the user asked for: with the same command line and the user's own
//! configuration, but with nothing from the tree. Invariant: a finding that this scan would report
//! is either reported or counted here. What the tree keeps heist from reading (paths, files) is
//! counted as such, because what is in it is not known.
//!
//! Not counted: what heist never reads, such as binary files; and what a user's `--gitignore`
//! leaves out, because the user asked for it.

use super::suppression::{Suppression, SuppressionReason};
use crate::escape;
use crate::units::grouped;
use heist_scan::{Confidence, Finding, HiddenBy, Standing};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The maximum number of kinds of files for which comments are counted apart. The tree chooses the
/// names of its files, so their number has no other limit.
const KINDS_MAX: usize = 32;

/// Something of the tree that hides findings, paths or files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum HidingSetting {
    /// Rule files that replace, change or disable rules.
    Rules,
    Only,
    Except,
    NoGeneric,
    NoDecode,
    /// Allowlists in rule files.
    Allowlists,
    Confidence,
    Baseline,
    /// A baseline in the project root, which a scan uses by itself.
    FoundBaseline,
    GitleaksIgnore,
    /// Comments such as `heist:allow`.
    Comments,
    Exclude,
    Gitignore,
    NoHidden,
    MaxSize,
}

impl HidingSetting {
    /// Returns its name: the key of the configuration, where it is one.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Only => "only",
            Self::Except => "except",
            Self::NoGeneric => "no-generic",
            Self::NoDecode => "no-decode",
            Self::Allowlists => "allowlists",
            Self::Confidence => "confidence",
            Self::Baseline | Self::FoundBaseline => "baseline",
            Self::GitleaksIgnore => ".gitleaksignore",
            Self::Comments => "comments",
            Self::Exclude => "exclude",
            Self::Gitignore => "gitignore",
            Self::NoHidden => "no-hidden",
            Self::MaxSize => "max-size",
        }
    }

    /// Returns where it is: in a `comment`, a `gitleaksignore`, a `baseline` that heist found, or
    /// the `configuration`.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Self::Comments => "comment",
            Self::GitleaksIgnore => "gitleaksignore",
            Self::FoundBaseline => "baseline",
            _ => "configuration",
        }
    }

    /// Returns what it hides: `findings`, `paths` (a directory counts once) or `files`.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Exclude | Self::Gitignore | Self::NoHidden => "paths",
            Self::MaxSize => "files",
            _ => "findings",
        }
    }
}

/// A number of findings, paths or files that something hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HiddenEntry {
    pub(crate) setting: HidingSetting,
    /// The file with the setting; `None` for comments, which are in many files.
    pub(crate) file: Option<PathBuf>,
    /// For comments: the extension of the files, or `None` if they have none or there are many.
    pub(crate) kind: Option<OsString>,
    pub(crate) count: u64,
}

/// Formats the entry for people; the text is safe to print.
impl fmt::Display for HiddenEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.setting.unit();
        let unit = if self.count == 1 { &units[..units.len() - 1] } else { units };
        write!(f, "{} {unit} by ", grouped(self.count))?;
        match (self.setting, &self.kind) {
            (HidingSetting::Comments, Some(kind)) => {
                return write!(f, "comments in *.{} files", escape::for_terminal(kind));
            }
            (HidingSetting::Comments, None) => return f.write_str("comments in other files"),
            (HidingSetting::Allowlists, _) => f.write_str("the allowlists of `rules`")?,
            (HidingSetting::FoundBaseline, _) => f.write_str("the baseline")?,
            (setting, _) => write!(f, "`{}`", setting.as_str())?,
        }
        match &self.file {
            Some(file) => write!(f, " in '{}'", escape::for_terminal(file.as_os_str())),
            None => Ok(()),
        }
    }
}

/// What the tree hides: sorted by setting, without zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) entries: Vec<HiddenEntry>,
}

impl Hidden {
    /// Adds what a setting in `file` hides, if it hides anything.
    pub(crate) fn add(&mut self, setting: HidingSetting, file: &Path, count: u64) {
        if count > 0 {
            let file = Some(file.to_owned());
            self.entries.push(HiddenEntry { setting, file, kind: None, count });
        }
    }
}

/// What the scan needs to know to count hidden findings.
#[derive(Clone, Debug)]
pub(crate) struct HidingRules {
    /// What switches each rule off.
    pub(crate) off: HashMap<String, HidingSetting>,
    /// The configuration file of the tree, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The lowest confidence that the user asked for.
    pub(crate) confidence: Confidence,
    /// The setting and the file that bring the baseline, if the tree brings it.
    pub(crate) baseline: Option<(HidingSetting, PathBuf)>,
}

impl Default for HidingRules {
    fn default() -> Self {
        let (off, confidence) = (HashMap::new(), Confidence::Low);
        Self { off, file: None, confidence, baseline: None }
    }
}

/// Counts hidden findings.
#[derive(Debug, Default)]
pub(crate) struct HiddenFindings {
    rules: HidingRules,
    /// By setting, and the file or the kind of files.
    counts: BTreeMap<(HidingSetting, OsString), u64>,
    comments: BTreeMap<OsString, u64>,
    /// Comments in files of other kinds.
    other_comments: u64,
}

impl HiddenFindings {
    pub(crate) fn new(rules: HidingRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Counts a finding that is not reported, if the tree hides it. `suppressed` says why it is not
    /// reported; otherwise it is below the confidence, unless the tree hides it as such.
    pub(crate) fn add(
        &mut self,
        finding: &Finding,
        suppressed: Option<SuppressionReason>,
        suppression: &Suppression,
    ) {
        use HidingSetting::{Allowlists, Confidence, GitleaksIgnore, NoDecode, Rules};
        let is_asked_for = finding.confidence >= self.rules.confidence;
        // The user did not ask for the rules that the tree adds.
        if !is_asked_for || finding.standing == Standing::Added {
            return;
        }
        let has_trusted_reason = suppression.is_accepted(finding, self.rules.baseline.is_some());
        if has_trusted_reason {
            return;
        }
        let setting = match (finding.standing, suppressed) {
            (Standing::Hidden(by), _) => match by {
                HiddenBy::RuleOff => *self.rules.off.get(&*finding.rule).unwrap_or(&Rules),
                HiddenBy::NoDecode => NoDecode,
                _ => Allowlists,
            },
            (_, None) => Confidence,
            (_, Some(SuppressionReason::AllowedByComment)) => return self.add_comment(finding),
            (_, Some(SuppressionReason::InGitleaksIgnore)) => {
                let file = suppression.ignoring_file(finding).unwrap_or_default();
                *self.counts.entry((GitleaksIgnore, file.into())).or_default() += 1;
                return;
            }
            (_, Some(SuppressionReason::InBaseline | SuppressionReason::InOwnFile)) => {
                let Some((setting, file)) = self.rules.baseline.clone() else { return };
                *self.counts.entry((setting, file.into())).or_default() += 1;
                return;
            }
        };
        let file = self.rules.file.clone().unwrap_or_default();
        *self.counts.entry((setting, file.into())).or_default() += 1;
    }

    /// Keeps the first kinds by name. So which ones are named does not depend on the order in which
    /// the findings arrive.
    fn add_comment(&mut self, finding: &Finding) {
        let Some(kind) = finding.path.extension().map(OsStr::to_owned) else {
            self.other_comments += 1;
            return;
        };
        *self.comments.entry(kind).or_default() += 1;
        if self.comments.len() > KINDS_MAX
            && let Some((_, count)) = self.comments.pop_last()
        {
            self.other_comments += count;
        }
    }

    /// Returns what was counted.
    pub(crate) fn into_hidden(self) -> Hidden {
        let setting = HidingSetting::Comments;
        let of_files = self.counts.into_iter().map(|((setting, file), count)| HiddenEntry {
            setting,
            file: (!file.is_empty()).then(|| file.into()),
            kind: None,
            count,
        });
        let of_kinds = self.comments.into_iter().map(|(kind, count)| (Some(kind), count));
        let other = (self.other_comments > 0).then_some((None, self.other_comments));
        let comments = of_kinds.chain(other).map(|(kind, count)| HiddenEntry {
            setting,
            file: None,
            kind,
            count,
        });
        Hidden { entries: of_files.chain(comments).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{HiddenFindings, HidingRules, KINDS_MAX};
    use crate::scan::suppression::{Suppression, SuppressionReason};
    use heist_scan::{Finding, Secret};

    #[test]
    fn the_kinds_of_comments_do_not_depend_on_the_order() {
        let hidden = |numbers: &mut dyn Iterator<Item = usize>| {
            let mut findings = HiddenFindings::new(HidingRules::default());
            let reason = Some(SuppressionReason::AllowedByComment);
            for number in numbers {
                let path = format!("a.{:03}", number % 90);
                let finding = Finding::new(path, "rule", Secret::new(*b"x"));
                findings.add(&finding, reason, &Suppression::default());
            }
            findings.into_hidden()
        };
        let forwards = hidden(&mut (0..900));
        assert_eq!(forwards, hidden(&mut (0..900).rev()));
        assert_eq!(forwards.entries.len(), KINDS_MAX + 1);
        assert_eq!(forwards.entries.iter().map(|entry| entry.count).sum::<u64>(), 900);
        assert_eq!(forwards.entries[0].to_string(), "10 findings by comments in *.000 files");
        assert_eq!(
            forwards.entries[KINDS_MAX].to_string(),
            "580 findings by comments in other files"
        );
    }
}
