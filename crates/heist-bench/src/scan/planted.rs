//! Runs every tool that reports secrets on the planted corpus, and scores it.
//!
//! A tool *claims* a kind of secret if it finds at least one secret of that kind. Each tool's
//! recall is given over all kinds and over the kinds that it claims.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contender::ScanContender;
use super::corpus::{Corpus, Item, Label};
use super::findings::{ReportFormat, ReportedSecret};
use super::score::Score;
use super::table::trouble;
use crate::walk::stopwatch;

/// The result of one tool on the corpus.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PlantedRow {
    pub(crate) contender: String,
    /// What went wrong, if anything.
    pub(crate) trouble: Option<String>,
    pub(crate) recall: f64,
    pub(crate) precision: f64,
    pub(crate) recall_by_line: f64,
    pub(crate) precision_by_line: f64,
    /// Kinds of secrets of which the tool found at least one.
    pub(crate) kinds_claimed: usize,
    /// Recall over those kinds.
    pub(crate) recall_of_claimed: f64,
    pub(crate) score: Score,
}

/// The corpus, written to a folder.
#[derive(Debug)]
pub(crate) struct Planted {
    corpus: Corpus,
    root: PathBuf,
    /// Removes the folder on drop, unless the user asked to keep it.
    _temporary: Option<TemporaryFolder>,
}

/// A folder that is removed when this value is dropped.
#[derive(Debug)]
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If the folder cannot be removed now, the system's cleanup of temporary files will get it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Planted {
    /// Writes the corpus of the seed: to `keep`, with the table of truth beside the files, or to a
    /// temporary folder that lives as long as the returned value.
    ///
    /// # Errors
    /// Returns a message if the corpus cannot be written or `keep` is not empty.
    pub(crate) fn new(seed: u64, keep: Option<&Path>) -> Result<Self, String> {
        let corpus = Corpus::generate(seed);
        let (folder, temporary) = match keep {
            Some(folder) => (folder.to_owned(), None),
            None => {
                let name = format!("heist-bench-planted-{}", std::process::id());
                let folder = std::env::temp_dir().join(name);
                (folder.clone(), Some(TemporaryFolder(folder)))
            }
        };
        let cannot = |error: io::Error| {
            format!("cannot write the planted corpus to {}: {error}", folder.display())
        };
        let root = folder.join("files");
        corpus.write(&root).map_err(cannot)?;
        fs::write(folder.join("truth.tsv"), corpus.truth()).map_err(cannot)?;
        // Tools print paths with links resolved.
        let root = root.canonicalize().map_err(cannot)?;
        Ok(Self { corpus, root, _temporary: temporary })
    }

    /// Describes what the corpus contains.
    pub(crate) fn summary(&self) -> String {
        let count = |label| self.corpus.items.iter().filter(|item| item.label == label).count();
        let bytes: usize = self.corpus.files.values().map(Vec::len).sum();
        format!(
            "{} secrets of {} kinds, {} look-alikes and {} disputed things in {} files, {bytes} bytes.",
            count(Label::Secret),
            self.kinds(Label::Secret).len(),
            count(Label::LookAlike),
            count(Label::Disputed),
            self.corpus.files.len(),
        )
    }

    /// Lets every tool that reports secrets scan the corpus.
    ///
    /// # Errors
    /// Returns a message if a tool cannot be run or its output cannot be understood.
    pub(crate) fn scan(
        &self,
        entrants: &[(&'static ScanContender, PathBuf)],
    ) -> Result<Vec<PlantedRow>, String> {
        let mut rows = Vec::new();
        for (contender, program) in
            entrants.iter().filter(|(one, _)| one.format != ReportFormat::None)
        {
            eprintln!("planted: {}", contender.name);
            let command = contender.command(program, &self.root, Path::new(""));
            let format = contender.format;
            let read =
                |output: &mut dyn Read| -> io::Result<Vec<ReportedSecret>> { format.read(output) };
            let (lap, findings) = stopwatch::measure(&command, Some(read))?;
            let score = Score::of(&self.corpus, &self.root, &findings.unwrap_or_default());
            rows.push(PlantedRow { trouble: trouble(lap.end), ..self.row(contender.name, score) });
        }
        Ok(rows)
    }

    fn row(&self, contender: &str, score: Score) -> PlantedRow {
        let claimed: Vec<_> = self
            .kinds(Label::Secret)
            .into_iter()
            .map(|kind| score.kinds[kind])
            .filter(|count| count.reported > 0)
            .collect();
        let found: usize = claimed.iter().map(|count| count.reported).sum();
        let planted: usize = claimed.iter().map(|count| count.planted).sum();
        PlantedRow {
            contender: contender.to_owned(),
            trouble: None,
            recall: score.recall(),
            precision: score.precision(),
            recall_by_line: score.recall_by_line(),
            precision_by_line: score.precision_by_line(),
            kinds_claimed: claimed.len(),
            recall_of_claimed: found as f64 / planted.max(1) as f64,
            score,
        }
    }

    /// Returns the kinds with this label, sorted and without duplicates.
    fn kinds(&self, label: Label) -> Vec<&'static str> {
        let with_label = |item: &&Item| item.label == label;
        let mut kinds: Vec<_> =
            self.corpus.items.iter().filter(with_label).map(|item| item.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns a table of every kind: how many of the planted items each tool reported.
    pub(crate) fn by_kind(&self, rows: &[PlantedRow]) -> String {
        let mut text = String::new();
        for (title, label) in [
            ("secrets found", Label::Secret),
            ("look-alikes reported", Label::LookAlike),
            ("disputed items reported", Label::Disputed),
        ] {
            text += &head(title, rows);
            for kind in self.kinds(label) {
                let cells = rows.iter().map(|row| row.score.kinds[kind].reported);
                let planted = rows.first().map_or(0, |row| row.score.kinds[kind].planted);
                let claims = rows.iter().filter(|row| row.score.kinds[kind].reported > 0).count();
                text += &line(kind, cells, planted, claims);
            }
            text += "\n";
        }
        text += &head("secrets found, by file", rows);
        if let Some(first) = rows.first() {
            for (setting, count) in &first.score.settings {
                let cells = rows.iter().map(|row| row.score.settings[setting].reported);
                let some = rows.iter().filter(|row| row.score.settings[setting].reported > 0);
                text += &line(setting, cells, count.planted, some.count());
            }
        }
        text
    }
}

fn head(title: &str, rows: &[PlantedRow]) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.contender.as_str()).collect();
    format!(
        "| {title} | planted | tools with any | {} |\n|---|---:|---:|{}\n",
        names.join(" | "),
        "---:|".repeat(names.len())
    )
}

