//! `heist scan` on a real terminal: the progress line, Ctrl-C, widths. Skipped where there is no tmux.
#![cfg(target_os = "linux")]

mod scan_support;
mod screen;
mod support;

use scan_support::{Scene, token};
use screen::Terminal;
use std::fs;
use support::{endless_tree, has};

const HEIST: &str = env!("CARGO_BIN_EXE_heist");

#[test]
fn progress_is_shown_and_an_interrupt_leaves_what_is_known() {
    if !has("tmux") {
        return;
    }
    let temp = endless_tree();
    let scene = Scene::new();
    let rules = scene.path("rules.toml");
    // Where everything is read again and again, there is nothing; what is found is found at once.
    fs::write(temp.path().join("38/file"), "nothing").expect("a file");
    fs::write(temp.path().join("found"), token("tok_", 1)).expect("a file");
    let terminal = Terminal::open("scan", 100, temp.path());
    let scan = format!("{HEIST} scan --no-config --rules {} --follow", rules.display());
    terminal.type_line(&format!("clear; {scan} found 0; echo code $?"));
    let screen = terminal.wait_for("/s  1 finding");
    assert!(screen.contains(" files  "), "{screen}");
    terminal.press(&["C-c"]);
    let screen = terminal.wait_for("code 130");
    assert!(screen.contains("heist: interrupted; this is only what was found by then"), "{screen}");
    assert!(screen.contains("found:1:1") && screen.contains("1 secret in 1 place"), "{screen}");
    assert!(!screen.contains("1 finding"), "the progress line is erased:\n{screen}");
    terminal.type_line(&format!("clear; echo be''gun; {scan} --no-progress 0; echo code $?"));
    terminal.wait_for("begun");
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(!terminal.screen().contains(" findings"), "nobody wants it");
    terminal.press(&["C-c"]);
    terminal.wait_for("code 130");
}

#[test]
fn excerpts_fit_the_terminal() {
    if !has("tmux") {
        return;
    }
    let scene = Scene::new();
    scene.file("a", format!("{} {}", "word ".repeat(12), token("tok_", 1)));
    let terminal = Terminal::open("excerpt", 50, &scene.tree());
    let rules = scene.path("rules.toml");
    terminal.type_line(&format!("clear; {HEIST} scan --rules {}; echo 'end' $?", rules.display()));
    let screen = terminal.wait_for("end 1");
    let excerpt = screen.lines().find(|line| line.contains("word")).expect("it is shown");
    assert!(excerpt.ends_with('…') && excerpt.chars().count() <= 50, "{screen}");
}
