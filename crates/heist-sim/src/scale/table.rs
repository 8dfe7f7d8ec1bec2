//! The report as a table.

use super::Report;

impl Report {
    /// A table in Markdown for each workload.
    pub fn table(&self) -> String {
        String::new()
    }
}
