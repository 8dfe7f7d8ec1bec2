//! `heist du` under difficult conditions: few descriptors, a tree deeper than the longest path,
//! files that appear and vanish.

use crate::support::du::{gnu_du, heist_du, output, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::tempdir;

fn sorted(printed: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = printed.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// Creates a deep tree with several directories on each level, so that a walk would like to keep
/// every level open.
fn make_comb(root: &Path) {
    let mut path = PathBuf::from(root);
    for level in 0..50 {
        for tooth in 0..35 {
            fs::create_dir_all(path.join(format!("tooth{tooth}"))).unwrap();
        }
        fs::write(path.join("file"), "12345").unwrap();
        path.push(format!("level{level}"));
    }
}

#[test]
fn thirty_two_descriptors_are_enough() {
    let dir = tempdir().unwrap();
    make_comb(dir.path());
    let expected = stdout(gnu_du([dir.path()]));
    for threads in ["", "-j1", "-j16"] {
        let mut command = Command::new("sh");
        let script = "ulimit -n 32 && exec \"$0\" du --format du $1 \"$2\"";
        command.args(["-c", script, env!("CARGO_BIN_EXE_heist"), threads]).arg(dir.path());
        assert_eq!(sorted(&stdout(command)), sorted(&expected), "{threads}");
    }
}

/// Creates a chain of directories step by step: the path to its end is longer than the system
/// allows.
fn make_chain(root: &Path, depth: usize) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = openat(CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        let file = openat(&dir, "file", OFlags::WRONLY | OFlags::CREATE, Mode::RWXU).unwrap();
        rustix::io::write(&file, b"12345").unwrap();
        mkdirat(&dir, "directory", Mode::RWXU).unwrap();
        dir = openat(&dir, "directory", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn a_chain_of_two_thousand_directories_is_counted_to_its_end() {
    let dir = tempdir().unwrap();
    make_chain(dir.path(), 2_000);
    for arguments in [vec!["-s"], vec!["-sb"], vec!["-a"], vec!["-s", "-j1"]] {
        let mut ours = heist_du(["--format", "du"].iter().chain(&arguments));
        ours.arg(dir.path());
        let mut theirs = gnu_du(arguments.iter().filter(|argument| **argument != "-j1"));
        theirs.arg(dir.path());
        let (ours, theirs) = (stdout(ours), stdout(theirs));
        assert!(sorted(&ours) == sorted(&theirs), "{arguments:?}: GNU du prints other lines");
    }
    let removed = Command::new("rm").arg("-rf").arg(dir.path().join("directory")).status().unwrap();
    assert!(removed.success());
}

#[test]
fn vanishing_files_are_reported_or_not_seen_at_all() {
    let dir = tempdir().unwrap();
    let stays = dir.path().join("stays");
    fs::create_dir(&stays).unwrap();
    for number in 0..200 {
        fs::write(stays.join(number.to_string()), "12345").unwrap();
    }
    let comes = dir.path().join("comes");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::create_dir(&comes).unwrap();
                for number in 0..50 {
                    fs::write(comes.join(number.to_string()), "").unwrap();
                }
                fs::remove_dir_all(&comes).unwrap();
            }
        });
        for _ in 0..100 {
            let mut command = heist_du(["-ab", "--format", "du"]);
            command.arg(dir.path());
            let ended = output(command);
            let errors = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(i32::from(!errors.is_empty())), "{errors}");
            for line in errors.lines() {
                assert!(line.contains("/comes"), "{line}");
            }
            let printed = String::from_utf8(ended.stdout).unwrap();
            let stayed = printed.lines().filter(|line| line.contains("/stays/")).count();
            assert_eq!(stayed, 200);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
