//! The commands that heist prints for users to copy work as they are.

use crate::support::scan::{ScanFixture, code, errors, plain, run, text, token};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns the commands at the end of a report.
#[track_caller]
fn printed_commands(report: &str) -> [String; 2] {
    let commands: Vec<String> = report
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("heist baseline ") || line.starts_with("heist scan "))
        .map(str::to_owned)
        .collect();
    commands.try_into().unwrap_or_else(|commands| panic!("{commands:?} in:\n{report}"))
}

/// Runs a line in a shell, with the tool under test as `heist`.
fn paste(shell: &str, line: &str, directory: &Path) -> Output {
    let tool = Path::new(env!("CARGO_BIN_EXE_heist")).parent().expect("it is in a directory");
    let mut path = OsString::from(tool);
    path.push(":");
    path.push(std::env::var_os("PATH").expect("there is one"));
    let mut command = Command::new(shell);
    command.args(["-c", line]).env("PATH", path).current_dir(directory).stdin(Stdio::null());
    run(command)
}

/// Scans with `arguments` and runs the printed commands: the first creates a baseline, and the
/// second reports nothing.
#[track_caller]
fn check_advice<S: AsRef<OsStr>>(scene: &ScanFixture, arguments: &[S]) -> [String; 2] {
    let mut command = plain();
    command.arg("scan").args(arguments).current_dir(scene.tree());
    let output = run(command);
    assert_eq!(code(&output), 1, "{}{}", text(&output), errors(&output));
    let commands = printed_commands(&text(&output));
    // Not every `sh` supports `$'...'`, which names with control characters and invalid UTF-8 need.
    let shell = if commands[0].contains("$'") { "bash" } else { "sh" };
    let made = paste(shell, &commands[0], &scene.tree());
    assert_eq!(code(&made), 0, "{}\n{}{}", commands[0], text(&made), errors(&made));
    assert!(!text(&made).contains(": 0 added"), "{}\n{}", commands[0], text(&made));
    let again = paste(shell, &commands[1], &scene.tree());
    assert_eq!(code(&again), 0, "{}\n{}{}", commands[1], text(&again), errors(&again));
    assert!(text(&again).contains(" in the baseline"), "{}\n{}", commands[1], text(&again));
    commands
}

#[test]
fn printed_commands_scan_the_same_paths() {
    let scene = ScanFixture::new();
    scene.file("in/a", token("tok_", 1));
    scene.file("out/b", token("tok_", 2));
    let rules = scene.path("rules.toml");
    let rules = rules.to_str().expect("UTF-8");
    let commands = check_advice(&scene, &["--no-config", "--rules", rules, "in"]);
    assert_eq!(
        commands,
        [
            format!("heist baseline --output heist-baseline.toml --rules {rules} --no-config in"),
            format!("heist scan --baseline heist-baseline.toml --rules {rules} --no-config in"),
        ]
    );
    let known = fs::read_to_string(scene.tree().join("heist-baseline.toml")).expect("it was made");
    assert!(known.contains("in/a:1") && !known.contains("out/b"), "{known}");
}

#[test]
fn printed_commands_repeat_every_option_that_affects_findings() {
    let scene = ScanFixture::new();
    scene.file("-dash/a", format!("{}\n{}", token("tok_", 1), token("faint_", 2)));
    scene.file("-dash/left out/b", token("tok_", 3));
    scene.file("-dash/c.o", token("tok_", 4));
    let own = scene.path("it's.toml");
    fs::rename(scene.path("rules.toml"), &own).expect("it moves");
    let config = scene.path("my config.toml");
    fs::write(&config, "exclude = ['*.o']\ngitignore = true").expect("a file");
    let arguments = [
        OsStr::new("--rules"),
        own.as_os_str(),
        OsStr::new("--config"),
        config.as_os_str(),
        OsStr::new("--no-gitignore"),
        OsStr::new("--confidence=low"),
        OsStr::new("--only=test-*,faint-*,fair-token"),
        OsStr::new("--except=fair-token"),
        OsStr::new("--exclude=left out"),
        OsStr::new("--max-size=1M"),
        OsStr::new("--baseline=known.toml"),
        // Options that do not affect the findings.
        OsStr::new("--show-secrets"),
        OsStr::new("--threads=1"),
        OsStr::new("--no-progress"),
        OsStr::new("--"),
        OsStr::new("-dash"),
    ];
    let empty = scene.path("empty");
    fs::write(&empty, "").expect("a file");
    let mut command = plain();
    command.args(["baseline", "--rules"]).arg(&own).args(["-o", "known.toml"]).arg(&empty);
    assert_eq!(
        code(&run({
            command.current_dir(scene.tree());
            command
        })),
        0
    );
    let [_, again] = check_advice(&scene, &arguments);
    for part in [
        "--baseline known.toml",
        "it'\\''s.toml'",
        "my config.toml'",
        "--no-gitignore",
        "--confidence low",
        "--only 'test-*,faint-*,fair-token'",
        "--except fair-token",
        "--exclude 'left out'",
        "--max-size 1048576",
        " -- -dash",
    ] {
        assert!(again.contains(part), "no `{part}` in {again}");
    }
    for part in ["--show-secrets", "--threads", "--no-progress"] {
        assert!(!again.contains(part), "{again}");
    }
    let known = fs::read_to_string(scene.tree().join("known.toml")).expect("it was updated");
    assert!(known.contains("a:2") && !known.contains("b:1") && !known.contains("c.o"), "{known}");
}

