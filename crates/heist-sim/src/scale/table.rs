//! Formats the report as Markdown tables and writes all output files.

use super::{Figures, Report, Row, Workload};
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// The lines of a document between which the tables are.
const TABLE_BEGINS: &str = "<!-- the table begins -->\n";
const TABLE_ENDS: &str = "<!-- the table ends -->\n";

type Column = (&'static str, fn(&Figures) -> String);

const COLUMNS: &[Column] = &[
    ("in tasks, %", |figures| format!("{:.0}", 100.0 * figures.efficiency)),
    ("shared writes", |figures| format!("{:.2}", figures.shared_writes)),
    ("read misses", |figures| format!("{:.2}", figures.read_misses)),
    ("steals", |figures| format!("{:.3}", figures.steals)),
    ("wake-ups", |figures| format!("{:.4}", figures.wakes)),
    ("timeouts", |figures| format!("{:.4}", figures.timeouts)),
    ("awake idle, ns", |figures| format!("{:.0}", figures.overhead_ns)),
    ("idle words, ns", |figures| format!("{:.0}", figures.access_ns_by_part.idle)),
    ("termination, ns", |figures| format!("{:.1}", figures.access_ns_by_part.termination)),
    ("locked out, ns", |figures| format!("{:.0}", figures.locked_out_ns)),
    ("asleep, µs/worker", |figures| format!("{:.0}", figures.asleep_us)),
    ("last check, words", |figures| format!("{:.0}", figures.end_termination_accesses)),
    ("to done, µs", |figures| format!("{:.1}", figures.found_done_us)),
    ("to joined, µs", |figures| format!("{:.0}", figures.joined_us)),
];

impl Report {
    /// Returns a Markdown table per workload. It shows every second number of workers, beginning
    /// with the largest; the others are in the chart and in the JSON file.
    pub fn table(&self) -> String {
        let most = self.rows.iter().map(|row| row.workers).max().unwrap_or(1);
        let is_shown = |row: &&Row| (most / row.workers).ilog2().is_multiple_of(2);
        let mut text = String::new();
        for workload in Workload::ALL {
            let rows = self.rows.iter().filter(|row| row.workload == workload);
            let mut rows: Vec<_> = rows.filter(is_shown).collect();
            if rows.is_empty() {
                continue;
            }
            // The sort is stable, so the protocols keep their order.
            rows.sort_by_key(|row| row.workers);
            let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
            let _ = writeln!(text, "### {}\n\n{}\n", workload.name(), workload.describe());
            let _ = writeln!(text, "| workers | protocol | {} | wrong |", names.join(" | "));
            let _ = writeln!(text, "|--:|---|{}--:|", "--:|".repeat(COLUMNS.len()));
            for row in rows {
                let _ = writeln!(text, "{}", line(row));
            }
            text.push('\n');
        }
        text
    }

    /// Writes the chart, the figures and, if the directory contains `SCALE.md`, its tables.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if `SCALE.md` does not have the lines that
    /// mark where the tables are.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("scale.svg"), self.svg())?;
        fs::write(folder.join("scale.json"), serde_json::to_string_pretty(self)? + "\n")?;
        let document = folder.join("SCALE.md");
        if document.exists() {
            let text = fs::read_to_string(&document)?;
            let updated = self.updated(&text).ok_or_else(|| {
                io::Error::other(format!(
                    "{} does not contain the lines that mark where the tables are",
                    document.display()
                ))
            })?;
            fs::write(&document, updated)?;
        }
        Ok(())
    }

    /// Returns the document with these tables in place of the old ones.
    fn updated(&self, document: &str) -> Option<String> {
        let (before, rest) = document.split_once(TABLE_BEGINS)?;
        let (_, after) = rest.split_once(TABLE_ENDS)?;
        let table = self.table();
        Some(format!("{before}{TABLE_BEGINS}\n{table}{TABLE_ENDS}{after}"))
    }
}

fn line(row: &Row) -> String {
    let figures: Vec<_> = COLUMNS
        .iter()
        .map(|(_, show)| row.figures.as_ref().map_or_else(|| "-".to_owned(), show))
        .collect();
    let wrong =
        if row.wrong == 0 { String::new() } else { format!("{} of {}", row.wrong, row.runs) };
    let (workers, protocol) = (row.workers, row.protocol.name());
    format!("| {workers} | {protocol} | {} | {wrong} |", figures.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Protocol;

    fn row(workers: usize, figures: Option<Figures>) -> Row {
        let (workload, protocol) = (Workload::Tree, Protocol::Heist);
        let (runs, wrong) = (3, if figures.is_some() { 0 } else { 3 });
        Row { workload, protocol, workers, runs, wrong, failure: None, figures, steps: 1 }
    }

    #[test]
    fn a_table_has_a_row_for_every_second_size_and_says_what_was_wrong() {
        let right = Some(Figures { efficiency: 0.5, ..Figures::default() });
        let rows = vec![row(64, right), row(128, right), row(256, None)];
        let table = Report { rows }.table();
        assert!(table.contains("| 64 | heist | 50 | "), "{table}");
        assert!(!table.contains("| 128 |"), "{table}");
        assert!(table.contains("| 256 | heist | - | "), "{table}");
        assert!(table.contains("| 3 of 3 |"), "{table}");
    }

    #[test]
    fn a_document_keeps_what_is_not_the_table() {
        let report = Report { rows: vec![row(2, None)] };
        let document = format!("before\n{TABLE_BEGINS}old\n{TABLE_ENDS}after\n");
        let updated = report.updated(&document).expect("there is a place");
        assert!(updated.starts_with("before\n") && updated.ends_with("after\n"));
        assert!(updated.contains("| 2 | heist |") && !updated.contains("old"));
        assert_eq!(report.updated(&updated), Some(updated), "a second time changes nothing");
        assert_eq!(report.updated("no place"), None);
    }
}
