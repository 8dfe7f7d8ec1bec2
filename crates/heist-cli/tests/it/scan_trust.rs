//! What a scanned tree can and cannot do to its own scan: its `heist.toml`, and the files that it
//! names.

use crate::support::scan::{ScanFixture, code, errors, json, plain, run, text, token};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Output;

/// Runs `heist scan --format json` with the rules of the tests, which must find secrets or not.
#[track_caller]
fn report(scene: &ScanFixture, arguments: &[&str]) -> Value {
    json(&scene.scan(["-f", "json"].iter().chain(arguments)))
}

#[track_caller]
fn secrets(report: &Value) -> usize {
    report["secrets"].as_array().expect("a list").len()
}

/// Asserts that stderr has a note with all of these texts.
#[track_caller]
fn assert_note(output: &Output, texts: &[&str]) {
    let errors = errors(output);
    assert!(texts.iter().all(|text| errors.contains(text)), "{texts:?} in {errors}");
}

#[test]
fn a_configuration_of_the_tree_cannot_lead_out_of_it() {
    let scene = ScanFixture::new();
    fs::create_dir(scene.path("outside")).expect("a directory");
    fs::write(scene.path("outside/secret"), token("tok_", 1)).expect("a file");
    symlink("../outside", scene.tree().join("way")).expect("a link");
    scene.file("heist.toml", "follow = true\nformat = 'sarif'\n");
    let output = scene.scan(["-f", "json"]);
    assert_eq!((code(&output), secrets(&json(&output))), (0, 0));
    assert_eq!(json(&output)["skipped"]["symlinks"], 1);
    let refused = &json(&output)["configurations"][0];
    assert_eq!(
        (&refused["from"], &refused["refused"]),
        (&"tree".into(), &"follow format".split(' ').collect::<Vec<_>>().into())
    );
    let trust = format!("--config {}", scene.tree().join("heist.toml").display());
    assert_note(&output, &["note: `follow`, `format` in '", "heist.toml' have no effect", &trust]);
    // The format did not change either.
    let printed = text(&scene.scan::<&str>([]));
    assert!(printed.starts_with("No secrets"), "{printed}");
    assert!(printed.contains("these keys have no effect: `follow`, `format`."), "{printed}");
    // Naming the file means trusting it.
    let output = scene.scan(["-f", "json", "--config", "heist.toml"]);
    assert_eq!((code(&output), secrets(&json(&output)), errors(&output)), (1, 1, String::new()));
}

#[test]
fn a_configuration_of_the_tree_names_only_files_below_it() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let known = scene.path("known.toml");
    let output = run(scene.heist("baseline", ["-o".as_ref(), known.as_os_str()]));
    assert_eq!(code(&output), 0);
    symlink("../known.toml", scene.tree().join("known")).expect("a link");
    symlink("..", scene.tree().join("up")).expect("a link");
    for (key, name) in [
        ("baseline", "../known.toml"),
        ("baseline", "known"),
        ("baseline", "up/known.toml"),
        ("rules", "../rules.toml"),
        ("rules", "up/rules.toml"),
    ] {
        scene.file("heist.toml", format!("{key} = '{name}'"));
        let output = if key == "rules" {
            let mut command = plain();
            command.args(["scan", "-f", "json"]).current_dir(scene.tree());
            run(command)
        } else {
            scene.scan(["-f", "json"])
        };
        // Without the file, the scan finds what it would find without the key.
        assert_eq!(code(&output), i32::from(key == "baseline"), "{name}: {}", errors(&output));
        assert_note(&output, &[&format!("note: `{key}` in '"), "has no effect: '", name]);
        assert_eq!(json(&output)["configurations"][0]["refused"][0], key);
    }
    // A rule file of the tree must not extend one outside of it.
    scene.file("mine.toml", "[extend]\npath = '../rules.toml'\n");
    scene.file("heist.toml", "rules = 'mine.toml'");
    let mut command = plain();
    command.args(["scan"]).current_dir(scene.tree());
    let output = run(command);
    assert_eq!(code(&output), 2, "{}", errors(&output));
    assert_note(&output, &["cannot read the rules '", "not below the directory"]);
}

