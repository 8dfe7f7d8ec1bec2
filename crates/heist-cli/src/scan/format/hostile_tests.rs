//! Every format is valid and says what it was given, whatever names, paths and texts a tree brings.

use super::{Report, TextStyle, write};
use crate::color::ColorChoice;
use crate::escape;
use crate::exit::Exit;
use crate::scan::advice::Advice;
use crate::scan::arguments::ScanFormat;
use crate::scan::hidden::{Hidden, HiddenEntry, HidingSetting};
use crate::scan::history_place::{ReportedCommit, ReportedFate, ReportedPlace};
use crate::scan::reported_finding::ReportedFinding;
use crate::scan::settings::ConfigurationInUse;
use crate::scan::summary::{EndedEarly, Gap, Listed, Skipped, Summary, Unreported};
use base64::Engine as _;
use heist_scan::{Confidence, Encoding, HistoryText, Secret};
use proptest::prelude::*;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pieces that mean something to a terminal, a parser of one of the formats, or a shell.
const PIECES: [&str; 30] = [
    "a",
    "word ",
    "\n",
    "\r",
    "\t",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\u{9b}31m",
    "\u{202e}",
    "\u{ad}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{e0041}",
    "\"",
    "\\",
    "\\u0000",
    "',",
    "{\"end\":{}}",
    "]}",
    "%2e%2e/",
    "%",
    "#?&",
    ":",
    "$(x)",
    "`x`",
    "ä€😀",
    "\x7f",
    "\0",
    "--option",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        9 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        9 => text().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// A path without `.`, `..` and empty parts, as a scan shows it.
fn path() -> impl Strategy<Value = PathBuf> {
    let name = bytes().prop_map(|mut name| {
        name.retain(|&byte| byte != b'/' && byte != 0);
        if name.iter().all(|&byte| byte == b'.') {
            name = b"name".to_vec();
        }
        OsString::from_vec(name)
    });
    prop::collection::vec(name, 1..4).prop_map(|names| names.iter().collect())
}

fn confidence() -> impl Strategy<Value = Confidence> {
    prop::sample::select(vec![
        Confidence::Low,
        Confidence::Medium,
        Confidence::High,
        Confidence::Certain,
    ])
}

/// A place in a history, in which everything but the ids comes from a stranger.
fn place() -> impl Strategy<Value = ReportedPlace> {
    let commit = || {
        (text(), text(), text(), any::<i64>()).prop_map(|(author, email, subject, seconds)| {
            ReportedCommit { id: "0123456789abcdef".into(), seconds, author, email, subject }
        })
    };
    let texts = [HistoryText::File, HistoryText::CommitMessage, HistoryText::TagMessage];
    let fate = prop_oneof![
        Just(ReportedFate::InHead),
        Just(ReportedFate::NotInHead),
        Just(ReportedFate::Unreachable),
        commit().prop_map(ReportedFate::Removed),
    ];
    let refs = prop::collection::vec(text(), 0..4);
    let rest = (prop::sample::select(texts.to_vec()), any::<bool>());
    (path(), bytes(), prop::option::of(commit()), fate, refs, rest).prop_map(
        |(repository, path, commit, fate, refs, (text, may_be_older))| ReportedPlace {
            repository: Arc::from(repository),
            path: path.into(),
            text,
            object: "fedcba9876543210".into(),
            commit,
            may_be_older,
            fate,
            ref_count: Some(refs.len() as u64 + 2),
            refs,
        },
    )
}

fn finding() -> impl Strategy<Value = ReportedFinding> {
    let texts = (text(), text(), text(), text());
    let numbers = (0..9_u64, 1..9_u64, 1..9_u64, 1..9_u64);
    let rest = (confidence(), any::<bool>(), 0..3_u8, prop::option::of(place()));
    (path(), texts, bytes(), bytes(), numbers, rest).prop_map(
        |(path, (rule, description, remedy, reason), secret, excerpt, numbers, rest)| {
            let (offset, line, column, length) = numbers;
            let (confidence, is_by_tree, secret_number, place) = rest;
            ReportedFinding {
                path: Arc::from(path),
                rule: rule.into(),
                description: description.into(),
                remedy: remedy.into(),
                fingerprint: Secret::new([secret_number]).fingerprint(),
                secret: secret.into(),
                excerpt: excerpt.into(),
                offset: offset..offset + length,
                line,
                column,
                end_line: line,
                end_column: column + length,
                encoding: Encoding::Plain,
                confidence,
                reason: reason.into(),
                is_by_tree,
                history: place.map(Box::new),
            }
        },
    )
}

fn summary() -> impl Strategy<Value = Summary> {
    let ended =
        prop::option::of(prop::sample::select(vec![EndedEarly::Interrupted, EndedEarly::TimedOut]));
    let paths = || prop::collection::vec(path(), 0..3);
    let texts = || prop::collection::vec(text(), 0..3);
    (paths(), paths(), texts(), texts(), ended, path(), bytes()).prop_map(
        |(gaps, pseudo, rules, refused, ended, file, mut kind)| {
            kind.retain(|&byte| byte != 0);
            let gap = |path: PathBuf| {
                // The reasons of gaps are safe to print.
                let reason = "it is gone".to_owned();
                Gap { path, reason, help: None, is_cut: false }
            };
            let hidden = |setting, file, kind| HiddenEntry { setting, file, kind, count: 3 };
            let entries = vec![
                hidden(HidingSetting::Exclude, Some(file.clone()), None),
                hidden(HidingSetting::GitleaksIgnore, Some(file.clone()), None),
                hidden(HidingSetting::Comments, None, Some(OsString::from_vec(kind))),
            ];
            let unscanned_histories = pseudo.clone();
            Summary {
                files: 3,
                bytes: 9,
                confidence: Confidence::Medium,
                listed: Listed::default(),
                unreported: Unreported { allowed: 3, ..Unreported::default() },
                hidden: Hidden { entries },
                skipped: Skipped { pseudo: pseudo.len() as u64, ..Skipped::default() },
                gaps: gaps.into_iter().map(gap).collect(),
                gaps_more: 1,
                pseudo_roots: pseudo.clone(),
                pseudo_paths: pseudo,
                no_path_is_left: false,
                gaps_are_named: true,
                ended,
                failed_rules: rules,
                configurations: vec![ConfigurationInUse { path: file, is_of_tree: true, refused }],
                policies: Vec::new(),
                overruled: Vec::new(),
                histories: Vec::new(),
                unscanned_histories,
            }
        },
    )
}

/// Returns the bytes of a field, which may be text with a field of its exact bytes beside it.
fn field(object: &Value, name: &str) -> Vec<u8> {
    let shown = object[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {object}"));
    match &object[format!("{name}_bytes")] {
        Value::Null => shown.as_bytes().to_vec(),
        exact => {
            let standard = base64::engine::general_purpose::STANDARD;
            standard.decode(exact.as_str().expect("text")).expect("base64")
        }
    }
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Checks an element of `places`, or a line of `jsonl`.
fn check_place(place: &Value, finding: &ReportedFinding) {
    assert_eq!(place["rule"], *finding.rule);
    assert_eq!(field(place, "path"), bytes_of(&finding.path));
    assert_eq!(field(place, "excerpt"), *finding.excerpt);
    assert_eq!(place["reason"], *finding.reason);
    assert_eq!(place["line"], finding.line);
    assert_eq!(place["offset"], finding.offset.start);
}

fn check_accounting(accounting: &Value, summary: &Summary) {
    assert_eq!(accounting["complete"], false);
    let file = &summary.configurations[0];
    assert_eq!(field(accounting, "configuration"), bytes_of(&file.path));
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list");
        list.iter().map(|text| text.as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(texts(&accounting["configurations"][0]["refused"]), file.refused);
    if !summary.failed_rules.is_empty() {
        assert_eq!(texts(&accounting["failed_rules"]), summary.failed_rules);
    }
    let hidden = accounting["hidden"].as_array().expect("a list");
    assert_eq!(field(&hidden[0], "file"), bytes_of(&file.path));
    let kind = summary.hidden.entries[2].kind.as_ref().expect("a comment");
    assert_eq!(field(&hidden[2], "kind"), kind.as_encoded_bytes());
}

fn check_gaps(object: &Value, summary: &Summary) {
    let gaps = object["incomplete"].as_array().expect("a list");
    assert_eq!(gaps.len(), summary.gaps.len());
    for (shown, gap) in gaps.iter().zip(&summary.gaps) {
        assert_eq!(field(shown, "path"), bytes_of(&gap.path));
    }
}

fn decoded(uri: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        assert!(byte.is_ascii_graphic(), "{uri}");
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
                let digits = std::str::from_utf8(&digits).expect("digits");
                u8::from_str_radix(digits, 16).expect("digits")
            }
            byte => byte,
        });
    }
    bytes
}

