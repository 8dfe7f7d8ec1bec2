//! A policy is a floor: neither the scanned tree, nor the user's configuration, nor the command
//! line can weaken it.

use crate::support::scan::{ScanFixture, code, errors, json, plain, run, text, token};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

/// A tree and a policy beside it.
struct PolicyFixture {
    scene: ScanFixture,
    policy: String,
}

impl PolicyFixture {
    fn new() -> Self {
        let scene = ScanFixture::new();
        let policy = scene.path("policy.toml").to_str().expect("UTF-8").to_owned();
        Self { scene, policy }
    }

    /// Runs `heist scan --format json` with the rules of the tests and this policy.
    fn scan(&self, policy: &str, arguments: &[&str]) -> Output {
        fs::write(&self.policy, policy).expect("a file");
        self.scene.scan([&["-f", "json", "--policy", &self.policy], arguments].concat())
    }

    /// Runs `heist scan --format json` with the built-in rules and this policy.
    fn scan_with_built_in_rules(&self, policy: &str, arguments: &[&str]) -> Output {
        fs::write(&self.policy, policy).expect("a file");
        let mut command = plain();
        command.args(["scan", "-f", "json", "--policy", &self.policy]).args(arguments);
        command.current_dir(self.scene.tree());
        run(command)
    }
}

#[track_caller]
fn secrets(report: &Value) -> usize {
    report["secrets"].as_array().expect("a list").len()
}

/// Asserts that the command line is refused, with both parties and help.
#[track_caller]
fn assert_refused(output: &Output, option: &str, key: &str) {
    let message = errors(output);
    assert_eq!(code(output), 2, "{message}");
    let expected = format!("{option} is weaker than `{key}` in the policy '");
    assert!(message.contains(&expected) && message.contains("\n  help: "), "{message}");
}

/// Asserts that stderr and the report name a setting that has no effect.
#[track_caller]
fn assert_overruled(output: &Output, setting: &str, key: &str) {
    let report = json(output);
    let overruled = report["overruled"].as_array().expect("a list");
    let named = overruled.iter().any(|entry| entry["setting"] == setting && entry["demand"] == key);
    assert!(named, "{setting}: {report}");
    assert!(report["policies"][0]["path"].as_str().expect("text").ends_with("policy.toml"));
    let notes = errors(output);
    assert!(notes.contains(&format!("because of `{key}` in the policy '")), "{notes}");
}

#[test]
fn nothing_weakens_a_policy() {
    let fixture = PolicyFixture::new();
    let scene = &fixture.scene;
    scene.file("a", format!("{}\n", token("fair_", 2)));
    scene.file("vendor/b", format!("{}\n", token("tok_", 3)));
    scene.file(".c", format!("{}\n", token("tok_", 4)));
    scene.file(".ignore", "a\n");
    // Each row: a policy, a configuration that has no effect, and an option that is refused.
    for (policy, configuration, option) in [
        ("confidence = 'medium'", "confidence = 'certain'", &["--confidence", "high"][..]),
        ("forbid = ['exclude']", "exclude = ['*']", &["--exclude", "x"]),
        ("paths = ['vendor', 'a']", "exclude = ['ve*', '/a']", &["--exclude", "vendor"]),
        ("forbid = ['max-size']", "max-size = 0", &["--max-size", "1"]),
        ("forbid = ['only']", "only = ['faint-*']", &["--only", "fair-*"]),
        ("forbid = ['except']", "except = ['*']", &["--except", "fair-*"]),
        ("forbid = ['no-hidden']", "no-hidden = true", &["--no-hidden"]),
        ("forbid = ['gitignore']", "gitignore = true", &["--gitignore"]),
    ] {
        let key = policy.split(' ').next().expect("a key");
        let setting = configuration.split(' ').next().expect("a key");
        for place in ["tree/heist.toml", "home/heist/heist.toml"] {
            fs::create_dir_all(scene.path("home/heist")).expect("a directory");
            scene.file(format!("../{place}"), configuration);
            fs::write(&fixture.policy, policy).expect("a file");
            let mut command = scene.heist("scan", ["-f", "json", "--policy", &fixture.policy]);
            command.env("XDG_CONFIG_HOME", scene.path("home"));
            let output = run(command);
            assert_eq!((code(&output), secrets(&json(&output))), (1, 3), "{place}: {policy}");
            assert_overruled(&output, setting, key);
            fs::remove_file(scene.path(place)).expect("it was made");
        }
        assert_refused(&fixture.scan(policy, option), option[0], key);
    }
    for option in ["--no-untrusted", "--no-fail-on-hidden"] {
        let key = &option[5..];
        assert_refused(&fixture.scan(&format!("{key} = true"), &[option]), option, key);
    }
    assert_refused(
        &fixture.scan("forbid = ['one-file-system']", &["-x"]),
        "--one-file-system",
        "forbid",
    );
    // What is stronger than the policy is allowed.
    let output = fixture
        .scan("confidence = 'high'\nforbid = ['gitignore']", &["-c", "low", "--no-gitignore"]);
    assert_eq!((code(&output), secrets(&json(&output))), (1, 3));
    assert_eq!(
        (errors(&output), &json(&output)["overruled"]),
        (String::new(), &Value::Array(vec![]))
    );
}