#[test]
fn printed_commands_work_with_any_path() {
    for name in [
        &b"with space"[..],
        b"it's",
        b"$HOME `id` !! \"x\"",
        b"*",
        b"~",
        b"=ls",
        b"a;b&c|d<e>f(g)#h",
        b"back\\slash",
        "日本語".as_bytes(),
        b"new\nline 1",
        b"escape \x1b[31m'\\",
        b"invalid \xff\xfe7",
        "bidi \u{202e}".as_bytes(),
    ] {
        let scene = ScanFixture::new();
        let name = OsString::from_vec(name.to_vec());
        scene.file(Path::new(&name).join("a"), token("tok_", 1));
        scene.file("other", token("tok_", 2));
        let rules = scene.path("rules.toml");
        let arguments = [OsStr::new("--rules"), rules.as_os_str(), &name];
        let [made, _] = check_advice(&scene, &arguments);
        assert!(!made.chars().any(|c| c.is_control() || c == '\u{202e}'), "{made:?}");
        let bytes = name.as_bytes();
        assert!(bytes != b"with space" || made.ends_with(" 'with space'"), "{made}");
    }
}

#[test]
fn printed_commands_for_stdin_need_the_same_input() {
    let scene = ScanFixture::new();
    let input = scene.file("input", token("tok_", 1));
    let rules = scene.path("rules.toml");
    let mut command = plain();
    command.args(["scan", "--rules"]).arg(&rules).arg("-").current_dir(scene.tree());
    command.stdin(fs::File::open(&input).expect("it is there"));
    let report = text(&run(command));
    assert!(report.contains("give the same input to both of these commands"), "{report}");
    let [made, again] = printed_commands(&report);
    let made = paste("sh", &format!("cat input | {made}"), &scene.tree());
    assert_eq!(code(&made), 0, "{}", errors(&made));
    let again = paste("sh", &format!("cat input | {again}"), &scene.tree());
    assert_eq!(code(&again), 0, "{}", errors(&again));
}

#[test]
fn a_rule_file_given_as_configuration_is_recognised() {
    for (name, content) in [
        ("gitleaks.toml", "title = 'mine'\n[[rules]]\nid = 'x'\nregex = 'x'"),
        (".gitleaks.toml", "[extend]\nuseDefault = true"),
        ("other name.toml", "[allowlist]\npaths = ['x']\n[extend]\nuseDefault = true"),
    ] {
        let scene = ScanFixture::new();
        scene.file("a", token("tok_", 1));
        scene.file(name, content);
        let mut command = plain();
        command.args(["scan", "--config", name]).current_dir(scene.tree());
        let output = run(command);
        assert_eq!(code(&output), 2, "{name}");
        let message = errors(&output);
        let is_so = format!("heist: '{name}' is a rule file, not a configuration: it contains `[");
        assert!(message.starts_with(&is_so), "{message}");
        let help = message.lines().find_map(|line| line.split_once("help: to use its rules: "));
        let command = help.expect("there is a line of help").1;
        assert!(command.starts_with("heist scan --rules "), "{command}");
        let output = paste("sh", command, &scene.tree());
        assert!(!errors(&output).contains("not a configuration"), "{}", errors(&output));
        assert!(text(&output).contains(" in 2 files"), "{}{}", text(&output), errors(&output));
    }
}

#[test]
fn the_help_for_rules_in_heist_toml_works() {
    let scene = ScanFixture::new();
    scene.file("heist.toml", "[[rules]]\nid = 'x'\nregex = 'never [t]here'");
    let mut command = plain();
    command.arg("scan").current_dir(scene.tree());
    let output = run(command);
    assert_eq!(code(&output), 2);
    let message = errors(&output);
    let help = message.lines().find_map(|line| line.split_once("help: to use its rules: "));
    let command = help.unwrap_or_else(|| panic!("no help in {message}")).1;
    let output = paste("sh", command, &scene.tree());
    assert_eq!(code(&output), 0, "{command}: {}", errors(&output));
}

/// The key `rules` alone does not make a file a rule file.
#[test]
fn a_configuration_may_set_rules() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for rules in ["rules = '../rules.toml'", "rules = ['../rules.toml']", "[rules]\nfiles = []"] {
        scene.file("heist.toml", rules);
        let mut command = plain();
        command.args(["scan", "--config", "heist.toml", "a"]).current_dir(scene.tree());
        let output = run(command);
        assert_ne!(code(&output), 2, "{rules}: {}", errors(&output));
    }
}

#[test]
fn unused_lines_of_a_gitleaksignore_make_one_note_per_reason() {
    let scene = ScanFixture::new();
    let commit = "0123456789".repeat(4);
    let lines = (0..879).map(|line| format!("{commit}:a.txt:test-token:{line}\n"));
    scene.file(".gitleaksignore", format!("# known\n\n{}", lines.collect::<String>()));
    scene.file("a.txt", "nothing");
    let output = scene.scan::<&str>([]);
    assert_eq!(code(&output), 0);
    let message = errors(&output);
    assert_eq!(message.matches("note:").count(), 1, "{message}");
    assert!(
        message.starts_with(
            "heist: note: 879 lines of '.gitleaksignore' are not used (the first is line 3): "
        ),
        "{message}"
    );
    assert!(message.contains("write path:rule:line"), "{message}");
    // Another problem gets its own note.
    scene.file(".gitleaksignore", format!("{commit}:a:r:1\nno place\n{commit}:a:r:2\n"));
    let message = errors(&scene.scan::<&str>([]));
    assert!(
        message.contains("note: 2 lines of '.gitleaksignore' are not used (the first is line 1): ")
    );
    assert!(message.contains("note: line 2 of '.gitleaksignore' is not used: "), "{message}");
    assert_eq!(message.matches("note:").count(), 2, "{message}");
    assert_eq!(errors(&scene.scan(["--quiet"])), "");
}
