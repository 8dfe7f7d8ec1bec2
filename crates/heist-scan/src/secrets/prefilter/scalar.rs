//! [`Scalar`]: looks up the four bytes at each position in a table.

use super::super::boundary::ESCAPE_BYTES_MAX;
use super::{Candidates, Prefilter, RUN_BYTES_MIN, Tables, has_digit};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Scalar(pub(crate) Arc<Tables>);

impl Prefilter for Scalar {
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        let anywhere = &self.0.anywhere;
        for window in owned.start..(owned.end + anywhere.window_at_max()).min(text.len()) {
            anywhere.look_up(text, window, &owned, found);
        }
        self.sweep_runs(text, owned, found);
    }
}

impl Scalar {
    fn sweep_runs(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        let end = (owned.end + self.0.gate_max).min(text.len());
        // A run that begins with an escape continues after it.
        let mut at = owned.start.saturating_sub(ESCAPE_BYTES_MAX);
        while at < end {
            let rest = &text[at..];
            let run =
                rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let begins = at == 0 || !text[at - 1].is_ascii_alphanumeric();
            if begins && run >= RUN_BYTES_MIN {
                self.0.look_up_at_run(text, at, &owned, found);
                if owned.contains(&at) {
                    found.add_run(text, at, has_digit(text, at));
                }
            }
            at += run + 1;
        }
    }
}
