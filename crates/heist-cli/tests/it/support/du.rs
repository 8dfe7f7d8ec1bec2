//! Support for tests of `heist du`: runs heist and GNU du, and creates trees.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Returns `heist du` with these arguments, without variables for colours and block sizes.
pub(crate) fn heist_du<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = plain(Command::new(env!("CARGO_BIN_EXE_heist")));
    command.arg("du").args(arguments);
    command
}

/// Returns GNU du with these arguments.
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

/// Runs a command to its end.
#[track_caller]
pub(crate) fn output(mut command: Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns the stdout of a command, which must succeed without messages.
#[track_caller]
pub(crate) fn stdout(mut command: Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {:?}\n{errors}", output.status);
    assert_eq!(errors, "", "{command:?}");
    output.stdout
}

/// Returns the stdout of such a command as text.
#[track_caller]
pub(crate) fn text(command: Command) -> String {
    String::from_utf8(stdout(command)).expect("text is UTF-8")
}

/// Returns a file name with these bytes.
pub(crate) fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Writes a file of `len` bytes.
pub(crate) fn file(path: impl AsRef<Path>, len: usize) {
    let path = path.as_ref();
    fs::write(path, vec![b'x'; len]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Creates a directory and its parents.
pub(crate) fn directory(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    fs::create_dir_all(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path.to_owned()
}

/// Creates a tree with odd names, a sparse file and symbolic links, and with hard links if `links`.
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

/// Returns `true` if GNU du adds the lengths of directories to apparent sizes, as it does up to
/// 9.1.
pub(crate) fn gnu_du_counts_lengths_of_directories() -> bool {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let length = fs::metadata(temp.path()).expect("it is there").size();
    let arguments = [OsStr::new("-sb"), temp.path().as_os_str()];
    let printed = String::from_utf8(stdout(gnu_du(arguments))).expect("text");
    printed.starts_with(&format!("{length}\t"))
}

/// Returns the lines of an output, sorted.
pub(crate) fn sorted_lines(output: &[u8], terminator: u8) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = output.split(|byte| *byte == terminator).map(<[u8]>::to_vec).collect();
    lines.sort();
    lines
}

/// Creates a tree that a walk with `-L -l` practically never finishes: forty levels, each with two
/// links to the next.
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