#[test]
fn a_configuration_above_the_tree_counts_only_if_no_other_user_can_have_put_it_there() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let above = scene.path("heist.toml");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("mine");
    };
    let write = || {
        fs::write(&above, "exclude = ['*']").expect("a file");
        mode(&above, 0o644);
    };
    let is_used = || {
        let output = scene.scan(["-f", "json"]);
        let is_used = code(&output) == 0;
        assert_eq!(json(&output)["configuration"].is_string(), is_used);
        (is_used, output)
    };
    write();
    assert!(is_used().0, "it belongs to the user");
    let refused = |why: &str| {
        let (is_used, output) = is_used();
        assert!(!is_used, "{why}");
        let trust = format!("--config {}", above.display());
        assert_note(&output, &["note: '", "heist.toml' is not used: ", why, &trust]);
    };
    for bits in [0o664, 0o646] {
        mode(&above, bits);
        refused("others may write to it");
    }
    write();
    for bits in [0o1777, 0o770] {
        mode(scene.temp.path(), bits);
        refused("others may write to its directory");
    }
    mode(scene.temp.path(), 0o700);
    fs::hard_link(&above, scene.path("other")).expect("a link");
    refused("it has a second name");
    fs::remove_file(&above).expect("it is there");
    symlink("other", &above).expect("a link");
    refused("it is not a regular file");
    fs::remove_file(&above).expect("it is there");
    if rustix::process::geteuid().is_root() {
        write();
        chown(&above, Some(65534), None).expect("root may");
        refused("it belongs to another user");
        fs::remove_file(&above).expect("it is there");
        write();
        chown(scene.temp.path(), Some(65534), None).expect("root may");
        refused("its directory belongs to another user");
        chown(scene.temp.path(), Some(0), None).expect("root may");
        // Inside of the tree everything is equally untrusted, so the owner does not matter.
        fs::rename(&above, scene.tree().join("heist.toml")).expect("it moves");
        chown(scene.tree().join("heist.toml"), Some(65534), None).expect("root may");
        assert!(is_used().0);
    }
}

#[test]
fn the_users_configuration_wins_over_that_of_the_tree() {
    let scene = ScanFixture::new();
    scene.file("a", format!("{}\n{}\n{}", token("tok_", 1), token("fair_", 2), token("faint_", 3)));
    scene.file("../home/heist/heist.toml", "confidence = 'low'\nformat = 'json'");
    let scan = |arguments: &[&str]| {
        let mut command = scene.heist("scan", arguments);
        command.env("XDG_CONFIG_HOME", scene.path("home"));
        run(command)
    };
    assert_eq!(secrets(&json(&scan(&[]))), 3);
    assert_eq!(json(&scan(&[]))["configurations"][0]["from"], "user");
    assert_eq!(secrets(&json(&scan(&["-c", "medium"]))), 2);
    scene.file("heist.toml", "confidence = 'certain'\nno-hidden = true");
    scene.file(".hidden", token("tok_", 4));
    let report = json(&scan(&[]));
    assert_eq!((secrets(&report), &report["skipped"]["excluded"]), (3, &1.into()));
    assert_eq!(report["configurations"][1]["from"], "tree");
    assert!(text(&scan(&["--no-config"])).contains("3 secrets in 3 places"));
    // A home directory in the tree is not the user's.
    fs::rename(scene.path("home"), scene.tree().join("home")).expect("it moves");
    let mut command = scene.heist("scan", ["-f", "json"]);
    command.env("XDG_CONFIG_HOME", scene.tree().join("home"));
    let output = run(command);
    assert_note(&output, &["home/heist/heist.toml' is not used: it is in the scanned tree"]);
    assert_eq!(json(&output)["configurations"].as_array().map(Vec::len), Some(1));
    // `report` is for the other tests; here it shows that nothing else was in effect.
    assert_eq!(secrets(&self::report(&scene, &["--no-config"])), 3);
}

/// Returns what the report says that the tree hides, sorted.
fn hidden(report: &Value) -> Vec<String> {
    let entries = report["hidden"].as_array().expect("a list");
    let show = |entry: &Value| {
        let by = entry["setting"].as_str().or(entry["by"].as_str()).expect("text");
        let kind = entry["kind"].as_str().map(|kind| format!(".{kind} ")).unwrap_or_default();
        format!("{by}: {kind}{} {}", entry["count"], entry["what"].as_str().expect("text"))
    };
    let mut shown: Vec<String> = entries.iter().map(show).collect();
    shown.sort();
    shown
}

