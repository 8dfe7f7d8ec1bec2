//! The formats `json`, `ncdu` and `csv`: complete, valid, independent of the number of threads,
//! with exact names.

use crate::support::du::{
    directory, file, gnu_du, heist_du, name, odd_tree, output, sorted_lines, stdout, text,
};
use crate::support::requirements;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn in_directory(mut command: Command, directory: &Path) -> Command {
    command.current_dir(directory);
    command
}

/// Decodes base64 with the `base64` of coreutils.
fn decoded(base64: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut child = Command::new("base64")
        .arg("-d")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils are there");
    child.stdin.take().expect("a pipe").write_all(base64.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{base64}");
    output.stdout
}

fn json_name(entry: &Value) -> Vec<u8> {
    match entry.get("name_base64") {
        Some(base64) => decoded(base64.as_str().expect("a string")),
        None => entry["name"].as_str().expect("a string").as_bytes().to_vec(),
    }
}

/// Collects the path and the allocated bytes of each entry of a JSON tree.
fn json_entries(entry: &Value, prefix: &[u8], entries: &mut BTreeMap<Vec<u8>, u64>) {
    let mut path = prefix.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend(json_name(entry));
    for child in entry.get("children").and_then(Value::as_array).into_iter().flatten() {
        json_entries(child, &path, entries);
    }
    entries.insert(path, entry["allocated"].as_u64().expect("a number"));
}

/// Parses the lines of `du -0 -B1` into paths and sizes.
fn du_entries(output: &[u8]) -> BTreeMap<Vec<u8>, u64> {
    let lines = sorted_lines(output, b'\0').into_iter().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t').expect("a tab");
            let size =
                std::str::from_utf8(&line[..tab]).expect("digits").parse().expect("a number");
            (line[tab + 1..].to_vec(), size)
        })
        .collect()
}

#[test]
fn json_has_every_entry_with_its_size() {
    let temp = odd_tree(false);
    let mut theirs =
        du_entries(&stdout(in_directory(gnu_du(["-0", "-a", "-B1", "tree"]), temp.path())));
    for threads in ["1", "4"] {
        let command = heist_du(["--format", "json", "-a", "-j", threads, "tree"]);
        let json: Value = serde_json::from_slice(&stdout(in_directory(command, temp.path())))
            .expect("valid JSON");
        assert_eq!(json["format"], "heist-du");
        assert_eq!(json["version"], 1);
        assert_eq!(json["complete"], true);
        assert_eq!(json["errors"], 0);
        let mut ours = BTreeMap::new();
        json_entries(&json["roots"][0], b"", &mut ours);
        assert_eq!(ours, theirs);
        assert_eq!(json["total"]["allocated"].as_u64(), theirs.get(&b"tree"[..]).copied());
    }
    // Without -a there are only directories, with the same sizes.
    let command = heist_du(["--format", "json", "tree"]);
    let json: Value =
        serde_json::from_slice(&stdout(in_directory(command, temp.path()))).expect("valid JSON");
    let mut ours = BTreeMap::new();
    json_entries(&json["roots"][0], b"", &mut ours);
    theirs
        .retain(|path, _| temp.path().join(name(path)).symlink_metadata().expect("there").is_dir());
    assert_eq!(ours, theirs);
}

#[test]
fn json_has_kinds_and_respects_the_depth() {
    let temp = odd_tree(true);
    let command = heist_du(["--format", "json", "-a", "-d", "1", "tree"]);
    let json: Value =
        serde_json::from_slice(&stdout(in_directory(command, temp.path()))).expect("valid JSON");
    let children = json["roots"][0]["children"].as_array().expect("an array");
    let kind_of = |wanted: &str| {
        let child = children.iter().find(|child| child["name"] == wanted).expect("it is there");
        assert!(child.get("children").is_none(), "nothing below depth 1");
        child["kind"].as_str().expect("a string").to_owned()
    };
    assert_eq!(kind_of("one"), "file");
    assert_eq!(kind_of("link"), "symlink");
    assert_eq!(kind_of("a"), "directory");
    let command = heist_du(["--format", "json", "-a", "tree/linked", "tree/one"]);
    let json: Value =
        serde_json::from_slice(&stdout(in_directory(command, temp.path()))).expect("valid JSON");
    let linked = &json["roots"][0]["children"];
    assert!(linked[0].get("counted").is_none());
    assert_eq!(linked[1]["counted"], false);
    assert_eq!(json["roots"][1]["name"], "tree/one");
    assert_eq!(json["roots"][1]["bytes"], 1);
}

