//! `heist baseline`: what it prunes, single entries with reasons and dates, the baseline that a
//! scan finds by itself, and reports of gitleaks.

use crate::support::scan::{ScanFixture, code, errors, json, lines, run, text, token};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

/// A project with secrets of three rules in four directories, and a baseline with all of them.
struct Scene {
    scene: ScanFixture,
    known: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let scene = ScanFixture::new();
        fs::create_dir(scene.tree().join(".git")).expect("a directory");
        for (seed, directory) in (1..).zip(["lib", "src", "src/deep", "vendor"]) {
            scene.file(format!("{directory}/high"), token("tok_", seed));
            scene.file(format!("{directory}/fair"), token("fair_", seed));
            scene.file(format!("{directory}/faint"), token("faint_", seed));
        }
        let known = scene.tree().join("heist-baseline.toml");
        let scene = Self { scene, known };
        let output = scene.baseline(&["-c", "low"]);
        assert_eq!((code(&output), errors(&output)), (0, String::new()));
        assert!(text(&output).ends_with("12 added, 0 removed, 12 in total\n"), "{}", text(&output));
        scene
    }

    fn baseline(&self, arguments: &[&str]) -> Output {
        run(self.scene.heist("baseline", arguments))
    }

    /// Runs `heist baseline COMMAND`, which takes no rules.
    fn edit(&self, arguments: &[&str]) -> Output {
        let mut command = crate::support::scan::plain();
        command.arg("baseline").args(arguments).current_dir(self.scene.tree());
        run(command)
    }

    /// Prunes, and returns the number of entries that were removed and that are left.
    #[track_caller]
    fn prune(&self, arguments: &[&str]) -> (usize, usize) {
        let output = self.baseline(&[&["--prune"], arguments].concat());
        let printed = text(&output);
        let removed = printed.lines().filter(|line| line.starts_with("- ")).count();
        let total = format!("{removed} removed, ");
        assert!(printed.contains(&total), "{printed}{}", errors(&output));
        let left = fs::read_to_string(&self.known).expect("it is there");
        (removed, left.lines().filter(|line| line.contains("fingerprint = ")).count())
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.scene.tree().join(file)).expect("it is there");
    }
}

#[test]
fn pruning_drops_nothing_that_the_run_did_not_look_for_or_at() {
    let scene = Scene::new();
    for arguments in [
        &["lib"] as &[&str],
        &["lib", "src/deep"],
        &["--only", "test-token"],
        &["--except", "fair-token"],
        &["--confidence", "certain"],
        &["--exclude", "vendor"],
        &["--max-size", "1"],
        &["src/deep/high"],
        &["."],
    ] {
        assert_eq!(scene.prune(arguments), (0, 12), "{arguments:?}");
    }
    let output = scene.baseline(&["--prune", "--only", "test-token", "lib"]);
    assert!(
        errors(&output).contains("kept entries whose secrets were not found"),
        "{}",
        errors(&output)
    );
    // Some of the secrets are gone.
    for file in ["lib/high", "lib/fair", "src/deep/high", "vendor/faint"] {
        scene.remove(file);
    }
    assert_eq!(scene.prune(&["vendor", "/no/where"]), (0, 12), "an incomplete scan prunes nothing");
    assert_eq!(scene.prune(&["--timeout", "0ms"]), (0, 12));
    assert_eq!(scene.prune(&["--only", "test-token", "lib"]), (1, 11), "only lib/high");
    assert_eq!(scene.prune(&["src"]), (1, 10), "only src/deep/high");
    assert_eq!(scene.prune(&["--no-decode", "lib"]), (0, 10));
    assert_eq!(scene.prune(&["--confidence", "certain"]), (2, 8), "the rest");
    assert_eq!(scene.prune(&[]), (0, 8));
}

#[test]
fn a_secret_in_two_places_stays_while_one_of_them_was_not_looked_at() {
    let scene = Scene::new();
    fs::copy(scene.scene.tree().join("lib/high"), scene.scene.tree().join("src/copy"))
        .expect("a file");
    assert_eq!(code(&scene.baseline(&["-c", "low"])), 0);
    // Found in one of the two places, which the entry keeps.
    assert_eq!(scene.prune(&["lib"]), (0, 12));
    scene.remove("lib/high");
    assert_eq!(scene.prune(&["lib"]), (0, 12));
    scene.remove("src/copy");
    assert_eq!(scene.prune(&["src"]), (0, 12), "this run did not look at lib");
    assert_eq!(scene.prune(&["src", "lib"]), (1, 11));
}

