//! [`Scalar`]: four bytes at each position looked up in the table.

use super::{Candidates, Prefilter, Table, begins_run};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Scalar(pub(crate) Arc<Table>);

impl Prefilter for Scalar {
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        let windows = owned.start..(owned.end + self.0.window_at_max()).min(text.len());
        sweep_windows(&self.0, text, windows, &owned, found);
        sweep_runs(text, owned, found);
    }
}

/// Adds the literals whose windows begin in `windows`, and which themselves begin in `owned`.
pub(super) fn sweep_windows(
    table: &Table,
    text: &[u8],
    windows: Range<usize>,
    owned: &Range<usize>,
    found: &mut Candidates,
) {
    for window in windows {
        table.look_up(text, window, owned, found);
    }
}

/// Adds the runs that begin in `owned`.
pub(super) fn sweep_runs(text: &[u8], owned: Range<usize>, found: &mut Candidates) {
    let mut at = owned.start;
    while at < owned.end {
        if !text[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        if begins_run(text, at) {
            found.runs.push(at);
        }
        // The next run can only begin after this one.
        let rest = &text[at..owned.end];
        at += rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
    }
}
