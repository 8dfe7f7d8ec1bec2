//! Attacks on a running scan: contention, a tree that changes, too few descriptors, readers that go
//! away. None of them changes a result unnoticed.
//!
//! `HEIST_RUNS` sets how often the first two are tried; `ci/attacks.sh` tries them longer.

use crate::support::requirements;
use crate::support::scan::{ScanFixture, code, errors, run, text, token};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const FORMATS: [&str; 4] = ["text", "json", "jsonl", "sarif"];

/// Returns how often something is tried.
fn runs(usual: usize) -> usize {
    let set = std::env::var("HEIST_RUNS").ok();
    set.map_or(usual, |set| set.parse().expect("HEIST_RUNS is a number"))
}

fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    for number in 0..120 {
        let content = format!("x\n{}\n{}\n", token("tok_", number % 7), token("fair_", number));
        scene.file(format!("{}/{}/{number}", number % 11, number % 3), content);
    }
    // Large enough that several threads share it.
    let line = format!("{}\n{}", token("tok_", 999), "word ".repeat(40));
    scene.file("large", line.repeat(800));
    scene
}

/// Many threads on few cores, several processes at once: the report never differs.
#[test]
fn contention_changes_no_report() {
    let scene = scene();
    let expected = FORMATS.map(|format| scene.scan(["-f", format, "--sorted", "-j1"]).stdout);
    let runs = runs(24);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= runs {
                        return;
                    }
                    let which = round % FORMATS.len();
                    let threads = (1 + round * 7 % 32).to_string();
                    let arguments = ["-f", FORMATS[which], "--sorted", "-j", &threads];
                    let output = run(scene.heist("scan", arguments));
                    assert_eq!(code(&output), 1, "run {round}: {}", errors(&output));
                    assert!(output.stdout == expected[which], "run {round}, {arguments:?}");
                }
            });
        }
    });
    println!("{runs} contended runs");
}

/// Another process exchanges directories and files for links that lead out of the tree.
#[test]
fn no_exchange_during_a_scan_leads_out_of_the_tree() {
    let scene = scene();
    let outside = token("tok_", 5_000);
    fs::create_dir(scene.path("outside")).expect("a directory");
    for name in ["file", "other"] {
        fs::write(scene.path("outside").join(name), &outside).expect("a file");
        scene.file(format!("victim/{name}"), token("fair_", 6_000));
    }
    symlink("../outside", scene.tree().join("link-directory")).expect("a link");
    symlink("../../outside/file", scene.tree().join("victim/link-file")).expect("a link");
    let is_over = AtomicBool::new(false);
    let runs = runs(24);
    /// Ends the other thread, also after a failure.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let mut swaps = 0_u64;
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0_u64;
            let exchange = |one: &str, other: &str| {
                let (one, other) = (scene.tree().join(one), scene.tree().join(other));
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, one, cwd, other, flags).expect("both are there");
            };
            while !is_over.load(Ordering::Relaxed) {
                // Twice each, so that the links are back where they were.
                exchange("victim", "link-directory");
                exchange("victim", "link-directory");
                exchange("victim/file", "victim/link-file");
                exchange("victim/file", "victim/link-file");
                swaps += 4;
            }
            swaps
        });
        let end = End(&is_over);
        for round in 0..runs {
            let threads = (1 + round % 4).to_string();
            let output = run(scene.heist("scan", ["-f", "jsonl", "-j", &threads]));
            let report = text(&output);
            let found = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let outside = heist_scan::Secret::new(outside.as_bytes()).fingerprint().to_string();
            // (While the names are exchanged, `link-directory` is the directory in the tree.)
            for finding in found {
                assert_ne!(finding["fingerprint"], outside, "run {round}: {finding}");
            }
            // What could not be read is named.
            assert_eq!(code(&output), 1);
            let end: Value = serde_json::from_str(report.lines().last().expect("an end record"))
                .expect("an end record");
            let is_complete = end["end"]["complete"] == true;
            assert_eq!(is_complete, errors(&output).is_empty(), "{}", errors(&output));
        }
        drop(end);
        swaps = swapper.join().expect("it ends");
    });
    println!("{runs} runs, {swaps} exchanges");
    assert!(swaps > runs as u64);
}

/// With too few descriptors a scan fails, or is incomplete and says so, or is complete.
#[test]
fn few_descriptors_are_enough_or_reported() {
    let scene = scene();
    let report = scene.path("report.json");
    let arguments = ["-f", "json", "--exit-code-incomplete", "3", "-j4"];
    let expected = scene.scan(arguments).stdout;
    let (mut complete, mut failed) = (0, 0);
    for limit in 4..=20 {
        for to_file in [false, true] {
            let _ = fs::remove_file(&report);
            let mut heist = scene.heist("scan", arguments);
            if to_file {
                heist.arg("--output").arg(&report);
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -n {limit} && exec \"$@\""), "sh"]);
            shell.arg(heist.get_program()).args(heist.get_args()).current_dir(scene.tree());
            shell.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("HEIST_POLICY");
            let output = run(shell);
            let what = format!("{limit} descriptors: {}", errors(&output));
            let written =
                if to_file { fs::read(&report).unwrap_or_default() } else { output.stdout.clone() };
            match output.status.code() {
                Some(1) => {
                    assert!(written == expected, "{what}");
                    complete += 1;
                }
                Some(3) => {
                    let report: Value = serde_json::from_slice(&written).expect(&what);
                    assert_eq!(report["complete"], false, "{what}");
                    assert!(!errors(&output).is_empty(), "{what}");
                    failed += 1;
                }
                // The program cannot be loaded, or there is no thread, no signal handler, no file.
                Some(2 | 127) => {
                    assert!(!errors(&output).is_empty() && written.is_empty(), "{what}");
                    failed += 1;
                }
                other => panic!("{other:?}: {what}"),
            }
        }
    }
    println!("{complete} complete, {failed} failed or incomplete");
    assert!(complete >= 10, "{complete} complete, {failed} failed or incomplete");
}

/// A reader that has read enough ends a scan quietly, with the exit code of what was found.
#[test]
fn a_reader_that_goes_away_is_no_error_in_any_format() {
    requirements::program("bash");
    let scene = scene();
    for format in FORMATS {
        for bytes in ["0", "1", "70", "5000"] {
            let script = "set +e; \"${@:2}\" | head -c \"$1\" >/dev/null; echo ${PIPESTATUS[0]}";
            let heist = scene.heist("scan", ["-f", format]);
            let mut bash = Command::new("bash");
            bash.args(["-c", script, "bash", bytes]).arg(heist.get_program());
            bash.args(heist.get_args()).current_dir(scene.tree()).stdin(Stdio::null());
            bash.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("HEIST_POLICY");
            let output = run(bash);
            let ended = (text(&output), errors(&output));
            assert_eq!(ended, ("1\n".to_owned(), String::new()), "{format}, {bytes} bytes");
        }
    }
}