fn line(name: &str, cells: impl Iterator<Item = usize>, planted: usize, tools: usize) -> String {
    let cells: Vec<String> = cells.map(|count| count.to_string()).collect();
    format!("| {name} | {planted} | {tools} | {} |\n", cells.join(" | "))
}

/// Returns the table of results, the best recall first.
pub(crate) fn markdown(rows: &[PlantedRow]) -> String {
    let mut rows: Vec<&PlantedRow> = rows.iter().collect();
    rows.sort_by(|a, b| b.recall.total_cmp(&a.recall));
    let mut table = String::from(
        "| contender | secrets found | recall | precision | wrong | look-alikes among them | \
         recall by line | precision by line | kinds claimed | recall in those |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {:.3} | {:.3} | {} | {} | {:.3} | {:.3} | {} | {:.3} |",
            match &row.trouble {
                Some(trouble) => format!("{} ({trouble})", row.contender),
                None => row.contender.clone(),
            },
            row.score.found,
            row.recall,
            row.precision,
            row.score.wrong,
            row.score.look_alikes,
            row.recall_by_line,
            row.precision_by_line,
            row.kinds_claimed,
            row.recall_of_claimed,
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::corpus::SEED;

    /// One simulated tool reports exactly the secrets, another reports every item.
    #[test]
    fn exact_reports_are_perfect_and_reporting_everything_halves_precision() {
        let place = tempfile::tempdir().expect("can create a temporary folder");
        let planted =
            Planted::new(SEED, Some(&place.path().join("corpus"))).expect("can be planted");
        let finding = |item: &Item| ReportedSecret {
            path: planted.root.join(&item.file).to_str().expect("UTF-8").to_owned(),
            lines: Some(item.lines.clone()),
            texts: vec![item.shown.clone()],
        };
        let items = &planted.corpus.items;
        let secrets: Vec<_> =
            items.iter().filter(|item| item.label == Label::Secret).map(finding).collect();
        let perfect = planted.row("perfect", Score::of(&planted.corpus, &planted.root, &secrets));
        assert_eq!((perfect.recall, perfect.precision), (1.0, 1.0));
        assert_eq!(perfect.kinds_claimed, planted.kinds(Label::Secret).len());
        let all: Vec<_> = items.iter().map(finding).collect();
        let greedy = planted.row("greedy", Score::of(&planted.corpus, &planted.root, &all));
        assert_eq!(greedy.recall, 1.0);
        assert!((0.4..0.6).contains(&greedy.precision), "{}", greedy.precision);
        let rows = [greedy, perfect];
        assert_eq!(markdown(&rows).lines().count(), 4);
        assert!(planted.by_kind(&rows).contains("| github-classic | 9 | 2 | 9 | 9 |"));
    }

    #[test]
    fn the_corpus_is_removed_unless_it_was_asked_for() {
        let planted = Planted::new(3, None).expect("can be planted");
        let root = planted.root.clone();
        assert!(root.exists());
        drop(planted);
        assert!(!root.exists());
    }
}
