//! What the tests of the tool share: the tool itself, other people's tools, and a tree with everything odd in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `heist du` with these arguments, in an environment that says nothing about colours and blocks.
pub(crate) fn heist_du<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = plain(Command::new(env!("CARGO_BIN_EXE_heist")));
    command.arg("du").args(arguments);
    command
}

/// GNU du with these arguments.
pub(crate) fn gnu_du<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = plain(Command::new("du"));
    command.args(arguments);
    command
}

fn plain(mut command: Command) -> Command {
    for variable in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "DU_BLOCK_SIZE",
        "BLOCK_SIZE",
        "BLOCKSIZE",
        "POSIXLY_CORRECT",
    ] {
        command.env_remove(variable);
    }
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs to the end.
#[track_caller]
pub(crate) fn output(mut command: Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What it prints, of a run that must succeed and be silent on stderr.
#[track_caller]
pub(crate) fn stdout(mut command: Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {:?}\n{errors}", output.status);
    assert_eq!(errors, "", "{command:?}");
    output.stdout
}

/// [`stdout`], of a run that prints text.
#[track_caller]
pub(crate) fn text(command: Command) -> String {
    String::from_utf8(stdout(command)).expect("text is UTF-8")
}

/// A name that is not UTF-8, from its bytes.
pub(crate) fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Writes a file of `len` bytes.
pub(crate) fn file(path: impl AsRef<Path>, len: usize) {
    let path = path.as_ref();
    fs::write(path, vec![b'x'; len]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Makes a directory and those that it is in.
pub(crate) fn directory(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    fs::create_dir_all(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path.to_owned()
}

/// A tree with odd names, a sparse file and symbolic links; with hard links, too, if `links`.
pub(crate) fn odd_tree(links: bool) -> TempDir {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let root = directory(temp.path().join("tree"));
    file(root.join("empty"), 0);
    file(root.join("one"), 1);
    file(root.join("block"), 4096);
    file(root.join("more"), 4097);
    file(root.join("Large.BIN"), 3_000_000);
    let sparse = fs::File::create(root.join("sparse")).expect("a file");
    sparse.set_len(50_000_000).expect("a hole");
    for (index, odd) in [
        &b"new\nline"[..],
        b"tab\there",
        b"invalid \xff\xfe utf-8",
        b"escape \x1b[31m",
        b"quote \" and , comma",
        b"back\\slash",
        "日本語".as_bytes(),
        "bidi \u{202e} \u{9b}".as_bytes(),
        b" spaces ",
        &[b'n'; 255],
    ]
    .into_iter()
    .enumerate()
    {
        let inside = directory(root.join("odd").join(name(odd)));
        file(inside.join(name(odd)), index * 1000);
    }
    let deep = directory(root.join("a/b/c/d/e/f"));
    file(deep.join("leaf"), 10_000);
    for number in 0..50 {
        file(
            directory(root.join(format!("many/{}", number % 7))).join(format!("{number}.txt")),
            77,
        );
    }
    directory(root.join("nothing"));
    symlink("one", root.join("link")).expect("a link");
    symlink("a", root.join("link to directory")).expect("a link");
    symlink("nowhere", root.join("broken link")).expect("a link");
    if links {
        let linked = directory(root.join("linked"));
        file(linked.join("first"), 20_000);
        fs::hard_link(linked.join("first"), linked.join("second")).expect("a hard link");
        let other = directory(root.join("other/below"));
        fs::hard_link(linked.join("first"), other.join("third")).expect("a hard link");
        file(other.join("x"), 9_000);
        fs::hard_link(other.join("x"), other.join("y")).expect("a hard link");
    }
    temp
}

/// Whether GNU du adds the lengths of directories to apparent sizes: it does up to version 9.1.
pub(crate) fn gnu_du_counts_lengths_of_directories() -> bool {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let length = fs::metadata(temp.path()).expect("it is there").size();
    let arguments = [OsStr::new("-sb"), temp.path().as_os_str()];
    let printed = String::from_utf8(stdout(gnu_du(arguments))).expect("text");
    printed.starts_with(&format!("{length}\t"))
}

/// The lines of an output, sorted.
pub(crate) fn sorted_lines(output: &[u8], terminator: u8) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = output.split(|byte| *byte == terminator).map(<[u8]>::to_vec).collect();
    lines.sort();
    lines
}

/// A tree that no walk which follows links and counts each time comes to the end of: forty levels, each with two links
/// to the next.
pub(crate) fn endless_tree() -> TempDir {
    const LEVELS: usize = 40;
    let temp = tempfile::tempdir().expect("a directory for the test");
    for level in 0..LEVELS {
        let here = directory(temp.path().join(level.to_string()));
        for link in ["left", "right"] {
            symlink(format!("../{}", level + 1), here.join(link)).expect("a link");
        }
    }
    directory(temp.path().join(LEVELS.to_string()));
    temp
}
