//! `heist scan --history`: what a user types and reads, on repositories that git made.

use crate::support::requirements;
use crate::support::scan::{ScanFixture, code, end, errors, json, lines, run, text, token};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs git in a directory, without any configuration, and returns the first line that it prints.
fn git(directory: &Path, arguments: &[&str]) -> String {
    requirements::program("git");
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory).env_clear().stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0100")
        .env("GIT_COMMITTER_DATE", "1700000000 +0100");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A U \u{1b}[31mThor");
        command.env(format!("GIT_{role}_EMAIL"), "author@example.com");
    }
    let output = run(command);
    assert!(output.status.success(), "git {arguments:?}: {}", errors(&output));
    text(&output).lines().next().unwrap_or_default().to_owned()
}

/// Writes a file in the repository in the tree and commits it.
fn commit(scene: &ScanFixture, message: &str, path: &str, content: impl AsRef<[u8]>) -> String {
    scene.file(path, content);
    let tree = scene.tree();
    if !tree.join(".git").exists() {
        git(&tree, &["init", "--quiet", "--initial-branch=main"]);
    }
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "-m", message]);
    git(&tree, &["rev-parse", "HEAD"])
}

/// A secret that was added and removed. Returns both commits.
fn planted() -> (ScanFixture, String, String) {
    planted_with(&format!("Remove {}", token("tok_", 1)))
}

/// The same, removed with this message.
fn planted_with(message: &str) -> (ScanFixture, String, String) {
    let scene = ScanFixture::new();
    commit(&scene, "Begin", "a", "nothing\n");
    let added = commit(&scene, "Add it", "src/conf.ini", format!("x\n{}\n", token("tok_", 1)));
    let removed = commit(&scene, message, "src/conf.ini", "nothing\n");
    (scene, added, removed)
}

#[test]
fn a_new_user_is_told_about_the_history_and_finds_what_was_removed() {
    // In a message, the secret would be in the files of `.git`, too.
    let (scene, added, removed) = planted_with("Remove it");
    let output = scene.scan::<&str>([]);
    assert_eq!(code(&output), 0);
    let note = "only files were scanned, not the git history: heist scan --history";
    assert!(errors(&output).contains(note), "{}", errors(&output));
    assert!(text(&output).contains(note), "{}", text(&output));
    assert!(!errors(&scene.scan(["-q"])).contains("history"));

    let output = scene.scan(["--history"]);
    assert_eq!(code(&output), 1, "{}", errors(&output));
    let report = text(&output);
    for part in [
        "    src/conf.ini:2:1\n",
        &format!("      commit {}  2023-11-14  A U \\x1b[31mThor  Add it\n", &added[..12]),
        &format!("      removed by {}  2023-11-14  A U \\x1b[31mThor  Remove it\n", &removed[..12]),
        "      on main\n",
        &format!("      git show {}:src/conf.ini\n", &added[..12]),
        "1 secret in 1 place (1 high), in 2 versions of files and 3 messages of 3 commits (",
        "  1. Revoke each secret where it was issued",
        "  3. Rewriting the history",
        "heist baseline --output heist-baseline.toml --history --rules",
    ] {
        assert!(report.contains(part), "{part:?} in {report}");
    }
    assert!(!report.contains(&token("tok_", 1)) && !report.contains('\u{1b}'), "{report}");
}

