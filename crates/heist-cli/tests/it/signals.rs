//! Signals that ask `heist` to end: at any moment after the start there is a report, of everything
//! or of what was found so far, and no temporary file is left.

use crate::support::scan::{ScanFixture, code, errors, plain, run, token};
use crate::support::{interruptible, requirements};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// How many moments are tried for each signal.
const MOMENTS: u32 = 40;

/// Waits until a process handles SIGTERM, which heist does before it reads anything.
fn wait_for_handler(child: &mut Child) {
    let status = format!("/proc/{}/status", child.id());
    let started = Instant::now();
    loop {
        let status = fs::read_to_string(&status).expect("a child that is not waited for");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
        // A process that has ended has no such line.
        if caught.is_none_or(|caught| caught >> 14 & 1 == 1) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{status}");
    }
}

fn send(child: &Child, signal: Signal) {
    // The process may have ended already, but it is not waited for.
    kill_process(Pid::from_child(child), signal).expect("a child");
}

fn leftovers(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains(".heist-")).count()
}

fn run_in(command: &mut Command, directory: &Path) -> Output {
    command.current_dir(directory).output().expect("it starts")
}

fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    for number in 0..300 {
        scene.file(format!("{}/{number}", number % 20), format!("x\n{}\n", token("tok_", number)));
    }
    fs::create_dir(scene.path("out")).expect("a directory");
    scene
}

/// Runs a scan with the signal sent `after` it handles signals. Returns the report.
fn scan_with(scene: &ScanFixture, signal: Signal, after: Duration) -> (ExitStatus, Option<Value>) {
    let report = scene.path("out/report");
    let mut command = scene.heist("scan", ["-f", "json", "--trace", "../out/trace", "-o"]);
    command.arg(&report);
    let mut command = interruptible(&command);
    command.current_dir(scene.tree()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    wait_for_handler(&mut child);
    std::thread::sleep(after);
    send(&child, signal);
    let status = child.wait().expect("it ends");
    assert_eq!(leftovers(&scene.path("out")), 0, "{signal:?} after {after:?}");
    let content = fs::read(&report).ok();
    let _ = fs::remove_file(report);
    let whole = content.map(|content| serde_json::from_slice(&content).expect("a whole report"));
    (status, whole)
}

#[test]
fn every_first_signal_leaves_a_report() {
    let scene = scene();
    let (mut complete, mut interrupted) = (0, 0);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for moment in 0..MOMENTS {
            let after = Duration::from_micros(u64::from(moment * moment) * 100);
            let (status, report) = scan_with(&scene, signal, after);
            let what = format!("{signal:?} after {after:?}: {status}");
            let report = report.unwrap_or_else(|| panic!("{what}: no report"));
            if status.code() == Some(code) {
                assert_eq!(report["ended"], "interrupted", "{what}");
                interrupted += 1;
            } else {
                assert_eq!(status.code(), Some(1), "{what}");
                assert_eq!(report["complete"], true, "{what}");
                assert_eq!(report["secrets"].as_array().map(Vec::len), Some(300), "{what}");
                complete += 1;
            }
        }
    }
    assert!(interrupted > 0 && complete > 0, "{interrupted} interrupted, {complete} complete");
}

#[test]
fn sigquit_ends_at_once_and_leaves_no_temporary_file() {
    let scene = scene();
    let mut ended = 0;
    for moment in 0..MOMENTS {
        let after = Duration::from_micros(u64::from(moment * moment) * 100);
        let (status, report) = scan_with(&scene, Signal::QUIT, after);
        match status.code() {
            Some(131) => ended += 1,
            code => assert_eq!((code, report.is_some()), (Some(1), true), "{after:?}"),
        }
    }
    assert!(ended > 0);
}

#[test]
fn a_baseline_is_unchanged_after_a_signal() {
    let scene = ScanFixture::new();
    let known = scene.path("known");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::QUIT, 131)] {
        let mut command = interruptible(&scene.heist("baseline", ["--output", "../known", "-"]));
        command.current_dir(scene.tree()).stdin(Stdio::piped());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        wait_for_handler(&mut child);
        std::thread::sleep(Duration::from_millis(100));
        send(&child, signal);
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        assert!(!known.exists());
        assert_eq!(leftovers(scene.temp.path()), 0);
    }
}

#[test]
fn handlers_are_installed_before_the_arguments_are_read() {
    requirements::program("strace");
    for arguments in [&["--version"] as &[&str], &["no-such-command"], &["rules", "list"]] {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=rt_sigaction,execve", "-o", "/dev/stderr"]);
        strace.arg(env!("CARGO_BIN_EXE_heist")).args(arguments).stdout(Stdio::null());
        let calls = errors(&run(interruptible(&strace)));
        for signal in ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] {
            let installs = format!("rt_sigaction({signal}, {{sa_handler=0x");
            assert!(calls.contains(&installs), "{arguments:?}: {signal}\n{calls}");
        }
    }
}

/// Commands that write a baseline without a scan: a signal ends them, but leaves nothing.
#[test]
fn a_signal_leaves_no_temporary_file_of_a_command_without_a_scan() {
    requirements::program("strace");
    let scene = ScanFixture::new();
    let fingerprint = "0123456789abcdef0123456789abcdef"; // heist:allow
    let report = scene.path("gitleaks.json");
    fs::write(&report, "[]").expect("a file");
    let known = scene.path("known");
    let mut ended = 0;
    for arguments in [
        &["add", fingerprint] as &[&str],
        &["remove", fingerprint],
        &["import", report.to_str().expect("UTF-8")],
    ] {
        for signal in ["HUP", "INT", "TERM", "QUIT"] {
            let _ = fs::remove_file(&known);
            let plain = |arguments: &[&str]| {
                let mut heist = plain();
                heist.arg("baseline").args(arguments).args(["-o", "../known"]);
                heist.current_dir(scene.tree());
                heist
            };
            assert_eq!(code(&run(plain(&["add", fingerprint]))), 0);
            let old = fs::read(&known).expect("it is there");
            let heist = plain(arguments);
            let inject = format!("inject=fsync:signal={signal}:when=1");
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qq", "-e", &inject, "-o", "/dev/null"]);
            strace.arg(heist.get_program()).args(heist.get_args());
            let mut strace = interruptible(&strace);
            let output = run_in(&mut strace, &scene.tree());
            let what = format!("{arguments:?} {signal}: {}", errors(&output));
            assert_eq!(leftovers(scene.temp.path()), 0, "{what}");
            let content = fs::read_to_string(&known).expect(&what);
            let is_whole = content.starts_with("# Known secrets.") && content.ends_with("]\n");
            assert!(content.as_bytes() == old || is_whole, "{what}\n{content}");
            // The main thread may be done before the signal is handled.
            ended += usize::from(output.status.code() != Some(0));
        }
    }
    assert!(ended > 0);
}

#[test]
fn ignored_signals_stay_ignored() {
    let scene = scene();
    let heist = scene.heist("scan", ["-"]);
    let mut command = Command::new("env");
    command.args(["--default-signal", "--ignore-signal=INT,HUP"]);
    command.arg(heist.get_program()).args(heist.get_args()).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for_handler(&mut child);
    send(&child, Signal::INT);
    send(&child, Signal::HUP);
    send(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a child").is_none(), "it goes on");
    // The end of stdin.
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
