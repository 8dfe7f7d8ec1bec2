//! `heist hook`: installs a hook that stops commits with secrets, and removes it again.

use crate::support::git::GitFixture;
use crate::support::scan::{code, errors, plain, run, text, token};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};

fn heist(fixture: &GitFixture, arguments: &[&str]) -> Command {
    let mut heist = plain();
    heist.arg("hook").args(arguments).current_dir(fixture.scan.tree());
    heist.env("HOME", fixture.scan.temp.path());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        heist.env_remove(variable);
    }
    heist
}

fn hook(fixture: &GitFixture, arguments: &[&str]) -> Output {
    run(heist(fixture, arguments))
}

fn path(fixture: &GitFixture) -> PathBuf {
    fixture.scan.tree().join(".git/hooks/pre-commit")
}

/// Tries to commit, as a user does.
fn commit(fixture: &GitFixture) -> Output {
    run(fixture.command(["commit", "-m", "a change"]))
}

/// A secret that the built-in rules find, because the hook uses them.
fn password(seed: u64) -> String {
    format!("password = \"{}\"\n", token("7tRmq!x2", seed))
}

#[test]
fn a_commit_with_a_secret_is_stopped() {
    let fixture = GitFixture::new();
    let installed = hook(&fixture, &["install"]);
    assert_eq!(code(&installed), 0, "{}", errors(&installed));
    let mode = fs::metadata(path(&fixture)).expect("a hook").permissions().mode();
    assert_eq!(mode & 0o777, 0o755 & mode, "{mode:o}");
    assert_eq!(mode & 0o100, 0o100);
    fixture.stage("a.txt", "nothing\n");
    let output = commit(&fixture);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    fixture.stage("config.ini", password(1));
    let output = commit(&fixture);
    assert_eq!(code(&output), 1);
    let said = text(&output) + &errors(&output);
    assert!(said.contains("config.ini:1:"), "{said}");
    // Only a part of what has changed.
    let output = run(fixture.command(["commit", "-m", "another", "--allow-empty", "--", "a.txt"]));
    assert!(!(text(&output) + &errors(&output)).contains("config.ini:1:"));
    fixture.stage("config.ini", "password = from the environment\n");
    let output = commit(&fixture);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    // In a directory below, and with `--all`.
    fixture.scan.file("config.ini", password(2));
    let mut all = fixture.command(["commit", "-a", "-m", "all"]);
    fs::create_dir(fixture.scan.tree().join("below")).expect("a directory");
    all.current_dir(fixture.scan.tree().join("below"));
    assert_eq!(code(&run(all)), 1);
    let skipped = run(fixture.command(["commit", "-a", "--no-verify", "-m", "all"]));
    assert_eq!(code(&skipped), 0);
}

#[test]
fn installing_and_removing_can_be_repeated() {
    let fixture = GitFixture::new();
    assert!(text(&hook(&fixture, &["status"])).contains("not installed"));
    for _ in 0..2 {
        assert_eq!(code(&hook(&fixture, &["install"])), 0);
        assert!(text(&hook(&fixture, &["status"])).ends_with("pre-commit: installed\n"));
    }
    // An older one is replaced.
    let script = fs::read_to_string(path(&fixture)).expect("a hook");
    fs::write(path(&fixture), format!("{script}# older\n")).expect("a file");
    assert_eq!(code(&hook(&fixture, &["install"])), 0);
    assert_eq!(fs::read_to_string(path(&fixture)).expect("a hook"), script);
    for _ in 0..2 {
        assert_eq!(code(&hook(&fixture, &["uninstall"])), 0);
        assert!(!path(&fixture).exists());
    }
    let left = fs::read_dir(fixture.scan.tree().join(".git/hooks")).expect("a directory");
    let names = left.map(|entry| entry.expect("an entry").file_name());
    assert!(names.into_iter().all(|name| name.as_encoded_bytes().ends_with(b".sample")));
}

#[test]
fn a_hook_of_someone_else_stays() {
    let fixture = GitFixture::new();
    let foreign = "#!/bin/sh\necho mine\n";
    fs::create_dir_all(path(&fixture).parent().expect("a directory")).expect("a directory");
    fs::write(path(&fixture), foreign).expect("a file");
    let output = hook(&fixture, &["install"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("heist scan --staged || exit 1"), "{}", errors(&output));
    assert_eq!(code(&hook(&fixture, &["uninstall"])), 2);
    assert!(text(&hook(&fixture, &["status"])).contains("did not write"));
    assert_eq!(fs::read_to_string(path(&fixture)).expect("a file"), foreign);
    // A link is not followed, even to a hook of heist.
    fs::remove_file(path(&fixture)).expect("a file");
    let elsewhere = fixture.scan.path("elsewhere");
    symlink(&elsewhere, path(&fixture)).expect("a link");
    assert_eq!(code(&hook(&fixture, &["install"])), 2);
    assert!(!elsewhere.exists());
}

#[test]
fn the_directory_of_the_configuration_is_used() {
    let fixture = GitFixture::new();
    fixture.git(["config", "core.hooksPath", ".githooks"]);
    assert_eq!(code(&hook(&fixture, &["install"])), 0);
    assert!(fixture.scan.tree().join(".githooks/pre-commit").is_file());
    assert!(!path(&fixture).exists());
    fixture.stage("config.ini", password(1));
    assert_eq!(code(&commit(&fixture)), 1);
    fixture.git(["config", "--unset", "core.hooksPath"]);
    let global = fixture.scan.path(".gitconfig");
    fs::write(global, "[core]\n\thooksPath = /somewhere\n").expect("a file");
    let output = hook(&fixture, &["install"]);
    assert_eq!(code(&output), 0);
    assert!(errors(&output).contains("core.hooksPath"), "{}", errors(&output));
    let mut nowhere = heist(&fixture, &["status"]);
    nowhere.current_dir(fixture.scan.temp.path());
    let output = run(nowhere);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("no git repository"));
}