#[test]
fn json_totals_work_without_a_tree() {
    let temp = odd_tree(false);
    let command = heist_du(["--format", "json", "-s", "tree/a", "tree/one"]);
    let json: Value =
        serde_json::from_slice(&stdout(in_directory(command, temp.path()))).expect("valid JSON");
    assert_eq!(json["roots"][0]["kind"], "directory");
    assert_eq!(json["roots"][0]["inodes"], 7);
    assert_eq!(json["roots"][1]["kind"], "file");
    assert_eq!(json["total"]["inodes"], 8);
}

#[test]
fn extensions_are_added_up() {
    let temp = tempfile::tempdir().expect("a directory for the test");
    for (path, len) in [("a.rs", 10), ("b.RS", 20), ("c.txt", 5), ("none", 1), (".hidden", 2)] {
        file(temp.path().join(path), len);
    }
    let json = stdout(in_directory(heist_du(["--format", "json", "--by-extension"]), temp.path()));
    let json: Value = serde_json::from_slice(&json).expect("valid JSON");
    let extensions = json["extensions"].as_array().expect("an array");
    let rust = extensions.iter().find(|one| one["extension"] == "rs").expect("it is there");
    assert_eq!((rust["files"].as_u64(), rust["bytes"].as_u64()), (Some(2), Some(30)));
    let csv = text(in_directory(heist_du(["--format", "csv", "--by-extension"]), temp.path()));
    assert!(csv.starts_with("extension,files,bytes,allocated,inodes\n"), "{csv}");
    assert!(csv.contains("\nrs,2,30,"), "{csv}");
    let shown = text(in_directory(heist_du(["--by-extension", "-A"]), temp.path()));
    assert!(shown.contains(".rs  2 files") && shown.contains("(no extension)"), "{shown}");
    file(temp.path().join("large.txt"), 100_000);
    file(temp.path().join("d.rs"), 1);
    let first = |arguments: &[&str]| {
        let shown = text(in_directory(heist_du(arguments), temp.path()));
        shown.lines().next().map(|line| line.contains(".rs  3 files")).expect("a line")
    };
    assert!(!first(&["--by-extension"]) && first(&["--by-extension", "--sort", "count"]));
}

/// Parses CSV by the rules of RFC 4180.
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                field.push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    assert!(field.is_empty() && record.is_empty(), "the last line is ended");
    records
}

#[test]
fn csv_has_every_entry_and_exact_names() {
    let temp = odd_tree(false);
    let csv = text(in_directory(heist_du(["--format", "csv", "-a", "tree"]), temp.path()));
    let records = csv_records(&csv);
    assert_eq!(records[0], ["path", "kind", "bytes", "allocated", "inodes", "path_base64"]);
    let mut ours = BTreeMap::new();
    for record in &records[1..] {
        assert_eq!(record.len(), 6, "{record:?}");
        let path = match record[5].as_str() {
            "" => record[0].as_bytes().to_vec(),
            base64 => decoded(base64),
        };
        let metadata = temp.path().join(name(&path)).symlink_metadata().expect("it is there");
        if !metadata.is_dir() {
            assert_eq!(record[2], metadata.size().to_string(), "{record:?}");
        }
        ours.insert(path, record[3].parse().expect("a number"));
    }
    let theirs = stdout(in_directory(gnu_du(["-0", "-a", "-B1", "tree"]), temp.path()));
    assert_eq!(ours, du_entries(&theirs));
}

/// Parses an export of ncdu into entries by path. Names are bytes, but serde reads only UTF-8.
fn ncdu_entries(bytes: &[u8]) -> BTreeMap<String, Value> {
    fn add(item: &Value, prefix: &str, entries: &mut BTreeMap<String, Value>) {
        let (info, children) = match item {
            Value::Array(items) => (&items[0], &items[1..]),
            info => (info, &[][..]),
        };
        let path = format!("{prefix}/{}", info["name"].as_str().expect("a name"));
        for child in children {
            add(child, &path, entries);
        }
        entries.insert(path, info.clone());
    }
    // Turn each byte into one character, so that nothing is lost.
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let export: Value = serde_json::from_str(&text).expect("valid except for the bytes of names");
    assert_eq!((&export[0], &export[1]), (&Value::from(1), &Value::from(2)));
    let mut entries = BTreeMap::new();
    add(&export[3], "", &mut entries);
    entries
}