#[test]
fn whatever_the_tree_hides_is_counted_in_every_format() {
    let scene = ScanFixture::new();
    scene.file("a.py", format!("{}\n{} # heist:allow\n", token("tok_", 1), token("tok_", 2)));
    scene.file("b.txt", format!("{}\n", token("fair_", 3)));
    scene.file("sub/large", format!("{}{}", token("fair_", 4), "\n".repeat(2000)));
    scene.file(".env", token("tok_", 5));
    scene.file("known", format!("{}\n", token("fair_", 6)));
    let known = scene.path("tree/known.toml");
    let output = run(scene.heist("baseline", ["-o".as_ref(), known.as_os_str(), "known".as_ref()]));
    assert_eq!(code(&output), 0);
    let comment = "comment: .py 1 findings";
    assert_eq!(hidden(&report(&scene, &[])), [comment]);
    assert_eq!(secrets(&report(&scene, &[])), 5);
    // Each row: a configuration, the secrets that are left, and what hides the others.
    for (configuration, left, by) in [
        ("confidence = 'certain'", 0, &[comment, "confidence: 5 findings"][..]),
        ("confidence = 'low'", 5, &[comment]),
        ("except = ['fair-token']", 2, &[comment, "except: 3 findings"]),
        // The comment is on a finding of a rule that is off.
        ("only = ['fair-*']", 3, &["only: 3 findings"]),
        ("exclude = ['sub', 'b.*']", 3, &[comment, "exclude: 2 paths"]),
        ("no-hidden = true", 4, &[comment, "no-hidden: 1 paths"]),
        ("max-size = 1000", 4, &[comment, "max-size: 1 files"]),
        ("max-size = 0", 0, &["max-size: 7 files"]),
        ("baseline = 'known.toml'", 4, &["baseline: 1 findings", comment]),
    ] {
        scene.file("heist.toml", configuration);
        let report = report(&scene, &[]);
        assert_eq!(hidden(&report), by, "{configuration}");
        assert_eq!(secrets(&report), left, "{configuration}");
        assert_eq!(code(&scene.scan(["--fail-on-hidden"])), 1, "{configuration}");
        // What the user sets is not hidden by the tree.
        let strict = self::report(&scene, &["-c", "certain", "--only", "test-token"]);
        let is_of_tree = |by: &String| by.starts_with("confidence") || by.starts_with("only");
        assert!(!hidden(&strict).iter().any(is_of_tree), "{configuration}");
    }
    scene.file("heist.toml", "confidence = 'certain'");
    assert_eq!(code(&scene.scan::<&str>([])), 0, "only on request");
    // The other formats.
    scene.file("heist.toml", "except = ['fair-token']\nexclude = ['sub']\nthreads = 1");
    let file = scene.tree().join("heist.toml");
    let printed = text(&scene.scan::<&str>([]));
    for line in [
        "Hidden by the scanned tree (--untrusted shows it):".to_owned(),
        format!("  2 findings by `except` in '{}'", file.display()),
        format!("  1 path by `exclude` in '{}'", file.display()),
        "  1 finding by comments in *.py files".to_owned(),
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line} in {printed}");
    }
    let sarif = json(&scene.scan(["-f", "sarif"]));
    let notes = &sarif["runs"][0]["invocations"][0]["toolConfigurationNotifications"];
    let notes = notes.as_array().expect("a list").iter();
    let notes: Vec<&str> =
        notes.map(|note| note["message"]["text"].as_str().expect("text")).collect();
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(notes[0].starts_with("The tree hides 2 findings by `except` in '"), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("`threads` in '")), "{notes:?}");
}

#[test]
fn a_gitleaksignore_is_counted_as_hiding() {
    let scene = ScanFixture::new();
    scene.file("a", format!("{}\n{}\n", token("tok_", 1), token("faint_", 2)));
    // The second finding would not be reported anyway.
    scene.file(".gitleaksignore", "a:test-token:1\na:faint-token:2\n");
    let output = scene.scan(["-f", "json", "--fail-on-hidden"]);
    assert_eq!(code(&output), 1);
    assert_eq!(hidden(&json(&output)), ["gitleaksignore: 1 findings"]);
    let file = json(&output)["hidden"][0]["file"].clone();
    assert!(file.as_str().is_some_and(|file| file.ends_with("/tree/.gitleaksignore")), "{file}");
    assert_eq!(code(&scene.scan::<&str>([])), 0);
    // What the user accepts is not hidden by the tree.
    let known = scene.path("known.toml");
    scene.file("b", format!("{}\n", token("tok_", 1)));
    let output = run(scene.heist("baseline", ["-o".as_ref(), known.as_os_str(), "b".as_ref()]));
    assert_eq!(code(&output), 0);
    let known = known.to_str().expect("UTF-8");
    let output = scene.scan(["-f", "json", "--fail-on-hidden", "--baseline", known]);
    assert_eq!((code(&output), hidden(&json(&output))), (0, vec![]));
}

