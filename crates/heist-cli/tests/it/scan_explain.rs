//! `heist scan --explain PATH:LINE`: every candidate on a line, step by step.

use crate::support::scan::{ScanFixture, code, errors, run, text, token};
use std::fs;

/// The explanation of a line, which must be there.
#[track_caller]
fn explained(scene: &ScanFixture, arguments: &[&str]) -> String {
    let output = scene.scan(["--explain"].iter().chain(arguments));
    assert_eq!((code(&output), errors(&output)), (0, String::new()));
    text(&output)
}

#[test]
fn a_reported_candidate_is_explained_and_masked() {
    let scene = ScanFixture::new();
    let secret = token("tok_", 1);
    scene.file("a.txt", format!("first\nx = {secret}\n"));
    let printed = explained(&scene, &["a.txt:2"]);
    for part in [
        "a.txt:2: 1 candidate\n",
        "1. test-token: tok_******",
        "allowlist        passed",
        "noise filter     passed",
        "verdict          high",
        "suppression      passed",
        "=> reported\n",
    ] {
        assert!(printed.contains(part), "{part}\n{printed}");
    }
    assert!(!printed.contains(&secret[6..18]), "{printed}");
    assert!(explained(&scene, &["a.txt:1"]).contains("a.txt:1: no candidate"));
}

#[test]
fn a_rejected_candidate_names_its_step() {
    let scene = ScanFixture::new();
    scene.file("a.txt", format!("tok_{}\n", "0".repeat(20)));
    let printed = explained(&scene, &["a.txt:1"]);
    assert!(
        printed.contains("noise filter     failed   a prefix and one repeated character"),
        "{printed}"
    );
    assert!(printed.ends_with("=> not reported\n"), "{printed}");
}

#[test]
fn confidence_comments_and_ignored_places_come_last() {
    let scene = ScanFixture::new();
    scene.file("a.txt", token("faint_", 1));
    scene.file("b.txt", format!("{} # heist:allow\n", token("tok_", 2)));
    scene.file("c.txt", token("tok_", 3));
    scene.file(".gitleaksignore", "c.txt:test-token:1\n");
    for (place, step) in [
        ("a.txt:1", "confidence       failed   low, and --confidence is medium"),
        ("b.txt:1", "suppression      failed   a comment on its line allows it"),
        ("./c.txt:1", "suppression      failed   a .gitleaksignore lists its location"),
    ] {
        let printed = explained(&scene, &[place]);
        assert!(printed.contains(step) && printed.contains("=> not reported"), "{printed}");
    }
    assert!(explained(&scene, &["a.txt:1", "--confidence", "low"]).contains("=> reported"));
}

#[test]
fn a_baseline_and_a_stronger_finding_are_named() {
    let scene = ScanFixture::new();
    let rules = fs::read_to_string(scene.path("rules.toml")).expect("the tests' rules");
    let covered =
        "\n[[rules]]\nid = 'part'\nregex = '''ok_[a-z0-9]{20}'''\nconfidence = 'medium'\n";
    fs::write(scene.path("rules.toml"), rules + covered).expect("a file");
    scene.file("a.txt", token("tok_", 1));
    let printed = explained(&scene, &["a.txt:1"]);
    assert!(printed.contains("a.txt:1: 2 candidates"), "{printed}");
    let step = "overlap          failed   a stronger finding covers it, of test-token";
    assert!(printed.contains(step), "{printed}");
    let known = scene.path("known.toml");
    let mut baseline = scene.heist("baseline", ["--output"]);
    baseline.arg(&known);
    assert_eq!(code(&run(baseline)), 0);
    let printed = explained(&scene, &["a.txt:1", "--baseline", known.to_str().expect("UTF-8")]);
    assert!(printed.contains("suppression      failed   the baseline contains"), "{printed}");
}

#[test]
fn what_cannot_be_explained_is_an_error() {
    let scene = ScanFixture::new();
    scene.file("a.txt", "one\ntwo\n");
    scene.file("binary", b"\x7fELF\0\0\0\0");
    for (arguments, message) in [
        (&["a.txt:3"][..], "'a.txt' ends before line 3"),
        (&["a.txt"], "'a.txt' is not of the form PATH:LINE"),
        (&["a.txt:x"], "is not of the form PATH:LINE"),
        (&["binary:1"], "a scan skips 'binary', because it is a binary file"),
        (&["missing:1"], "cannot read 'missing': No such file or directory"),
        (&[".:1"], "cannot read '.'"),
        (&["a.txt:1", "--max-size", "3"], "because it is larger than --max-size"),
        (&["a.txt:1", "--format", "json"], "cannot be used with"),
    ] {
        let output = scene.scan(["--explain"].iter().chain(arguments));
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(errors(&output).contains(message), "{arguments:?}: {}", errors(&output));
    }
    assert!(explained(&scene, &["binary:1", "--binary"]).contains("no candidate"));
}
