//! Help texts and error messages stay readable: every help text fits a terminal and avoids words
//! that users had to read twice, and every error says what failed and what to do next.

use crate::support::scan::{ScanFixture, code, errors, plain, run, text};

/// Every command that has a help text.
const COMMANDS: [&[&str]; 18] = [
    &[],
    &["scan"],
    &["baseline"],
    &["baseline", "add"],
    &["baseline", "remove"],
    &["baseline", "list"],
    &["baseline", "import"],
    &["rules"],
    &["rules", "list"],
    &["rules", "show"],
    &["rules", "test"],
    &["hook"],
    &["hook", "install"],
    &["hook", "uninstall"],
    &["hook", "status"],
    &["du"],
    &["completions"],
    &["man"],
];

/// Words that made earlier texts hard to understand.
const MARKER_WORDS: [&str; 5] = ["nobody", "whoever", "somebody", "for ever", "but for"];

fn help(command: &[&str], option: &str) -> String {
    let mut heist = plain();
    // A wide terminal must not make the lines longer.
    heist.args(command).arg(option).env("COLUMNS", "100");
    let output = run(heist);
    assert_eq!(code(&output), 0, "{command:?} {option}: {}", errors(&output));
    text(&output)
}

#[test]
fn every_command_is_checked() {
    let listed = |command: &[&str]| -> Vec<String> {
        let help = help(command, "--help");
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = commands.take_while(|line| !line.is_empty());
        lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    };
    for parent in [&[][..], &["baseline"], &["rules"], &["hook"]] {
        let names = listed(parent);
        assert!(names.len() > 2, "{names:?}");
        for name in names.iter().filter(|name| *name != "help") {
            let command = [parent, &[name.as_str()]].concat();
            assert!(COMMANDS.contains(&command.as_slice()), "{command:?} is not in COMMANDS");
        }
    }
}

#[test]
fn help_fits_a_terminal_and_has_no_marker_words() {
    for command in COMMANDS {
        // For `du`, -h is an option of its own.
        let options: &[&str] = if command == ["du"] { &["--help"] } else { &["--help", "-h"] };
        for option in options {
            let help = help(command, option);
            for line in help.lines() {
                let columns = line.chars().count();
                assert!(columns <= 100, "{command:?} {option}: {columns} columns: {line}");
            }
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            for marker in MARKER_WORDS {
                assert!(!words.contains(marker), "{command:?} {option}: `{marker}` in {help}");
            }
        }
    }
}

#[test]
fn every_usage_error_has_a_help_line() {
    let scan = ScanFixture::new();
    scan.file("a", "nothing");
    scan.file("bad.toml", "[[rules]]\nid = 'x'\n");
    scan.file("key.toml", "nonsense = 1\n");
    scan.file("empty", "");
    for arguments in [
        &["scan", "--rules", "/no/where"][..],
        &["scan", "--rules", "bad.toml"],
        &["scan", "--config", "/no/where"],
        &["scan", "--config", "key.toml"],
        &["scan", "--config", "bad.toml"],
        &["scan", "--baseline", "/no/where"],
        &["scan", "--baseline", "key.toml"],
        &["scan", "--only", "no-such-rule"],
        &["scan", "--only", "jwt", "--except", "jwt"],
        &["scan", "--exclude", "[z-a]"],
        &["scan", "--output", "/no/where/report"],
        &["scan", "--output", "a"],
        &["scan", "--trace", "-"],
        &["scan", "-", "-"],
        &["scan", "-j", "100000"],
        &["baseline", "--output", "-"],
        &["baseline", "import", "bad.toml"],
        &["rules", "show", "no-such-rule"],
        &["rules", "test", "bad.toml"],
        &["du", "--files0-from", "empty"],
        &["du", "--exclude-from", "/no/where"],
        &["du", "--format", "json", "--top", "3"],
        &["du", "--format", "ncdu", "a"],
        &["du", "-j", "100000"],
        &["du", "--trace", "/no/where/trace"],
    ] {
        let mut heist = plain();
        heist.args(arguments).current_dir(scan.tree());
        let output = run(heist);
        let message = errors(&output);
        assert_eq!(code(&output), 2, "{arguments:?}: {message}");
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{arguments:?}: {message}");
        assert!(lines[0].starts_with("heist: "), "{arguments:?}: {message}");
        assert!(lines[1].starts_with("  help: "), "{arguments:?}: {message}");
    }
}
