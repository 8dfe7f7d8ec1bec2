//! Fault injection: a library preloaded before libc makes system calls of the walk fail or hang.

use crate::support::du::{heist_du, output, stdout};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

/// Builds the library once. A machine that builds Rust has a C compiler.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = SHIM.get_or_init(|| {
        let dir = tempdir().unwrap();
        let library = dir.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/shim/shim.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&library, &source])
            .status()
            .expect("a C compiler, called cc");
        assert!(built.success());
        (dir, library)
    });
    path
}

fn with_shim(mut command: Command, settings: &[(&str, &str)]) -> Command {
    command.env("LD_PRELOAD", shim()).envs(settings.iter().copied());
    command
}

/// Creates a small nested tree with one directory that takes several calls to read.
fn make_tree(root: &Path) {
    for number in 0..12 {
        let dir = root.join(format!("dir{number}/inner"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("file"), "12345").unwrap();
        fs::write(root.join(format!("dir{number}/beside")), "1").unwrap();
    }
    fs::create_dir(root.join("large")).unwrap();
    for number in 0..900 {
        fs::write(root.join(format!("large/{number:0>60}")), "").unwrap();
    }
}

/// Returns the paths that `-a` prints.
fn paths(printed: &[u8]) -> BTreeSet<String> {
    let lines = std::str::from_utf8(printed).unwrap().lines();
    lines.map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

/// Checks that every missing path is below a path that stderr names.
fn check_no_silent_gap(full: &BTreeSet<String>, seen: &BTreeSet<String>, errors: &str, what: &str) {
    let named: Vec<&str> = errors.lines().filter_map(|line| line.split('\'').nth(1)).collect();
    for missing in full.difference(seen) {
        let explained = named.iter().any(|path| Path::new(missing).starts_with(path));
        assert!(explained, "{what}: {missing} is missing, but not reported in\n{errors}");
    }
    assert!(seen.is_subset(full), "{what}");
}

#[test]
fn every_failing_call_is_reported_and_the_rest_is_measured() {
    let dir = tempdir().unwrap();
    let root = dir.path().join("root");
    make_tree(&root);
    let du = |settings: &[(&str, &str)]| {
        let arguments = ["-a", "--format", "du", "-j", "2"];
        let mut command = heist_du(arguments);
        command.arg(&root);
        with_shim(command, settings)
    };
    let full = paths(&stdout(du(&[])));
    let log = dir.path().join("log");
    let log = log.to_str().unwrap();
    const EACCES: &str = "13";
    const EIO: &str = "5";
    for (call, errno) in [("openat", EACCES), ("statx", EIO), ("getdents64", EIO), ("close", EIO)] {
        assert_eq!(output(du(&[("SHIM_CALL", call), ("SHIM_LOG", log)])).status.code(), Some(0));
        let uses: usize = fs::read_to_string(log).unwrap().trim().parse().unwrap();
        assert!(uses >= 26, "{call} was used {uses} times: does the shim see it?");
        // Fail single uses (a sample of them), every third from the second on, and all.
        let alone = (1..=uses).step_by(uses / 25 + 1).map(|nth| (nth, 0));
        for (nth, every) in alone.chain([(2, 3), (1, 1)]) {
            let (nth, every) = (nth.to_string(), every.to_string());
            let settings = [
                ("SHIM_CALL", call),
                ("SHIM_ERROR", errno),
                ("SHIM_NTH", &nth),
                ("SHIM_EVERY", &every),
            ];
            let what = format!("{call} fails at {nth}, then every {every} of {uses}");
            let ended = output(du(&settings));
            let errors = String::from_utf8_lossy(&ended.stderr);
            check_no_silent_gap(&full, &paths(&ended.stdout), &errors, &what);
            // A failing close loses nothing: the directory has been read.
            let expected = if call == "close" { 0 } else { 1 };
            assert_eq!(ended.status.code(), Some(expected), "{what}\n{errors}");
            assert_eq!(errors.is_empty(), call == "close", "{what}\n{errors}");
        }
    }
}

/// Returns the CPU time of a process in clock ticks.
fn cpu_ticks(process: &Child) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    // The name of the process, in parentheses, may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Returns the number of context switches of all threads of a process.
fn context_switches(process: &Child) -> u64 {
    let mut switches = 0;
    for task in fs::read_dir(format!("/proc/{}/task", process.id())).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        switches += counts
            .map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
            .sum::<u64>();
    }
    switches
}

#[test]
fn while_one_directory_hangs_the_others_finish_and_then_all_threads_sleep() {
    for threads in [Some("2"), Some("8"), None] {
        let dir = tempdir().unwrap();
        let root = dir.path().join("root");
        for number in 0..300 {
            let name = if number == 7 { "hangs".to_owned() } else { format!("dir{number}") };
            fs::create_dir_all(root.join(&name).join("inner")).unwrap();
            fs::write(root.join(name).join("inner/file"), "12345").unwrap();
        }
        let mut plain = heist_du(["-sb", "--format", "du"]);
        plain.arg(&root);
        let expected = stdout(plain);
        let fifo = dir.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());

        let mut command = heist_du(["-sb", "--format", "du", "--stats"]);
        command.args(threads.map(|threads| format!("-j{threads}"))).arg(&root);
        let settings = [("SHIM_HANG", "hangs"), ("SHIM_FIFO", fifo.to_str().unwrap())];
        let mut command = with_shim(command, &settings);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();

        // The rest is finished when no thread uses CPU time or wakes up. A busy machine takes a
        // while.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let before = (cpu_ticks(&process), context_switches(&process));
            std::thread::sleep(Duration::from_millis(500));
            if before == (cpu_ticks(&process), context_switches(&process)) {
                break;
            }
            assert!(Instant::now() < deadline, "{threads:?} threads: never at rest");
        }
        assert!(process.try_wait().unwrap().is_none(), "it cannot be done while a directory hangs");
        // With a writer, the hanging call returns and the walk ends.
        drop(fs::OpenOptions::new().write(true).open(&fifo).unwrap());
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success());
        assert_eq!(ended.stdout, expected, "{threads:?} threads");
    }
}
