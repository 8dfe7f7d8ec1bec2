//! Findings that are not reported: baselines, `.gitleaksignore`, comments. Also tests `heist.toml`.

use crate::support::scan::{ScanFixture, code, errors, in_time, json, plain, run, text, token};
use std::fs;

fn baseline(scene: &ScanFixture, arguments: &[&str]) -> std::process::Output {
    let path = scene.path("known.toml");
    let mut command = scene.heist("baseline", arguments);
    command.arg("--output").arg(path);
    run(command)
}

#[test]
fn a_baseline_survives_moves_and_edits() {
    let scene = ScanFixture::new();
    let (first, second) = (token("tok_", 1), token("fair_", 2));
    scene.file("a.txt", format!("x = {first}\n"));
    scene.file("b/c.txt", format!("y = {second}\n"));
    let output = baseline(&scene, &[]);
    assert_eq!((code(&output), errors(&output)), (0, String::new()));
    let printed = text(&output);
    assert!(
        printed.contains("+ a.txt:1  test-token  tok_***") && printed.contains("2 added"),
        "{printed}"
    );
    let known = scene.path("known.toml");
    let file = fs::read_to_string(&known).expect("it was written");
    assert!(!file.contains(&first[6..18]) && !file.contains(&second[6..18]), "{file}");
    let with = ["--baseline", known.to_str().expect("UTF-8")];
    let output = scene.scan(with);
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert!(text(&output).contains("2 in the baseline"));
    // The secrets move, the text around them changes, and one occurs twice.
    fs::rename(scene.tree().join("a.txt"), scene.tree().join("b/z.txt")).expect("it moves");
    scene.file("b/c.txt", format!("\n\nother = [{second}, {second}]\n"));
    assert_eq!(code(&scene.scan(with)), 0);
    // A new secret is reported.
    scene.file("b/new.txt", token("tok_", 3));
    assert_eq!(scene.places(&with), ["b/new.txt:1"]);
}

#[test]
fn a_baseline_is_updated() {
    let scene = ScanFixture::new();
    let path = scene.path("known.toml");
    let key = || {
        let file = fs::read_to_string(&path).expect("it was written");
        file.lines().find(|line| line.starts_with("key")).expect("it has one").to_owned()
    };
    scene.file("a", token("tok_", 1));
    assert_eq!(code(&baseline(&scene, &[])), 0);
    let before = key();
    fs::remove_file(scene.tree().join("a")).expect("it is there");
    scene.file("b", token("tok_", 2));
    let printed = text(&baseline(&scene, &[]));
    assert!(
        printed.contains("+ b:1") && printed.ends_with("1 added, 0 removed, 2 in total\n"),
        "{printed}"
    );
    assert_eq!(key(), before, "the hashes depend on the key");
    // Not everything was scanned, so a secret that was not found may still exist.
    let output = baseline(&scene, &["--prune", ".", "/no/where"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output).ends_with("0 added, 0 removed, 2 in total\n"), "{}", errors(&output));
    let printed = text(&baseline(&scene, &["--prune"]));
    assert!(
        printed.contains("- tree/a:1  ") && printed.ends_with("0 added, 1 removed, 1 in total\n"),
        "{printed}"
    );
    fs::write(&path, "no baseline").expect("a file");
    let output = baseline(&scene, &[]);
    assert_eq!(code(&output), 2);
    assert_eq!(
        fs::read(&path).expect("it is there"),
        b"no baseline",
        "a file that is not a baseline is not replaced"
    );
}

#[test]
fn a_baseline_in_the_tree_causes_no_findings() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let mut command = plain();
    command.args(["baseline", "-c", "low", "-o", "known.toml"]).current_dir(scene.tree());
    assert_eq!(code(&run(command)), 0);
    let mut command = plain();
    command.args(["scan", "-c", "low", "known.toml"]).current_dir(scene.tree());
    let output = run(command);
    assert_eq!(code(&output), 0, "{}", text(&output));
}

#[test]
fn a_baseline_that_cannot_be_used_is_an_error() {
    let scene = ScanFixture::new();
    let output = scene.scan(["--baseline", "/no/where"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains(
        "cannot read the baseline '/no/where': No such file or directory\n  help: to create one: heist baseline"
    ));
    scene.file("no", "version = 7");
    let output = scene.scan(["--baseline", "no"]);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("'no' is not a heist baseline: "), "{}", errors(&output));
}

