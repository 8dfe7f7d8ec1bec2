//! `heist rules`: lists, shows and tests rules.

use crate::support::scan::{ScanFixture, code, errors, json, plain, run, text};
use std::process::Output;

fn rules(arguments: &[&str]) -> Output {
    let mut command = plain();
    command.arg("rules").args(arguments);
    run(command)
}

#[test]
fn rules_are_listed_and_shown() {
    let output = rules(&["list"]);
    assert_eq!((code(&output), errors(&output)), (0, String::new()));
    let listed = text(&output);
    let password = listed.lines().find(|line| line.starts_with("password "));
    assert!(password.is_some(), "{listed}");
    let all = json(&rules(&["list", "--format", "json"]));
    let all = all.as_array().expect("a list");
    assert_eq!(all.len(), listed.lines().count());
    for rule in all {
        for field in ["id", "description", "remedy", "confidence", "kind"] {
            assert!(rule[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {rule}");
        }
    }
    let shown = text(&rules(&["show", "password"]));
    assert!(
        shown.starts_with("rule          password\n") && shown.contains("\nremedy  "),
        "{shown}"
    );
    let output = rules(&["show", "passwort"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("password"), "the nearest is named: {}", errors(&output));
    let output = rules(&["show", "nope"]);
    assert_eq!(code(&output), 2);
    assert!(
        errors(&output).ends_with("\n  help: `heist rules list` shows all rules\n"),
        "{}",
        errors(&output)
    );
}

#[test]
fn rules_of_a_file_are_listed() {
    let scene = ScanFixture::new();
    let path = scene.path("rules.toml");
    let listed = text(&rules(&["list", "--rules", path.to_str().expect("UTF-8")]));
    let expected = "\
faint-token  low      Faint token of a test
fair-token   medium   Fair token of a test
test-token   high     Token of a test
";
    assert_eq!(listed, expected);
}

#[test]
fn rules_are_tested() {
    let scene = ScanFixture::new();
    let check = |content: &str| {
        let path = scene.file("mine.toml", content);
        rules(&["test", path.to_str().expect("UTF-8")])
    };
    let good = "[[rules]]\nid = 'mine'\ndescription = 'Mine'\nregex = '''mine_[a-z0-9]{16}'''\nkeywords = ['mine_']\n";
    let output =
        check(&format!("{good}examples = ['x = {{secret}}']\ncounterExamples = ['mine_short']\n"));
    assert_eq!(
        (code(&output), &*text(&output)),
        (0, "1 rule, 2 examples and counter-examples: all passed\n")
    );
    let output =
        check(&format!("{good}examples = ['mine_short']\ncounterExamples = ['x = {{secret}}']\n"));
    assert_eq!(code(&output), 1);
    let printed = text(&output);
    assert!(printed.contains("finds nothing in its example \"mine_short\""), "{printed}");
    assert!(printed.contains("counter-example \"x = {secret}\""), "{printed}");
    assert!(printed.ends_with(": 2 problems\n"), "{printed}");
    let output = check("[[rules]]\nid = 'mine'\nregex = '''mine_[a-z'''\n");
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("mine.toml"), "{}", errors(&output));
    let output = rules(&["test", "/no/where"]);
    let expected = "heist: cannot read the rules '/no/where': No such file or directory\n  help: give a rule \
                    file, written for heist or gitleaks\n";
    assert_eq!((code(&output), &*errors(&output)), (2, expected));
    let message = errors(&check("[extend]\npath = 'no-where'\n"));
    assert!(message.contains("mine.toml:1: ") && !message.contains("os error"), "{message}");
}

#[test]
fn the_built_in_rules_work_without_a_file() {
    let scene = ScanFixture::new();
    let mut command = plain();
    command.args(["scan", "--only", "password"]).current_dir(scene.tree());
    assert_eq!(code(&run(command)), 0);
}

#[test]
fn a_cycle_of_extended_files_is_reported() {
    let scene = ScanFixture::new();
    let rule = |id: &str| format!("[[rules]]\nid = '{id}'\nregex = '{id}_[0-9]{{8}}'\n");
    let write = |name: &str, content: String| {
        let path = scene.path(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let first = write("first.toml", format!("[extend]\npath = 'second.toml'\n{}", rule("one")));
    write("second.toml", format!("[extend]\npath = 'first.toml'\n{}", rule("two")));
    let output = rules(&["list", "-r", &first]);
    assert_eq!(code(&output), 0);
    assert_eq!(text(&output).lines().count(), 2, "each rule once");
    let note = errors(&output);
    assert!(note.contains("second.toml:1:") && note.contains("extends itself"), "{note}");
    // A file without rules fails the test.
    let own = write("own.toml", "[extend]\npath = 'own.toml'\n".to_owned());
    let output = rules(&["test", &own]);
    assert_eq!(code(&output), 1);
    assert!(text(&output).contains("the file has no rules"), "{}", text(&output));
    assert!(errors(&output).contains("extends itself"));
}

#[test]
fn a_later_file_changes_only_the_rules_it_names() {
    let scene = ScanFixture::new();
    let write = |name: &str, content: &str| {
        let path = scene.path(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let rule = |id: &str| format!("[[rules]]\nid = '{id}'\nregex = '{id}_[0-9]{{8}}'\n");
    let changed = "[[rules]]\nid = 'password'\ndescription = 'Changed'\n";
    let first = "[extend]\nuseDefault = true\ndisabledRules = ['jwt']\n";
    let first = write("first.toml", &format!("{first}{changed}{}", rule("one")));
    let second = "[extend]\nuseDefault = true\ndisabledRules = ['github-personal-token']\n";
    let second = write("second.toml", &format!("{second}{}", rule("two")));
    let through = write("through.toml", "[extend]\npath = 'second.toml'\n");
    let own = write("own.toml", &format!("{}{}", rule("three"), rule("one").replace("{8}", "{9}")));
    let all = text(&rules(&["list"])).lines().count();
    for (files, expected) in [
        (vec![&first, &second], all),
        (vec![&second, &first], all),
        (vec![&first, &through], all),
        (vec![&first, &own, &second], all + 1),
        (vec![&own, &first, &second], all + 1),
    ] {
        let arguments: Vec<&str> =
            files.iter().flat_map(|file| ["--rules", file.as_str()]).collect();
        let listed = text(&rules(&[&["list"], &arguments[..]].concat()));
        let line = |id: &str| listed.lines().find(|line| line.split(' ').next() == Some(id));
        assert_eq!(listed.lines().count(), expected, "{files:?}: {listed}");
        assert!(line("password").is_some_and(|line| line.contains("Changed")), "{files:?}");
        assert!(line("one").is_some() && line("two").is_some(), "{files:?}");
        assert!(line("jwt").or(line("github-personal-token")).is_none(), "{files:?}: {listed}");
    }
}

#[test]
fn only_and_except_can_be_combined() {
    let scene = ScanFixture::new();
    // `--except` may name a rule that `--only` does not select: the id exists.
    for (only, except) in [("aws-*", "jwt"), ("jwt,aws-*", "jwt")] {
        let mut command = plain();
        command.args(["scan", "--only", only, "--except", except]).current_dir(scene.tree());
        let output = run(command);
        assert_eq!(code(&output), 0, "{only} {except}: {}", errors(&output));
    }
    for (only, except, wrong) in [("aws-*", "jwtt", "--except"), ("awss-*", "jwt", "--only")] {
        let mut command = plain();
        command.args(["scan", "--only", only, "--except", except]).current_dir(scene.tree());
        let output = run(command);
        assert_eq!(code(&output), 2);
        assert!(errors(&output).starts_with(&format!("heist: {wrong}: ")), "{}", errors(&output));
    }
    let mut command = plain();
    command.args(["scan", "--only", "jwt", "--except", "jwt"]).current_dir(scene.tree());
    let output = run(command);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("no rule is left"), "{}", errors(&output));
}

#[test]
fn the_prefix_of_an_id_suggests_a_pattern() {
    let output = rules(&["show", "aws"]);
    assert_eq!(code(&output), 2);
    let message = errors(&output);
    assert!(message.contains("no rule is called \"aws\"; did you mean \"aws-*\"?"), "{message}");
    assert_eq!(code(&rules(&["show", "aws-*"])), 0);
}
