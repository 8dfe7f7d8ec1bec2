//! [`Hunk`]: which side each line of a hunk belongs to.
//!
//! The header says how many lines each side has, so a removed line that looks like a header is not
//! mistaken for one. What the counts do not cover is not part of the hunk.

use super::header::HunkHeader;

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    /// A line of the new file. If it is in one of the old files, too, it is context.
    New { is_added: bool },
    /// A line of an old file only.
    Removed,
    /// A note that the line before it has no newline.
    Note,
}

/// A hunk of which some lines are read.
#[derive(Debug)]
pub(super) struct Hunk {
    /// The lines of each parent that are left.
    old_left: Vec<u64>,
    new_left: u64,
    /// The next line of the new file.
    pub(super) next_line: u64,
}

impl Hunk {
    pub(super) fn new(header: HunkHeader) -> Self {
        let HunkHeader { old_lines, new_start, new_lines } = header;
        Self { old_left: old_lines, new_left: new_lines, next_line: new_start }
    }

    /// Returns the number of characters before the content of each line: one per parent.
    pub(super) fn prefix(&self) -> usize {
        self.old_left.len()
    }

    pub(super) fn is_done(&self) -> bool {
        self.new_left == 0 && self.old_left.iter().all(|&left| left == 0)
    }

    /// Counts a line, given with its newline. Returns `None` if it is not part of the hunk.
    pub(super) fn count(&mut self, line: &[u8]) -> Option<HunkLine> {
        let parents = self.prefix();
        let is_blank = matches!(line, b"\n" | b"\r\n");
        // Some programs remove the space of an empty context line.
        let prefix = if is_blank && parents == 1 { b" " } else { line.get(..parents)? };
        if prefix[0] == b'\\' {
            return Some(HunkLine::Note);
        }
        let has = |sign: u8| prefix.contains(&sign);
        let (is_added, is_removed) = (has(b'+'), has(b'-'));
        let is_valid = prefix.iter().all(|sign| b" +-".contains(sign));
        if !is_valid || (is_added && is_removed) || (!is_removed && self.new_left == 0) {
            return None;
        }
        // A line of the new file is in the parents whose column is empty, and a removed one in
        // those that removed it.
        let sign = if is_removed { b'-' } else { b' ' };
        let in_parent = |at: usize| prefix[at] == sign;
        if (0..parents).any(|at| in_parent(at) && self.old_left[at] == 0) {
            return None;
        }
        for at in (0..parents).filter(|&at| in_parent(at)) {
            self.old_left[at] -= 1;
        }
        if is_removed {
            return Some(HunkLine::Removed);
        }
        self.new_left -= 1;
        self.next_line = self.next_line.saturating_add(1);
        Some(HunkLine::New { is_added })
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::hunk_header;
    use super::*;

    const ADDED: Option<HunkLine> = Some(HunkLine::New { is_added: true });
    const CONTEXT: Option<HunkLine> = Some(HunkLine::New { is_added: false });
    const REMOVED: Option<HunkLine> = Some(HunkLine::Removed);

    fn hunk(header: &str) -> Hunk {
        Hunk::new(hunk_header(header.as_bytes()).expect("a header"))
    }

    #[test]
    fn lines_are_counted_for_each_side() {
        let mut hunk = hunk("@@ -1,3 +1,3 @@");
        for (line, expected) in [
            (&b" a\n"[..], CONTEXT),
            (b"--- x\n", REMOVED),
            (b"+++ y\n", ADDED),
            (b"\\ No newline at end of file\n", Some(HunkLine::Note)),
            (b"other\n", None),
            (b"\n", CONTEXT),
        ] {
            assert!(!hunk.is_done());
            assert_eq!(hunk.count(line), expected, "{line:?}");
        }
        assert!(hunk.is_done());
        assert_eq!(
            (hunk.count(b"+more\n"), hunk.count(b"-less\n"), hunk.next_line),
            (None, None, 4)
        );
    }

    #[test]
    fn a_combined_line_has_a_column_for_each_parent() {
        let mut hunk = hunk("@@@ -1,3 -1,2 +1,4 @@@");
        for (line, expected) in [
            (&b"  both\n"[..], CONTEXT),
            (b"- first\n", REMOVED),
            (b"++new\n", ADDED),
            (b"+ from the second\n", ADDED),
            (b"+-neither\n", None),
            (b"x\n", None),
            (b"\n", None),
            (b" +from the first\n", ADDED),
        ] {
            assert!(!hunk.is_done());
            assert_eq!(hunk.count(line), expected, "{line:?}");
        }
        assert!(hunk.is_done());
    }
}
