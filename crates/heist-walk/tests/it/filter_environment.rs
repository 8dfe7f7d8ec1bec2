//! Rules that depend on the environment and the current directory: git's global ignore file, and
//! relative roots.
//!
//! Each case runs in a child process (this program again, with [`CASE`] set), because a process has
//! only one current directory and cannot change its environment safely. The child compares the walk
//! with `ignore::WalkBuilder`.

use crate::support::check;
use heist_walk::{Filter, Walk};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells the child process which root to walk.
const CASE: &str = "HEIST_WALK_TEST_ROOT";

/// Runs in the child process: prints what both walkers show, if they agree. Otherwise does nothing.
#[test]
fn child_process_compares_both_walkers() {
    let Some(root) = std::env::var_os(CASE) else { return };
    let record = check(Walk::new(&root).filter(Filter::new().standard(true)));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    let shown: BTreeSet<PathBuf> = record.seen.into_keys().collect();
    let peer = ignore::WalkBuilder::new(&root).build();
    let expected: BTreeSet<PathBuf> =
        peer.map(|entry| entry.expect("an entry").into_path()).collect();
    assert_eq!(shown, expected);
    for path in shown {
        println!("shown:{}", path.display());
    }
}

/// Returns what the child process shows of `root`, sorted.
fn shown(here: &Path, home: &Path, root: &Path) -> Vec<PathBuf> {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", "filter_environment::child_process_compares_both_walkers", "--nocapture"])
        .current_dir(here)
        .env(CASE, root)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("GIT_CONFIG_GLOBAL")
        .output()
        .expect("this program again");
    let text = String::from_utf8(output.stdout).expect("plain names");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter_map(|line| line.split("shown:").nth(1)).map(PathBuf::from).collect()
}

fn write(path: &Path, contents: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, contents).expect("a file");
}

#[test]
fn the_global_ignore_file_and_relative_roots_match_the_ignore_crate() {
    let within = tempfile::tempdir().expect("a directory");
    let home = within.path().join("home");
    let top = within.path().join("top");
    write(&home.join(".gitconfig"), "[core]\n\texcludesFile = ~/global\n");
    write(&home.join("global"), "*.log\n/sub/anchored\n!kept\n");
    fs::create_dir_all(top.join(".git")).expect("a repository");
    write(&top.join(".gitignore"), "/ignored\n!b.log\n");
    for name in
        ["a.log", "b.log", "ignored", "seen", "sub/ignored", "sub/anchored", "sub/c.log", ".kept"]
    {
        write(&top.join(name), "");
    }
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let dot = shown(&top, &home, Path::new("."));
    assert_eq!(dot, paths(&[".", "./b.log", "./seen", "./sub", "./sub/ignored"]));
    let slash = shown(&top, &home, Path::new("./sub/"));
    assert_eq!(slash, paths(&["./sub/", "./sub/ignored"]));
    let up = shown(&top.join("sub"), &home, Path::new(".."));
    assert_eq!(
        up,
        paths(&["..", "../b.log", "../seen", "../sub", "../sub/anchored", "../sub/ignored"])
    );
    // Without a repository git's rules do not apply.
    fs::remove_dir(top.join(".git")).expect("a repository");
    assert_eq!(shown(&top, &home, Path::new(".")).len(), 9);
}
