//! `heist du` apart from its formats: exit codes, messages, pipes, signals, colours and excludes.

use crate::support::du::{directory, endless_tree, file, heist_du, name, odd_tree, output, text};
use crate::support::{interruptible, requirements};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

/// Returns the size and the name of each line of a text view, without bars and branches.
fn lines(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| {
            let size = line.split_whitespace().next().expect("a size").to_owned();
            let name = line.trim_start().strip_prefix(&size).expect("it is there");
            let name = name.rsplit(['█', '░', '─', '│']).next().expect("a name").trim();
            (size, name.to_owned())
        })
        .collect()
}

fn names(text: &str) -> Vec<String> {
    lines(text).into_iter().map(|(_, name)| name).collect()
}

/// Creates directories with one file of the given size in each.
fn tree_of(sizes: &[(&str, usize)]) -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("a directory for the test");
    for (path, len) in sizes {
        file(directory(temp.path().join(path)).join("file"), *len);
    }
    temp
}

#[track_caller]
fn check_refused(arguments: &[&str], why: &str) {
    let output = output(heist_du(arguments));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
    assert!(errors(&output).contains(why), "{arguments:?}: {}", errors(&output));
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn unusable_options_are_refused_before_the_walk() {
    check_refused(&["--no-such-option"], "--no-such-option");
    check_refused(&["-s", "-a"], "cannot be used with");
    check_refused(&["-s", "-d", "1"], "cannot be used with");
    check_refused(&["-j", "0"], "give at least 1");
    check_refused(&["-j", "100000"], "but is 100000\n  help: use fewer threads");
    check_refused(&["-j", &usize::MAX.to_string()], "help: use fewer threads");
    check_refused(&["-B", "0"], "the size must not be 0");
    check_refused(&["-B", "x"], "not a size");
    check_refused(&["-t", "-0"], "the size must not be 0");
    check_refused(&["--exclude", "{"], "{");
    check_refused(&["--exclude-from", "/nowhere"], "'/nowhere': No such file or directory");
    check_refused(&["--files0-from", "/nowhere"], "'/nowhere': No such file or directory");
    check_refused(&["--files0-from", "/dev/null"], "no paths in '/dev/null'");
    check_refused(&["--trace", "/nowhere/trace"], "'/nowhere/trace': No such file or directory");
    check_refused(&["--format", "json", "--top", "3"], "--top cannot be used with --format json");
    check_refused(&["--format", "json", "-t", "-3"], "--format text or du or csv");
    check_refused(&["--format", "csv", "-0"], "--null");
    check_refused(&["--format", "du", "--by-extension"], "--by-extension");
}

#[test]
fn unreadable_entries_are_named_and_the_rest_is_measured() {
    let temp = tree_of(&[("open", 5_000), ("closed", 5_000)]);
    let odd = directory(temp.path().join(name(b"odd\n\x1b\xff")));
    let everyone_may_read = fs::Permissions::from_mode(0o755);
    let no_access = fs::Permissions::from_mode(0o000);
    fs::set_permissions(temp.path(), everyone_may_read.clone()).expect("mine");
    for closed in [temp.path().join("closed"), odd.clone()] {
        fs::set_permissions(closed, no_access.clone()).expect("mine");
    }
    let run = |arguments: &[&str]| {
        let mut command = heist_du(arguments);
        requirements::output_of_another_user(command.current_dir(temp.path()))
    };
    let (du, quiet) = (run(&["--format", "du", "."]), run(&["--format", "du", "-q", "."]));
    let (shown, json) = (run(&["."]), run(&["--format", "json", "."]));
    let messages = errors(&du);
    assert_eq!(du.status.code(), Some(1), "{messages}");
    assert!(messages.contains("heist: cannot open directory './closed': Permission denied\n"));
    assert!(messages.contains("'./odd\\n\\x1b\\xff': Permission denied\n"), "{messages}");
    assert_eq!(messages.lines().count(), 2, "{messages}");
    assert!(String::from_utf8_lossy(&du.stdout).contains("\t./open\n"));
    assert_eq!(quiet.status.code(), Some(1));
    assert_eq!(errors(&quiet), "");
    assert_eq!(quiet.stdout, du.stdout);
    assert_eq!(shown.status.code(), Some(1));
    assert!(errors(&shown).contains("could not be read, so some sizes are too small"));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("closed/ (incomplete)"));
    let json: Value = serde_json::from_slice(&json.stdout).expect("valid JSON");
    assert_eq!(json["errors"], 2);
    assert_eq!(json["roots"][0]["children"][0]["incomplete"], true);
    for closed in [temp.path().join("closed"), odd] {
        fs::set_permissions(closed, everyone_may_read.clone()).expect("mine");
    }
}

