//! Reports show no secret, whatever rules and options are in effect: cases that once did, and
//! planted secrets through the whole binary. Most planted secrets are checked in process
//! (`masking_tests`).

use crate::planted::{Planter, Public, leaks};
use crate::support::scan::{errors, lines, plain, run, text};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Random values, none of which is a real secret.
const AWS_SECRET: &str = "wJ7qXUtnFEMI+K7MDENG/bPxRf8CYzQ3ksT2vLh9"; // heist:allow
const TOKEN: &str = "h7Tz2Qw9Lx4Vb8Nm3Kd6Rf1Yp5Sg0Jc7"; // heist:allow
const NEEDLE_RULE: &str = "[[rules]]\nid = 'own'\nregex = 'needle'\n";

/// Returns what `heist scan` prints about a file with this text, in every format.
fn shown(content: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("own.toml"), NEEDLE_RULE).expect("a file");
    fs::create_dir(root.join("tree")).expect("a directory");
    fs::write(root.join("tree/config"), content).expect("a file");
    let mut all = String::new();
    for format in ["text", "json", "jsonl", "sarif"] {
        let mut command = plain();
        command.args(["scan", "--no-config", "--confidence", "low", "--stats", "--format", format]);
        let output = run({
            command.args(arguments).arg("tree").current_dir(root);
            command
        });
        all.push_str(&text(&output));
        all.push_str(&errors(&output));
    }
    all
}

#[track_caller]
fn assert_hidden(secret: &str, output: &str) {
    for part in secret.as_bytes().windows(8) {
        let part = std::str::from_utf8(part).expect("ASCII");
        assert!(!output.contains(part), "{part} of {secret} in {output}");
    }
}

#[test]
fn a_repeated_secret_is_hidden_beside_another_one() {
    let line =
        format!("AWS_SECRET_ACCESS_KEY=\"{AWS_SECRET}\" API_TOKEN=\"{TOKEN}\" && login {TOKEN}\n");
    let output = shown(&line, &[]);
    assert!(output.contains("login ******"), "{output}");
    assert_hidden(TOKEN, &output);
    assert_hidden(AWS_SECRET, &output);
}

#[test]
fn secrets_that_the_rules_do_not_look_for_are_hidden() {
    let line = format!("needle AWS_SECRET_ACCESS_KEY={AWS_SECRET} password = \"{TOKEN}\" end\n");
    for arguments in [
        &["--rules", "own.toml"][..],
        &["--only", "password"],
        &["--except", "aws-*"],
        &["--no-generic"],
        &["--no-decode", "--only", "password"],
    ] {
        let output = shown(&line, arguments);
        assert_hidden(AWS_SECRET, &output);
        assert_hidden(TOKEN, &output);
    }
}

#[test]
fn a_value_is_hidden_if_the_excerpt_cuts_off_its_name() {
    // A value that is not random enough to be hidden on its own.
    let value = "northern-lights over the quiet harbour";
    for distance in 0..100 {
        let filler = "and so on ".repeat(10);
        let line = format!("password = \"{value}\" {} needle\n", &filler[..distance]);
        assert_hidden(value, &shown_with_own_rules(&line));
    }
}

/// The same for one format, which is enough where only the position changes.
fn shown_with_own_rules(content: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("own.toml"), NEEDLE_RULE).expect("a file");
    fs::write(root.join("config"), content).expect("a file");
    let mut command = plain();
    command.args(["scan", "--no-config", "--rules", "own.toml", "--format", "jsonl", "config"]);
    command.current_dir(root);
    let output = run(command);
    assert_eq!(lines(&output).len(), 1, "{}", errors(&output));
    text(&output)
}

#[test]
fn the_lines_of_a_private_key_are_hidden() {
    let body = "MC4CAQAwBQYDK2VwBCIEIJx7Ynq3fVq2mD0sT1uWc5Rj8hLkGtPzNa4oEeXb9dYi";
    let label = ["PRIVATE", "KEY"].join(" ");
    let key = format!("-----BEGIN {label}-----\n{body}\nneedle+Qx3\n-----END {label}-----\n");
    let output = shown(&key, &["--rules", "own.toml"]);
    assert_hidden(body, &output);
    assert!(!output.contains("Qx3"), "the last line: {output}");
}

#[test]
fn a_private_key_shows_its_kind_and_fingerprint() {
    let label = ["RSA", "PRIVATE", "KEY"].join(" ");
    let body = "MIIBOwIBAAJBAKx7Ynq3fVq2mD0sT1uWc5Rj8hLkGtPzNa4oEeXb9dYiMC4CAQAw\n".repeat(6);
    let output = shown(&format!("-----BEGIN {label}-----\n{body}-----END {label}-----\n"), &[]);
    assert!(output.contains("RSA private key, fingerprint "), "{output}");
    assert_hidden(body.lines().next().expect("a line"), &output);
}

