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
    // Whoever names the file trusts it.
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
    let home = scene.path("home/heist");
    fs::create_dir_all(&home).expect("a directory");
    fs::write(home.join("heist.toml"), "confidence = 'low'\nformat = 'json'").expect("a file");
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