#[test]
fn a_secret_that_was_edited_away_is_pruned_by_a_scan_of_its_file() {
    let scene = Scene::new();
    scene.scene.file("lib/high", "nothing");
    assert_eq!(scene.prune(&["src"]), (0, 12));
    assert_eq!(scene.prune(&["--max-size", "3", "lib"]), (0, 12), "the file was too large");
    assert_eq!(scene.prune(&["lib/high"]), (1, 11));
}

#[test]
fn an_older_baseline_is_pruned_only_by_a_scan_of_everything() {
    let scene = Scene::new();
    let content = fs::read_to_string(&scene.known).expect("it is there");
    let key = content.lines().find(|line| line.starts_with("key")).expect("it has one");
    let entry = |digit: &str| {
        let fingerprint = digit.repeat(32);
        format!(
            "  {{ fingerprint = \"{fingerprint}\", rule = \"test-token\", place = \"lib/gone:1\" }},\n"
        )
    };
    let old = format!("version = 1\n{key}\nsecrets = [\n{}{}]\n", entry("a"), entry("b"));
    fs::write(&scene.known, old).expect("a file");
    let output = scene.baseline(&["--prune", "-c", "low", "lib"]);
    assert!(text(&output).ends_with("3 added, 0 removed, 5 in total\n"), "{}", text(&output));
    let output = scene.baseline(&["--prune", "--only", "test-token"]);
    assert!(text(&output).contains(" 0 removed, "), "{}", text(&output));
    // Rules of a file restrict the rules, so the built-in ones are used here.
    let output = scene.edit(&["--prune", "."]);
    assert!(
        text(&output).contains("- lib/gone:1  test-token\n"),
        "{}{}",
        text(&output),
        errors(&output)
    );
}

