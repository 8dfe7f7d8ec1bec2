//! Scores a tool: how many of the planted secrets it finds, and how many of its reports are right.
//!
//! A finding matches a secret if it is in the same file, on one of the secret's lines, and shows a
//! text that overlaps the secret. For tools that do not show texts the line is enough, and for
//! tools that do not report lines the text is. Several findings of one secret count once, and so do
//! several wrong findings on one line. Findings of disputed items do not count.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Serialize;

use super::corpus::{Corpus, Item, Label};
use super::findings::ReportedSecret;

/// Texts with this many bytes in common are about the same secret. A shorter text has to be
/// contained in the other one.
const COMMON_BYTES: usize = 12;

/// Shorter texts may occur elsewhere in a file by chance.
const TELLING_BYTES: usize = 8;

/// The result of one tool.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Score {
    pub(crate) secrets: usize,
    pub(crate) found: usize,
    /// Lines with a finding that does not match a secret.
    pub(crate) wrong: usize,
    /// Those of the wrong lines that hold a look-alike.
    pub(crate) look_alikes: usize,
    /// Secrets with any finding on one of their lines.
    pub(crate) found_by_line: usize,
    /// Lines with a finding, except disputed ones.
    pub(crate) lines: usize,
    /// Those of the lines that hold a secret.
    pub(crate) right_lines: usize,
    /// Per kind: secrets found, or look-alikes reported.
    pub(crate) kinds: BTreeMap<String, Count>,
    /// Per kind of file: secrets found.
    pub(crate) settings: BTreeMap<String, Count>,
}

/// How many of the planted items were reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Count {
    pub(crate) reported: usize,
    pub(crate) planted: usize,
}

impl Score {
    pub(crate) fn recall(&self) -> f64 {
        share(self.found, self.secrets)
    }

    pub(crate) fn precision(&self) -> f64 {
        share(self.found, self.found + self.wrong)
    }

    pub(crate) fn recall_by_line(&self) -> f64 {
        share(self.found_by_line, self.secrets)
    }

    pub(crate) fn precision_by_line(&self) -> f64 {
        share(self.right_lines, self.lines)
    }

