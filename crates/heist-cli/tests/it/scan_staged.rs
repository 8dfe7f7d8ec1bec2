//! `heist scan --staged`: what the next commit adds, as the index has it.

use crate::support::git::{GitFixture, git, succeed};
use crate::support::scan::{code, end, errors, lines, run, text, token};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// Returns `heist scan --staged` with the rules of the tests, in the tree.
fn heist(fixture: &GitFixture, arguments: &[&str]) -> Command {
    let first = ["--staged", "--format", "jsonl", "--sorted"];
    let mut heist = fixture.scan.heist("scan", first.iter().chain(arguments));
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        heist.env_remove(variable);
    }
    heist
}

fn scan(fixture: &GitFixture, arguments: &[&str]) -> Output {
    run(heist(fixture, arguments))
}

/// Returns the places of the findings, as `path:line`.
#[track_caller]
fn places(output: &Output) -> Vec<String> {
    let place = |finding: &serde_json::Value| {
        format!("{}:{}", finding["path"].as_str().expect("a path"), finding["line"])
    };
    lines(output).iter().map(place).collect()
}

fn secret(seed: u64) -> String {
    token("tok_", seed)
}

#[test]
fn the_index_counts_and_not_the_work_tree() {
    let fixture = GitFixture::new();
    // No index, then no commit.
    let output = scan(&fixture, &[]);
    assert_eq!((places(&output), code(&output)), (vec![], 0));
    fixture.stage("first.txt", format!("a\n{}\n", secret(1)));
    fixture.scan.file("unstaged.txt", secret(2));
    fixture.scan.file("first.txt", "removed from the work tree only\n");
    let output = scan(&fixture, &[]);
    assert_eq!((places(&output), code(&output)), (vec!["first.txt:2".to_owned()], 1));
    fixture.commit();
    assert_eq!(places(&scan(&fixture, &[])), <[String; 0]>::default());
    fixture.stage("first.txt", format!("{}\nb\n{}\n", secret(1), secret(3)));
    fixture.scan.file("first.txt", secret(4));
    let output = scan(&fixture, &[]);
    assert_eq!((places(&output), code(&output)), (vec!["first.txt:3".to_owned()], 1));
    let end = end(&output);
    assert_eq!((&end["not_reported"]["not_new"], &end["files"]), (&1.into(), &1.into()));
}

#[test]
fn only_what_is_new_is_reported() {
    let fixture = GitFixture::new();
    fixture.stage("moved.txt", format!("{}\n", "line\n".repeat(20) + &secret(1)));
    fixture.stage("from.txt", format!("x\n{}\n", secret(2)));
    fixture.stage("to.txt", "y\n");
    fixture.stage("deleted.txt", secret(3));
    fixture.stage("mode.sh", secret(4));
    fixture.commit();
    fixture.git(["mv", "moved.txt", "renamed.txt"]);
    let renamed = format!("new {}\n{}\n", secret(5), "line\n".repeat(20) + &secret(1));
    fixture.stage("renamed.txt", renamed);
    // From one file to another, neither of which is new.
    fixture.stage("from.txt", "x\n");
    fixture.stage("to.txt", format!("y\n{}\n", secret(2)));
    fixture.git(["rm", "-q", "deleted.txt"]);
    fixture.git(["update-index", "--chmod=+x", "mode.sh"]);
    fixture.scan.file("intent.txt", secret(6));
    fixture.git(["add", "-N", "intent.txt"]);
    symlink(secret(7), fixture.scan.tree().join("link")).expect("a link");
    fixture.git(["add", "link"]);
    let one = "1".repeat(40);
    fixture.git(["update-index", "--add", "--cacheinfo", &format!("160000,{one},module")]);
    let output = scan(&fixture, &[]);
    assert_eq!(places(&output), ["link:1", "renamed.txt:1"]);
    let end = end(&output);
    assert_eq!(
        (&end["not_reported"]["not_new"], &end["skipped"]["submodules"]),
        (&2.into(), &1.into())
    );
    assert!(end["complete"].as_bool().expect("a flag"), "{end}");
}