#[test]
fn one_finding_is_accepted_by_the_fingerprint_that_reports_show() {
    let scene = Scene::new();
    fs::remove_file(&scene.known).expect("it is there");
    let found = lines(&scene.scene.scan(["-f", "jsonl", "lib/high"]));
    let fingerprint = found[0]["fingerprint"].as_str().expect("text").to_owned();
    let output = scene.edit(&[
        "add",
        &fingerprint,
        "--reason",
        "a \"test\" account",
        "--until",
        "2999-12-31",
    ]);
    assert_eq!((code(&output), errors(&output)), (0, String::new()));
    let expected = format!("heist-baseline.toml: {fingerprint} added, accepted until 2999-12-31\n");
    assert_eq!(text(&output), expected);
    assert!(!fs::read_to_string(&scene.known).expect("it is there").contains(&fingerprint));
    assert_eq!(code(&scene.scene.scan(["lib/high"])), 0);
    assert_eq!(scene.scene.places(&["lib"]), ["lib/fair:1"]);
    let listed = text(&scene.edit(&["list"]));
    assert!(listed.contains("  until 2999-12-31  a \"test\" account\n"), "{listed}");
    // Recording the finding keeps the reason and the date.
    assert_eq!(code(&scene.baseline(&["lib"])), 0);
    let listed = text(&scene.edit(&["list"]));
    assert!(
        listed.contains("test-token  lib/high:1, ...  until 2999-12-31  a \"test\""),
        "{listed}"
    );
    // When the day is over, it is reported again.
    let content = fs::read_to_string(&scene.known).expect("it is there");
    fs::write(&scene.known, content.replace("2999-12-31", "2020-02-29")).expect("a file");
    let output = scene.scene.scan(["-f", "jsonl", "lib"]);
    assert_eq!((code(&output), lines(&output).len()), (1, 1));
    let reason = lines(&output)[0]["reason"].as_str().expect("text").to_owned();
    assert!(reason.ends_with("; accepted until 2020-02-29"), "{reason}");
    assert!(text(&scene.edit(&["list"])).contains("until 2020-02-29 (expired)"));
    assert!(errors(&scene.baseline(&["lib"])).contains("entries that have expired"));
    // It can be accepted again, and removed.
    assert_eq!(code(&scene.edit(&["add", &fingerprint])), 0);
    assert_eq!(code(&scene.scene.scan(["lib"])), 0);
    assert_eq!(code(&scene.edit(&["remove", &fingerprint])), 0);
    assert_eq!(scene.scene.places(&["lib"]), ["lib/high:1"]);
    let output = scene.edit(&["remove", &fingerprint]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("has no entry") && errors(&output).contains("  help: "));
    for (arguments, expected) in [
        (&["add", "123"] as &[&str], "not a fingerprint"),
        (&["add", &fingerprint, "--until", "2020-01-01"], "this day is over"),
        (&["add", &fingerprint, "--until", "tomorrow"], "write it as YYYY-MM-DD"),
        (&["list", "-o", "/no/where"], "cannot read the baseline"),
    ] {
        let output = scene.edit(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}

#[test]
fn an_entry_is_removed_by_the_fingerprint_that_the_list_shows() {
    let scene = Scene::new();
    let listed = text(&scene.edit(&["list"]));
    let entry = listed.lines().find(|line| line.contains("vendor/fair:1")).expect("it is listed");
    assert_eq!(code(&scene.edit(&["remove", &entry[..32]])), 0);
    assert_eq!(scene.scene.places(&[]), ["vendor/fair:1"]);
}

#[test]
fn the_baseline_of_the_project_is_used_and_named() {
    let scene = Scene::new();
    let tree = scene.scene.tree();
    let deep = tree.join("src/deep");
    for (root, directory) in [(".", &tree), ("lib", &tree), (".", &deep), ("../../lib", &deep)] {
        let mut command = scene.scene.heist("scan", ["-f", "json", "-c", "low", root]);
        command.current_dir(directory);
        let output = run(command);
        assert_eq!(code(&output), 0, "{root}: {}", errors(&output));
        let note = errors(&output);
        assert!(note.contains("heist-baseline.toml' are not reported (--no-baseline"), "{note}");
        let hidden = json(&output)["hidden"].clone();
        assert_eq!(
            (&hidden[0]["by"], &hidden[0]["what"]),
            (&json!("baseline"), &json!("findings"))
        );
        assert!(hidden[0]["count"].as_u64() >= Some(3), "{hidden}");
        let file = hidden[0]["file"].as_str().expect("text");
        assert!(file.ends_with("heist-baseline.toml"), "{file}");
    }
    for option in ["--no-baseline", "--no-config"] {
        let output = scene.scene.scan(["-f", "json", "-c", "low", option]);
        assert_eq!((code(&output), errors(&output)), (1, String::new()), "{option}");
        assert_eq!(json(&output)["hidden"], json!([]), "{option}");
    }
    // A baseline that the user names hides nothing on behalf of the tree.
    let output = scene.scene.scan(["-f", "json", "-c", "low", "--baseline", "heist-baseline.toml"]);
    assert_eq!((code(&output), &json(&output)["hidden"]), (0, &json!([])));
    // A link is not read.
    fs::rename(&scene.known, tree.join("other")).expect("it moves");
    std::os::unix::fs::symlink("other", &scene.known).expect("a link");
    assert_eq!(code(&scene.scene.scan::<&str>([])), 1);
}

#[test]
fn secrets_in_the_baseline_of_the_project_are_reported() {
    let scene = Scene::new();
    let content = fs::read_to_string(&scene.known).expect("it is there");
    fs::write(&scene.known, format!("{content}# {}\n", token("tok_", 77))).expect("a file");
    let output = scene.scene.scan(["-f", "jsonl"]);
    assert_eq!(lines(&output)[0]["path"], "heist-baseline.toml", "{}", text(&output));
}

#[test]
fn a_report_of_gitleaks_is_imported() {
    let scene = Scene::new();
    fs::remove_file(&scene.known).expect("it is there");
    let finding = |secret: &str, file: &str| {
        json!({"RuleID": "generic-api-key", "Secret": secret, "Match": secret, "File": file, "StartLine": 1,
               "EndLine": 1, "Commit": "", "Fingerprint": format!("{file}:generic-api-key:1")})
    };
    let secret = token("tok_", 1);
    let report = json!([
        finding(&secret, &format!("lib/{secret}")),
        finding(&secret, "lib/high"),
        finding(&token("fair_", 1), "lib/fair"),
        finding("REDACTED", "src/high"),
        finding("tok_abc...", "src/fair"),
        {"other": 1},
    ]);
    let path = scene.scene.path("report.json");
    fs::write(&path, report.to_string()).expect("a file");
    let output = scene.edit(&["import", path.to_str().expect("UTF-8")]);
    let message = errors(&output);
    assert_eq!(code(&output), 1, "{message}");
    assert_eq!(text(&output), "heist-baseline.toml: 2 added, 3 not imported, 2 in total\n");
    assert!(message.contains("finding 4 is not imported: the secret at 'src/high:1' is redacted"));
    assert!(message.contains("finding 5 is") && message.contains("--redact"), "{message}");
    assert!(message.contains("finding 6 is not imported: it has no `Secret`"), "{message}");
    assert!(!fs::read_to_string(&scene.known).expect("it is there").contains(&secret));
    assert_eq!(code(&scene.scene.scan(["lib"])), 0);
    // Its places are not certain, so only a scan of everything removes the entries.
    scene.remove("lib/high");
    assert_eq!(scene.prune(&["lib"]), (0, 2));
    for (content, expected) in [("{}", "not a list"), ("x", "not JSON")] {
        fs::write(&path, content).expect("a file");
        let output = scene.edit(&["import", path.to_str().expect("UTF-8")]);
        assert_eq!(code(&output), 2);
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}
