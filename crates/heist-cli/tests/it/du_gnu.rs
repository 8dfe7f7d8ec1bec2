//! `--format du` compared with GNU du: the same lines, byte for byte, in any order.

use crate::support::du::{
    directory, file, gnu_du, gnu_du_counts_lengths_of_directories, heist_du, odd_tree, output,
    sorted_lines, stdout,
};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

fn readable(lines: &[Vec<u8>]) -> Vec<String> {
    lines.iter().map(|line| line.escape_ascii().to_string()).collect()
}

/// Runs both tools in `directory` with the same arguments and compares their lines.
#[track_caller]
fn check_in(directory: &Path, arguments: &[&str]) {
    let theirs = {
        let mut command = gnu_du(arguments);
        command.current_dir(directory);
        output(command)
    };
    for threads in ["1", "4"] {
        let mut command = heist_du(["--format", "du", "-j", threads]);
        command.args(arguments).current_dir(directory);
        let ours = output(command);
        let terminator = if arguments.contains(&"-0") { b'\0' } else { b'\n' };
        let (ours_sorted, theirs_sorted) =
            (sorted_lines(&ours.stdout, terminator), sorted_lines(&theirs.stdout, terminator));
        assert_eq!(readable(&ours_sorted), readable(&theirs_sorted), "{arguments:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{arguments:?}");
    }
}

#[test]
fn lines_equal_those_of_gnu_du() {
    let temp = odd_tree(false);
    for arguments in [
        &["-0"][..],
        &["-0", "tree"],
        &["-0", "tree/"],
        &["-0", "tree//"],
        &["-0", "./tree/a/..", "tree"],
        &["-0", "-s", "tree"],
        &["-0", "-a", "tree"],
        &["-0", "-a", "-x", "tree"],
        &["-0", "-c", "tree"],
        &["-0", "-h", "-a", "tree"],
        &["-0", "--si", "-a", "tree"],
        &["-0", "-k", "tree"],
        &["-0", "-m", "tree"],
        &["-0", "-B", "1", "-a", "tree"],
        &["-0", "-B512", "-a", "tree"],
        &["-0", "-BK", "-a", "tree"],
        &["-0", "-BkB", "-a", "tree"],
        &["-0", "-BMiB", "-a", "tree"],
        &["-0", "--block-size=3", "-a", "tree"],
        &["-0", "--inodes", "tree"],
        &["-0", "--inodes", "-a", "tree"],
        &["-0", "--inodes", "-s", "tree"],
        &["-0", "--inodes", "-h", "tree"],
        &["-0", "-d", "0", "tree"],
        &["-0", "-d", "1", "tree"],
        &["-0", "-d", "3", "-a", "tree"],
        &["-0", "-t", "5000", "-a", "tree"],
        &["-0", "-t", "1M", "tree"],
        &["-0", "-t", "-4K", "-a", "tree"],
        &["-0", "-t", "-1", "-a", "tree"],
        &["-0", "-t", "8", "--inodes", "tree"],
        &["-0", "-t", "1G", "-s", "tree"],
        &["-0", "-t", "1G", "-c", "tree"],
        &["-0", "-l", "-a", "tree"],
    ] {
        check_in(temp.path(), arguments);
    }
    // The same with newlines at the ends of lines; some names also contain newlines.
    check_in(temp.path(), &["-a", "tree"]);
}

#[test]
fn apparent_sizes_equal_those_of_gnu_du() {
    let temp = odd_tree(false);
    check_in(temp.path(), &["-0", "-b", "-c", "tree/one", "tree/link", "tree/broken link"]);
    if !gnu_du_counts_lengths_of_directories() {
        // Newer versions count directories differently.
        return;
    }
    for arguments in [
        &["-0", "-b", "tree"][..],
        &["-0", "-sb", "tree"],
        &["-0", "-b", "-s", "-c", "tree", "tree/a"],
        &["-0", "-bh", "tree"],
        &["-0", "--apparent-size", "tree"],
        &["-0", "--apparent-size", "-h", "tree"],
        &["-0", "--apparent-size", "-t", "4100", "tree"],
        &["-0", "-b", "-a", "tree"],
    ] {
        check_in(temp.path(), arguments);
    }
    let temp = odd_tree(true);
    check_in(temp.path(), &["-sb", "tree"]);
    check_in(temp.path(), &["-sb", "-l", "tree"]);
}

#[test]
fn files_with_several_names_count_once() {
    let temp = odd_tree(true);
    for arguments in [
        &["-s", "tree"][..],
        &["-s", "-l", "tree"],
        &["-0", "-l", "-a", "tree"],
        &["-0", "-l", "tree"],
        &["-s", "--inodes", "tree"],
        &["tree/linked"],
        // The order of the PATHs decides which of them the shared file counts for.
        &["-s", "tree/linked", "tree/other"],
        &["-s", "tree/other", "tree/linked"],
        &["-a", "tree/linked/second"],
        &["-s", "tree/linked/first", "tree/linked/second"],
        &["-s", "-l", "tree/linked/first", "tree/linked/second"],
    ] {
        check_in(temp.path(), arguments);
    }
}

