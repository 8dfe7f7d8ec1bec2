//! A diff on stdin: only what it adds counts, with the names and lines of its files.

use crate::support::git::{GitFixture, feed};
use crate::support::scan::{code, end, errors, lines, text, token};
use std::collections::BTreeSet;
use std::process::Output;

/// Runs `heist scan -` with the rules of the tests.
#[track_caller]
fn scan(fixture: &GitFixture, diff: &[u8], arguments: &[&str]) -> Output {
    let arguments = ["--format", "jsonl", "--sorted"].iter().chain(arguments).chain(&["-"]);
    feed(fixture.scan.heist("scan", arguments), diff)
}

/// Returns the places of the findings, as `path:line:column`.
#[track_caller]
fn places(output: &Output) -> Vec<String> {
    let findings = lines(output);
    let place = |finding: &serde_json::Value| {
        let path = finding["path"].as_str().expect("a path");
        format!("{path}:{}:{}", finding["line"], finding["column"])
    };
    findings.iter().map(place).collect()
}

#[test]
fn a_diff_of_git_keeps_its_file_names_and_counts_added_lines_only() {
    let fixture = GitFixture::new();
    let old = |n| token("tok_", n);
    let before = format!("one\ntwo\nkeep {}\nremove {}\nlast\n", old(1), old(2));
    fixture.stage("src/app.txt", &before);
    fixture.stage("src/other.txt", format!("a\n{}\nb\n", old(3)));
    fixture.stage("gone.txt", old(4));
    fixture.commit();
    let after = format!("one\ntwo\nkeep {}\nnew {}\nlast\n+++ {}\n", old(1), old(5), old(6));
    fixture.scan.file("src/app.txt", after);
    fixture.stage("new dir/sp\u{e4}t.txt", format!("x = {}", old(7)));
    fixture.stage("allowed.txt", format!("{} # heist:allow\n", old(8)));
    fixture.git(["mv", "src/other.txt", "src/moved.txt"]);
    fixture.scan.file("src/moved.txt", format!("a\n{}\nb\n{}\n", old(3), old(9)));
    fixture.git(["rm", "-q", "gone.txt"]);
    let expected =
        ["new dir/sp\u{e4}t.txt:1:5", "src/app.txt:4:5", "src/app.txt:6:5", "src/moved.txt:4:1"];
    for options in [&[][..], &["--no-prefix"], &["-M"], &["--src-prefix=i/", "--dst-prefix=w/"]] {
        let diff = fixture.git(["diff", "HEAD"].iter().chain(options));
        let output = scan(&fixture, &diff, &[]);
        assert_eq!((places(&output), code(&output)), (expected.map(String::from).to_vec(), 1));
        let not_reported = &end(&output)["not_reported"];
        assert_eq!((&not_reported["allowed"], &not_reported["not_new"]), (&1.into(), &2.into()));
    }
    let diff = fixture.git(["diff", "HEAD"]);
    assert_eq!(scan(&fixture, &diff, &["--no-diff"]).status.code(), Some(1));
    assert!(places(&scan(&fixture, &diff, &["--no-diff"])).len() > 6, "it is just text");
    let output = scan(&fixture, &diff, &["--exclude", "/src", "--exclude", "*.md"]);
    assert_eq!(places(&output), expected[..1]);
    assert_eq!(end(&output)["skipped"]["excluded"], 2);
    // The tree may leave out its files, and the report says so.
    fixture.scan.file("heist.toml", "exclude = ['/src']\n");
    let output = scan(&fixture, &diff, &[]);
    assert_eq!(places(&output), expected[..1]);
    assert_eq!(end(&output)["hidden"][1]["count"], 2, "{}", text(&output));
}

#[test]
fn messages_around_the_diffs_are_scanned_as_stdin() {
    let fixture = GitFixture::new();
    fixture.stage("a.txt", "a\n");
    fixture.commit();
    fixture.stage("a.txt", format!("a\n{}\n", token("tok_", 1)));
    let message = format!("A change\n\nWith {}\n", token("tok_", 2));
    fixture.git(["commit", "-q", "--no-verify", "-m", &message]);
    for command in [&["log", "-p"][..], &["show"], &["format-patch", "--stdout", "-1"]] {
        let diff = fixture.git(command);
        let line = String::from_utf8_lossy(&diff).lines().position(|line| line.contains("With"));
        let line = line.expect("the message") + 1;
        let output = scan(&fixture, &diff, &[]);
        let found = places(&output);
        assert_eq!(found.len(), 2, "{command:?}: {found:?}");
        assert_eq!(found[0], "a.txt:2:1");
        assert!(found[1].starts_with(&format!("stdin:{line}:")), "{command:?}: {found:?}");
    }
}

