//! Fault injection for runs that write a file: strace makes one use of one system call fail, each
//! in turn until the run no longer makes it. Whatever fails, the run says so or is complete, and no
//! file is half written.
//!
//! `HEIST_FAULTS=1` tries every use; without it, every eighth.

use crate::support::requirements;
use crate::support::scan::{ScanFixture, code, errors, run, text, token};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Each system call with the error that it fails with.
const CALLS: [(&str, &str); 22] = [
    ("openat", "EIO"),
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("fstat", "EIO"),
    ("newfstatat", "EIO"),
    ("statx", "EIO"),
    ("getdents64", "EIO"),
    ("lseek", "EIO"),
    ("write", "ENOSPC"),
    ("fsync", "EIO"),
    ("fchmod", "EPERM"),
    ("flock", "ENOLCK"),
    ("rename", "EIO"),
    ("renameat", "EIO"),
    ("renameat2", "EIO"),
    ("unlinkat", "EIO"),
    // With any other error, the hash maps of the standard library panic.
    ("getrandom", "ENOSYS"),
    ("clone3", "EAGAIN"),
    ("readlink", "EIO"),
    ("getcwd", "ENOENT"),
    ("fcntl", "EMFILE"),
    ("socketpair", "EMFILE"),
];

/// The files with a secret in the tree.
const FILES: usize = 4;

/// The command, the file that it writes, and its arguments. With the exit code for incomplete
/// scans, 1 means that everything was scanned.
const COMMANDS: [(&str, &str, &[&str]); 4] = [
    ("scan", "report", &["-f", "json", "--exit-code-incomplete", "3", "--output", "../out/report"]),
    ("scan", "lines", &["-f", "jsonl", "--exit-code-incomplete", "3", "--output", "../out/lines"]),
    ("scan", "trace", &["-f", "json", "--exit-code-incomplete", "3", "--trace", "../out/trace"]),
    ("baseline", "known", &["--output", "../out/known"]),
];

fn strace(scene: &ScanFixture, options: &[&str], which: usize) -> Output {
    let (command, _, arguments) = COMMANDS[which];
    let heist = scene.heist(command, ["-j1"].iter().chain(arguments));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq"]).args(options).arg(heist.get_program()).args(heist.get_args());
    for (name, value) in heist.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace.current_dir(scene.tree()).stdin(Stdio::null()).output().expect("strace starts")
}

/// Returns for each call the uses that can fail: after those of the loader, up to the last one of
/// any thread.
fn uses(log: &str) -> BTreeMap<&str, std::ops::RangeInclusive<usize>> {
    let mut of_thread: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut uses: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut is_loaded = false;
    for line in log.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        is_loaded |= line.contains("rt_sigaction(SIGTERM");
        let nth = of_thread.entry((thread, name)).or_default();
        *nth += 1;
        let (first, last) = uses.entry(name).or_insert((1, 0));
        if is_loaded { *last = (*last).max(*nth) } else { *first = *nth + 1 }
    }
    uses.into_iter().map(|(name, (first, last))| (name, first..=last)).collect()
}

/// Returns `true` if an output file is complete.
fn is_whole(file: &str, content: &str) -> bool {
    match file {
        "known" => content.starts_with("# Known secrets.") && content.ends_with("]\n"),
        "lines" => content.lines().last().is_some_and(|last| last.starts_with("{\"end\":")),
        _ => serde_json::from_str::<Value>(content).is_ok(),
    }
}

/// Checks a run in which something failed. Returns `true` if it noticed.
fn check(ended: &Output, which: usize, target: &Path, old: &str, what: &str) -> bool {
    let (command, file, _) = COMMANDS[which];
    let message = errors(ended);
    let what = format!("{what}\n{message}");
    let content = fs::read_to_string(target).expect(&what);
    assert!(is_whole(file, &content), "{what}\n{content}");
    let complete = i32::from(command == "scan");
    if code(ended) != complete {
        let expected: &[i32] = if command == "scan" { &[2, 3] } else { &[1, 2] };
        assert!(expected.contains(&code(ended)), "{}: {what}", code(ended));
        assert!(!message.is_empty() || what.starts_with("write"), "{what}");
        return true;
    }
    // The run claims that everything was scanned, and that the file is new.
    let found = match file {
        "known" => content.matches("fingerprint = ").count(),
        "lines" => content.matches("{\"rule\":").count(),
        "report" => content.matches("\"places\":").count(),
        _ => text(ended).matches("\"places\":").count(),
    };
    assert_eq!(found, FILES, "{what}\n{content}");
    assert_ne!(content, old, "{what}");
    false
}

#[test]
fn every_failing_call_is_reported_or_harmless() {
    requirements::program("strace");
    let step = match std::env::var_os("HEIST_FAULTS") {
        Some(all) if all == "1" => 1,
        _ => 8,
    };
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    let (mut tried, mut noticed) = (0, 0);
    for (which, (command, file, arguments)) in COMMANDS.into_iter().enumerate() {
        let scene = ScanFixture::new();
        fs::create_dir(scene.path("out")).expect("a directory");
        let target = scene.path("out").join(file);
        // Complete, and different from what the runs write.
        assert!(code(&run(scene.heist(command, arguments))) < 2);
        let old = fs::read_to_string(&target).expect("it is there");
        for number in 0..FILES {
            scene.file(format!("{number}/file"), token("tok_", number as u64));
        }
        let log = scene.path("log");
        let trace = format!("trace={},rt_sigaction", names.join(","));
        let options = ["-e", &trace, "-o", log.to_str().expect("UTF-8")];
        let complete = strace(&scene, &options, which);
        assert_eq!(code(&complete), i32::from(command == "scan"), "{}", errors(&complete));
        let log = fs::read_to_string(log).expect("it is there");
        let uses = uses(&log);
        for (name, error) in CALLS {
            let Some(uses) = uses.get(name) else { continue };
            for nth in uses.clone().step_by(step) {
                fs::write(&target, &old).expect("there is room");
                let inject = format!("inject={name}:error={error}:when={nth}");
                let options = ["-e", &format!("trace={name}"), "-e", &inject, "-o", "/dev/null"];
                let ended = strace(&scene, &options, which);
                let what = format!("{name} {nth} {error}: {command} {arguments:?}");
                noticed += usize::from(check(&ended, which, &target, &old, &what));
                tried += 1;
                let entries = fs::read_dir(scene.path("out")).expect("a directory").flatten();
                let left: Vec<_> = entries.map(|entry| entry.file_name()).collect();
                assert_eq!(left, [file], "{what}\n{}", errors(&ended));
            }
        }
    }
    println!("{tried} failures, {noticed} of them noticed");
    assert!(tried > 100 && noticed > tried / 12, "{noticed} of {tried}");
}
