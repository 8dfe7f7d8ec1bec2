//! A file that takes far more work than its size allows is cut. Every format and the exit code say
//! so, and `--no-work-limit` scans all of it.

use crate::support::scan::{ScanFixture, code, end, errors, json, plain, run, text};
use std::process::Output;

/// Some megabytes of beginnings of JSON Web Tokens: they count as far more work than they take, so
/// the test is quick. A secret is before them, and one after them.
fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    let mut content = String::from("db_password = \"q9!7vT#x2mZ\"\n"); // heist:allow
    content.push_str(&"eyJabcdefghijklmnopqrst.".repeat(3_000_000));
    content.push_str("\ndb_password = \"k4!8wR#y3nB\"\n"); // heist:allow
    scene.file("tokens.env", content);
    scene
}

fn scan(scene: &ScanFixture, arguments: &[&str]) -> Output {
    let mut heist = plain();
    heist.args(["scan", "--no-config"]).args(arguments).arg(scene.tree());
    run(heist)
}

#[test]
fn a_file_with_too_much_work_is_cut_and_named_in_every_format() {
    let scene = scene();
    let says = "it has so many places that could be secrets that only its first ";
    let remedy = "--no-work-limit scans all of it";
    let check = |output: &Output, reason: &str| {
        assert_eq!(code(output), 1, "there is a finding");
        assert!(reason.contains(says) && reason.contains(remedy), "{reason}");
        assert!(errors(output).contains(says), "{}", errors(output));
    };
    let output = scan(&scene, &["-f", "text"]);
    assert!(text(&output).contains("Not complete: 1 path could not be scanned"));
    check(&output, &errors(&output));

    let output = scan(&scene, &["-f", "json"]);
    let report = json(&output);
    check(&output, report["incomplete"][0]["reason"].as_str().expect("a reason"));
    assert_eq!((&report["complete"], &report["files"]), (&false.into(), &1.into()));
    assert_eq!(report["secrets"].as_array().map(Vec::len), Some(1));

    let output = scan(&scene, &["-f", "jsonl", "-j", "3"]);
    let record = end(&output);
    assert_eq!(record["incomplete"], report["incomplete"]);
    assert_eq!(record["bytes"], report["bytes"], "it is cut at the same place");

    let output = scan(&scene, &["-f", "sarif", "--exit-code-incomplete", "7"]);
    assert_eq!(code(&output), 7);
    let invocation = &json(&output)["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert!(notification.as_str().is_some_and(|text| text.contains(remedy)), "{notification}");
}

#[test]
fn without_the_limit_all_of_the_file_is_scanned() {
    let scene = scene();
    let report = json(&scan(&scene, &["-f", "json", "--no-work-limit"]));
    assert_eq!(report["complete"], true);
    assert_eq!(report["secrets"].as_array().map(Vec::len), Some(2));
}
