//! `heist scan` on a real terminal: the progress line, Ctrl-C, widths.

use crate::support::du::endless_tree;
use crate::support::scan::{ScanFixture, plain, token};
use crate::support::terminal::Terminal;
use crate::support::{interruptible, requirements};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

const HEIST: &str = env!("CARGO_BIN_EXE_heist");

#[test]
fn progress_is_shown_and_an_interrupt_prints_the_findings_so_far() {
    requirements::program("tmux");
    let temp = endless_tree();
    let scene = ScanFixture::new();
    let rules = scene.path("rules.toml");
    // The endless part has no secrets; the finding arrives immediately.
    fs::write(temp.path().join("38/file"), "nothing").expect("a file");
    fs::write(temp.path().join("found"), token("tok_", 1)).expect("a file");
    let terminal = Terminal::open("scan", 100, temp.path());
    let scan = format!("{HEIST} scan --no-config --rules {} --follow", rules.display());
    terminal.type_line(&format!("clear; {scan} found 0; echo code $?"));
    let screen = terminal.wait_for("/s  1 finding");
    assert!(screen.contains(" files  "), "{screen}");
    terminal.press(&["C-c"]);
    let screen = terminal.wait_for("code 130");
    assert!(
        screen.contains("heist: interrupted; the report has only the findings so far"),
        "{screen}"
    );
    assert!(screen.contains("found:1:1") && screen.contains("1 secret in 1 place"), "{screen}");
    assert!(!screen.contains("1 finding"), "the progress line is erased:\n{screen}");
    terminal.type_line(&format!("clear; echo be''gun; {scan} --no-progress 0; echo code $?"));
    terminal.wait_for("begun");
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(!terminal.screen().contains(" findings"), "--no-progress hides it");
    terminal.press(&["C-c"]);
    terminal.wait_for("code 130");
}

#[test]
fn excerpts_fit_the_terminal() {
    requirements::program("tmux");
    let scene = ScanFixture::new();
    scene.file("a", format!("{} {}", "word ".repeat(12), token("tok_", 1)));
    let terminal = Terminal::open("excerpt", 50, &scene.tree());
    let rules = scene.path("rules.toml");
    terminal.type_line(&format!("clear; {HEIST} scan --rules {}; echo 'end' $?", rules.display()));
    let screen = terminal.wait_for("end 1");
    let excerpt = screen.lines().find(|line| line.contains("word")).expect("it is shown");
    assert!(excerpt.ends_with('…') && excerpt.chars().count() <= 50, "{screen}");
}

/// Returns the lines that a terminal shows, without erased text, and the number of erased progress
/// lines.
fn shown(bytes: &[u8]) -> (Vec<String>, usize) {
    const ERASE: &str = "\r\x1b[2K";
    let text = String::from_utf8_lossy(bytes);
    let mut progress_lines = 0;
    let lines = text.split("\r\n").map(|line| {
        let mut parts = line.rsplit(ERASE);
        let last = parts.next().unwrap_or_default().to_owned();
        progress_lines += parts.filter(|erased| erased.contains(" files  ")).count();
        last
    });
    (lines.collect(), progress_lines)
}

#[test]
fn findings_do_not_mix_with_the_progress_line() {
    const PROGRESS_LINES: usize = 5;
    let temp = endless_tree();
    let scene = ScanFixture::new();
    // Links lead to this file by so many paths that findings keep coming.
    fs::write(temp.path().join("38/file"), token("tok_", 1)).expect("a file");
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&controller).expect("a terminal");
    unlockpt(&controller).expect("a terminal");
    let name = ptsname(&controller, Vec::new()).expect("it has a name");
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(OsStr::from_bytes(name.as_bytes()))
        .expect("a terminal");
    let mut command = plain();
    command.args(["scan", "--no-config", "--follow", "--format", "jsonl", "--timeout", "60s"]);
    command.arg("--rules").arg(scene.path("rules.toml")).arg("0");
    let mut command = interruptible(&command);
    command.current_dir(temp.path()).env("TERM", "xterm");
    command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
    let mut heist = command.spawn().expect("it starts");
    // Otherwise this process would keep the terminal open.
    drop(command);
    let mut controller = File::from(controller);
    let (mut bytes, mut part) = (Vec::new(), [0; 64 * 1024]);
    let mut drawn = 0;
    // Reading fails when no process has the terminal open for writing.
    while let Ok(count @ 1..) = controller.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
        let was_enough = drawn >= PROGRESS_LINES;
        // A line that is read in two parts is not counted; then one more is needed.
        drawn += part[..count].windows(9).filter(|text| text == b" findings").count();
        if drawn >= PROGRESS_LINES && !was_enough {
            kill_process(Pid::from_child(&heist), Signal::INT).expect("a signal");
        }
    }
    assert_eq!(heist.wait().expect("it ends").code(), Some(130));
    let (mut lines, progress_lines) = shown(&bytes);
    assert_eq!(lines.pop().as_deref(), Some(""), "the progress line is erased at the end");
    for line in &lines {
        let is_whole = line.starts_with("heist: ") || serde_json::from_str::<Value>(line).is_ok();
        assert!(is_whole, "{line:?}");
    }
    assert!(progress_lines >= PROGRESS_LINES, "{progress_lines}");
    assert!(lines.len() > progress_lines, "{} findings", lines.len());
}
