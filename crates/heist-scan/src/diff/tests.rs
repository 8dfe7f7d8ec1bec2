//! Tests of whole diffs: where findings are, and that nothing is lost.

use super::DiffSource;
use crate::source::{Contents, Source};
use crate::{Chunk, Confidence, Detector, Match, Overlap, RuleIndex, RuleInfo, Scan};
use proptest::prelude::*;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Finds `<` and everything up to `>`, at most a hundred bytes on.
struct Brackets;

impl Detector for Brackets {
    type Scratch = ();
    fn scratch(&self) {}
    fn required_overlap(&self) -> Overlap {
        Overlap::new(0, 100)
    }
    fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), matches: &mut Vec<Match>) {
        for at in chunk.owned.clone().filter(|&at| chunk.bytes[at] == b'<') {
            let reach = &chunk.bytes[at..chunk.bytes.len().min(at + 100)];
            if let Some(len) = reach.iter().position(|&byte| byte == b'>') {
                let begin = chunk.offset + at as u64;
                let secret = begin..begin + len as u64 + 1;
                matches.push(Match::new(RuleIndex(0), secret, Confidence::High));
            }
        }
    }
    fn rule(&self, _rule: RuleIndex) -> RuleInfo<'_> {
        RuleInfo::new("brackets", "", "")
    }
}

/// Reads a few bytes at a time.
struct Slow(io::Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min(self.1);
        self.0.read(&mut into[..len])
    }
}

type Found = (PathBuf, u64, u64, u64);

/// Returns where the findings in a diff are: path, line, column and offset.
fn found(diff: &[u8], bytes_per_read: usize) -> Vec<Found> {
    let findings = Arc::new(Mutex::new(Vec::new()));
    let source = DiffSource::new("stdin", Slow(io::Cursor::new(diff.to_vec()), bytes_per_read));
    let report = Scan::new(Brackets)
        .source(source)
        .threads(Some(2))
        .chunk_size(4096)
        .run(Arc::clone(&findings))
        .expect("threads start");
    assert!(report.is_complete());
    let findings = findings.lock().unwrap();
    let place = |at: &crate::Finding| (at.path.to_path_buf(), at.line, at.column, at.offset.start);
    let mut found: Vec<Found> = findings.iter().map(place).collect();
    found.sort_unstable();
    found
}

/// Checks where findings are. `expected` has paths, lines, columns and the secrets at the offsets.
fn check(diff: &str, expected: &[(&str, u64, u64, &str)]) {
    for bytes_per_read in [1, 1 << 20] {
        let found = found(diff.as_bytes(), bytes_per_read);
        let shown: Vec<(&str, u64, u64, &str)> = found
            .iter()
            .map(|(path, line, column, offset)| {
                let rest = &diff[usize::try_from(*offset).unwrap()..];
                let end = rest.find('>').map_or(rest.len(), |end| end + 1);
                (path.to_str().unwrap(), *line, *column, &rest[..end])
            })
            .collect();
        assert_eq!(shown, expected, "{diff}");
    }
}

#[test]
fn only_added_lines_count_and_keep_their_places() {
    let diff = "\
diff --git a/src/a.rs b/src/a.rs
index 0123abc..4567def 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,4 +10,5 @@ fn <section>
 context <c1>
-removed <r1>
--- removed <r2>
+added <a1>
+++ added <a2>
 begins <
+ends>
@@ -90 +91,2 @@
-<r3>
+x
+  <a3>
diff --git a/b.rs b/b.rs
deleted file mode 100644
--- a/b.rs
+++ /dev/null
@@ -1 +0,0 @@
-<r4>
";
    check(
        diff,
        &[
            ("src/a.rs", 11, 7, "<a1>"),
            ("src/a.rs", 12, 10, "<a2>"),
            ("src/a.rs", 13, 8, "<\n+ends>"),
            ("src/a.rs", 92, 3, "<a3>"),
        ],
    );
    let crlf = diff.replace('\n', "\r\n");
    assert_eq!(found(crlf.as_bytes(), 7).len(), 4);
}

#[test]
fn a_secret_does_not_reach_over_a_gap_between_hunks() {
    let diff = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+<\n@@ -5,0 +6,2 @@\n+a>\n+<b>\n";
    // The match is there, because this detector does not care about lines; heist's do. The line
    // between the hunks separates them.
    let lines: Vec<u64> =
        found(diff.as_bytes(), 99).into_iter().map(|(_, line, ..)| line).collect();
    assert_eq!(lines, [1, 7]);
}

#[test]
fn text_around_the_files_is_scanned_under_its_own_name() {
    check(
        "\
From 0123 Mon Sep 17 00:00:00 2001
Subject: <subject>

<message>
---
 x | 2 +-
--- <not a header>
diff --git <nor this> <one>
diff --git a/x b/x
similarity index 90%
rename from old
rename to new
--- a/old
+++ b/new
@@ -1 +1,2 @@
 a
+<added>
\\ No newline at end of file
+<beyond the count>
-- 
2.39.2 <signature>
",
        &[
            ("new", 2, 1, "<added>"),
            ("stdin", 2, 10, "<subject>"),
            ("stdin", 4, 1, "<message>"),
            ("stdin", 7, 5, "<not a header>"),
            ("stdin", 8, 12, "<nor this>"),
            ("stdin", 8, 23, "<one>"),
            ("stdin", 18, 2, "<beyond the count>"),
            ("stdin", 20, 8, "<signature>"),
        ],
    );
    check(
        "plain <text>\n\n<\n> <no newline>",
        &[("stdin", 1, 7, "<text>"), ("stdin", 3, 1, "<\n>"), ("stdin", 4, 3, "<no newline>")],
    );
    check("", &[]);
}