fn check_json(out: &[u8], findings: &[ReportedFinding], summary: &Summary) {
    let report: Value = serde_json::from_slice(out).expect("JSON");
    let mut places = 0;
    for group in report["secrets"].as_array().expect("a list") {
        for place in group["places"].as_array().expect("a list") {
            let finding = findings.iter().find(|finding| {
                bytes_of(&finding.path) == field(place, "path")
                    && finding.offset.start == place["offset"]
                    && finding.offset.end - finding.offset.start == place["length"]
                    && *finding.rule == place["rule"]
                    && finding.fingerprint.to_string() == group["fingerprint"]
            });
            check_place(place, finding.expect("a finding"));
            places += 1;
        }
        let same = |finding: &&ReportedFinding| {
            field(group, "secret") == *finding.secret
                && group["description"] == *finding.description
                && group["remedy"] == *finding.remedy
        };
        assert!(findings.iter().any(|finding| same(&finding)), "{group}");
    }
    assert_eq!(places, findings.len());
    check_accounting(&report, summary);
    check_gaps(&report, summary);
}

fn check_jsonl(out: &[u8], findings: &[ReportedFinding], summary: &Summary) {
    let text = std::str::from_utf8(out).expect("UTF-8");
    assert!(text.ends_with('\n'));
    let mut lines: Vec<Value> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let end = lines.pop().expect("an end record");
    check_accounting(&end["end"], summary);
    check_gaps(&end["end"], summary);
    assert_eq!(lines.len(), findings.len());
    for (line, finding) in lines.iter().zip(findings) {
        check_place(line, finding);
        assert_eq!(field(line, "secret"), *finding.secret);
        assert_eq!(line["description"], *finding.description);
        assert!(line.get("end").is_none());
    }
}

