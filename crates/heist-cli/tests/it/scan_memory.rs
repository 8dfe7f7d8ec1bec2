//! Memory on trees that are made to exhaust it: findings in files with long paths, and many
//! threads.
//!
//! The bounds are those of the threat model: 150 MB, and 12 MB more for 100 threads. The trees have
//! more bytes of paths than a report may keep.

use crate::support::scan::plain;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The name of each directory in the chain above the files.
const NAME: &str = "a-directory-with-a-name-that-is-nearly-as-long-as-a-name-may-be-and-that-says-\
                    nothing-at-all-besides-that-it-is-one-of-many-directories-in-a-long-chain";

/// Makes a chain of directories whose path is this long, with files at its end. Each has a finding.
fn make_tree(root: &Path, path_bytes: usize, files: usize) {
    let mut directory: OwnedFd = open(root, DIRECTORY, Mode::empty()).expect("a directory");
    for _ in 0..path_bytes / (NAME.len() + 1) {
        mkdirat(&directory, NAME, Mode::RWXU).expect("a directory");
        directory = openat(&directory, NAME, DIRECTORY, Mode::empty()).expect("it is there");
    }
    for number in 0..files {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let file = openat(&directory, format!("{number}.env"), flags, Mode::RUSR | Mode::WUSR);
        let line = format!("db_password = \"q9!{number}vT#x2m\"\n"); // heist:allow
        File::from(file.expect("a file")).write_all(line.as_bytes()).expect("a line");
    }
}

/// Returns the peak of the resident memory of a scan in MB, and the number of bytes in its report.
fn peak(root: &Path, arguments: &[&str]) -> (u64, u64) {
    let mut heist = plain();
    heist.args(["scan", "--no-config", "--quiet"]).args(arguments).arg(root);
    let mut child = heist.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || io::copy(&mut stdout, &mut io::sink()).expect("a report"));
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The system keeps the highest value, so it is enough to look again and again.
    while child.try_wait().expect("a child").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        peak = kib.and_then(|kib| kib.parse().ok()).unwrap_or(0).max(peak);
        thread::sleep(Duration::from_millis(2));
    }
    (peak * 1024 / 1_000_000, reader.join().expect("no panic"))
}

#[test]
fn long_paths_and_many_threads_do_not_exhaust_the_memory() {
    for (path_bytes, files) in [(25_000, 5_000), (3_800, 30_000)] {
        // In memory if possible: making so many files on a disk is slow.
        let tree = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let tree = tree.expect("a directory for the test");
        make_tree(tree.path(), path_bytes, files);
        for (threads, bound) in [("2", 150), ("100", 162)] {
            for format in ["text", "json", "jsonl", "sarif"] {
                let (peak, report) = peak(tree.path(), &["-j", threads, "-f", format]);
                let what = format!("{format}, {threads} threads, paths of {path_bytes} bytes");
                assert!(report > 80_000_000, "{report} bytes of {what}");
                assert!((10..=bound).contains(&peak), "{peak} MB for {what}");
            }
        }
    }
}