#[test]
fn a_gitleaksignore_suppresses_locations() {
    let scene = ScanFixture::new();
    scene.file("sub/a.txt", format!("x\n{}\n", token("tok_", 1)));
    scene.file("b.txt", token("tok_", 2));
    let commit = "0123456789".repeat(4);
    scene.file(
        ".gitleaksignore",
        format!("# known\nsub/a.txt:test-token:2\n{commit}:b.txt:test-token:1\n"),
    );
    let output = scene.scan::<&str>([]);
    assert_eq!(code(&output), 1);
    assert!(
        errors(&output).contains("note: line 3 of '.gitleaksignore' is not used: "),
        "{}",
        errors(&output)
    );
    assert!(text(&output).contains("1 listed in .gitleaksignore"));
    assert_eq!(scene.places(&[]), ["b.txt:1"]);
    // The same with other paths to the tree.
    let tree = scene.tree();
    let whole = tree.to_str().expect("UTF-8");
    assert_eq!(scene.places(&[whole]), [format!("{whole}/b.txt:1")]);
    assert_eq!(scene.places(&["sub"]), Vec::<String>::new());
    // On another line, the finding is reported.
    scene.file("sub/a.txt", format!("{}\n", token("tok_", 1)));
    assert_eq!(scene.places(&["sub"]), ["sub/a.txt:1"]);
}

#[test]
fn only_regular_files_are_read_as_settings() {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    for name in [".gitleaksignore", "heist.toml"] {
        for kind in ["pipe", "zeros", "nowhere", "directory"] {
            let scene = ScanFixture::new();
            scene.file("a", token("tok_", 1));
            let path = scene.tree().join(name);
            match kind {
                "pipe" => rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a pipe"),
                "zeros" => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
                "nowhere" => std::os::unix::fs::symlink("gone", &path).expect("a link"),
                _ => fs::create_dir(&path).expect("a directory"),
            }
            let output = in_time(scene.heist("scan", [] as [&str; 0]));
            assert_eq!(code(&output), 1, "{name}: {kind}");
            let message = errors(&output);
            assert!(message.contains("note: '") && message.contains(name), "{kind}: {message}");
            for (command, option) in [("scan", "--config"), ("scan", "--baseline"), ("scan", "-r")]
            {
                let output = in_time(scene.heist(command, [option, name]));
                assert_eq!(code(&output), 2, "{option}: {kind}");
                assert!(errors(&output).contains(name), "{option}: {kind}");
            }
        }
    }
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let file = fs::File::create(scene.tree().join(".gitleaksignore")).expect("a file");
    file.set_len(17 << 20).expect("a file with a hole");
    let output = in_time(scene.heist("scan", ["--no-binary", "a", "."]));
    assert!(errors(&output).contains("is not used: it is larger than 16 MiB"));
}

#[test]
fn a_baseline_masks_secrets_in_file_names() {
    let scene = ScanFixture::new();
    let (secret, other) = (token("tok_", 1), token("tok_", 2));
    scene.file(format!("backup-{secret}/a"), &other);
    scene.file(format!("b-{other}"), &secret);
    let output = baseline(&scene, &[]);
    assert_eq!(code(&output), 0);
    let file = fs::read_to_string(scene.path("known.toml")).expect("it is there");
    for content in [&file, &text(&output)] {
        assert!(!content.contains(&secret) && !content.contains(&other), "{content}");
        assert!(content.contains("backup-tok_******"), "{content}");
    }
    let known = scene.path("known.toml");
    let output = scene.scan(["--baseline", known.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 0);
}

#[test]
fn a_baseline_on_a_full_disk_is_an_error() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let output = in_time(scene.heist("baseline", ["-o", "/dev/full"]));
    assert_eq!(code(&output), 1);
    assert!(errors(&output).contains("cannot write the baseline '/dev/full': No space left"));
}

#[test]
fn comments_allow_findings() {
    let scene = ScanFixture::new();
    let token = token("tok_", 1);
    scene.file(
        "a",
        format!(
            "{token} # heist:allow\n{token} // gitleaks:allow\n{token} # pragma: allowlist secret\n{token}\n\
             # heist:allow\n"
        ),
    );
    assert_eq!(scene.places(&[]), ["a:4"]);
}

