//! The positions of findings: in the new file, and in the diff.

use crate::finding::Finding;
use crate::placement::Placement;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far behind the end of what was read a finding may begin. The detector's window and the
/// matches that wait for others are smaller.
const REACH_BYTES: u64 = 1 << 20;

/// The number of runs from which on those out of reach are forgotten.
const RUNS_MANY: usize = 4096;

/// Consecutive lines of the new file that are all added, or all context.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it begins in the object.
    line: u64,
    offset: u64,
    /// Where it begins in the new file, and in the diff: at the content of the first line.
    new_line: u64,
    input: u64,
    /// The number of characters before the content of each line in the diff.
    prefix: u64,
    is_added: bool,
}

impl Run {
    fn new_line(&self, line: u64) -> u64 {
        self.new_line.saturating_add(line.saturating_sub(self.line))
    }

    fn input(&self, line: u64, offset: u64) -> u64 {
        let prefixes = self.prefix.saturating_mul(line.saturating_sub(self.line));
        let content = offset.saturating_sub(self.offset);
        self.input.saturating_add(content).saturating_add(prefixes)
    }
}

/// A line for [`Lines::begin_line`].
#[derive(Clone, Copy, Debug)]
pub(super) struct NewLine {
    /// Its number in the new file.
    pub(super) number: u64,
    /// Where its content begins in the diff, behind `prefix` characters.
    pub(super) input: u64,
    pub(super) prefix: usize,
    pub(super) is_added: bool,
}

/// The lines of an object that is the new side of a file.
#[derive(Debug, Default)]
struct Lines {
    runs: VecDeque<Run>,
    /// The number of lines begun, and of bytes.
    lines: u64,
    bytes: u64,
}

impl Lines {
    fn begin_line(&mut self, new: NewLine) {
        let NewLine { number, input, prefix, is_added } = new;
        let (line, offset, prefix) = (self.lines, self.bytes, prefix as u64);
        self.lines += 1;
        let is_next = self.runs.back().is_some_and(|run| {
            run.is_added == is_added
                && run.prefix == prefix
                && run.new_line(line) == number
                && run.input(line, offset) == input
        });
        if is_next {
            return;
        }
        self.runs.push_back(Run { line, offset, new_line: number, input, prefix, is_added });
        if self.runs.len() >= RUNS_MANY {
            while self.runs.get(1).is_some_and(|next| next.offset + REACH_BYTES < self.bytes) {
                self.runs.pop_front();
            }
        }
    }

    /// Returns the index of the run with a line. (Of one that is out of reach, the first run.)
    fn run_of(&self, line: u64) -> usize {
        self.runs.partition_point(|run| run.line <= line).saturating_sub(1)
    }

    /// Moves a finding to the new file. Returns `false` if none of its lines is added.
    fn place(&self, finding: &mut Finding) -> bool {
        let (first, last) = (finding.line.saturating_sub(1), finding.end_line.saturating_sub(1));
        let (from, to) = (self.run_of(first), self.run_of(last));
        let (Some(start), Some(end)) = (self.runs.get(from), self.runs.get(to)) else {
            return true;
        };
        // What is out of reach counts as added: better to report too much than to hide it.
        let is_out_of_reach = first < start.line;
        if !is_out_of_reach && !self.runs.range(from..=to).any(|run| run.is_added) {
            return false;
        }
        finding.line = start.new_line(first);
        finding.end_line = end.new_line(last);
        finding.offset =
            start.input(first, finding.offset.start)..end.input(last, finding.offset.end);
        true
    }
}

/// The places of a file of the diff.
#[derive(Debug)]
pub(super) struct FilePlaces {
    lines: Mutex<Lines>,
    /// Whether the diff adds the file itself.
    is_new: bool,
}

impl FilePlaces {
    pub(super) fn new(is_new: bool) -> Self {
        Self { lines: Mutex::default(), is_new }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the object. Its bytes follow with [`add`](Self::add).
    pub(super) fn begin_line(&self, line: NewLine) {
        self.lines().begin_line(line);
    }

    /// Adds bytes of the last line.
    pub(super) fn add(&self, bytes: usize) {
        self.lines().bytes += bytes as u64;
    }

    /// Returns about how much memory they take.
    pub(super) fn memory(&self) -> usize {
        self.lines().runs.len() * size_of::<Run>()
    }
}

impl Placement for FilePlaces {
    fn place(&self, finding: &mut Finding) -> bool {
        self.lines().place(finding)
    }

    fn place_path(&self, _finding: &mut Finding) -> bool {
        self.is_new
    }
}

/// The places of text between the files of a diff: where it begins in the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPlaces {
    pub(super) newlines: u64,
    pub(super) offset: u64,
}

impl Placement for TextPlaces {
    fn place(&self, finding: &mut Finding) -> bool {
        finding.line = finding.line.saturating_add(self.newlines);
        finding.end_line = finding.end_line.saturating_add(self.newlines);
        finding.offset = finding.offset.start.saturating_add(self.offset)
            ..finding.offset.end.saturating_add(self.offset);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::masked::Secret;

    fn finding(lines: (u64, u64), offset: u64) -> Finding {
        let mut finding = Finding::new("x", "rule", Secret::new(*b"secret"));
        (finding.line, finding.end_line) = lines;
        finding.offset = offset..offset + 1;
        finding
    }

    fn added(number: u64, input: u64, is_added: bool) -> NewLine {
        NewLine { number, input, prefix: 1, is_added }
    }

    #[test]
    fn a_finding_counts_if_one_of_its_lines_is_added() {
        let places = FilePlaces::new(false);
        // Lines 10 (context), 11 and 12 (added), each of five bytes, and 99 (context).
        for (number, input, is_added) in
            [(10, 101, false), (11, 107, true), (12, 113, true), (99, 200, false)]
        {
            places.begin_line(added(number, input, is_added));
            places.add(5);
        }
        assert_eq!(places.lines().runs.len(), 3);
        let placed = |lines, offset| {
            let mut finding = finding(lines, offset);
            let is_placed = places.place(&mut finding);
            is_placed.then_some((finding.line, finding.end_line, finding.offset.start))
        };
        assert_eq!(placed((1, 1), 2), None);
        assert_eq!(placed((1, 2), 2), Some((10, 11, 103)));
        assert_eq!(placed((2, 2), 5), Some((11, 11, 107)));
        assert_eq!(placed((3, 3), 11), Some((12, 12, 114)));
        assert_eq!(placed((3, 4), 11), Some((12, 99, 114)));
        assert_eq!(placed((4, 4), 15), None);
        assert!(!places.place_path(&mut finding((1, 1), 0)));
    }

    #[test]
    fn lines_out_of_reach_are_forgotten_and_count_as_added() {
        let places = FilePlaces::new(true);
        for number in 1..=2_000_000 {
            places.begin_line(added(number, 2 * number, number % 2 == 0));
            places.add(2);
        }
        let runs = places.memory() / size_of::<Run>();
        assert!((524_288..530_000).contains(&runs), "{runs}");
        let is_placed = |line: u64| places.place(&mut finding((line, line), 2 * line));
        assert_eq!([1, 2, 1_999_999, 2_000_000].map(is_placed), [true, true, false, true]);
    }

    #[test]
    fn text_is_counted_from_the_beginning_of_the_input() {
        let mut finding = finding((2, 3), 7);
        assert!(TextPlaces { newlines: 10, offset: 100 }.place(&mut finding));
        assert_eq!((finding.line, finding.end_line, finding.offset), (12, 13, 107..108));
    }
}