#[test]
fn a_tree_without_a_repository_has_no_note_and_no_history() {
    let scene = ScanFixture::new();
    scene.file("a", "nothing");
    let output = scene.scan::<&str>([]);
    assert!(!errors(&output).contains("history") && !text(&output).contains("history"));
    let output = scene.scan(["--history"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("there is no git repository at, below or above '.'"));
}

#[test]
fn every_format_has_the_place_in_the_history() {
    let (scene, added, removed) = planted();
    let of = |format: &str| scene.scan(["--history", "-f", format]);
    // The message of the last commit has the secret, too, and its place comes first.
    let in_json = json(&of("json"))["secrets"][0]["places"][1]["history"].clone();
    let output = of("jsonl");
    assert!(lines(&output).iter().any(|line| line["history"] == in_json));
    let sarif = json(&of("sarif"));
    assert_eq!(sarif["runs"][0]["results"][1]["properties"]["history"], in_json);
    let expected = serde_json::json!({
        "repository": ".", "text": "file", "path": "src/conf.ini",
        "object": git(&scene.tree(), &["rev-parse", &format!("{added}:src/conf.ini")]),
        "commit": {
            "id": added, "date": "2023-11-14T22:13:20Z", "author": "A U \u{1b}[31mThor",
            "email": "author@example.com", "subject": "Add it",
        },
        "may_be_older": false, "status": "removed",
        "removed_by": {
            "id": removed, "date": "2023-11-14T22:13:20Z", "author": "A U \u{1b}[31mThor",
            "email": "author@example.com", "subject": "Remove ******",
        },
        "refs": ["main"], "ref_count": 1,
    });
    assert_eq!(in_json, expected);
    let end = end(&output);
    assert_eq!(end["complete"], true);
    let history = &end["histories"][0];
    assert_eq!((&history["commits"], &history["messages"]), (&Value::from(3), &Value::from(3)));
    let not_scanned = json(&scene.scan(["-f", "json"]))["histories_not_scanned"].clone();
    assert_eq!(not_scanned, serde_json::json!(["."]));
}

#[test]
fn ranges_branches_dates_and_commits_choose() {
    let (scene, added, removed) = planted();
    let count = |arguments: &[&str]| {
        let output = scene.scan(["-f", "jsonl"].iter().chain(arguments));
        assert!(code(&output) < 2, "{}", errors(&output));
        lines(&output).len()
    };
    // The message of the last commit has the secret, too.
    assert_eq!(count(&["--history"]), 2);
    assert_eq!(count(&["--range", "HEAD~2..HEAD~1"]), 1);
    assert_eq!(count(&["--range", "HEAD~1.."]), 1);
    assert_eq!(count(&["--branch", "main"]), 2);
    assert_eq!(count(&["--commit", &added[..10]]), 1);
    assert_eq!(count(&["--commit", &removed]), 1);
    assert_eq!(count(&["--since", "2023-11-14"]), 2);
    assert_eq!(count(&["--since", "2023-11-15"]), 0);
    for (arguments, error) in [
        (["--branch", "nothing"], "no branch, tag or commit is called `nothing`"),
        (["--range", "main"], "`main` is not a range; write A..B"),
        (["--commit", "HEAD~9"], "`HEAD~9` goes back beyond the first commit"),
    ] {
        let output = scene.scan(arguments);
        assert_eq!(code(&output), 2);
        assert!(errors(&output).contains(error), "{}", errors(&output));
    }
}

#[test]
fn baselines_comments_excludes_and_ignore_files_apply_to_histories() {
    let scene = ScanFixture::new();
    let added = commit(&scene, "Add", "a/b.ini", token("tok_", 1));
    let allowed = format!("{} # heist:allow\n", token("tok_", 2));
    commit(&scene, "Add", "c.ini", allowed);
    commit(&scene, "Remove", "a/b.ini", "");
    let listed = |arguments: &[&str]| {
        let output = scene.scan(["--history", "-f", "jsonl"].iter().chain(arguments));
        let not_reported = end(&output)["not_reported"].clone();
        (lines(&output).len(), not_reported)
    };
    let (found, not_reported) = listed(&[]);
    assert_eq!((found, &not_reported["allowed"]), (1, &Value::from(1)));
    assert_eq!(listed(&["--exclude", "a"]).0, 0);
    assert_eq!(listed(&["--untrusted"]).0, 2);
    // In gitleaks' form, with the commit.
    let ignore = scene.file(".gitleaksignore", format!("{added}:a/b.ini:test-token:1\n"));
    let (found, not_reported) = listed(&[]);
    assert_eq!((found, &not_reported["ignored"]), (0, &Value::from(1)));
    fs::remove_file(ignore).expect("mine");
    // One baseline serves files and histories.
    let baseline = scene.path("baseline.toml");
    let arguments = ["--history", "--output", baseline.to_str().expect("UTF-8")];
    let output = run(scene.heist("baseline", arguments));
    assert_eq!(code(&output), 0, "{}", errors(&output));
    let (found, not_reported) = listed(&["--baseline", baseline.to_str().expect("UTF-8")]);
    assert_eq!((found, &not_reported["in_baseline"]), (0, &Value::from(1)));
    scene.file("again.ini", token("tok_", 1));
    let output = scene.scan(["--baseline", baseline.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 0, "{}", text(&output));
}

#[test]
fn repositories_below_a_tree_are_found_and_a_path_inside_of_one() {
    let scene = ScanFixture::new();
    let make = |name: &str, bare: bool| {
        let directory = scene.tree().join(name);
        fs::create_dir_all(&directory).expect("a directory");
        git(&directory, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(directory.join("f"), token("tok_", name.len() as u64)).expect("a file");
        fs::create_dir(directory.join("sub")).expect("a directory");
        git(&directory, &["add", "--all"]);
        git(&directory, &["commit", "--quiet", "-m", "x"]);
        if bare {
            let to = scene.tree().join("bare.git");
            git(&scene.tree(), &["clone", "--quiet", "--bare", name, &to.to_string_lossy()]);
            fs::remove_dir_all(directory).expect("mine");
        }
    };
    make("deep/one", false);
    make("gone", true);
    assert_eq!(scene.places(&["--history"]), ["bare.git/f:1", "deep/one/f:1"]);
    let inside = scene.tree().join("deep/one/sub");
    let output = scene.scan(["--history", "-f", "jsonl", &inside.to_string_lossy()]);
    assert_eq!(lines(&output).len(), 1, "{}", errors(&output));
    assert!(lines(&output)[0]["path"].as_str().is_some_and(|path| path.ends_with("one/f")));
}

#[test]
fn linked_work_trees_are_scanned_and_other_ways_out_refused() {
    let (scene, ..) = planted();
    let linked = scene.path("linked");
    git(&scene.tree(), &["worktree", "add", "--quiet", "--detach", &linked.to_string_lossy()]);
    let scan = |path: &Path| {
        let mut heist = scene.heist("scan", ["--history", "-f", "jsonl"]);
        heist.arg(path);
        run(heist)
    };
    assert_eq!(lines(&scan(&linked)).len(), 2);
    // The main repository does not know this one.
    let foreign = scene.path("foreign");
    fs::create_dir(&foreign).expect("a directory");
    let target = scene.tree().join(".git");
    fs::write(foreign.join(".git"), format!("gitdir: {}\n", target.display())).expect("a file");
    let output = scan(&foreign);
    assert_eq!((code(&output), lines(&output).len()), (2, 0));
    assert!(errors(&output).contains("leads out of the scanned roots"), "{}", errors(&output));
}

#[test]
fn unreachable_secrets_are_counted_and_reported_on_request() {
    let scene = ScanFixture::new();
    commit(&scene, "Begin", "a", "nothing\n");
    commit(&scene, "Add", "b", token("tok_", 1));
    git(&scene.tree(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    let output = scene.scan(["--history"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let note = "1 object with findings is not on any branch or tag (--unreachable reports them)";
    assert!(text(&output).contains(note) && errors(&output).contains(note), "{}", text(&output));
    let output = scene.scan(["--history", "--unreachable"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output).contains("no branch and no tag leads to"), "{}", text(&output));
}

#[test]
fn nothing_of_a_repository_is_run_read_elsewhere_or_written() {
    requirements::program("strace");
    let (scene, ..) = planted();
    let evil = scene.path("evil");
    fs::write(&evil, "#!/bin/sh\ntouch \"$0.was-run\"\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&evil, mode).expect("mine");
    let shown = evil.display();
    let config = format!(
        "[core]\nfsmonitor = {shown}\nhooksPath = {shown}\nsshCommand = {shown}\npager = {shown}\n\
         [diff \"x\"]\ntextconv = {shown}\n[filter \"x\"]\nsmudge = {shown}\nclean = {shown}\n\
         [credential]\nhelper = {shown}\n[include]\npath = {shown}\n"
    );
    let tree = scene.tree();
    let path = tree.join(".git/config");
    let old = fs::read_to_string(&path).expect("git wrote it");
    fs::write(&path, old + &config).expect("mine");
    fs::write(tree.join(".git/hooks/post-checkout"), "").expect("mine");
    let before = snapshot(&tree);
    let log = scene.path("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve,%network,openat,open,creat,mkdir,mkdirat"]);
    command.args(["-e", "trace=rename,renameat,renameat2,unlink,unlinkat,link,linkat", "-e"]);
    command.arg("trace=execve,%network,%file,openat").arg("-o").arg(&log);
    command.arg(env!("CARGO_BIN_EXE_heist")).args(["scan", "--history", "--rules"]);
    command.arg(scene.path("rules.toml")).stdin(Stdio::null()).current_dir(&tree);
    command.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("HEIST_POLICY");
    let output = run(command);
    assert_eq!(code(&output), 1, "strace has to be allowed to watch: {}", errors(&output));
    let calls = fs::read_to_string(&log).expect("strace writes it");
    let executed: Vec<&str> = calls.lines().filter(|line| line.contains("execve(")).collect();
    assert_eq!(executed.len(), 1, "{executed:?}");
    let is_write = |line: &&str| {
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
        let changes = ["mkdir", "rename", "unlink", " link", "creat(", "chmod", "truncate"];
        flags.iter().chain(&changes).any(|what| line.contains(what)) && !line.contains("/dev/")
    };
    let writes: Vec<&str> = calls.lines().filter(is_write).collect();
    assert!(writes.is_empty(), "{writes:?}");
    let connects = ["connect(", "bind(", "socket("];
    let network = calls.lines().find(|line| connects.iter().any(|call| line.contains(call)));
    assert_eq!(network, None);
    assert!(!calls.contains(&*evil.to_string_lossy()), "the configuration named it");
    assert!(!scene.path("evil.was-run").exists());
    assert_eq!(snapshot(&tree), before);
}

/// Returns every file below a directory with its content.
fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => open.push(path),
                false => files.push((path.clone(), fs::read(path).expect("a file"))),
            }
        }
    }
    files.sort();
    files
}