#[test]
fn binary_files_of_a_diff_are_counted() {
    let fixture = GitFixture::new();
    fixture.commit();
    fixture.stage("image.bin", [0, 1, 2, 3, 4, 5, 6, 7].repeat(200));
    fixture.stage("text", "text\n");
    for options in [&["diff", "HEAD"][..], &["diff", "--binary", "HEAD"]] {
        let diff = fixture.git(options);
        let output = scan(&fixture, &diff, &[]);
        let end = end(&output);
        assert_eq!((&end["skipped"]["binary"], &end["files"]), (&1.into(), &1.into()), "{end}");
        assert_eq!(code(&output), 0, "{}", errors(&output));
    }
}

#[test]
fn what_is_not_a_diff_is_scanned_as_before() {
    let fixture = GitFixture::new();
    let secret = token("tok_", 1);
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let plain = format!("--- a\n+++ b\n-{secret}\n").into_bytes();
    let wide = wide(&format!("\u{feff}-{secret}\n"));
    for input in [plain, wide] {
        let output = scan(&fixture, &input, &[]);
        assert_eq!(places(&output), places(&scan(&fixture, &input, &["--no-diff"])));
        assert_eq!((places(&output).len(), code(&output)), (1, 1));
    }
    assert_eq!(code(&scan(&fixture, b"", &[])), 0);
}

/// A small random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % most
    }
}

/// Over random edits, the findings in a diff are those of a scan of the new files in the lines that
/// git says are added.
#[test]
fn the_findings_are_those_of_the_files_in_added_lines() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let fixture = GitFixture::new();
    let mut next = 0;
    let mut files: Vec<Vec<String>> = vec![Vec::new(); 5];
    for round in 0..12 {
        let before = files.clone();
        for lines in &mut files {
            for _ in 0..random.below(8) {
                next += 1;
                let line = match random.below(3) {
                    0 => format!("{} x", token("tok_", next)),
                    1 => format!("++ {}", token("fair_", next)),
                    _ => format!("line {next}"),
                };
                let at = random.below(lines.len() + 1);
                match random.below(3) {
                    0 if at < lines.len() => _ = lines.remove(at),
                    1 if at < lines.len() => lines[at] = line,
                    _ => lines.insert(at, line),
                }
            }
        }
        let ending = if round % 3 == 0 { "\r\n" } else { "\n" };
        for (number, lines) in files.iter().enumerate() {
            let mut content = lines.join(ending);
            if random.below(2) == 0 && !content.is_empty() {
                content.push_str(ending);
            }
            fixture.stage(format!("file {number}.txt"), content);
        }
        let context = format!("-U{}", random.below(4));
        let diff = fixture.git(["diff", "--cached", &context]);
        let found: BTreeSet<String> = places(&scan(&fixture, &diff, &[])).into_iter().collect();
        let mut expected = BTreeSet::new();
        let all = fixture.scan.scan(["--format", "jsonl"]);
        let added = added_lines(&fixture);
        for finding in lines(&all) {
            let path = finding["path"].as_str().expect("a path").to_owned();
            let line = finding["line"].as_u64().expect("a number");
            if added.contains(&(path.clone(), line)) {
                expected.insert(format!("{path}:{line}:{}", finding["column"]));
            }
        }
        assert_eq!(found, expected, "round {round}, from {before:?}");
        fixture.commit();
    }
}

/// Returns the paths and numbers of the lines that git says are added.
fn added_lines(fixture: &GitFixture) -> BTreeSet<(String, u64)> {
    let diff = fixture.git(["diff", "--cached", "-U0", "--no-prefix"]);
    let (mut path, mut added) = (String::new(), BTreeSet::new());
    for line in String::from_utf8(diff).expect("text").lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            path = names[names.len() / 2 + 1..].to_owned();
        } else if let Some(ranges) = line.strip_prefix("@@ -") {
            let new = ranges.split(['+', ' ']).nth(2).expect("a range");
            let (start, count) = new.split_once(',').unwrap_or((new, "1"));
            let start: u64 = start.parse().expect("a number");
            let count: u64 = count.parse().expect("a number");
            added.extend((start..start + count).map(|line| (path.clone(), line)));
        }
    }
    added
}
