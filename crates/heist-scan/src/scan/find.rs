//! [`SecretDetector::find`]: the scan of bytes in memory, on the calling thread.
//!
//! Invariant: it returns the findings of a scan of a file with the same bytes, including their
//! lines and excerpts. It cuts the bytes into chunks as a scan does, and uses the same capture,
//! assembler and findings.

use super::assemble::Assembler;
use super::builtin_search::BuiltinSearch;
use super::capture::capture;
use super::context::surroundings;
use super::emit::RuleTextCache;
use super::lines::{LineCursor, LinePosition};
use crate::chunk::{Chunk, StopCheck};
use crate::decode::utf16_guess;
use crate::detector::Detector;
use crate::finding::Finding;
use crate::newline::Newline;
use crate::secrets::SecretDetector;
use std::path::Path;
use std::sync::Arc;

/// The number of bytes searched at a time. It bounds the memory of the detector's scratch.
const CHUNK_BYTES: usize = 256 << 10;

impl SecretDetector {
    /// Finds the secrets in `bytes`, in the order of their offsets.
    ///
    /// Returns the findings of a scan of a file with these bytes, without a limit on their number.
    /// Their path is empty, so rules and noise filters that look at paths see a file without a
    /// name. Binary data is searched like text.
    ///
    /// Each call allocates the detector's scratch. To search many inputs, use a
    /// [`Scan`](crate::Scan), which allocates one per worker.
    ///
    /// # Examples
    /// ```
    /// use heist_scan::rules::RuleSet;
    /// use heist_scan::{DetectorOptions, SecretDetector};
    ///
    /// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    /// let text = b"host = db.example.org\npassword = \"7tRmq!x2Lw9z\"\n"; // heist:allow
    /// let findings = detector.find(text);
    /// assert_eq!(findings.len(), 1);
    /// assert_eq!((&*findings[0].rule, findings[0].line), ("password", 2));
    /// assert_eq!(findings[0].secret.reveal(), b"7tRmq!x2Lw9z");
    /// ```
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Vec<Finding> {
        find_in_chunks(self, bytes, CHUNK_BYTES)
    }
}

fn find_in_chunks(detector: &SecretDetector, bytes: &[u8], chunk_bytes: usize) -> Vec<Finding> {
    let around = surroundings(detector);
    let newline = Newline::of(utf16_guess(bytes));
    let path: Arc<Path> = Arc::from(Path::new(""));
    let mut scratch = detector.scratch();
    let mut search = BuiltinSearch::beside(detector);
    let (mut matches, mut captured) = (Vec::new(), Vec::new());
    let (mut assembler, mut rules) = (Assembler::default(), RuleTextCache::default());
    let mut cursor = LineCursor::new(LinePosition::BEGIN, 0, newline);
    let mut findings = Vec::new();
    // A window begins at an even offset, so that it does not cut a unit of UTF-16.
    let window_start = |owned_from: usize| owned_from.saturating_sub(around.before) & !1;
    let mut owned_from = 0;
    while owned_from < bytes.len() {
        let owned_to = (owned_from + chunk_bytes).min(bytes.len());
        let start = window_start(owned_from);
        let window = &bytes[start..(owned_to + around.after).min(bytes.len())];
        cursor.move_to(start as u64, bytes, 0);
        let chunk = Chunk {
            bytes: window,
            owned: owned_from - start..owned_to - start,
            offset: start as u64,
            is_end: start + window.len() == bytes.len(),
            encoding: newline.encoding(),
            path: &path,
            stop: StopCheck::default(),
        };
        detector.scan(&chunk, &mut scratch, &mut matches);
        capture(&mut matches, &chunk, cursor, &mut search, &mut captured);
        assembler.add(captured.drain(..));
        owned_from = owned_to;
        let is_last = owned_from == bytes.len();
        let known_to = if is_last { u64::MAX } else { window_start(owned_from) as u64 };
        assembler.settle(known_to, &mut |assembled| {
            findings.push(rules.finding(detector, Arc::clone(&path), &assembled));
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;
    use crate::secrets::DetectorOptions;

    #[test]
    fn the_chunk_size_does_not_change_the_findings() {
        let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
        let line = "password = \"7tRmq!x2Lw9z\"\r\n/* nothing */ x = 17\n"; // heist:allow
        let text = line.repeat(200);
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [text.as_bytes(), &wide] {
            let whole = find_in_chunks(&detector, bytes, bytes.len());
            assert_eq!(whole.len(), 200);
            for chunk_bytes in [97, 1000, 4096] {
                assert_eq!(find_in_chunks(&detector, bytes, chunk_bytes), whole);
            }
        }
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
        assert_eq!(detector.find(b""), []);
    }
}