fn check_sarif(out: &[u8], findings: &[ReportedFinding], summary: &Summary) {
    let log: Value = serde_json::from_slice(out).expect("JSON");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("a list");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("a list");
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("a number") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let location = &result["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().expect("text");
        let path = decoded(uri);
        let finding = findings
            .iter()
            .find(|finding| bytes_of(&finding.path) == path && *finding.rule == result["ruleId"]);
        assert!(finding.is_some(), "no finding has {uri}");
    }
    // A finding that is given twice becomes one result.
    assert!(results.len() <= findings.len());
    assert_eq!(results.is_empty(), findings.is_empty());
    check_accounting(&run["properties"], summary);
}

fn check_text(out: &[u8]) {
    let text = std::str::from_utf8(out).expect("UTF-8");
    for line in text.split('\n') {
        assert_eq!(escape::visible(line), line, "it reaches the terminal");
    }
}

proptest! {
    #[test]
    fn hostile_names_and_texts_are_valid_in_every_format(
        mut findings in prop::collection::vec(finding(), 0..5),
        summary in summary(),
        columns in prop::option::of(1..200_usize),
    ) {
        findings.sort();
        findings.dedup_by(|one, other| (*one).cmp(other).is_eq());
        let advice = Advice {
            baseline: "heist baseline".to_owned(),
            scan: "heist scan".to_owned(),
            read_stdin: false,
            is_staged: false,
            is_of_history: false,
        };
        let exit = Exit::SecretsFound;
        let report = Report { findings: &findings, summary: &summary, exit, advice: &advice };
        let colors = ColorChoice::Never.colors_of_file();
        let written = |format| {
            let mut out = Vec::new();
            write(format, &report, TextStyle { colors, columns }, &mut out).expect("memory");
            out
        };
        check_json(&written(ScanFormat::Json), &findings, &summary);
        check_jsonl(&written(ScanFormat::Jsonl), &findings, &summary);
        check_sarif(&written(ScanFormat::Sarif), &findings, &summary);
        check_text(&written(ScanFormat::Text));
    }
}
