//! Rules that depend on where a process is and on its environment: git's global ignore file, and a root that is
//! called `.`.
//!
//! Each case runs in a process of its own (this program again, with [`CASE`] set), because a process has only one
//! current directory and its environment cannot be changed safely. It is compared with `ignore::WalkBuilder` there.

use heist_walk::{Enter, Entry, Filter, Flow, Visitor, Walk, WalkError};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root to walk, for a process that was started for that.
const CASE: &str = "HEIST_WALK_TEST_ROOT";

#[derive(Default)]
struct Paths(Vec<PathBuf>);

impl Visitor for Paths {
    type Dir = ();

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.0.push(dir.path());
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.0.push(file.path());
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// The other process: says what is shown, if both agree.
#[test]
fn walk_where_this_process_is() {
    let Some(root) = std::env::var_os(CASE) else { return };
    let walked = Walk::new(&root)
        .filter(Filter::new().standard(true))
        .run(|_| Paths::default())
        .expect("a walk");
    let shown: BTreeSet<PathBuf> = walked.visitors.into_iter().flat_map(|paths| paths.0).collect();
    let peer = ignore::WalkBuilder::new(&root).build();
    let expected: BTreeSet<PathBuf> =
        peer.map(|entry| entry.expect("an entry").into_path()).collect();
    assert_eq!(shown, expected);
    for path in shown {
        println!("shown:{}", path.display());
    }
}

/// What the other process shows of `root`, sorted.
fn shown(here: &Path, home: &Path, root: &Path) -> Vec<PathBuf> {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", "walk_where_this_process_is", "--nocapture"])
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
fn the_global_file_and_a_root_called_dot() {
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
    // Without a repository nothing of git's holds.
    fs::remove_dir(top.join(".git")).expect("a repository");
    assert_eq!(shown(&top, &home, Path::new(".")).len(), 9);
}
