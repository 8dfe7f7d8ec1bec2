//! Tests of the program `heist-sim`.
#![cfg(heist_sim)]

use std::path::PathBuf;
use std::process::{Command, Output};

fn heist_sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heist-sim"))
        .args(args)
        // By default failures are written to a directory below the current one.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env_remove("HEIST_SIM_SEED")
        .env_remove("HEIST_SIM_PLANT")
        .output()
        .expect("the program was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn the_last_line_of_a_run_has_its_counts() {
    let output = heist_sim(&["run", "--schedules", "500", "--seed", "3"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().last(), Some("schedules: 500, failures: 0"));
}

#[test]
fn a_failure_can_be_replayed_and_minimised() {
    let out = scratch("failures");
    let folder = out.to_str().unwrap();
    let planted = ["--plant", "NoLookAfterBit"];
    let run = ["run", "--schedules", "1000", "--scenario", "standard", "--out", folder];
    let output = heist_sim(&[&run[..], &planted[..]].concat());
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("asleep-beside-work"), "{printed}");
    // A second thread may find a failure before the first one has stopped the run.
    let counted = printed.lines().last().and_then(|line| line.split_once("failures: "));
    let failures: u64 = counted.expect("the count comes last").1.parse().expect("a number");
    assert!(failures >= 1, "{printed}");

    let line = printed
        .lines()
        .find(|line| line.starts_with("HEIST_SIM_SEED="))
        .expect("the seed is printed");
    let seed = line.split(['=', ' ']).nth(1).unwrap();
    let again = heist_sim(&[&["replay", seed][..], &planted[..]].concat());
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stdout).contains("asleep-beside-work"));
    // Without the bug, the same plan passes.
    assert!(heist_sim(&["replay", seed]).status.success());

    let written = out.join(format!("{}.json", seed.replace('/', "-")));
    let minimised = scratch("minimised.json");
    let output =
        heist_sim(&["minimise", written.to_str().unwrap(), "--out", minimised.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("asleep-beside-work"));
    let size = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
    assert!(size(&minimised) < size(&written));
}

#[test]
fn errors_about_bad_input_say_what_to_do() {
    for (args, expected) in [
        (&["replay", "nonsense"][..], "SCENARIO/DRIVER/SEED"),
        (&["replay", "nothing.json"], "cannot read nothing.json"),
        (&["replay", "unheard-of/pct/1"], "there is no scenario `unheard-of`"),
        (&["run", "--scenario", "unheard-of"], "there is no scenario `unheard-of`"),
        (&["run", "--plant", "Unheard"], "heist-sim list"),
        (&["minimise", "standard/pct/1"], "does not fail"),
        (&["replay"], "<SCHEDULE>"),
    ] {
        let output = heist_sim(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
    let broken = scratch("broken.json");
    std::fs::write(&broken, "{\"scenario\": 5}").unwrap();
    let output = heist_sim(&["replay", broken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is not a schedule"));
}

#[test]
fn replaying_a_plan_plants_the_bug_even_if_the_plan_does_not_fail() {
    let last_lines = |args: &[&str]| {
        let output = heist_sim(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().rev().take(2).collect::<Vec<_>>().join("\n")
    };
    let ours = last_lines(&["replay", "standard/pct/7"]);
    let other = last_lines(&["replay", "standard/pct/7", "--plant", "InFlightWord"]);
    assert_ne!(ours, other, "a different way to count gives a different trace");
}

#[test]
fn invalid_scenarios_and_output_paths_are_reported_at_once() {
    let scenario = |programs: &str| {
        let path = scratch("absurd.json");
        let json = format!(
            r#"{{"origin":"","failure":{{"kind":"lost","text":""}},"decisions":[],
                "scenario":{{"name":"absurd","programs":{programs},"actors":[[]]}}}}"#
        );
        std::fs::write(&path, json).unwrap();
        path
    };
    for (programs, expected) in [
        (r#"[[{"open":{"gate":10000000000}}]]"#, "programs[0][0] names gate 10000000000"),
        (r#"[[{"spawn":{"program":5,"count":1,"how":"local"}}]]"#, "spawns program 5"),
        (r#"[[{"meet":{"parties":9}}]]"#, "meets 9, but there are 2 workers"),
        (r#"[[{"again":{"times":4000000000,"how":"local"}}]]"#, "wants 4000000000"),
        (r#"[[{"run":{"ns":1,"bogus":2}}]]"#, "bogus"),
    ] {
        let path = scenario(programs);
        let output = heist_sim(&["replay", path.to_str().unwrap()]);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(expected) && printed.contains("absurd.json"), "{printed}");
    }
    let inside_a_file = scenario("[]").join("folder");
    let output = heist_sim(&["run", "--schedules", "5", "--out", inside_a_file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("cannot create the directory"),
        "{}",
        text(&output.stderr)
    );
}