#[test]
fn a_missing_root_is_named() {
    let output = output(heist_du(["/no/such\nroot", "/dev/null"]));
    assert_eq!(output.status.code(), Some(1));
    let messages = errors(&output);
    assert!(
        messages.starts_with("heist: cannot access '/no/such\\nroot': No such file or directory\n"),
        "{messages}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("/dev/null"));
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let temp = odd_tree(false);
    for format in ["text", "du", "json", "ncdu", "csv"] {
        let mut command = heist_du(["--format", format]);
        command.arg(temp.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(errors(&output), "", "{format}");
        assert_eq!(output.status.code(), Some(0), "{format}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = heist_du(["-s", "/dev/null"]);
    command.stdout(full).stderr(Stdio::piped());
    let output = command.spawn().expect("it starts").wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let expected = "heist: cannot write to stdout: No space left on device\n  help: free some space, or \
                    redirect the output elsewhere\n";
    assert_eq!(errors(&output), expected);
}

#[test]
fn the_command_works_without_stderr() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = heist_du(["--format", "du", "--stats", "/nowhere", "/dev/null"]);
    command.stdout(Stdio::piped()).stderr(full);
    let output = command.spawn().expect("it starts").wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"0\t/dev/null\n");
}

/// Waits until `is_so` returns `true`. The limit allows for a busy machine.
#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns `true` if the process has a handler for SIGINT.
fn listens_for_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it is there");
    let caught =
        status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("Linux has it");
    let caught = u64::from_str_radix(caught.trim(), 16).expect("a mask");
    caught & 1 << (Signal::INT.as_raw() - 1) != 0
}

/// A deep level of the endless tree. A walk reaches it only through all levels above.
const DEEP: u64 = 30;

/// Returns `true` if a process that walks the endless tree has one of its deep directories open.
fn is_deep_in(tree: &tempfile::TempDir, child: &Child) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{}/fd", child.id())) else { return false };
    let root = tree.path().canonicalize().expect("it is there");
    // A descriptor may have been closed since the listing.
    let paths = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let level = |path: std::path::PathBuf| path.strip_prefix(&root).ok()?.to_str()?.parse().ok();
    paths.filter_map(level).any(|level: u64| level > DEEP)
}

/// Returns the CPU time of a process, or `None` if it has ended.
fn time_computed(child: &Child) -> Option<Duration> {
    let stat =
        fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("not waited for yet");
    // The name of the process, in parentheses, precedes these fields.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
    // Linux reports 100 ticks per second on every machine.
    (fields[0] != "Z").then_some(Duration::from_millis(10 * ticks))
}

#[test]
fn an_interrupt_prints_the_results_so_far() {
    let temp = endless_tree();
    for format in ["text", "du", "json"] {
        let mut command =
            interruptible(&heist_du(["-L", "-l", "-d", "1", "--format", format, "0"]));
        command.current_dir(temp.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        wait_until(|| listens_for_interrupts(&child) && is_deep_in(&temp, &child));
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::INT).expect("it is there");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{format}: {}", errors(&output));
        assert!(
            errors(&output).contains("heist: interrupted; the sizes cover only"),
            "{}",
            errors(&output)
        );
        let printed = String::from_utf8(output.stdout).expect("text");
        match format {
            "json" => {
                let json: Value = serde_json::from_str(&printed).expect("valid JSON");
                assert_eq!(json["complete"], false);
                assert!(json["total"]["inodes"].as_u64() > Some(DEEP), "{printed}");
            }
            _ => assert!(printed.lines().any(|line| line.ends_with('0') || line.ends_with("0/"))),
        }
    }
}