#[test]
fn the_nearest_configuration_applies_and_the_command_line_wins() {
    let scene = ScanFixture::new();
    scene.file("deep/er/a.txt", format!("{}\n{}", token("fair_", 1), token("tok_", 2)));
    scene.file("deep/left/b.txt", token("tok_", 3));
    scene.file("heist.toml", "confidence = 'high'\nexclude = ['left']\n");
    let report = json(&scene.scan(["-f", "json", "deep/er"]));
    assert_eq!(report["secrets"].as_array().expect("a list").len(), 1);
    assert!(report["configuration"].as_str().expect("text").ends_with("/tree/heist.toml"));
    assert_eq!(scene.places(&[]), ["deep/er/a.txt:2"]);
    assert_eq!(scene.places(&["-c", "medium"]).len(), 2);
    assert_eq!(scene.places(&["--no-config"]).len(), 3);
    assert!(text(&scene.scan(["-f", "text"])).contains("/tree/heist.toml.\n"));
    let other = scene.path("other.toml");
    fs::write(&other, "confidence = 'certain'").expect("a file");
    assert_eq!(scene.places(&["--config", other.to_str().expect("UTF-8")]).len(), 0);
    fs::write(&other, "format = 'json'").expect("a file");
    let output = scene.scan(["--config", other.to_str().expect("UTF-8")]);
    assert_eq!(json(&output)["configurations"][0]["from"], "user");
    // Flags have opposites.
    scene.file("heist.toml", "no-hidden = true");
    scene.file(".hidden", token("tok_", 4));
    assert_eq!(scene.places(&[]).len(), 3);
    assert_eq!(scene.places(&["--hidden"]).len(), 4);
    // The nearest file applies.
    scene.file("deep/heist.toml", "confidence = 'certain'");
    assert_eq!(scene.places(&["deep/er"]).len(), 0);
    scene.file("deep/heist.toml", "confidence = 1");
    let output = scene.scan(["deep/er"]);
    assert_eq!(code(&output), 2);
    assert!(
        errors(&output).contains("deep/heist.toml' is not valid: `confidence`: "),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_file_with_too_many_findings_counts_as_scanned() {
    let scene = ScanFixture::new();
    // Allowed findings are cheap.
    let line = |seed| format!("{} heist:allow\n", token("tok_", seed));
    scene.file("many", (0..100_007).map(line).collect::<String>());
    let reason = "it has more than 100,000 findings of one kind, and 7 of them are not listed";
    let output = scene.scan(["many"]);
    assert_eq!(code(&output), 2);
    let message = format!("heist: not all findings of 'many' are listed: {reason}\n");
    assert_eq!(errors(&output), message);
    let printed = text(&output);
    let total = "Not complete: 1 path has too many findings to be listed; stderr names it.";
    assert!(printed.contains(total), "{printed}");
    let report = json(&scene.scan(["-f", "json", "many"]));
    assert_eq!((&report["files"], &report["complete"]), (&1.into(), &false.into()));
    assert_eq!(report["incomplete"][0]["reason"], reason);
}

#[test]
fn what_is_wrong_in_the_configuration_is_not_blamed_on_the_command_line() {
    let scene = ScanFixture::new();
    let path = scene.tree().join("heist.toml");
    for (key, value) in [("exclude", "[z-a]"), ("only", "no-such"), ("except", "no-such")] {
        fs::write(&path, format!("{key} = ['{value}']")).expect("a file");
        let output = scene.scan([] as [&str; 0]);
        let expected = format!("heist: the configuration '{}': `{key}`: ", path.display());
        assert_eq!(code(&output), 2, "{key}");
        assert!(errors(&output).starts_with(&expected), "{}", errors(&output));
        fs::remove_file(&path).expect("it is there");
        let output = scene.scan([format!("--{key}"), value.to_owned()]);
        assert_eq!(code(&output), 2, "{key}");
        assert!(errors(&output).starts_with(&format!("heist: --{key}: ")), "{}", errors(&output));
    }
}

#[test]
fn rules_of_the_configuration_are_relative_to_it() {
    let scene = ScanFixture::new();
    fs::rename(scene.path("rules.toml"), scene.tree().join("mine.toml")).expect("it moves");
    scene.file(
        "heist.toml",
        "exclude = ['/*.toml']\n[rules]\nfiles = ['mine.toml']\nexcept = ['fair-*']",
    );
    scene.file("sub/a", format!("{}\n{}", token("fair_", 1), token("tok_", 2)));
    let mut command = plain();
    command.args(["scan", "-f", "json"]).current_dir(scene.tree().join("sub"));
    let report = json(&run(command));
    let secrets = report["secrets"].as_array().expect("a list");
    assert_eq!((secrets.len(), &secrets[0]["rule"]), (1, &"test-token".into()));
}
