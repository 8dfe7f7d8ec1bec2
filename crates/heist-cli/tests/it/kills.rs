//! SIGKILL at random moments of a run that replaces a file: the file is the old one or the whole
//! new one, and what the run leaves behind harms neither the user nor the next run.
//!
//! `HEIST_KILLS` sets the number of kills, and `HEIST_SEED` the moments.

use crate::support::scan::{ScanFixture, code, errors, run, text, token};
use heist::rng::XorShift64;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const KILLS: u64 = 48;

/// The number of files with a secret in the tree.
const FILES: usize = 120;

/// The commands, the file that each of them replaces, and its arguments.
const COMMANDS: [(&str, &str, &[&str]); 6] = [
    ("scan", "report.json", &["-f", "json", "--output", "report.json"]),
    ("scan", "report.sarif", &["-f", "sarif", "--show-secrets", "--output", "report.sarif"]),
    ("scan", "report.jsonl", &["-f", "jsonl", "--output", "report.jsonl"]),
    ("scan", "report.txt", &["--show-secrets", "--output", "report.txt"]),
    ("scan", "trace.json", &["-f", "json", "--trace", "trace.json"]),
    ("baseline", "known.toml", &["--output", "known.toml"]),
];

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |set| set.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// Returns `true` if the content of a file is complete.
fn is_whole(file: &str, content: &str) -> bool {
    let last = content.lines().last().unwrap_or_default();
    match file {
        "report.jsonl" => {
            content.ends_with('\n')
                && content.lines().all(|line| serde_json::from_str::<Value>(line).is_ok())
                && last.starts_with("{\"end\":")
        }
        "report.txt" => content.contains(&format!("{FILES} secrets in {FILES} places")),
        "known.toml" => content.starts_with("# Known secrets.") && content.ends_with("]\n"),
        _ => serde_json::from_str::<Value>(content).is_ok(),
    }
}

/// Returns the files that runs have left beside `file`, and checks their names and permissions.
fn leftovers(directory: &Path, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found = Vec::new();
    for path in paths {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some((of, digits)) = name.split_once(".heist-") else { continue };
        assert_eq!(of, format!(".{file}"), "{name}");
        let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        assert!(digits.len() == 16 && digits.bytes().all(is_digit), "{name}");
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        assert!(metadata.is_file() && metadata.mode() & 0o111 == 0, "{name}");
        // It is narrowed before anything is written to it, and widened when it is complete.
        let content = fs::read_to_string(&path).expect("it is there");
        let is_half = !content.is_empty() && !is_whole(file, &content);
        assert!(!is_half || metadata.mode() & 0o077 == 0, "{name}");
        found.push(path);
    }
    found
}

