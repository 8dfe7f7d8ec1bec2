//! The planted corpus, scanned by everybody who reports secrets, and how right each is.
//!
//! A tool claims a kind of secret if it finds at least one of it: kinds that only some claim are told in the table by
//! kind, and each tool's recall is given both over all kinds and over those that it claims.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contender::Contender;
use super::corpus::{Corpus, Item, Label};
use super::findings::{Finding, Format};
use super::score::Score;
use super::table::trouble;
use crate::walk::stopwatch;

/// How one tool did on the corpus.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) contender: String,
    /// What went wrong, if something did.
    pub(crate) trouble: Option<String>,
    pub(crate) recall: f64,
    pub(crate) precision: f64,
    pub(crate) recall_by_line: f64,
    pub(crate) precision_by_line: f64,
    /// Kinds of secrets of which it found at least one ...
    pub(crate) kinds_claimed: usize,
    /// ... and its recall in those.
    pub(crate) recall_of_claimed: f64,
    pub(crate) score: Score,
}

/// The corpus in a folder.
#[derive(Debug)]
pub(crate) struct Planted {
    corpus: Corpus,
    root: PathBuf,
    /// Removes the folder at the end, unless it was asked for.
    _temporary: Option<Temporary>,
}

/// A folder that goes when this does.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is in the system's folder for temporary files: if it cannot go now, it goes some day.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Planted {
    /// Plants the corpus of the seed: in `keep`, with the table of truth beside the files, or in a folder that goes
    /// with the result.
    ///
    /// # Errors
    /// A message if it cannot be written, or `keep` has something in it.
    pub(crate) fn new(seed: u64, keep: Option<&Path>) -> Result<Self, String> {
        let corpus = Corpus::generate(seed);
        let (folder, temporary) = match keep {
            Some(folder) => (folder.to_owned(), None),
            None => {
                let name = format!("heist-bench-planted-{}", std::process::id());
                let folder = std::env::temp_dir().join(name);
                (folder.clone(), Some(Temporary(folder)))
            }
        };
        let cannot = |error: io::Error| format!("cannot plant in {}: {error}", folder.display());
        let root = folder.join("files");
        corpus.write(&root).map_err(cannot)?;
        fs::write(folder.join("truth.tsv"), corpus.truth()).map_err(cannot)?;
        // Tools show paths as they are after all links.
        let root = root.canonicalize().map_err(cannot)?;
        Ok(Self { corpus, root, _temporary: temporary })
    }

    /// What there is to find.
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

    /// Has every tool that reports secrets scan the corpus.
    ///
    /// # Errors
    /// A message if a tool cannot be run or is not understood.
    pub(crate) fn scan(
        &self,
        entrants: &[(&'static Contender, PathBuf)],
    ) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for (contender, program) in entrants.iter().filter(|(one, _)| one.format != Format::None) {
            eprintln!("planted: {}", contender.name);
            let command = contender.command(program, &self.root, Path::new(""));
            let format = contender.format;
            let read = |output: &mut dyn Read| -> io::Result<Vec<Finding>> { format.read(output) };
            let (lap, findings) = stopwatch::measure(&command, Some(read))?;
            let score = Score::of(&self.corpus, &self.root, &findings.unwrap_or_default());
            rows.push(Row { trouble: trouble(lap.end), ..self.row(contender.name, score) });
        }
        Ok(rows)
    }

    fn row(&self, contender: &str, score: Score) -> Row {
        let claimed: Vec<_> = self
            .kinds(Label::Secret)
            .into_iter()
            .map(|kind| score.kinds[kind])
            .filter(|count| count.reported > 0)
            .collect();
        let found: usize = claimed.iter().map(|count| count.reported).sum();
        let planted: usize = claimed.iter().map(|count| count.planted).sum();
        Row {
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

    /// The kinds with this label, each once, in the order of their names.
    fn kinds(&self, label: Label) -> Vec<&'static str> {
        let with_label = |item: &&Item| item.label == label;
        let mut kinds: Vec<_> =
            self.corpus.items.iter().filter(with_label).map(|item| item.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Every kind: how many each tool reported of those that were planted.
    pub(crate) fn by_kind(&self, rows: &[Row]) -> String {
        let mut text = String::new();
        for (title, label) in [
            ("secrets found", Label::Secret),
            ("look-alikes reported", Label::LookAlike),
            ("disputed things reported", Label::Disputed),
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

fn head(title: &str, rows: &[Row]) -> String {
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

/// The rows, the best recall first.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
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

    /// Somebody who knows the truth, and somebody who reports every line.
    #[test]
    fn who_knows_all_is_perfect_and_who_reports_all_has_half_the_precision() {
        let place = tempfile::tempdir().expect("a place for a test");
        let planted =
            Planted::new(SEED, Some(&place.path().join("corpus"))).expect("can be planted");
        let finding = |item: &Item| Finding {
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
    fn the_corpus_goes_unless_it_was_asked_for() {
        let planted = Planted::new(3, None).expect("can be planted");
        let root = planted.root.clone();
        assert!(root.exists());
        drop(planted);
        assert!(!root.exists());
    }
}