#[test]
fn a_policy_forbids_every_means_of_hiding() {
    let fixture = PolicyFixture::new();
    let scene = &fixture.scene;
    scene.file(".git/config", "");
    scene.file("a", format!("{} heist:allow\n", token("tok_", 1)));
    scene.file("b", format!("{}\n", token("tok_", 2)));
    scene.file("c", format!("{}\n", token("tok_", 3)));
    scene.file(".gitleaksignore", "b:test-token:1\n");
    assert_eq!(code(&run(scene.heist("baseline", ["c"]))), 0);
    let left = |policy: &str, arguments: &[&str]| {
        let output = fixture.scan(policy, arguments);
        (secrets(&json(&output)), output)
    };
    assert_eq!(left("", &[]).0, 0);
    assert_eq!(left("forbid = ['comments']", &[]).0, 1);
    for (name, arguments) in [
        ("gitleaksignore", &[][..]),
        ("gitleaksignore", &["--no-config", "--no-baseline"]),
        ("baseline", &[]),
    ] {
        let (found, output) = left(&format!("forbid = ['{name}']"), arguments);
        assert!(found > 0, "{name}");
        assert_overruled(&output, name, "forbid");
        assert!(errors(&output).contains("' is not used, because of "), "{}", errors(&output));
    }
    // A baseline that the tree, the user or the command line names.
    fs::rename(scene.tree().join("heist-baseline.toml"), scene.tree().join("known"))
        .expect("moves");
    scene.file("heist.toml", "baseline = 'known'\n");
    assert_eq!(left("", &[]).0, 0);
    let (found, output) = left("forbid = ['baseline']", &[]);
    assert_eq!(found, 1);
    assert_overruled(&output, "baseline", "forbid");
    for arguments in [&["--baseline", "known"][..], &["--no-config", "--baseline", "known"]] {
        assert_refused(&left_refused(&fixture, arguments), "--baseline", "forbid");
    }
    let recorded = run(scene.heist("baseline", ["--policy", &fixture.policy]));
    assert_refused(&recorded, "`heist baseline`", "forbid");
    // All of the tree's configuration.
    let (found, output) = left("forbid = ['tree-config']", &[]);
    assert_eq!(found, 1);
    assert_overruled(&output, "tree-config", "forbid");
    assert!(json(&output)["configurations"].is_null());
    let all = "forbid = ['comments', 'gitleaksignore', 'baseline', 'tree-config']";
    assert_eq!(left(all, &[]).0, 3);
    assert_eq!(left("untrusted = true", &[]).0, 3);
}

fn left_refused(fixture: &PolicyFixture, arguments: &[&str]) -> Output {
    fixture.scan("forbid = ['baseline']", arguments)
}