#[test]
fn settings_of_the_project_apply() {
    let fixture = GitFixture::new();
    let line = |seed: u64| format!("a\n{}\n", secret(seed));
    fixture.stage("src/plain.txt", line(1));
    fixture.stage("src/ignored.txt", line(2));
    fixture.stage("src/allowed.txt", format!("{} # heist:allow\n", secret(3)));
    fixture.stage("vendor/excluded.txt", line(4));
    fixture.stage(".hidden/x.txt", line(5));
    fixture.stage("src/recorded.txt", line(6));
    fixture.stage("large.txt", format!("{}\n{}\n", secret(7), "x".repeat(5000)));
    let all = ["large.txt:1", "src/ignored.txt:2", "src/plain.txt:2", "src/recorded.txt:2"];
    fixture.scan.file(".gitleaksignore", "src/ignored.txt:test-token:2\n");
    fixture.scan.file("heist.toml", "exclude = ['/vendor']\nno-hidden = true\n");
    let recorded = run(fixture.scan.heist("baseline", ["src/recorded.txt"]));
    assert_eq!(code(&recorded), 0, "{}", errors(&recorded));
    for from in ["", "src"] {
        let mut command = heist(&fixture, &["--max-size", "4000"]);
        command.current_dir(fixture.scan.tree().join(from));
        let output = run(command);
        let prefix = if from.is_empty() { "" } else { "../" };
        assert_eq!(places(&output), [format!("{prefix}src/plain.txt:2")], "{}", errors(&output));
        let end = end(&output);
        let count = |group: &str, key: &str| end[group][key].as_u64().expect("a number");
        assert_eq!(count("not_reported", "allowed"), 1);
        assert_eq!(count("not_reported", "in_baseline"), 1);
        assert_eq!(count("not_reported", "ignored"), 1);
        assert_eq!((count("skipped", "excluded"), count("skipped", "too_large")), (2, 1));
        // All of these, and the comment, are the tree's.
        assert_eq!(end["hidden"].as_array().expect("a list").len(), 5, "{end}");
    }
    let output = scan(&fixture, &["--untrusted"]);
    let mut untrusted = all.map(String::from).to_vec();
    untrusted
        .extend(["src/allowed.txt:1", ".hidden/x.txt:2", "vendor/excluded.txt:2"].map(Into::into));
    untrusted.sort();
    assert_eq!(places(&output), untrusted);
}

#[test]
fn the_variables_of_hooks_are_honoured() {
    let fixture = GitFixture::new();
    fixture.stage("a.txt", "a\n");
    fixture.commit();
    let other = fixture.scan.path("other-index");
    fs::copy(fixture.scan.tree().join(".git/index"), &other).expect("an index");
    let mut add = fixture.command(["add", "b.txt"]);
    fixture.scan.file("b.txt", secret(1));
    add.env("GIT_INDEX_FILE", &other);
    succeed(add);
    assert_eq!(places(&scan(&fixture, &[])), <[String; 0]>::default());
    let mut command = heist(&fixture, &[]);
    command.env("GIT_INDEX_FILE", &other);
    assert_eq!(places(&run(command)), ["b.txt:1"]);
    let mut command = heist(&fixture, &[]);
    command.env("GIT_INDEX_FILE", &other).env("GIT_DIR", fixture.scan.tree().join(".git"));
    command.env("GIT_WORK_TREE", fixture.scan.tree()).current_dir(fixture.scan.temp.path());
    let output = run(command);
    assert_eq!(places(&output).len(), 1, "{}", errors(&output));
    // A PATH names the repository, whatever the variables say.
    let mut command = heist(&fixture, &["tree"]);
    command.env("GIT_DIR", "/nowhere").env("GIT_INDEX_FILE", &other);
    command.current_dir(fixture.scan.temp.path());
    assert_eq!(places(&run(command)), <[String; 0]>::default());
}

#[test]
fn linked_work_trees_and_sha256_work() {
    let fixture = GitFixture::with_format("sha256");
    fixture.stage("a.txt", secret(1));
    fixture.commit();
    let linked = fixture.scan.path("linked");
    fixture.git(["worktree", "add", "-q", linked.to_str().expect("text"), "-b", "side"]);
    fs::write(linked.join("new.txt"), secret(2)).expect("a file");
    let mut add = git(fixture.scan.temp.path(), &linked);
    add.args(["add", "."]);
    succeed(add);
    let mut command = heist(&fixture, &[]);
    command.current_dir(&linked);
    assert_eq!(places(&run(command)), ["new.txt:1"]);
    assert_eq!(places(&scan(&fixture, &[])), <[String; 0]>::default());
}

#[test]
fn what_cannot_be_scanned_is_an_error() {
    let fixture = GitFixture::new();
    let message = |output: Output| {
        assert_eq!((code(&output), text(&output)), (2, String::new()));
        errors(&output)
    };
    let mut outside = heist(&fixture, &[]);
    outside.current_dir(fixture.scan.temp.path());
    assert!(message(run(outside)).contains("no git repository"));
    assert!(message(scan(&fixture, &["a", "b"])).contains("one repository"));
    assert!(message(scan(&fixture, &["-"])).contains("one repository"));
    let mut bare = git(fixture.scan.temp.path(), fixture.scan.temp.path());
    bare.args(["init", "-q", "--bare", "bare.git"]);
    succeed(bare);
    let mut inside = heist(&fixture, &[]);
    inside.current_dir(fixture.scan.path("bare.git"));
    assert!(message(run(inside)).contains("no work tree"));
    // A missing blob is told, and the rest is scanned.
    fixture.stage("gone.txt", "gone");
    fixture.stage("there.txt", secret(1));
    let id = String::from_utf8(fixture.git(["rev-parse", ":gone.txt"])).expect("text");
    let (directory, name) = id.trim().split_at(2);
    let object = fixture.scan.tree().join(".git/objects").join(directory).join(name);
    fs::remove_file(object).expect("a loose object");
    let output = scan(&fixture, &["--exit-code-incomplete", "3"]);
    assert_eq!((places(&output), code(&output)), (vec!["there.txt:1".to_owned()], 3));
    assert_eq!(end(&output)["incomplete"][0]["path"], "./gone.txt", "{}", errors(&output));
    fs::write(fixture.scan.tree().join(".git/index"), "DIRC and nothing else").expect("a file");
    assert!(message(scan(&fixture, &[])).contains("index"));
}