#[test]
fn an_identifier_is_shown_unless_the_tree_calls_it_one() {
    let id = format!("AKIA{}", "Q7XWZ2MNB4RTK6JD");
    let line = format!("aws_access_key_id = {id}\napi_token = \"{TOKEN}\"\n");
    let output = shown(&line, &[]);
    assert!(output.contains(&format!("aws_access_key_id = {id}")), "{output}");

    let directory = tempfile::tempdir().expect("a directory");
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).expect("a directory");
    let rules = "[extend]\nuseDefault = true\n[[rules]]\nid = 'reveal'\nregex = '[A-Za-z0-9]{32}'\n\
                 confidence = 'certain'\nidentifier = true\n";
    fs::write(tree.join("rules.toml"), rules).expect("a file");
    fs::write(tree.join("heist.toml"), "rules = ['rules.toml']\n").expect("a file");
    fs::write(tree.join("config"), &line).expect("a file");
    let mut command = plain();
    command.args(["scan", "--confidence", "low", "--format", "jsonl", "."]).current_dir(&tree);
    let output = run(command);
    assert!(text(&output).contains("\"api_token"), "{}", errors(&output));
    assert_hidden(TOKEN, &text(&output));
}

#[test]
fn neighbours_of_a_secret_are_hidden() {
    let other = "9c1185a5c5e9fc54612808977ee8f548"; // heist:allow
    let output = shown(&format!("GET /login?token={TOKEN}&auth={other}&page=1 needle\n"), &[]);
    assert_hidden(other, &output);
    assert!(output.contains("auth=******&page=1"), "{output}");
}

/// Runs the binary on planted secrets, with everything that it can print or write.
#[test]
fn the_binary_shows_no_planted_secret() {
    let public = Public::new();
    let mut planter = Planter::new(3);
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("own.toml"), NEEDLE_RULE).expect("a file");
    for arguments in [
        &[][..],
        &["--rules", "own.toml"],
        &["--only", "password,needle"],
        &["--except", "password", "--no-generic"],
        &["--no-decode", "--confidence", "low"],
        &["--no-noise-filter", "--confidence", "low"],
    ] {
        let planted = planter.text();
        fs::write(root.join("config"), &planted.text).expect("a file");
        let mut written = Vec::new();
        for format in ["text", "json", "jsonl", "sarif"] {
            let mut command = plain();
            command.args(["scan", "--no-config", "--binary", "--stats", "--trace", "trace.json"]);
            command.args(["--format", format]).args(arguments).arg("config").current_dir(root);
            let output = run(command);
            written.extend([output.stdout, output.stderr, read(&root.join("trace.json"))]);
        }
        let mut command = plain();
        command.args(["baseline", "--no-config", "--binary", "-o", "baseline.toml", "config"]);
        let output = run({
            command.current_dir(root);
            command
        });
        written.extend([output.stdout, output.stderr, read(&root.join("baseline.toml"))]);
        for line in ["1", "26", "51"] {
            let mut command = plain();
            command.args(["scan", "--no-config", "--binary", "--explain"]);
            command.arg(format!("config:{line}")).arg("config").current_dir(root);
            let output = run(command);
            written.extend([output.stdout, output.stderr]);
        }
        let written = written.concat();
        let fingerprints = fingerprints_in(&written);
        let shown = String::from_utf8_lossy(&written).replace('\u{fffd}', "");
        let leaks = leaks(&planted, &public, &fingerprints, shown.as_bytes());
        assert_eq!(leaks, [""; 0], "with {arguments:?}");
    }
}

fn read(path: &Path) -> Vec<u8> {
    let content = fs::read(path).unwrap_or_default();
    let _ = fs::remove_file(path);
    content
}

/// Returns the fingerprints and hashes that an output names as such.
fn fingerprints_in(output: &[u8]) -> HashSet<String> {
    let text = String::from_utf8_lossy(output);
    let mut found = HashSet::new();
    for mark in ["\"fingerprint\":\"", "\"secret/v1\":\"", "fingerprint ", ", ", "hash = \""] {
        for (at, _) in text.match_indices(mark) {
            let digits = text[at + mark.len()..].bytes().take(32);
            if digits.clone().filter(u8::is_ascii_hexdigit).count() == 32 {
                found.insert(digits.map(char::from).collect());
            }
        }
    }
    found
}