#[test]
fn rules_of_the_tree_hide_nothing_unnoticed() {
    let scene = ScanFixture::new();
    let passwords = ["7tRmq!x2Lw9z", "Qz8#kLm2vT!w"];
    let lines = passwords.map(|password| format!("password = \"{password}\"\n"));
    scene.file("a.ini", format!("[x]\n{}", lines.concat()));
    let command = |arguments: &[&str]| {
        let mut command = plain();
        command.args(["scan", "-c", "low", "--no-noise-filter"]).args(arguments);
        command.current_dir(scene.tree());
        command
    };
    let scan = |arguments: &[&str]| json(&run(command(&[&["-f", "json"], arguments].concat())));
    let all = secrets(&scan(&[]));
    assert!(all >= 2, "the built-in rules find both");
    let page = "[[rules]]\nid = 'page'\nregex = '''(?s)\\[x\\].*'''\nconfidence = 'certain'\n";
    let defaults = "[extend]\nuseDefault = true\n";
    for (rules, by) in [
        // As in gitleaks, the file replaces the built-in rules.
        ("[[rules]]\nid = 'never'\nregex = 'never [t]here'".to_owned(), "rules"),
        (format!("{defaults}[allowlist]\npaths = ['.*']"), "allowlists"),
        (format!("{defaults}[allowlist]\nregexes = ['.']"), "allowlists"),
        (page.to_owned(), "rules"),
    ] {
        scene.file("mine.toml", &rules);
        scene.file("heist.toml", "rules = 'mine.toml'\nexclude = ['/mine.toml']\n");
        let report = scan(&[]);
        let entries = report["hidden"].as_array().expect("a list");
        let entry = entries.iter().find(|entry| entry["setting"] == by);
        let entry = entry.unwrap_or_else(|| panic!("{rules}: {report}"));
        assert_eq!(entry["count"], all, "{rules}: {report}");
        assert_eq!(secrets(&scan(&["--untrusted"])), all, "{rules}");
    }
    // With the built-in rules in use, a rule of the tree swallows none of their findings.
    scene.file("mine.toml", format!("{defaults}{page}remedy = \"x\\u001b[31m\"\n"));
    let report = scan(&[]);
    assert_eq!(secrets(&report), all + 1, "{report}");
    assert_eq!(hidden(&report), ["exclude: 1 paths"]);
    let secrets = report["secrets"].as_array().expect("a list").iter();
    let of_tree = secrets.filter(|secret| secret["places"][0]["rule_from"] == "tree");
    assert_eq!(of_tree.count(), 1, "{report}");
    let printed = text(&run(command(&[])));
    assert!(printed.contains("remedy, in the words of the tree: x\\x1b[31m"), "{printed}");
}

#[test]
fn untrusted_takes_nothing_from_the_tree() {
    let scene = ScanFixture::new();
    scene.file("a", format!("{} heist:allow\n", token("tok_", 1)));
    scene.file("b", format!("{}\n", token("tok_", 2)));
    scene.file("c", format!("{}\n", token("fair_", 3)));
    scene.file(".gitleaksignore", "b:test-token:1\n");
    scene.file("heist.toml", "exclude = ['c']\nconfidence = 'certain'\n");
    assert_eq!(code(&scene.scan::<&str>([])), 0);
    let output = scene.scan(["-f", "json", "--untrusted"]);
    let report = json(&output);
    assert_eq!((code(&output), secrets(&report)), (1, 3));
    assert_eq!((hidden(&report), report["configurations"].is_null()), (vec![], true));
    assert_eq!(errors(&output), "");
    // --no-config is about the configuration only.
    assert_eq!(secrets(&self::report(&scene, &["--no-config"])), 1);
    // A user can make it the default, and a tree cannot undo it.
    fs::create_dir_all(scene.path("home/heist")).expect("a directory");
    scene.file("../home/heist/heist.toml", "untrusted = true");
    let scan = |arguments: &[&str]| {
        let mut command = scene.heist("scan", arguments);
        command.env("XDG_CONFIG_HOME", scene.path("home"));
        run(command)
    };
    assert_eq!(secrets(&json(&scan(&["-f", "json"]))), 3);
    assert_eq!(secrets(&json(&scan(&["-f", "json", "--no-untrusted"]))), 0);
    scene.file("heist.toml", "no-untrusted = true\n");
    assert_eq!(secrets(&json(&scan(&["-f", "json"]))), 3);
    // Ignore files are of the tree.
    let output = scene.scan(["--untrusted", "--gitignore"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("--gitignore obeys ignore files of the tree"));
    assert!(errors(&output).contains("\n  help: "));
}