#[test]
fn a_file_with_several_names_is_charged_to_the_first_by_name() {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let (first, second) = (directory(temp.path().join("a")), directory(temp.path().join("b")));
    file(second.join("file"), 100_000);
    fs::hard_link(second.join("file"), first.join("file")).expect("a hard link");
    let empty = stdout(gnu_du([directory(temp.path().join("c"))]));
    let empty: u64 = String::from_utf8(empty)
        .expect("text")
        .split('\t')
        .next()
        .expect("a size")
        .parse()
        .expect("a number");
    let mut command = heist_du(["--format", "du", "a", "b"]);
    command.current_dir(temp.path());
    let expected = format!("{}\ta\n{empty}\tb\n", empty + 100);
    assert_eq!(String::from_utf8(stdout(command)).expect("text"), expected);
}

#[test]
fn several_and_overlapping_roots_are_counted_like_gnu_du() {
    let temp = odd_tree(false);
    for arguments in [
        &["-0", "tree/a", "tree/odd"][..],
        &["-0", "-c", "tree/a", "tree/odd", "tree/one"],
        &["-0", "-s", "-c", "tree/a", "tree/odd"],
        &["-0", "tree", "tree/a"],
        &["-0", "tree/a", "tree"],
        &["-0", "-s", "tree/a", "tree"],
        &["-0", "-s", "tree", "tree"],
        &["-0", "-a", "tree/one", "tree/block", "tree/one"],
        &["-0", "-s", "-c", "tree/a/b", "tree/a", "tree"],
    ] {
        check_in(temp.path(), arguments);
    }
}

#[test]
fn links_are_followed_like_gnu_du() {
    let temp = odd_tree(false);
    fs::remove_file(temp.path().join("tree/broken link")).expect("it is there");
    for arguments in [
        &["-0", "tree/link to directory"][..],
        &["-0", "tree/link to directory/"],
        &["-0", "-D", "tree/link to directory"],
        &["-0", "-H", "tree/link to directory"],
        &["-0", "-D", "-P", "tree/link to directory"],
        &["-0", "-P", "-D", "-a", "tree/link to directory"],
        &["-0", "-L", "-s", "tree"],
        &["-0", "-L", "-s", "tree/link"],
        &["-0", "-a", "tree/link"],
    ] {
        check_in(temp.path(), arguments);
    }
}

#[test]
fn a_link_to_a_parent_is_not_an_error() {
    let temp = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(temp.path().join("tree/a")).expect("directories");
    std::os::unix::fs::symlink("..", temp.path().join("tree/a/back")).expect("a link");
    for arguments in
        [&["-L", "tree"][..], &["-L", "-a", "tree"], &["-L", "-s", "tree"], &["-L", "-l", "tree"]]
    {
        check_in(temp.path(), arguments);
    }
}

#[test]
fn missing_roots_are_named_and_the_others_measured() {
    let temp = odd_tree(false);
    for arguments in
        [&["-0", "nowhere", "tree"][..], &["-s", "nowhere"], &["-s", "-c", "nowhere", "tree"]]
    {
        check_in(temp.path(), arguments);
    }
}

#[test]
fn environment_variables_set_the_block_size() {
    let temp = odd_tree(false);
    for (variable, value) in [
        ("DU_BLOCK_SIZE", "1"),
        ("DU_BLOCK_SIZE", "M"),
        ("DU_BLOCK_SIZE", "human-readable"),
        ("BLOCK_SIZE", "512"),
        ("BLOCKSIZE", "2K"),
        ("DU_BLOCK_SIZE", "nonsense"),
        ("POSIXLY_CORRECT", "1"),
    ] {
        let run = |mut command: std::process::Command| {
            command.env(variable, value).arg("-0a").arg(temp.path());
            sorted_lines(&stdout(command), b'\0')
        };
        let none = [] as [OsString; 0];
        assert_eq!(run(heist_du(["--format", "du"])), run(gnu_du(none)), "{variable}={value}");
    }
}

#[test]
fn files0_from_reads_paths_from_a_file() {
    let temp = odd_tree(false);
    fs::write(temp.path().join("list"), b"tree/a\0tree/odd/new\nline\0").expect("a file");
    check_in(temp.path(), &["-0", "--files0-from=list"]);
    check_in(temp.path(), &["-0", "-c", "-s", "--files0-from=list"]);
}

#[test]
fn excludes_match_like_gnu_du() {
    let temp = odd_tree(false);
    fs::write(temp.path().join("globs"), "*.txt\nsparse\n").expect("a file");
    for arguments in [
        &["-0", "-a", "--exclude=*.txt", "tree"][..],
        &["-0", "-a", "--exclude=odd", "--exclude=c", "tree"],
        &["-0", "-a", "--exclude-from=globs", "tree"],
        &["-0", "-a", "-X", "globs", "tree"],
        // PATHs that the shell may have expanded from a pattern.
        &["-0", "-a", "--exclude=odd", "tree/odd", "tree/a", "tree"],
        &["-0", "-s", "--exclude=tree", "tree"],
    ] {
        check_in(temp.path(), arguments);
    }
}