#[test]
fn the_paths_of_a_policy_are_scanned_from_wherever_the_scan_starts() {
    let fixture = PolicyFixture::new();
    let scene = &fixture.scene;
    scene.file(".git/objects/x", token("tok_", 1));
    for name in ["deploy/.env", "deploy/keys/a.lock", "deploy/keys/x/.git/objects/y", "src/b.lock"]
    {
        scene.file(name, token("tok_", name.len() as u64));
    }
    scene.file(".gitignore", "deploy\nsrc\n");
    let policy = "paths = ['deploy/keys', 'deploy/.env']";
    let places = |arguments: &[&str]| {
        let output = fixture.scan(policy, arguments);
        let report = json(&output);
        let all = report["secrets"].as_array().expect("a list").iter();
        let path = |secret: &Value| secret["places"][0]["path"].as_str().expect("text").to_owned();
        let mut paths: Vec<String> = all.map(path).collect();
        paths.sort();
        paths
    };
    let hiding = ["--exclude", "*.lock", "--gitignore", "--no-hidden"];
    assert_eq!(places(&hiding), ["deploy/.env", "deploy/keys/a.lock"]);
    assert_eq!(places(&[&hiding[..], &["deploy"]].concat()), ["deploy/.env", "deploy/keys/a.lock"]);
    assert_eq!(places(&[&hiding[..], &["deploy/keys"]].concat()), ["deploy/keys/a.lock"]);
    assert_eq!(places(&[&hiding[..], &["deploy/keys/a.lock"]].concat()), ["deploy/keys/a.lock"]);
    // The directories above a path are on the way to it.
    assert_refused(&fixture.scan(policy, &["--exclude", "deploy/"]), "--exclude", "paths");
    assert_refused(&fixture.scan(policy, &["--exclude", "/deploy/keys"]), "--exclude", "paths");
    // Stdin and missing PATHs have no place in the project.
    assert_eq!(code(&fixture.scan(policy, &["--exclude", "deploy", "missing"])), 2);
}

#[test]
fn the_rules_of_a_policy_run_unchanged() {
    let fixture = PolicyFixture::new();
    let scene = &fixture.scene;
    scene.file("c.ini", "password = \"7tRmq!x2Lw9z\"\n"); // heist:allow
    let rules = format!("rules = ['{}']", {
        let output = fixture.scan_with_built_in_rules("", &[]);
        assert_eq!(secrets(&json(&output)), 1);
        json(&output)["secrets"][0]["rule"].as_str().expect("a rule").to_owned()
    });
    let rule = rules.split('\'').nth(1).expect("a rule");
    let found = |policy: &str, arguments: &[&str]| {
        let output = fixture.scan_with_built_in_rules(policy, arguments);
        assert!(code(&output) < 2, "{}", errors(&output));
        (secrets(&json(&output)), output)
    };
    let defaults = "[extend]\nuseDefault = true\n";
    for (configuration, mine, setting) in [
        (&*format!("except = ['{rule}']"), String::new(), "except"),
        ("only = ['jwt']", String::new(), "only"),
        ("no-generic = true", String::new(), "no-generic"),
        ("rules = 'mine.toml'", "[[rules]]\nid = 'x'\nregex = 'never [t]here'".to_owned(), "rules"),
        ("rules = 'mine.toml'", format!("{defaults}[allowlist]\nregexes = ['.']"), "rules"),
        ("rules = 'mine.toml'", format!("{defaults}[allowlist]\npaths = ['.*']"), "rules"),
        (
            "rules = 'mine.toml'",
            format!("{defaults}[[rules]]\nid = '{rule}'\nregex = 'never [t]here'"),
            "rules",
        ),
    ] {
        scene.file("mine.toml", mine);
        scene.file("heist.toml", format!("{configuration}\nexclude = ['/mine.toml']\n"));
        assert_eq!(found("", &[]).0, 0, "{configuration}");
        let (count, output) = found(&rules, &[]);
        assert_eq!(count, 1, "{configuration}: {}", text(&output));
        assert_overruled(&output, setting, "rules");
    }
    fs::remove_file(scene.tree().join("heist.toml")).expect("it was made");
    let never = "[[rules]]\nid = 'x'\nregex = 'never [t]here'";
    fs::write(scene.path("mine.toml"), never).expect("a file");
    let mine = scene.path("mine.toml");
    let mine = mine.to_str().expect("UTF-8");
    for option in
        [&["--except", rule][..], &["--only", "jwt"], &["--no-generic"], &["--rules", mine]]
    {
        assert_refused(&fixture.scan_with_built_in_rules(&rules, option), option[0], "rules");
    }
    // An allowlist of the user applies to the other rules only.
    fs::write(mine, format!("{defaults}[allowlist]\nregexes = ['.']")).expect("a file");
    assert_eq!(found("", &["--rules", mine]).0, 0);
    assert_eq!(found(&rules, &["--rules", mine]).0, 1);
    assert_eq!(found("rules = ['jwt']", &["--rules", mine]).0, 0);
}