#[test]
fn merges_binary_files_and_odd_names_are_understood() {
    check(
        "\
diff --cc dir/x
index 0123abc,4567def..89abcde
--- a/dir/x
+++ b/dir/x
@@@ -1,3 -1,2 +1,4 @@@
  <both>
- <r>
+ <theirs>
 +<ours>
++<new>
diff --git a/image.png b/image.png
new file mode 100644
index 0000000..4567def
GIT binary patch
literal 0
HcmV?d00001

diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git \"a/sp\\303\\244t\" \"b/sp\\303\\244t\"
new file mode 100644
--- /dev/null
+++ \"b/sp\\303\\244t\"
@@ -0,0 +1 @@
+<late>
",
        &[
            ("dir/x", 2, 1, "<theirs>"),
            ("dir/x", 3, 1, "<ours>"),
            ("dir/x", 4, 1, "<new>"),
            ("spät", 1, 1, "<late>"),
        ],
    );
    let source =
        DiffSource::new("stdin", &b"diff --git a/x b/x\nBinary files a/x and b/x differ\n"[..]);
    let counts = source.counts();
    assert!({ source }.next_object().is_none());
    assert_eq!((counts.binary_files(), counts.files(), counts.texts()), (1, 0, 0));
}

#[test]
fn large_files_and_lines_are_streamed() {
    let line = "x".repeat(300 << 10);
    let mut diff =
        format!("text {line} <t>\n--- a/x\n+++ b/x\n@@ -0,0 +1,100002 @@\n+{line} <a>\n");
    for number in 0..100_000 {
        diff.push_str(if number % 2 == 0 { "+y\n" } else { "-z <removed>\n+\n" });
    }
    let diff = diff.replace("@@ -0,0 ", "@@ -1,50000 ");
    let diff = format!("{diff}+<end>\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+<small>\n");
    let column = line.len() as u64 + 2;
    check(
        &diff,
        &[
            ("stdin", 1, column + 5, "<t>"),
            ("x", 1, column, "<a>"),
            ("x", 100_002, 1, "<end>"),
            ("y", 1, 1, "<small>"),
        ],
    );
}

#[test]
fn files_that_are_not_wanted_are_passed_over() {
    let diff = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+<x>\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+<y>\n";
    let mut source = DiffSource::new("stdin", diff.as_bytes()).only(|path| path != Path::new("x"));
    let object = source.next_object().expect("an object").expect("it is readable");
    assert_eq!(object.name(), "y");
    assert!(source.next_object().is_none());
}

/// Lines of a diff, right and wrong, each with a mark of its own in the place of `N`.
const LINES: [&str; 16] = [
    "+<N>",
    "-<N>",
    " <N>",
    "<N>",
    "",
    "diff --git a/x b/x",
    "index 0123abc..4567def 100644",
    "--- a/x",
    "+++ b/x",
    "@@ -1,2 +1,3 @@",
    "@@ -0,0 +1 @@",
    "@@@ -1,2 -1 +1,2 @@@",
    "++<N>",
    "GIT binary patch",
    "Binary files a/x and b/x differ",
    "\\ No newline at end of file",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the order of the lines: an added line, and a line outside of hunks, is in exactly
    /// one object, and how the input arrives makes no difference.
    #[test]
    fn nothing_is_lost(
        lines in prop::collection::vec(0..LINES.len(), 0..40),
        bytes in 1..50_usize,
    ) {
        let mut diff = Vec::new();
        let mut marks = Vec::new();
        for (number, at) in lines.iter().enumerate() {
            let line = LINES[*at].replace('N', &format!("{number:03}"));
            if line.contains('<') && !line.starts_with('-') {
                marks.push(format!("<{number:03}>"));
            }
            diff.extend_from_slice(line.as_bytes());
            diff.push(b'\n');
        }
        let objects = |bytes_per_read| {
            let reader = Slow(io::Cursor::new(diff.clone()), bytes_per_read);
            let mut source = DiffSource::new("stdin", reader);
            let mut objects = Vec::new();
            while let Some(object) = source.next_object() {
                let object = object.expect("it is readable");
                let Contents::Stream(mut stream) = object.contents else { unreachable!() };
                let mut content = String::new();
                stream.read_to_string(&mut content).expect("text");
                objects.push((object.name, content));
            }
            objects
        };
        let all = objects(bytes);
        for mark in marks {
            let times: usize = all.iter().map(|(_, content)| content.matches(&mark).count()).sum();
            prop_assert_eq!(times, 1, "{} in {:?}", mark, all);
        }
        prop_assert_eq!(all, objects(1 << 20));
    }
}
