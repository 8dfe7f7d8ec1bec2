//! `heist du` on a real terminal, with tmux: the progress line, Ctrl-C, widths, and the screen of
//! ncdu.

use crate::support::du::{endless_tree, heist_du, name, odd_tree, stdout};
use crate::support::requirements;
use crate::support::terminal::Terminal;
use std::fs;
use std::process::Command;
use std::time::Duration;

const HEIST: &str = env!("CARGO_BIN_EXE_heist");

#[test]
fn progress_is_shown_and_an_interrupt_prints_the_results_so_far() {
    requirements::program("tmux");
    let temp = endless_tree();
    let terminal = Terminal::open("progress", 100, temp.path());
    terminal.type_line(&format!("clear; {HEIST} du -L -l -d 1 0; echo code $?"));
    terminal.wait_for(" entries  ");
    terminal.press(&["C-c"]);
    let screen = terminal.wait_for("code 130");
    assert!(
        screen.contains("heist: interrupted; the sizes cover only what was read before"),
        "{screen}"
    );
    assert!(screen.contains("100%") && screen.contains(" 0/"), "{screen}");
    assert!(!screen.contains(" entries "), "the progress line is erased:\n{screen}");
}

#[test]
fn no_progress_and_quiet_hide_the_progress_line() {
    requirements::program("tmux");
    let temp = endless_tree();
    let terminal = Terminal::open("quiet", 100, temp.path());
    for option in ["--no-progress", "--quiet"] {
        terminal.type_line(&format!(
            "clear; echo be''gun; {HEIST} du {option} -L -l -s 0; echo code $?"
        ));
        terminal.wait_for("begun");
        std::thread::sleep(Duration::from_millis(600));
        assert!(!terminal.screen().contains(" entries "), "{option}");
        terminal.press(&["C-c"]);
        terminal.wait_for("code 130");
        terminal.type_line("clear; echo clea''red");
        terminal.wait_for("cleared");
    }
}

#[test]
fn messages_do_not_mix_with_the_progress_line() {
    requirements::program("tmux");
    let temp = endless_tree();
    // Broken links in many directories, so that messages keep coming.
    for level in 30..40 {
        std::os::unix::fs::symlink("nowhere", temp.path().join(format!("{level}/broken")))
            .expect("a link");
    }
    let terminal = Terminal::open("messages", 120, temp.path());
    // Otherwise the terminal would write `^C` at the cursor.
    terminal.type_line(&format!("stty -echoctl; clear; {HEIST} du -L -l -s -j 2 0; echo code $?"));
    terminal.wait_for("cannot follow symbolic link");
    terminal.press(&["C-c"]);
    let screen = terminal.wait_for("code 130");
    for line in screen.lines().filter(|line| line.contains("cannot follow")) {
        assert!(line.starts_with("heist: "), "{line}");
        assert!(!line.contains("entries"), "{line}");
    }
}

#[test]
fn lines_fit_the_terminal_and_names_are_escaped() {
    requirements::program("tmux");
    let temp = odd_tree(false);
    for columns in [50, 100] {
        let terminal = Terminal::open(&format!("width{columns}"), columns, temp.path());
        for format in ["text", "du", "csv", "ncdu", "json"] {
            terminal.type_line(&format!(
                "clear; {HEIST} du --format {format} tree/odd; echo 'end of {format}' $?"
            ));
            let screen = terminal.wait_for(&format!("end of {format} 0"));
            if format == "text" {
                let own = |line: &&str| !line.is_empty() && !line.starts_with(['$', 'e']);
                let lines: Vec<&str> = screen.lines().filter(own).collect();
                assert_eq!(lines.len(), 11, "{screen}");
                // The rest of a line that wraps would be a line without a percentage.
                assert!(lines.iter().all(|line| line.contains('%')), "{screen}");
                assert!(screen.contains("nnn…"), "{screen}");
                assert!(screen.contains("new\\nline/"), "{screen}");
            }
            if format == "du" {
                assert!(screen.contains("tree/odd/escape \\x1b[31m"), "{screen}");
                assert!(screen.contains("tree/odd/new\\nline"), "{screen}");
            }
        }
    }
}

#[test]
fn ncdu_shows_our_export_like_its_own() {
    requirements::program("tmux");
    requirements::program("ncdu");
    let temp = odd_tree(true);
    let root = temp.path().join("tree").canonicalize().expect("it is there");
    let mut command = heist_du(["--format", "ncdu"]);
    command.arg(&root);
    fs::write(temp.path().join("ours"), stdout(command)).expect("a file");
    let mut command = Command::new("ncdu");
    command.args(["-0", "-o", "-"]).arg(&root);
    fs::write(temp.path().join("theirs"), stdout(command)).expect("a file");
    let screens = ["ours", "theirs"].map(|export| {
        let terminal = Terminal::open(&format!("ncdu-{export}"), 120, temp.path());
        terminal.type_line(&format!("clear; ncdu -f {export}"));
        let screen = terminal.wait_for("Total disk usage");
        terminal.press(&["q"]);
        screen
    });
    assert_eq!(screens[0], screens[1]);
    assert!(screens[0].contains("Large.BIN"), "{}", screens[0]);
    // Both exports contain a name that is not UTF-8.
    assert!(root.join("odd").join(name(b"invalid \xff\xfe utf-8")).exists());
}