#[test]
fn a_policy_of_the_environment_applies_as_well() {
    let fixture = PolicyFixture::new();
    let scene = &fixture.scene;
    scene.file("a", format!("{}\n", token("fair_", 1)));
    let other = scene.path("other.toml");
    fs::write(&other, "forbid = ['no-hidden']").expect("a file");
    fs::write(&fixture.policy, "confidence = 'medium'").expect("a file");
    let scan = |arguments: &[&str]| {
        let mut command = scene.heist("scan", ["-f", "json", "--policy", &fixture.policy]);
        command.args(arguments).env("HEIST_POLICY", &other);
        run(command)
    };
    assert_eq!(json(&scan(&[]))["policies"].as_array().map(Vec::len), Some(2));
    assert_refused(&scan(&["--no-hidden"]), "--no-hidden", "forbid");
    assert_refused(&scan(&["-c", "high"]), "--confidence", "confidence");
    // An unusable policy never means no policy.
    fs::remove_file(&other).expect("it was made");
    assert_eq!(code(&scan(&[])), 2);
}

#[test]
fn an_unusable_policy_is_an_error_that_names_the_line_and_the_key() {
    let fixture = PolicyFixture::new();
    for (policy, expected) in [
        ("\nnosuch = 1", "policy.toml' is not valid: line 2: `nosuch`: unknown key"),
        ("rules = ['nosuch']", "policy.toml' is not valid: line 1: `rules`: "),
        ("forbid = ['threads']", "line 1: `forbid`: a policy cannot forbid `threads`"),
        ("confidence = [", "policy.toml' is not valid: line 1: "),
    ] {
        let output = fixture.scan(policy, &[]);
        assert_eq!(code(&output), 2, "{policy}");
        let message = errors(&output);
        assert!(message.contains(expected) && message.contains("\n  help: "), "{message}");
    }
    let policy = fixture.scene.path("policy.toml");
    // Like a rule file, it is a regular file of a limited size.
    fs::write(&policy, "#".repeat((1 << 20) + 1)).expect("a file");
    let message = |arguments: &[&str]| {
        let output = fixture.scene.scan(arguments);
        assert_eq!(code(&output), 2);
        errors(&output)
    };
    let said = message(&["--policy", &fixture.policy]);
    assert!(
        said.contains("cannot read the policy '") && said.contains("larger than 1 MiB"),
        "{said}"
    );
    fs::remove_file(&policy).expect("it was made");
    let made = std::process::Command::new("mkfifo").arg(&policy).status();
    assert!(made.is_ok_and(|status| status.success()));
    assert!(message(&["--policy", &fixture.policy]).contains("not a regular file"));
    assert!(message(&["--policy", "/no/where"]).contains("cannot read the policy '/no/where'"));
    // The output does not replace it, not even through another name.
    fs::remove_file(&policy).expect("it was made");
    fs::write(&policy, "").expect("a file");
    symlink("policy.toml", fixture.scene.path("link")).expect("a link");
    let said = message(&["--policy", "../link", "--output", &fixture.policy]);
    assert!(said.contains("would overwrite the policy"), "{said}");
}

#[test]
fn reports_name_the_policy_and_what_it_overrules() {
    let fixture = PolicyFixture::new();
    fixture.scene.file("heist.toml", "exclude = ['*']\n");
    fs::write(&fixture.policy, "forbid = ['exclude']").expect("a file");
    let scan = |format| fixture.scene.scan(["-f", format, "--policy", &fixture.policy]);
    let printed = text(&scan("text"));
    let line = "  `exclude` in '";
    assert!(
        printed.contains("\nPolicy: ") && printed.lines().any(|l| l.starts_with(line)),
        "{printed}"
    );
    let sarif = json(&scan("sarif"));
    let run = &sarif["runs"][0];
    assert_eq!(run["properties"]["overruled"][0]["setting"], "exclude");
    let notes = run["invocations"][0]["toolConfigurationNotifications"].to_string();
    assert!(notes.contains("`exclude` in '"), "{notes}");
}