#[test]
fn an_interrupt_during_output_ends_the_process() {
    let temp = tempfile::tempdir().expect("a directory for the test");
    // More output than fits into the pipe and heist's buffer, and a reader that does not read.
    for number in 0..2_000 {
        file(temp.path().join(format!("{number:0>200}")), 0);
    }
    let mut command = interruptible(&heist_du(["-a", "--format", "du"]));
    command.arg(temp.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let unread = child.stdout.as_ref().expect("a pipe");
    let capacity = rustix::pipe::fcntl_getpipe_size(unread).expect("a pipe") as u64;
    wait_until(|| rustix::io::ioctl_fionread(unread).expect("a pipe") > capacity / 2);
    let ended = child.try_wait().expect("it is mine");
    assert!(ended.is_none(), "it waits for its reader");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    // This neither closes nor reads the pipe.
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn an_ignored_interrupt_stays_ignored() {
    let temp = endless_tree();
    // The shell of a script does this to its background jobs.
    let mut command = Command::new("sh");
    let script = "trap '' INT; exec \"$0\" du -L -l -s 0";
    command.args(["-c", script, env!("CARGO_BIN_EXE_heist")]).current_dir(temp.path());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    wait_until(|| is_deep_in(&temp, &child));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let before = time_computed(&child).expect("it goes on");
    wait_until(|| time_computed(&child).expect("it goes on") > before + Duration::from_secs(1));
    child.kill().expect("it is there");
    child.wait().expect("it ends");
}

#[test]
fn colours_follow_the_environment() {
    let temp = tree_of(&[("a", 1)]);
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = heist_du(arguments);
        command.arg(temp.path()).envs(variables.iter().copied());
        text(command).contains('\x1b')
    };
    assert!(!run(&[], &[]), "a pipe is not a terminal");
    assert!(run(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!run(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(run(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!run(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn the_tree_shows_the_largest_first() {
    let temp = tree_of(&[
        ("small", 10_000),
        ("large", 900_000),
        ("middle", 100_000),
        ("large/x/deep/deeper", 300_000),
    ]);
    let run = |arguments: &[&str]| {
        let mut command = heist_du(arguments);
        names(&text({
            command.arg(".").current_dir(temp.path());
            command
        }))
    };
    assert_eq!(run(&[]), ["./", "large/", "x/", "middle/", "small/"], "two levels");
    assert_eq!(run(&["-d", "1"]), ["./", "large/", "middle/", "small/"]);
    assert_eq!(run(&["-d", "1", "-r"]), ["./", "small/", "middle/", "large/"]);
    assert_eq!(run(&["-d", "1", "--sort", "name"]), ["./", "large/", "middle/", "small/"]);
    assert_eq!(run(&["-d", "1", "--sort", "name", "-r"]), ["./", "small/", "middle/", "large/"]);
    assert_eq!(run(&["-d", "1", "--top", "1"]), ["./", "large/", "(2 more)"]);
    assert_eq!(run(&["-d", "1", "-a", "--sort", "count", "--top", "0"])[1], "large/");
    assert_eq!(run(&["-s"]), ["."]);
    assert_eq!(run(&["-d", "1", "-c"]).last().map(String::as_str), Some("total"));
    let all = run(&["-a", "-d", "1"]);
    assert_eq!(all, ["./", "large/", "middle/", "small/"], "there are no files at the top");
    let all = run(&["-a"]);
    assert_eq!(all, ["./", "large/", "file", "x/", "middle/", "file", "small/", "file"]);
}

#[test]
fn thresholds_hide_entries_that_are_too_small_or_too_large() {
    let temp =
        tree_of(&[("small", 10_000), ("large", 900_000), ("large/tiny", 10), ("large/x", 400_000)]);
    let run = |arguments: &[&str]| {
        let mut command = heist_du(arguments);
        command.arg(".").current_dir(temp.path());
        names(&text(command))
    };
    assert_eq!(run(&["-t", "100K"]), ["./", "large/", "x/"]);
    // The directories above are shown to make the location visible.
    assert_eq!(run(&["-t", "-50K"]), ["./", "large/", "tiny/", "small/"]);
    assert_eq!(run(&["-t", "1G"]), [] as [&str; 0]);
}

#[test]
fn entries_over_the_limit_do_not_use_up_the_lines_of_top() {
    let larges = ["a", "b", "c", "d", "e"];
    let mut sizes: Vec<_> = larges.iter().map(|name| (*name, 100_000)).collect();
    sizes.extend([("small", 100), ("e/small", 100)]);
    let temp = tree_of(&sizes);
    let run = |arguments: &[&str]| {
        let mut command = heist_du(arguments);
        command.arg(".").current_dir(temp.path());
        names(&text(command))
    };
    assert_eq!(run(&["-t", "-50K", "--top", "2"]), ["./", "e/", "small/", "small/"]);
    assert_eq!(run(&["-t", "-50K", "--top", "1"]), ["./", "e/", "small/", "(1 more)"]);
    assert_eq!(run(&["-t", "-1", "--top", "2"]), [] as [&str; 0]);
}

#[test]
fn percentages_are_shares_of_all_roots() {
    let temp = tree_of(&[("one", 300_000), ("two", 100_000)]);
    let mut command = heist_du(["-s", "-c", "-k", "one", "two"]);
    command.current_dir(temp.path());
    let printed = text(command);
    let shown = lines(&printed);
    assert_eq!(shown.len(), 3, "{printed}");
    assert!(printed.contains("100% "), "{printed}");
    let size = |line: usize| shown[line].0.parse::<u64>().expect("a number");
    assert_eq!(size(0) + size(1), size(2));
    assert!(size(0) > size(1));
}

#[test]
fn names_are_escaped_in_text() {
    let temp = odd_tree(false);
    let mut command = heist_du(["-a", "-d", "9", "--top", "0"]);
    command.arg(temp.path());
    let printed = text(command);
    let bad =
        |character: char| character != '\n' && (character.is_control() || character == '\u{202e}');
    assert_eq!(printed.chars().find(|character| bad(*character)), None);
    for shown in
        ["new\\nline/", "tab\\there/", "\\xff\\xfe", "\\x1b[31m", "back\\\\slash", "\\u{202e}"]
    {
        assert!(printed.contains(shown), "{shown}: {printed}");
    }
}

#[test]
fn excluded_and_ignored_entries_are_skipped() {
    let temp = tree_of(&[(".git", 1), (".hidden", 1), ("target", 1), ("src", 1), ("logs", 1)]);
    fs::write(temp.path().join(".gitignore"), "/target\n").expect("a file");
    fs::write(temp.path().join(".ignore"), "logs/\n").expect("a file");
    fs::write(temp.path().join("globs"), "# a comment\n\nsrc\n.h*\n").expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = heist_du(["-d", "1", "--sort", "name"]);
        command.args(arguments).arg(".").current_dir(temp.path());
        names(&text(command)).split_off(1)
    };
    assert_eq!(run(&[]), [".git/", ".hidden/", "logs/", "src/", "target/"]);
    assert_eq!(run(&["--no-hidden"]), ["logs/", "src/", "target/"]);
    assert_eq!(run(&["--no-hidden", "--hidden"]).len(), 5);
    assert_eq!(run(&["--gitignore"]), [".git/", ".hidden/", "src/"]);
    assert_eq!(run(&["--exclude", "src", "--exclude", "t*t"]), [".git/", ".hidden/", "logs/"]);
    assert_eq!(run(&["--exclude-from", "globs"]), [".git/", "logs/", "target/"]);
    let mut command = heist_du(["-d", "1", "--sort", "name", "-X", "-", "."]);
    command
        .current_dir(temp.path())
        .stdin(fs::File::open(temp.path().join("globs")).expect("there"));
    assert_eq!(names(&text(command)).len(), 4);
}

#[test]
fn stats_and_trace_are_written() {
    let temp = odd_tree(false);
    let trace = temp.path().join("trace.json");
    let mut command = heist_du(["-s", "-j", "3", "--stats", "--trace"]);
    command.arg(&trace).arg(temp.path().join("tree"));
    let output = output(command);
    assert_eq!(output.status.code(), Some(0));
    let stats = errors(&output);
    for expected in ["threads   3\n", "entries   ", "tasks     ", "entries/s\n"] {
        assert!(stats.contains(expected), "{stats}");
    }
    let events: Value =
        serde_json::from_slice(&fs::read(trace).expect("it was written")).expect("valid JSON");
    let events = events.as_array().expect("an array");
    assert!(events.iter().any(|event| event["cat"] == "task"), "{} events", events.len());
}

#[test]
fn help_has_no_short_option_because_h_means_human_sizes() {
    let mut command = heist_du(["--help"]);
    command.env("COLUMNS", "100");
    let help = text(command);
    for expected in ["Examples:", "Exit codes:", "--apparent-size", "-h, --human-readable"] {
        assert!(help.contains(expected), "{expected}: {help}");
    }
    let temp = tempfile::tempdir().expect("a directory for the test");
    file(temp.path().join("file"), 3_000_000);
    let mut command = heist_du(["-sh", "--format", "du"]);
    command.arg(temp.path());
    assert!(text(command).starts_with("2.9M\t"));
}
