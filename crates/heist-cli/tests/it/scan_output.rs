//! `heist scan --output`: the file has the complete report or its old content, however the scan
//! ends.

use crate::mounts::{in_own_mounts, mount_tmpfs};
use crate::support::scan::{ScanFixture, code, errors, run, token};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    for number in 0..400 {
        scene.file(format!("{}/{number}", number % 20), format!("x\n{}\n", token("tok_", number)));
    }
    scene
}

/// Returns `true` if a report is complete.
fn is_whole(format: &str, content: &str) -> bool {
    match format {
        "jsonl" => {
            content.ends_with('\n')
                && content
                    .lines()
                    .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
        }
        _ => serde_json::from_str::<serde_json::Value>(content).is_ok(),
    }
}

fn leftovers(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains(".heist-")).count()
}

#[test]
fn a_report_in_a_file_equals_that_on_stdout() {
    let scene = scene();
    for format in ["text", "json", "jsonl", "sarif"] {
        let expected = scene.scan(["-f", format, "--sorted"]).stdout;
        let path = scene.path("report");
        let to_file = ["-f", format, "--sorted", "-o", path.to_str().expect("UTF-8")];
        let output = scene.scan(to_file);
        assert_eq!((code(&output), output.stdout.len(), errors(&output)), (1, 0, String::new()));
        assert!(fs::read(&path).expect("it is there") == expected, "{format}");
        assert_eq!(leftovers(scene.temp.path()), 0);
    }
}

#[test]
fn a_report_in_the_tree_is_not_scanned() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for format in ["jsonl", "text"] {
        for _ in 0..2 {
            let output = scene.scan(["-f", format, "--show-secrets", "-o", "report"]);
            assert_eq!(code(&output), 1);
            let report = fs::read_to_string(scene.tree().join("report")).expect("it is there");
            assert!(report.contains(&token("tok_", 1)), "{report}");
            assert!(!report.contains("report:") && !report.contains("\"report\""), "{report}");
        }
    }
}

#[test]
fn a_scanned_file_is_not_overwritten() {
    let scene = ScanFixture::new();
    let path = scene.file("config.env", format!("[db]\nTOKEN={}\n", token("tok_", 1)));
    for (arguments, option) in [
        (vec!["-o", "config.env"], "--output"),
        (vec!["-f", "jsonl", "-o", "config.env", "config.env"], "--output"),
        (vec!["--trace", "config.env"], "--trace"),
    ] {
        let output = scene.scan(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        let message = errors(&output);
        assert!(message.contains(option) && message.contains("give another FILE"), "{message}");
        assert!(fs::read_to_string(&path).expect("it is there").contains(&token("tok_", 1)));
    }
    // Files outside the scanned tree may be replaced.
    let elsewhere = scene.path("elsewhere");
    fs::write(&elsewhere, "anything").expect("a file");
    assert_eq!(code(&scene.scan(["-o", elsewhere.to_str().expect("UTF-8")])), 1);
}

#[test]
fn files_that_the_run_reads_are_not_overwritten() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let (rules, baseline) = (scene.path("rules.toml"), scene.path("known.toml"));
    let (rules, baseline) = (rules.to_str().expect("UTF-8"), baseline.to_str().expect("UTF-8"));
    assert_eq!(code(&run(scene.heist("baseline", ["--output", baseline]))), 0);
    for (arguments, what) in [
        (vec!["--baseline", baseline, "-o", baseline], "the baseline"),
        (vec!["--baseline", baseline, "--trace", baseline], "the baseline"),
        (vec!["-o", rules], "a rule file"),
        (vec!["-o", "../new", "--trace", "../tree/../new"], "the file of --output"),
    ] {
        let output = scene.scan(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(
            errors(&output).contains(&format!("would overwrite {what}\n  help: give another")),
            "{arguments:?}"
        );
    }
    // A trace may replace an earlier trace, and is not scanned.
    for _ in 0..2 {
        assert_eq!(code(&scene.scan(["--trace", "trace", "-o", "/dev/null"])), 1);
    }
}

#[test]
fn a_dash_is_refused_where_a_file_is_needed() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for (command, option) in
        [("baseline", "--output"), ("scan", "--trace"), ("baseline", "--trace")]
    {
        let mut command = scene.heist(command, [option, "-"]);
        if option == "--trace" && command.get_args().any(|argument| argument == "baseline") {
            command.args(["--output", "known"]);
        }
        let output = run(command);
        assert_eq!(code(&output), 2, "{option}");
        assert!(errors(&output).contains(&format!("{option} '-': a ")), "{}", errors(&output));
        assert!(errors(&output).contains("give a FILE"), "{}", errors(&output));
        assert!(!scene.tree().join("-").exists());
    }
}

#[test]
fn findings_in_an_older_report_are_counted() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for format in ["text", "json", "jsonl", "sarif"] {
        let arguments = ["-f", format, "--show-secrets", "-o", "report"];
        assert_eq!(code(&scene.scan(arguments)), 1, "{format}");
        let output = scene.scan(arguments);
        assert_eq!(code(&output), 1, "{format}");
        assert!(
            errors(&output).contains("in the output, trace or baseline of this run"),
            "{format}"
        );
        fs::remove_file(scene.tree().join("report")).expect("it is there");
    }
}

#[test]
fn a_kill_during_streaming_leaves_whole_lines() {
    let scene = scene();
    for round in 0..20 {
        let path = scene.path("stream");
        let file = fs::File::create(&path).expect("a file");
        let mut command = scene.heist("scan", ["-f", "jsonl"]);
        let mut child = command.stdout(file).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(3 * round));
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait().expect("it ends");
        let content = fs::read_to_string(&path).expect("it is there");
        assert!(content.is_empty() || is_whole("jsonl", &content), "{content}");
    }
}

#[test]
fn a_full_disk_keeps_the_old_report() {
    in_own_mounts("scan_output::a_full_disk_keeps_the_old_report", fill_a_disk);
}

fn fill_a_disk() {
    let scene = scene();
    let disk = scene.path("disk");
    fs::create_dir(&disk).expect("a directory");
    mount_tmpfs(&disk, "size=16k");
    let report = disk.join("report");
    fs::write(&report, "old").expect("there is room");
    for format in ["jsonl", "json", "sarif", "text"] {
        let output = scene.scan(["-f", format, "-o", report.to_str().expect("UTF-8")]);
        assert_eq!(code(&output), 1, "there are findings");
        let why = "No space left on device\n  help: free some space, or give another FILE";
        let shown = report.display();
        assert_eq!(errors(&output), format!("heist: cannot write the output '{shown}': {why}\n"));
        assert_eq!(fs::read(&report).expect("it is there"), b"old");
        assert_eq!(leftovers(&disk), 0);
    }
}