    /// Compares the findings below `root` with the ground truth.
    pub(crate) fn of(corpus: &Corpus, root: &Path, findings: &[ReportedSecret]) -> Self {
        let mut by_file: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, item) in corpus.items.iter().enumerate() {
            by_file.entry(&item.file).or_default().push(index);
        }
        let mut reported = vec![false; corpus.items.len()];
        let mut wrong: BTreeSet<((String, u64), String)> = BTreeSet::new();
        let mut lines: BTreeSet<(String, u64)> = BTreeSet::new();
        for finding in findings {
            let file = finding.below(root).unwrap_or_else(|| finding.path.clone());
            let here = by_file.get(file.as_str()).map_or(&[][..], Vec::as_slice);
            let owners = owners(&corpus.items, here, finding);
            let line = match (&finding.lines, owners.first()) {
                (Some(lines), _) => *lines.start(),
                (None, Some(owner)) => *corpus.items[*owner].lines.start(),
                (None, None) => 0,
            };
            for owner in &owners {
                reported[*owner] = true;
            }
            lines.insert((file.clone(), line));
            if owners.is_empty() {
                // Without lines, only the texts distinguish two wrong findings.
                let text = match finding.lines {
                    Some(_) => String::new(),
                    None => finding.texts.concat(),
                };
                wrong.insert(((file, line), text));
            }
        }
        Self::from_marks(corpus, &by_file, &reported, &wrong, &lines)
    }

    fn from_marks(
        corpus: &Corpus,
        by_file: &HashMap<&str, Vec<usize>>,
        reported: &[bool],
        wrong: &BTreeSet<((String, u64), String)>,
        lines: &BTreeSet<(String, u64)>,
    ) -> Self {
        let on_line = |(file, line): &(String, u64), label: Label| {
            let here = by_file.get(file.as_str()).into_iter().flatten();
            here.map(|index| &corpus.items[*index])
                .any(|item| item.label == label && item.lines.contains(line))
        };
        let mut score = Self {
            secrets: 0,
            found: 0,
            wrong: 0,
            look_alikes: 0,
            found_by_line: 0,
            lines: 0,
            right_lines: 0,
            kinds: BTreeMap::new(),
            settings: BTreeMap::new(),
        };
        // Reports of look-alikes, and reports on an item's line that do not match the item.
        let mut wrong_lines = wrong.clone();
        for (item, reported) in corpus.items.iter().zip(reported) {
            let count = score.kinds.entry(item.kind.to_owned()).or_default();
            count.planted += 1;
            count.reported += usize::from(*reported);
            match item.label {
                Label::Secret => {
                    score.secrets += 1;
                    score.found += usize::from(*reported);
                    let count = score.settings.entry(item.setting.to_owned()).or_default();
                    count.planted += 1;
                    count.reported += usize::from(*reported);
                    let touched =
                        item.lines.clone().any(|line| lines.contains(&(item.file.clone(), line)));
                    score.found_by_line += usize::from(touched || *reported);
                }
                Label::LookAlike if *reported => {
                    wrong_lines.insert(((item.file.clone(), *item.lines.start()), String::new()));
                }
                Label::LookAlike | Label::Disputed => {}
            }
        }
        wrong_lines.retain(|(place, _)| !on_line(place, Label::Disputed));
        score.wrong = wrong_lines.len();
        score.look_alikes =
            wrong_lines.iter().filter(|(place, _)| on_line(place, Label::LookAlike)).count();
        for place in lines.iter().filter(|place| !on_line(place, Label::Disputed)) {
            score.lines += 1;
            score.right_lines += usize::from(on_line(place, Label::Secret));
        }
        score
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the items that a finding matches: those on its lines or, if there are none, those in the
/// file whose text it shows, because tools count lines differently.
fn owners(items: &[Item], here: &[usize], finding: &ReportedSecret) -> Vec<usize> {
    let on_lines = |item: &Item| {
        finding.lines.as_ref().is_some_and(|lines| {
            lines.start() <= item.lines.end() && item.lines.start() <= lines.end()
        })
    };
    let shown = |item: &Item| {
        finding.texts.iter().any(|text| overlap(text, &item.secret) || overlap(text, &item.shown))
    };
    let is_block = |item: &Item| item.secret.contains('\n');
    let nearby: Vec<usize> = here
        .iter()
        .copied()
        .filter(|index| {
            let item = &items[*index];
            on_lines(item) && (finding.texts.is_empty() || is_block(item) || shown(item))
        })
        .collect();
    if nearby.is_empty() {
        let telling = finding.texts.iter().any(|text| text.len() >= TELLING_BYTES);
        here.iter().copied().filter(|index| telling && shown(&items[*index])).collect()
    } else {
        nearby
    }
}

/// Returns `true` if one text contains the other, or if they have a long text in common.
fn overlap(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if short.is_empty() {
        return false;
    }
    long.contains(short)
        || short
            .as_bytes()
            .windows(COMMON_BYTES)
            .any(|window| long.as_bytes().windows(COMMON_BYTES).any(|other| other == window))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(
        lines: std::ops::RangeInclusive<u64>,
        label: Label,
        kind: &'static str,
        secret: &str,
    ) -> Item {
        Item {
            file: "a".to_owned(),
            lines,
            label,
            kind,
            setting: "yaml",
            secret: secret.to_owned(),
            shown: secret.to_owned(),
        }
    }

    fn corpus() -> Corpus {
        Corpus {
            files: BTreeMap::new(),
            items: vec![
                item(1..=1, Label::Secret, "token", "the-first-secret-of-all"),
                item(3..=6, Label::Secret, "key", "a block\nof lines"),
                item(8..=8, Label::LookAlike, "hash", "0123456789abcdef"),
                item(9..=9, Label::Disputed, "test key", "fedcba9876543210"),
            ],
        }
    }

    fn finding(line: Option<u64>, text: &str) -> ReportedSecret {
        ReportedSecret {
            path: "/tree/a".to_owned(),
            lines: line.map(|line| line..=line),
            texts: (!text.is_empty()).then(|| text.to_owned()).into_iter().collect(),
        }
    }

    #[track_caller]
    fn check(findings: &[ReportedSecret], found: usize, wrong: usize, look_alikes: usize) {
        let score = Score::of(&corpus(), Path::new("/tree"), findings);
        assert_eq!((score.found, score.wrong, score.look_alikes), (found, wrong, look_alikes));
        assert_eq!(score.secrets, 2);
    }

    #[test]
    fn secrets_are_found_by_line_and_text() {
        check(&[finding(Some(1), "the-first-secret-of-all")], 1, 0, 0);
        check(&[finding(Some(1), "key=the-first-secret-of-all;")], 1, 0, 0);
        check(&[finding(Some(1), "")], 1, 0, 0);
        check(&[finding(None, "the-first-secret-of-all")], 1, 0, 0);
        check(&[finding(Some(5), "whatever it shows")], 1, 0, 0);
        // The right line, but another text on it.
        check(&[finding(Some(1), "something else entirely")], 0, 1, 0);
    }

    #[test]
    fn duplicates_count_once_and_disputed_items_never() {
        let twice = [finding(Some(1), ""), finding(Some(1), "the-first-secret-of-all")];
        check(&twice, 1, 0, 0);
        check(&[finding(Some(8), ""), finding(Some(8), "0123456789abcdef")], 0, 1, 1);
        check(&[finding(Some(9), "fedcba9876543210"), finding(Some(7), "")], 0, 1, 0);
    }

    #[test]
    fn recall_is_of_planted_and_precision_of_reported() {
        let findings = [finding(Some(1), ""), finding(Some(8), "")];
        let score = Score::of(&corpus(), Path::new("/tree"), &findings);
        assert_eq!((score.recall(), score.precision()), (0.5, 0.5));
        assert_eq!((score.recall_by_line(), score.precision_by_line()), (0.5, 0.5));
        assert_eq!(score.kinds["token"], Count { reported: 1, planted: 1 });
        assert_eq!(score.kinds["key"], Count { reported: 0, planted: 1 });
    }
}
