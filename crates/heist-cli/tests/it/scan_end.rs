//! How a scan ends: the accounting in every format, the end record of `jsonl`, and exit codes.

use crate::support::interruptible;
use crate::support::scan::{ScanFixture, code, end, errors, json, lines, run, text, token};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::Stdio;

/// Findings of three levels, allowed and ignored ones, skipped files.
fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    scene.file("a", format!("{}\n{}\n", token("tok_", 1), token("fair_", 2)));
    scene.file("b", format!("{}\n{}\n", token("faint_", 3), token("tok_", 1)));
    scene.file("c", format!("{} heist:allow\n", token("tok_", 4)));
    scene.file("d", format!("x\n{}\n", token("tok_", 5)));
    scene.file(".gitleaksignore", "d:test-token:2\n");
    scene.file("binary", b"\x7fELF\0\0\0\0\0\0\0\0\x01\x02");
    scene
}

/// Returns the accounting that the three machine-readable formats share.
#[track_caller]
fn accounting(scene: &ScanFixture, format: &str, arguments: &[&str]) -> Value {
    let output = scene.scan(["-f", format].iter().chain(arguments));
    let mut accounting = match format {
        "jsonl" => end(&output),
        "json" => json(&output),
        _ => json(&output)["runs"][0]["properties"].clone(),
    };
    assert_eq!(accounting["exit_code"], code(&output), "{format}");
    let fields = accounting.as_object_mut().expect("an object");
    for other in ["format", "version", "secrets", "incomplete", "incomplete_more"] {
        fields.remove(other);
    }
    accounting
}

#[test]
fn every_format_has_the_same_accounting() {
    let scene = scene();
    let expected = json!({
        "tool_version": env!("CARGO_PKG_VERSION"),
        "complete": true,
        "exit_code": 1,
        "files": 5,
        "bytes": 220,
        "findings": {"certain": 0, "high": 2, "medium": 1, "low": 0},
        "not_reported": {
            "below_confidence": 1, "allowed": 1, "in_baseline": 0, "ignored": 1, "own": 0, "too_many": 0,
        },
        "skipped": {"binary": 1, "too_large": 0, "special": 0, "symlinks": 0, "excluded": 0},
        "hidden": [
            {"by": "comment", "what": "findings", "count": 1},
            {"by": "gitleaksignore", "what": "findings", "count": 1},
        ],
    });
    for format in ["json", "jsonl", "sarif"] {
        let mut found = accounting(&scene, format, &[]);
        // The number of bytes depends on the texts above.
        found["bytes"] = 220.into();
        assert_eq!(found, expected, "{format}");
    }
    for arguments in [&["a", "/no/where"] as &[&str], &["--timeout", "0ms"], &["--exclude", "*"]] {
        let expected = accounting(&scene, "json", arguments);
        for format in ["jsonl", "sarif"] {
            assert_eq!(accounting(&scene, format, arguments), expected, "{format} {arguments:?}");
        }
    }
}

#[test]
fn jsonl_ends_with_what_was_not_scanned() {
    let scene = scene();
    for sorted in ["--sorted", "--no-sorted"] {
        let output = scene.scan(["-f", "jsonl", sorted, "a", "/no/where"]);
        assert_eq!((code(&output), lines(&output).len()), (1, 2), "{}", errors(&output));
        let end = end(&output);
        assert_eq!((&end["complete"], &end["version"]), (&false.into(), &1.into()));
        let gaps = json!([{"path": "/no/where", "reason": "No such file or directory"}]);
        assert_eq!((&end["incomplete"], &end["incomplete_more"]), (&gaps, &0.into()));
        assert!(text(&output).ends_with("}}\n"), "{}", text(&output));
    }
    let output = scene.scan(["-f", "jsonl", "--timeout", "0ms"]);
    assert_eq!((code(&output), &end(&output)["ended"]), (2, &"timeout".into()));
}

#[test]
fn sarif_warns_about_what_the_tree_hides() {
    let log = json(&scene().scan(["-f", "sarif"]));
    let invocation = &log["runs"][0]["invocations"][0];
    let expected = json!([
        {"level": "warning", "message": {"text": "comments hide 1 finding"}},
        {"level": "warning", "message": {"text": ".gitleaksignore hides 1 finding"}},
    ]);
    assert_eq!(invocation["toolExecutionNotifications"], expected);
    assert_eq!(invocation["executionSuccessful"], true);
}

#[test]
fn an_interrupted_jsonl_report_ends_with_a_record_and_a_killed_one_does_not() {
    for signal in [Signal::INT, Signal::KILL] {
        let scene = ScanFixture::new();
        scene.file("a", token("tok_", 1));
        // Standard input stays open, so the scan cannot end by itself.
        let mut command = interruptible(&scene.heist("scan", ["-f", "jsonl", "a", "-"]));
        command.current_dir(scene.tree()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take();
        let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        let mut found = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut found).expect("it writes");
        kill_process(Pid::from_child(&child), signal).expect("a signal");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut rest).expect("it ends");
        let status = child.wait().expect("it ends");
        drop(stdin);
        if signal == Signal::KILL {
            assert_eq!(rest, "");
            continue;
        }
        assert_eq!(status.code(), Some(130));
        let end: Value = serde_json::from_str(&rest).expect("one line");
        let end = &end["end"];
        assert_eq!((&end["ended"], &end["complete"]), (&"interrupted".into(), &false.into()));
        assert_eq!((&end["exit_code"], &end["findings"]["high"]), (&130.into(), &1.into()));
    }
}

#[test]
fn an_end_record_alone_may_be_overwritten() {
    let scene = ScanFixture::new();
    scene.file("a", "nothing");
    for _ in 0..2 {
        let output = run(scene.heist("scan", ["-f", "jsonl", "-o", "report"]));
        assert_eq!(code(&output), 0, "{}", errors(&output));
    }
}
