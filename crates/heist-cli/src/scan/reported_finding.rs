//! [`ReportedFinding`]: a finding as reports show it.
//!
//! Secrets are masked when it is created, so code that prints it cannot reveal them.

use super::history_place::ReportedPlace;
use heist_scan::{Confidence, Encoding, Finding, Fingerprint, Standing};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A secret at one location, masked unless `--show-secrets` is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedFinding {
    /// The path as reports show it.
    pub(crate) path: Arc<Path>,
    pub(crate) rule: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) remedy: Arc<str>,
    pub(crate) fingerprint: Fingerprint,
    /// The secret, masked unless secrets are shown. An identifier is never masked.
    pub(crate) secret: Box<[u8]>,
    /// The line around the secret, masked in the same way.
    pub(crate) excerpt: Box<[u8]>,
    pub(crate) offset: Range<u64>,
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) end_line: u64,
    pub(crate) end_column: u64,
    pub(crate) encoding: Encoding,
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
    /// Whether the scanned tree wrote the rule, and so its texts.
    pub(crate) is_by_tree: bool,
    /// Where in a git history it is. Then `path` is no file.
    pub(crate) history: Option<Box<ReportedPlace>>,
}

impl ReportedFinding {
    /// Creates it from a finding of the library. `path` is the path to show.
    pub(crate) fn new(finding: Finding, path: Arc<Path>, show_secrets: bool) -> Self {
        let (secret, excerpt) = if show_secrets {
            (finding.secret.reveal().into(), finding.excerpt_revealed.reveal().into())
        } else {
            (finding.shown.into_bytes().into(), finding.excerpt.into_bytes().into())
        };
        // A rule without a description is shown by its id.
        let says_nothing = finding.description.trim().is_empty();
        let description = if says_nothing { &finding.rule } else { &finding.description };
        Self {
            path,
            description: Arc::clone(description),
            rule: finding.rule,
            remedy: finding.remedy,
            fingerprint: finding.fingerprint,
            secret,
            excerpt,
            offset: finding.offset,
            line: finding.line,
            column: finding.column,
            end_line: finding.end_line,
            end_column: finding.end_column,
            encoding: finding.encoding,
            confidence: finding.confidence,
            reason: finding.reason,
            is_by_tree: finding.standing == Standing::Added,
            history: None,
        }
    }

    /// Returns the description without its full stop, to be followed by other text.
    pub(crate) fn title(&self) -> &str {
        self.description.trim_end_matches('.')
    }

    /// Returns the sort key: the path, then the location. No two findings have the same key.
    fn order(&self) -> impl Ord + '_ {
        let path = self.path.as_os_str().as_encoded_bytes();
        let object = self.history.as_ref().map(|place| &*place.object);
        (path, self.offset.start, self.offset.end, &*self.rule, self.fingerprint, object)
    }
}

/// Sorts findings in the order of the report.
impl Ord for ReportedFinding {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for ReportedFinding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A secret with all its locations.
#[derive(Debug)]
pub(crate) struct SecretGroup<'a> {
    /// Sorted; at least one.
    pub(crate) findings: Vec<&'a ReportedFinding>,
    /// The index of the finding with the highest confidence.
    surest: usize,
}

impl<'a> SecretGroup<'a> {
    /// Returns the finding with the highest confidence. Its rule names the secret.
    pub(crate) fn surest(&self) -> &'a ReportedFinding {
        self.findings[self.surest]
    }
}

/// Groups findings by secret: the highest confidence first, then in the order of the first
/// findings. `findings` must be sorted.
pub(crate) fn group_by_secret(findings: &[ReportedFinding]) -> Vec<SecretGroup<'_>> {
    let mut groups: Vec<SecretGroup<'_>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for finding in findings {
        let at = *known.entry(finding.fingerprint).or_insert_with(|| {
            groups.push(SecretGroup { findings: Vec::new(), surest: 0 });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.findings.push(finding);
        if finding.confidence > group.findings[group.surest].confidence {
            group.surest = group.findings.len() - 1;
        }
    }
    // A stable sort keeps the order of the first findings among equals.
    groups.sort_by_key(|group| std::cmp::Reverse(group.surest().confidence));
    groups
}

#[cfg(test)]
pub(super) mod tests {
    use super::{ReportedFinding, group_by_secret};
    use heist_scan::{Confidence, Encoding, Secret};
    use std::path::Path;
    use std::sync::Arc;

    pub(in crate::scan) fn finding(
        path: &str,
        line: u64,
        secret: &str,
        confidence: Confidence,
    ) -> ReportedFinding {
        let secret = Secret::new(secret.as_bytes());
        ReportedFinding {
            path: Arc::from(Path::new(path)),
            rule: Arc::from("test-rule"),
            description: Arc::from("A test's secret"),
            remedy: Arc::from("Forget it."),
            fingerprint: secret.fingerprint(),
            excerpt: format!("x = {secret}").into_bytes().into(),
            secret: secret.masked().into_bytes().into(),
            offset: line * 10..line * 10 + 8,
            line,
            column: 5,
            end_line: line,
            end_column: 13,
            encoding: Encoding::Plain,
            confidence,
            reason: "it says so".into(),
            is_by_tree: false,
            history: None,
        }
    }

    #[test]
    fn each_secret_appears_once_and_the_most_certain_comes_first() {
        let mut findings = [
            finding("b", 9, "one", Confidence::Medium),
            finding("b", 2, "two", Confidence::Medium),
            finding("a", 5, "three", Confidence::High),
            finding("a", 4, "one", Confidence::Certain),
        ];
        findings.sort();
        let groups = group_by_secret(&findings);
        let shown: Vec<Vec<(&Path, u64)>> = groups
            .iter()
            .map(|group| {
                group.findings.iter().map(|finding| (&*finding.path, finding.line)).collect()
            })
            .collect();
        let (a, b) = (Path::new("a"), Path::new("b"));
        assert_eq!(shown, [vec![(a, 4), (b, 9)], vec![(a, 5)], vec![(b, 2)]]);
        assert_eq!(groups[0].surest().confidence, Confidence::Certain);
    }
}