#[test]
fn the_ncdu_export_equals_that_of_ncdu() {
    requirements::program("ncdu");
    let temp = odd_tree(true);
    let root = temp.path().join("tree").canonicalize().expect("it is there");
    let mut theirs = Command::new("ncdu");
    theirs.args(["-0", "-o", "-"]).arg(&root);
    let theirs = ncdu_entries(&stdout(theirs));
    for arguments in [["-j", "1"], ["-j", "4"]] {
        let mut ours = heist_du(["--format", "ncdu"]);
        ours.args(arguments).arg(&root);
        assert_eq!(ncdu_entries(&stdout(ours)), theirs);
    }
    // heist makes the path absolute.
    let relative = in_directory(heist_du(["--format", "ncdu", "tree"]), temp.path());
    assert_eq!(ncdu_entries(&stdout(relative)), theirs);
}

#[test]
fn the_ncdu_export_needs_exactly_one_directory() {
    let temp = odd_tree(false);
    for (arguments, why) in [
        (&["tree/a", "tree/odd"][..], "exports exactly one directory"),
        (&["tree/one"], "not a directory"),
        (&["tree/link to directory"], "-D"),
        (&["nowhere"], "No such file"),
        (&["-s", "tree"], "--summarize"),
        (&["-t", "1K", "tree"], "--threshold"),
    ] {
        let mut command = heist_du(["--format", "ncdu"]);
        command.args(arguments);
        let output = output(in_directory(command, temp.path()));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(why), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty());
    }
}

/// A chain of nested directories, deeper than the longest path, created and removed level by level.
struct DirectoryChain {
    temp: tempfile::TempDir,
    levels: usize,
    /// The deepest directory.
    bottom: OwnedFd,
}

impl DirectoryChain {
    const FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY);

    fn of(levels: usize) -> Self {
        // In memory if possible: creating so many directories on a disk is slow.
        let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let temp = temp.expect("a directory for the test");
        let mut bottom = open(temp.path(), Self::FLAGS, Mode::empty()).expect("it is there");
        for _ in 0..levels {
            mkdirat(&bottom, "d", Mode::RWXU).expect("a directory");
            bottom = openat(&bottom, "d", Self::FLAGS, Mode::empty()).expect("it is there");
        }
        Self { temp, levels, bottom }
    }
}

impl Drop for DirectoryChain {
    /// Removes the chain from the bottom up: the standard library would open all levels at once.
    fn drop(&mut self) {
        for _ in 0..self.levels {
            let Ok(above) = openat(&self.bottom, "..", Self::FLAGS, Mode::empty()) else { return };
            let _ = unlinkat(&above, "d", AtFlags::REMOVEDIR);
            self.bottom = above;
        }
    }
}

#[test]
fn deep_trees_do_not_overflow_the_stack() {
    const LEVELS: usize = 20_000;
    let chain = DirectoryChain::of(LEVELS);
    for (format, marker) in [("json", "\"kind\":\"directory\""), ("ncdu", "[{\"name\":")] {
        let mut command = heist_du(["--format", format]);
        command.arg(chain.temp.path());
        let printed = text(command);
        assert_eq!(printed.matches(marker).count(), LEVELS + 1, "{format}");
    }
    let mut command = heist_du(["--format", "du", "-s", "--inodes"]);
    command.arg(chain.temp.path());
    assert!(text(command).starts_with(&format!("{}\t", LEVELS + 1)));
    let mut command = heist_du(["--format", "csv", "-d", "3"]);
    command.arg(chain.temp.path());
    assert_eq!(text(command).lines().count(), 1 + 4);
    let mut command = heist_du(["-d", "300"]);
    command.arg(chain.temp.path());
    assert_eq!(text(command).lines().count(), 301);
}

#[test]
fn output_is_the_same_for_any_number_of_threads() {
    let temp = odd_tree(true);
    for format in ["text", "du", "json", "csv"] {
        let run = |threads: &str| {
            let command = heist_du(["--format", format, "-a", "-d", "9", "-j", threads, "tree"]);
            stdout(in_directory(command, temp.path()))
        };
        let expected = run("1");
        assert!(!expected.is_empty());
        for threads in ["2", "8"] {
            assert_eq!(run(threads), expected, "{format} with {threads} threads");
        }
    }
}

#[test]
fn roots_that_are_not_utf8_are_written_byte_for_byte() {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let odd = directory(temp.path().join(name(b"\xff root")));
    let mut command = heist_du(["--format", "du", "-s"]);
    command.arg(&odd);
    let printed = stdout(command);
    assert!(printed.ends_with(&[odd.as_os_str().as_bytes(), b"\n"].concat()));
    let mut command = heist_du(["-s"]);
    command.arg(&odd);
    assert!(text(command).ends_with("/\\xff root\n"));
    fs::remove_dir(odd).expect("it is empty");
}
