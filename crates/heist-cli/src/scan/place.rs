//! [`Place`]: what is kept and shown of a finding. Secrets are masked here, once and for all: what prints a place
//! cannot show more than is in it.

use heist_scan::{Confidence, Encoding, Finding, Fingerprint};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A place where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As it is shown.
    pub(crate) path: Arc<Path>,
    pub(crate) rule: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) remedy: Arc<str>,
    pub(crate) fingerprint: Fingerprint,
    /// Masked, unless secrets are to be shown.
    pub(crate) secret: Box<[u8]>,
    /// The same for the line around it.
    pub(crate) excerpt: Box<[u8]>,
    pub(crate) offset: Range<u64>,
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) end_line: u64,
    pub(crate) end_column: u64,
    pub(crate) encoding: Encoding,
    pub(crate) confidence: Confidence,
    pub(crate) reason: Cow<'static, str>,
}

impl Place {
    /// Of a finding, shown under `path`.
    pub(crate) fn new(finding: Finding, path: Arc<Path>, show_secrets: bool) -> Self {
        let (secret, excerpt) = if show_secrets {
            (finding.secret.reveal().into(), finding.excerpt_revealed.reveal().into())
        } else {
            (finding.secret.masked().into_bytes().into(), finding.excerpt.into_bytes().into())
        };
        // A rule need not say what it finds; its name does.
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
        }
    }

    /// What its rule finds, where more comes in the same line.
    pub(crate) fn title(&self) -> &str {
        self.description.trim_end_matches('.')
    }

    /// By path, then by where it is in it. No two places are equal in all of this.
    fn order(&self) -> impl Ord + '_ {
        let path = self.path.as_os_str().as_encoded_bytes();
        (path, self.offset.start, self.offset.end, &*self.rule, self.fingerprint)
    }
}

/// The order in which places are shown.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A secret and all of its places. The first is the surest: its rule is what the secret is called.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// In order, at least one.
    pub(crate) places: Vec<&'a Place>,
    /// Which of the places is the surest.
    surest: usize,
}

impl<'a> Group<'a> {
    /// The place that says best what the secret is.
    pub(crate) fn surest(&self) -> &'a Place {
        self.places[self.surest]
    }
}

/// The secrets, the surest first, then in the order of their first places. `places` must be sorted.
pub(crate) fn groups(places: &[Place]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for place in places {
        let at = *known.entry(place.fingerprint).or_insert_with(|| {
            groups.push(Group { places: Vec::new(), surest: 0 });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.places.push(place);
        if place.confidence > group.places[group.surest].confidence {
            group.surest = group.places.len() - 1;
        }
    }
    // Stable: the first places stay in order.
    groups.sort_by_key(|group| std::cmp::Reverse(group.surest().confidence));
    groups
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Place, groups};
    use heist_scan::{Confidence, Encoding, Secret};
    use std::path::Path;
    use std::sync::Arc;

    pub(in crate::scan) fn place(
        path: &str,
        line: u64,
        secret: &str,
        confidence: Confidence,
    ) -> Place {
        let secret = Secret::new(secret.as_bytes());
        Place {
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
        }
    }

    #[test]
    fn secrets_come_once_the_surest_first() {
        let mut places = [
            place("b", 9, "one", Confidence::Medium),
            place("b", 2, "two", Confidence::Medium),
            place("a", 5, "three", Confidence::High),
            place("a", 4, "one", Confidence::Certain),
        ];
        places.sort();
        let groups = groups(&places);
        let shown: Vec<Vec<(&Path, u64)>> = groups
            .iter()
            .map(|group| group.places.iter().map(|place| (&*place.path, place.line)).collect())
            .collect();
        let (a, b) = (Path::new("a"), Path::new("b"));
        assert_eq!(shown, [vec![(a, 4), (b, 9)], vec![(a, 5)], vec![(b, 2)]]);
        assert_eq!(groups[0].surest().confidence, Confidence::Certain);
    }
}
