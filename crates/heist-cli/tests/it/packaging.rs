//! Completions, manual pages, the version, and the options that the READMEs name.

use crate::support::requirements;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn heist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heist")).args(arguments).output().expect("it starts")
}

#[test]
fn there_are_completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = heist(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).expect("text");
        for word in ["apparent-size", "completions", "show-secrets", "baseline", "prune"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
    }
    assert_eq!(heist(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn bash_can_read_its_completions() {
    let script = heist(&["completions", "bash"]).stdout;
    requirements::program("bash");
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("it starts");
    bash.stdin.take().expect("a pipe").write_all(&script).expect("it reads");
    assert!(bash.wait().expect("it ends").success());
}

#[test]
fn manual_pages_are_written() {
    let page = String::from_utf8(heist(&["man"]).stdout).expect("text");
    assert!(page.contains(".TH heist 1") && page.contains("completions"), "{page}");
    let temp = tempfile::tempdir().expect("a directory for the test");
    let directory = temp.path().to_str().expect("UTF-8");
    assert!(heist(&["man", "--dir", directory]).status.success());
    let du = fs::read_to_string(temp.path().join("heist-du.1")).expect("it was written");
    assert!(du.contains("apparent\\-size") && du.contains("Exit codes"), "{du}");
    let scan = fs::read_to_string(temp.path().join("heist-scan.1")).expect("it was written");
    assert!(scan.contains("show\\-secrets") && scan.contains("Exit codes"), "{scan}");
    for page in ["heist.1", "heist-baseline.1", "heist-rules.1", "heist-rules-test.1"] {
        assert!(temp.path().join(page).exists(), "{page}");
    }
    let output = heist(&["man", "--dir", "/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'/nowhere'"));
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = heist(&["--version"]);
    assert_eq!(output.stdout, format!("heist {}\n", env!("CARGO_PKG_VERSION")).into_bytes());
    // A command is required.
    assert_eq!(heist(&[]).status.code(), Some(2));
}

/// Options in the READMEs that belong to ncdu, head, GNU du and gitleaks.
const OTHERS: [&str; 4] = ["-f", "-1", "-S", "--redact"];

#[test]
fn the_readme_names_only_options_that_exist() {
    // Only the sections about the tool: the rest has options of Cargo and of the benchmarks.
    let workspace = include_str!("../../../../README.md");
    let from = workspace.find("## `heist scan`").expect("the tool's sections");
    let to = workspace.find("## The libraries").expect("the section after them");
    let of_tool = &workspace[from..to];
    assert!(of_tool.contains("--baseline") && of_tool.contains("--by-extension"), "both commands");
    let guides = include_str!("../../../../docs/scan.md").to_owned()
        + include_str!("../../../../docs/du.md");
    let readme = include_str!("../../README.md").to_owned() + &guides + of_tool;
    let help = |command: &str| String::from_utf8(heist(&[command, "--help"]).stdout).expect("text");
    // The end of the help names the opposites of flags.
    let help = help("du") + &help("scan") + &help("baseline") + &help("man");
    let known = |option: &str| {
        help.split(|c: char| c.is_whitespace() || ",[<=.".contains(c)).any(|word| word == option)
    };
    let words = readme.split(|c: char| c.is_whitespace() || "`,;.()=|[]".contains(c));
    let options: Vec<&str> = words.filter(|word| word.starts_with('-') && word.len() > 1).collect();
    let mut checked = 0;
    for option in options {
        let is_long =
            option.starts_with("--") && option[2..].starts_with(|c: char| c.is_ascii_lowercase());
        let is_short = option.len() == 2 && option.as_bytes()[1].is_ascii_alphanumeric();
        if (is_long || is_short) && !OTHERS.contains(&option) {
            assert!(known(option), "`{option}` is in a README.md, but no help knows it");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} options found");
}