/// Nothing of the repository runs, and nothing in it changes.
#[test]
fn the_repository_runs_nothing_and_stays_as_it_is() {
    let fixture = GitFixture::new();
    fixture.stage("a.txt", "a\n");
    fixture.commit();
    fixture.stage(".gitattributes", "*.txt filter=evil diff=evil\n");
    fixture.stage("a.txt", format!("{}\n", secret(1)));
    let proof = fixture.scan.path("proof");
    let run_it = format!("touch {}", proof.display());
    let config = format!(
        "[core]\n\tfsmonitor = {run_it}\n\tpager = {run_it}\n[filter \"evil\"]\n\tclean = {run_it}\n\
         \tsmudge = {run_it}\n[diff \"evil\"]\n\ttextconv = {run_it}\n\tcommand = {run_it}\n\
         [include]\n\tpath = /dev/random\n"
    );
    let file = fixture.scan.tree().join(".git/config");
    let before = fs::read_to_string(&file).expect("a file");
    fs::write(&file, before + &config).expect("a file");
    let listed = |root: &Path| {
        let mut command = Command::new("find");
        command.arg(root).args(["-printf", "%p %s %T@ %C@\n"]);
        String::from_utf8(succeed(command)).expect("text")
    };
    let before = listed(&fixture.scan.tree());
    assert_eq!(places(&scan(&fixture, &[])), ["a.txt:1"]);
    assert_eq!(listed(&fixture.scan.tree()), before);
    assert!(!proof.exists(), "a program of the repository was run");
}

/// Over random changes, the findings are those of a plain scan of what `git diff --cached` names,
/// without those that a plain scan finds in the versions before.
#[test]
fn the_findings_are_those_of_a_slow_comparison() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 21) % most
    };
    let fixture = GitFixture::new();
    for _round in 0..15 {
        for _ in 0..=below(6) {
            let name = format!("d{}/f{}.txt", below(3), below(4));
            let path = fixture.scan.tree().join(&name);
            if below(4) == 0 {
                let _ = fs::remove_file(path);
                continue;
            }
            let mut content = fs::read_to_string(&path).unwrap_or_default();
            for _ in 0..=below(3) {
                let prefix = ["tok_", "fair_"][below(2) as usize];
                content += &format!("x {}\n", token(prefix, below(40)));
            }
            fixture.scan.file(&name, content);
        }
        fixture.git(["add", "-A"]);
        let output = scan(&fixture, &[]);
        let fast: BTreeSet<(String, u64, String)> = lines(&output).iter().map(found).collect();
        assert_eq!(fast, slow(&fixture));
        if below(2) == 0 {
            fixture.commit();
        }
    }
}

fn found(finding: &serde_json::Value) -> (String, u64, String) {
    let text = |key: &str| finding[key].as_str().expect("text").to_owned();
    (text("path"), finding["line"].as_u64().expect("a number"), text("fingerprint"))
}

fn slow(fixture: &GitFixture) -> BTreeSet<(String, u64, String)> {
    let has_head = fixture.command(["rev-parse", "-q", "--verify", "HEAD"]).output();
    let has_head = has_head.expect("git runs").status.success();
    let names = fixture.git(["diff", "--cached", "--name-only", "--no-renames"]);
    let names = String::from_utf8(names).expect("text");
    let temp = tempfile::tempdir().expect("a directory for the test");
    let write = |version: &str, name: &str, revision: String| {
        let output = fixture.command(["cat-file", "blob", &revision]).output().expect("git runs");
        if output.status.success() {
            let path = temp.path().join(version).join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, output.stdout).expect("a file");
        }
    };
    for name in names.lines() {
        write("new", name, format!(":{name}"));
        if has_head {
            write("old", name, format!("HEAD:{name}"));
        }
    }
    let scan = |version: &str| -> BTreeSet<_> {
        let directory = temp.path().join(version);
        fs::create_dir_all(&directory).expect("a directory");
        let mut command = fixture.scan.heist("scan", ["--format", "jsonl"]);
        command.current_dir(directory);
        lines(&run(command)).iter().map(found).collect()
    };
    let old: BTreeSet<String> = scan("old").into_iter().map(|(_, _, print)| print).collect();
    scan("new").into_iter().filter(|(_, _, print)| !old.contains(print)).collect()
}
