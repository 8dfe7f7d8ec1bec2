//! How a scan ends: the accounting in every format, the end record of `jsonl`, and exit codes.

use crate::support::interruptible;
use crate::support::scan::{ScanFixture, code, end, errors, json, lines, run, text, token};
use proptest::prelude::*;
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
    let ignore = scene.tree().join(".gitleaksignore");
    let expected = json!({
        "tool_version": env!("CARGO_PKG_VERSION"),
        "complete": true,
        "exit_code": 1,
        "files": 5,
        "bytes": 220,
        "findings": {"certain": 0, "high": 2, "medium": 1, "low": 0},
        "not_reported": {
            "below_confidence": 1, "allowed": 1, "in_baseline": 0, "ignored": 1, "own": 0,
            "not_new": 0, "too_many": 0,
        },
        "skipped": {
            "binary": 1, "too_large": 0, "special": 0, "symlinks": 0, "pseudo": 0, "submodules": 0,
            "excluded": 0,
        },
        "hidden": [
            {"by": "gitleaksignore", "file": ignore, "what": "findings", "count": 1},
            {"by": "comment", "what": "findings", "count": 1},
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
    let scene = scene();
    let log = json(&scene.scan(["-f", "sarif"]));
    let ignore = format!(
        "The tree hides 1 finding by `.gitleaksignore` in '{}'",
        scene.tree().join(".gitleaksignore").display()
    );
    let invocation = &log["runs"][0]["invocations"][0];
    let expected = json!([
        {"level": "warning", "message": {"text": ignore}},
        {
            "level": "warning",
            "message": {"text": "The tree hides 1 finding by comments in other files"},
        },
    ]);
    assert_eq!(invocation["toolConfigurationNotifications"], expected);
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

#[test]
fn a_named_path_that_is_not_scanned_is_an_error() {
    let scene = ScanFixture::new();
    let path = |name: &str| scene.tree().join(name);
    scene.file("clean", "nothing");
    scene.file("archive.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x02\x03\0\0\0\0\0");
    scene.file("large", "x".repeat(2000));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), mode).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
    std::os::unix::fs::symlink("archive.gz", path("link")).expect("a link");
    for (name, reason, help) in [
        ("archive.gz", "it is a binary file", "--binary scans it"),
        ("./archive.gz", "it is a binary file", "--binary scans it"),
        ("link", "it is a binary file", "--binary scans it"),
        ("fifo", "it is a named pipe", "heist scan - < PATH"),
        ("socket", "it is a socket", "heist scan - < PATH"),
        ("/dev/null", "it is a device", "heist scan - < PATH"),
    ] {
        let output = scene.scan(["-f", "json", "clean", name]);
        assert_eq!(code(&output), 2, "{name}");
        let message = errors(&output);
        assert!(
            message.starts_with(&format!("heist: cannot scan '{name}': {reason}\n")),
            "{message}"
        );
        assert!(message.contains("\n  help: ") && message.contains(help), "{message}");
        let report = json(&output);
        assert_eq!(report["incomplete"], json!([{"path": name, "reason": reason}]), "{name}");
        assert_eq!((&report["complete"], &report["files"]), (&false.into(), &1.into()), "{name}");
    }
    // Below a directory they are skipped and counted.
    let report = json(&scene.scan(["-f", "json"]));
    assert_eq!((&report["complete"], &report["exit_code"]), (&true.into(), &0.into()));
    assert_eq!(
        (&report["skipped"]["binary"], &report["skipped"]["special"]),
        (&1.into(), &2.into())
    );
    // The command line can ask for it.
    for arguments in [
        &["--no-binary", "archive.gz"] as &[&str],
        &["--binary", "archive.gz"],
        &["--max-size", "1K", "large"],
        &["--exclude", "*.gz", "archive.gz"],
    ] {
        assert_eq!(code(&scene.scan(arguments)), 0, "{arguments:?}");
    }
    // A configuration cannot.
    scene.file("heist.toml", "max-size = '1K'\nno-binary = true\n");
    for (name, reason) in [("large", "larger than the `max-size`"), ("archive.gz", "a binary file")]
    {
        let output = scene.scan([name]);
        assert_eq!(code(&output), 2, "{name}");
        assert!(errors(&output).contains(reason), "{}", errors(&output));
    }
    assert_eq!(code(&scene.scan(["--max-size", "1M", "large"])), 0);
}

#[test]
fn binary_input_on_stdin_is_an_error() {
    let scene = ScanFixture::new();
    let path = scene.file("binary", [0; 100]);
    let mut command = scene.heist("scan", ["-"]);
    command.stdin(std::fs::File::open(path).expect("a file"));
    let output = run(command);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("cannot scan 'stdin': it is a binary file"));
}