/// Checks that a run, which may have found leftovers, found every secret once.
fn check_found(scene: &ScanFixture, command: &str, file: &str, output: &Output) {
    let what = format!("{command} {file}: {}{}", text(output), errors(output));
    if command == "baseline" {
        assert_eq!(code(output), 0, "{what}");
        assert!(text(output).contains(&format!("{FILES} in total")), "{what}");
        return;
    }
    assert_eq!(code(output), 1, "{what}");
    let report = match file {
        "trace.json" => text(output),
        _ => fs::read_to_string(scene.tree().join(file)).expect(&what),
    };
    // In text, `is_whole` checks the number.
    if file.ends_with(".json") {
        let report: Value = serde_json::from_str(&report).expect("it is whole");
        let secrets = report["secrets"].as_array().expect("a list");
        let places: usize =
            secrets.iter().map(|secret| secret["places"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!((secrets.len(), places), (FILES, FILES), "{what}");
    } else if file != "report.txt" {
        assert_eq!(
            report.matches("\"rule\"").count().max(report.matches("\"ruleId\"").count()),
            FILES
        );
    }
}

#[test]
fn a_kill_leaves_the_old_file_or_the_whole_new_one() {
    let kills = setting("HEIST_KILLS", KILLS);
    let seed = setting("HEIST_SEED", 1);
    let mut rng = XorShift64::new(seed);
    let scenes = COMMANDS.map(|(command, file, arguments)| {
        let scene = ScanFixture::new();
        for number in 0..FILES {
            let text = format!("x\n{}\n", token("tok_", number as u64));
            scene.file(format!("{}/{number}", number % 20), text);
        }
        let started = Instant::now();
        check_found(&scene, command, file, &run(scene.heist(command, arguments)));
        (scene, started.elapsed())
    });
    let (mut in_time, mut replaced, mut left) = (0, 0, 0);
    for round in 0..kills {
        let which = round as usize % COMMANDS.len();
        let (command, file, arguments) = COMMANDS[which];
        let (scene, usual) = &scenes[which];
        let path = scene.tree().join(file);
        let old = fs::read_to_string(&path).expect("it is there");
        assert!(is_whole(file, &old), "{file}: {old}");
        // The next content of most files differs.
        scene.file("changes", format!("{round}"));

        let mut heist = scene.heist(command, arguments);
        let mut child =
            heist.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let moment = usual.mul_f64(1.3 * rng.below(1 << 20) as f64 / f64::from(1 << 20));
        std::thread::sleep(moment);
        // The process may have ended already, but it is not waited for.
        kill_process(Pid::from_child(&child), Signal::KILL).expect("a child");
        let status = child.wait().expect("it ends");

        let what = format!("seed {seed}, round {round}, {command} {file} after {moment:?}");
        let new = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(is_whole(file, &new), "{what}: {new}");
        in_time += u64::from(status.code().is_none());
        replaced += u64::from(new != old);
        let found = leftovers(&scene.tree(), file);
        assert!(found.len() <= 1, "{what}: {found:?}");
        left += found.len();

        let after = run(scene.heist(command, arguments));
        check_found(scene, command, file, &after);
        let noted = errors(&after).contains("note: heist was killed when it wrote '");
        assert_eq!(noted, !found.is_empty(), "{what}: {}", errors(&after));
        assert!(leftovers(&scene.tree(), file).is_empty(), "{what}");
    }
    println!(
        "{kills} kills: {in_time} before the end, {replaced} files replaced, {left} left behind"
    );
    assert!(in_time > kills / 4, "only {in_time} processes were killed in time");
    assert!(left > 0, "no kill came while a file was written");
}

/// A tree can bring files that look as if a killed run had left them.
#[test]
fn a_file_that_only_has_the_name_of_a_leftover_is_scanned_and_kept() {
    let scene = ScanFixture::new();
    let name = ".report.heist-0123456789abcdef";
    let content = format!("key = {}\n", token("tok_", 1));
    scene.file(name, &content);
    for _ in 0..2 {
        let output = scene.scan(["-f", "json", "--output", "report"]);
        assert_eq!((code(&output), errors(&output)), (1, String::new()));
        let report = fs::read_to_string(scene.tree().join("report")).expect("it is there");
        assert!(report.contains(name), "{report}");
        assert_eq!(fs::read_to_string(scene.tree().join(name)).expect("it is there"), content);
    }
}

/// The file of a run that still lives is not a leftover, although it looks like one.
#[test]
fn a_run_does_not_remove_the_file_of_another_one() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let mut heist = scene.heist("scan", ["-f", "json", "--output", "../report", "-"]);
    heist.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut living = heist.spawn().expect("it starts");
    let started = Instant::now();
    while leftovers(scene.temp.path(), "report").is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not create its file");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = scene.scan(["-f", "json", "--output", "../report"]);
    assert_eq!((code(&output), errors(&output)), (1, String::new()));
    assert_eq!(leftovers(scene.temp.path(), "report").len(), 1);
    drop(living.stdin.take());
    assert_eq!(living.wait().expect("it ends").code(), Some(0));
    let report = fs::read_to_string(scene.path("report")).expect("it is there");
    assert!(report.contains("\"findings\":{}") || !report.contains("test-token"), "{report}");
    assert_eq!(leftovers(scene.temp.path(), "report").len(), 0);
}