#[test]
fn a_named_path_that_cannot_be_scanned_leaves_the_baseline_as_it_is() {
    let scene = ScanFixture::new();
    scene.file("binary", [0; 100]);
    let output = run(scene.heist("baseline", ["-o", "../known.toml", "binary"]));
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("cannot scan 'binary'"), "{}", errors(&output));
}

#[test]
fn an_incomplete_scan_can_have_its_own_exit_code() {
    let scene = ScanFixture::new();
    scene.file("clean", "nothing");
    scene.file("found", token("tok_", 1));
    for (arguments, usual, own) in [
        (&["clean"] as &[&str], 0, 0),
        (&["found"], 1, 1),
        (&["clean", "/no/where"], 2, 7),
        (&["found", "/no/where"], 1, 7),
        (&["--timeout", "0ms"], 2, 7),
        (&["--only", "nonsense"], 2, 2),
        (&["found", "-o", "/dev/full"], 1, 7),
        (&["clean", "-o", "/dev/full"], 2, 7),
    ] {
        assert_eq!(code(&scene.scan(arguments)), usual, "{arguments:?}");
        let with = ["--exit-code-incomplete", "7"];
        assert_eq!(code(&scene.scan(with.iter().chain(arguments))), own, "{arguments:?}");
    }
    let report =
        json(&scene.scan(["-f", "json", "--exit-code-incomplete", "7", "found", "/no/where"]));
    assert_eq!((&report["exit_code"], &report["findings"]["high"]), (&7.into(), &1.into()));
    for refused in ["0", "1", "126", "300", "x"] {
        assert_eq!(code(&scene.scan(["--exit-code-incomplete", refused, "clean"])), 2, "{refused}");
    }
    // A tree must not choose it.
    scene.file("heist.toml", "exit-code-incomplete = 3\n");
    let output = scene.scan(["clean"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("works only on the command line"), "{}", errors(&output));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_few_zero_bytes_do_not_hide_a_secret(
        lines in prop::collection::vec("[ -~]{40,60}", 25..40),
        line in any::<prop::sample::Index>(),
        zeros in prop::collection::vec(any::<prop::sample::Index>(), 1..=8),
    ) {
        let secret = token("tok_", 1);
        let at = line.index(lines.len());
        let mut text = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            if number == at {
                text.extend(format!("x = {secret}\n").as_bytes());
                continue;
            }
            // The other lines are where the zeros are.
            let mut line = line.clone().into_bytes();
            for (zero, place) in zeros.iter().enumerate() {
                if zero % (lines.len() - 1) == number - usize::from(number > at) {
                    line.insert(place.index(line.len()), 0);
                }
            }
            line.push(b'\n');
            text.extend(line);
        }
        prop_assert!(text.len() >= 1024 && text.contains(&0));
        let scene = ScanFixture::new();
        scene.file("text", &text);
        let found = lines_of(&scene);
        prop_assert_eq!(found, vec![at as u64 + 1]);
    }
}

/// Returns the lines with findings.
#[track_caller]
fn lines_of(scene: &ScanFixture) -> Vec<u64> {
    let found = lines(&scene.scan(["-f", "jsonl"]));
    found.iter().map(|finding| finding["line"].as_u64().expect("a number")).collect()
}
