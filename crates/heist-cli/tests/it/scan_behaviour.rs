//! `heist scan` apart from its formats: exit codes, the choice of files, changing input, failing
//! output.

use crate::support::requirements;
use crate::support::scan::{ScanFixture, code, errors, json, lines, plain, run, text, token};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn exit_codes_match_the_result() {
    let scene = ScanFixture::new();
    scene.file("clean", "nothing");
    scene.file("found", token("tok_", 1));
    for (arguments, expected) in [
        (vec!["clean"], 0),
        (vec!["found"], 1),
        (vec!["clean", "/no/where"], 2),
        (vec!["found", "/no/where"], 1),
        (vec!["--nonsense"], 2),
        (vec!["-c", "sure"], 2),
        (vec!["--max-size", "x"], 2),
        (vec!["--timeout", "soon"], 2),
        (vec!["-j", "0"], 2),
        (vec!["--exclude", "[z-a]"], 2),
        (vec!["--only", "no-such-rule"], 2),
        (vec!["--rules", "/no/where"], 2),
        (vec!["--config", "/no/where"], 2),
        (vec!["--output", "/no/where/report"], 2),
        (vec!["-", "-"], 2),
    ] {
        let output = scene.scan(&arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", errors(&output));
        assert_eq!(
            errors(&output).is_empty(),
            expected < 2 && arguments.len() == 1,
            "{arguments:?}"
        );
    }
    let output = scene.scan(["found", "/no/where"]);
    assert_eq!(errors(&output), "heist: cannot scan '/no/where': No such file or directory\n");
    let quiet = scene.scan(["-q", "clean", "/no/where"]);
    assert_eq!((code(&quiet), errors(&quiet)), (2, String::new()));
    let expected = "1 path could not be scanned (without --quiet, stderr names it).\n";
    assert!(text(&quiet).contains(expected), "{}", text(&quiet));
    assert!(text(&output).contains("1 path could not be scanned; stderr names it.\n"));
}

/// Returns a random GitHub token with a valid checksum. GitHub never issued it.
fn github_token() -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let body = (token("", 5) + &token("", 6))[..30].to_owned();
    let mut crc = !0_u32;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut rest = !crc;
    let mut digits = [0; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[rest as usize % 62];
        rest /= 62;
    }
    format!("{}{body}{}", ["gh", "p_"].concat(), String::from_utf8_lossy(&digits))
}

#[test]
fn the_built_in_rules_find_a_planted_secret_and_say_what_to_do() {
    let scene = ScanFixture::new();
    let secret = github_token();
    scene.file("deploy/release.sh", format!("#!/bin/sh\nexport TOKEN={secret}\n"));
    let mut command = plain();
    command.args(["scan", "--no-config"]).current_dir(scene.tree());
    let output = run(command);
    let printed = text(&output);
    assert_eq!(code(&output), 1, "{printed}{}", errors(&output));
    assert!(printed.contains("    deploy/release.sh:2:14\n      export TOKEN=gh"), "{printed}");
    assert!(printed.contains("    certain: ") && printed.contains("    remedy: "), "{printed}");
    assert!(printed.contains("1 secret in 1 place (1 certain), in 1 file"), "{printed}");
    assert!(!printed.contains(&secret[8..30]), "{printed}");
}

#[test]
fn stdin_is_scanned() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    for (arguments, expected) in
        [(vec!["-"], vec!["stdin:2"]), (vec!["a", "-"], vec!["a:1", "stdin:2"])]
    {
        let mut command = scene.heist("scan", ["-f", "jsonl"]);
        command.args(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        write!(pipe, "first\n{}", token("tok_", 2)).expect("it reads");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let mut places: Vec<String> = lines(&output)
            .iter()
            .map(|line| format!("{}:{}", line["path"].as_str().expect("text"), line["line"]))
            .collect();
        places.sort();
        assert_eq!((places, code(&output)), (expected.into_iter().map(str::to_owned).collect(), 1));
    }
}

#[test]
fn stdin_must_not_be_a_directory() {
    let scene = ScanFixture::new();
    let mut command = scene.heist("scan", ["-"]);
    command.stdin(fs::File::open(scene.tree()).expect("a directory"));
    let output = run(command);
    assert_eq!(code(&output), 2);
    let message = errors(&output);
    assert!(message.contains("'stdin': it is a directory; give it as a PATH"), "{message}");
}

#[test]
fn jsonl_findings_arrive_during_the_scan() {
    use std::io::BufRead as _;
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let mut command = scene.heist("scan", ["-f", "jsonl", "a", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let stdin = child.stdin.take().expect("a pipe");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    std::io::BufReader::new(stdout).read_line(&mut line).expect("it writes");
    assert!(line.contains("\"path\":\"a\"") && line.ends_with('\n'), "{line}");
    // The scan is still running.
    assert!(child.try_wait().expect("a child").is_none());
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

/// Scans the sources of heist. A finding would be a secret in the sources, or a false alarm.
#[test]
fn our_own_sources_have_no_secrets() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = plain();
    command.current_dir(workspace).args(["scan", "--no-config", "--gitignore", "-f", "json", "."]);
    command.args(["--exclude", "/target", "--exclude", ".git"]);
    let output = run(command);
    let report = json(&output);
    assert!(report["files"].as_u64().expect("a number") > 100);
    assert_eq!((&report["secrets"], code(&output)), (&serde_json::json!([]), 0));
}

#[test]
fn a_silent_stdin_ends_with_the_timeout() {
    let scene = ScanFixture::new();
    let mut command = scene.heist("scan", ["--timeout", "300ms", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let pipe = child.stdin.take().expect("a pipe");
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("stopped after --timeout"), "{}", errors(&output));
}

#[test]
fn a_rule_can_match_file_names() {
    let scene = ScanFixture::new();
    let path = scene.path("rules.toml");
    let rule = "[[rules]]\nid = 'key-file'\ndescription = 'Key file'\npath = '\\.key$'\n";
    fs::write(&path, rule).expect("a file");
    scene.file("a/x.key", "anything");
    scene.file("a/y.key", "anything");
    let output = scene.scan::<&str>([]);
    assert_eq!(code(&output), 1, "{}", errors(&output));
    let printed = text(&output);
    assert!(printed.contains("Key file  the file itself  ("), "{printed}");
    assert!(
        printed.contains("    a/x.key\n") && printed.contains("2 secrets in 2 places"),
        "{printed}"
    );
}

#[test]
fn options_select_the_scanned_files() {
    let scene = ScanFixture::new();
    let secret = |seed| token("tok_", seed);
    fs::create_dir(scene.tree().join(".git")).expect("a directory");
    scene.file(".gitignore", "ignored\n");
    scene.file("ignored", secret(1));
    scene.file(".env", secret(2));
    scene.file("sub/.git/objects/ab/cd", secret(3));
    scene.file(".git/config", secret(4));
    scene.file("large", format!("{}\n{}", "x".repeat(100_000), secret(5)));
    scene.file("binary", format!("\0\0\n{}", secret(6)));
    scene.file("vendor/x", secret(7));
    fs::create_dir(scene.path("outside")).expect("a directory");
    fs::write(scene.path("outside/y"), secret(8)).expect("a file");
    std::os::unix::fs::symlink("../outside", scene.tree().join("link")).expect("a link");
    let default = [".env:1", ".git/config:1", "ignored:1", "large:2", "vendor/x:1"];
    let with = |more: &[&str], without: &[&str]| {
        let mut places: Vec<String> = default
            .iter()
            .chain(more)
            .filter(|place| !without.contains(place))
            .map(|place| (*place).to_owned())
            .collect();
        places.sort();
        places
    };
    assert_eq!(scene.places(&[]), with(&[], &[]));
    assert_eq!(scene.places(&["--gitignore"]), with(&[], &["ignored:1"]));
    assert_eq!(scene.places(&["--no-hidden"]), with(&[], &[".env:1", ".git/config:1"]));
    assert_eq!(scene.places(&["--max-size", "10K"]), with(&[], &["large:2"]));
    assert_eq!(scene.places(&["--binary"]), with(&["binary:2"], &[]));
    assert_eq!(scene.places(&["--exclude", "vendor/"]), with(&[], &["vendor/x:1"]));
    assert_eq!(
        scene.places(&["--exclude", "!**/.git/objects"]),
        with(&["sub/.git/objects/ab/cd:1"], &[])
    );
    assert_eq!(scene.places(&["--exclude", "vendor", "vendor", ".env"]), [".env:1"]);
    assert_eq!(scene.places(&["--follow"]), with(&["link/y:1"], &[]));
    assert_eq!(scene.places(&["link"]), ["link/y:1"], "a PATH is followed");
    let report = json(&scene.scan(["-f", "json", "--max-size", "10K", "--exclude", "vendor"]));
    assert_eq!(
        (&report["skipped"]["too_large"], &report["skipped"]["binary"]),
        (&1.into(), &1.into())
    );
    assert_eq!(report["skipped"]["symlinks"], 1);
    let summary = text(&scene.scan([] as [&str; 0]));
    assert!(summary.contains("1 symbolic link (--follow follows it)"), "{summary}");
    assert_eq!(report["complete"], true, "skipped files do not make a scan incomplete");
}

#[test]
fn a_path_that_is_excluded_is_counted() {
    let scene = ScanFixture::new();
    scene.file("kept", "nothing");
    scene.file("vendor/x", token("tok_", 1));
    let output = scene.scan(["-f", "json", "--exclude", "vendor", "vendor", "kept"]);
    assert_eq!((code(&output), &json(&output)["skipped"]["excluded"]), (0, &1.into()));
    scene.file("../heist.toml", "exclude = ['vendor']");
    for arguments in [vec!["--exclude", "vendor", "vendor", "./vendor"], vec!["vendor"]] {
        // A commit hook that gets only excluded files must not fail.
        let output = scene.scan(&arguments);
        assert_eq!(code(&output), 0, "{arguments:?}");
        assert!(text(&output).contains("excluded"), "{arguments:?}");
        let expected = "heist: note: nothing was scanned, because every PATH is excluded\n";
        assert_eq!(errors(&output), expected, "{arguments:?}");
    }
}

#[test]
fn rules_can_be_chosen() {
    let scene = ScanFixture::new();
    scene.file("a", format!("{}\n{}\n", token("tok_", 1), token("fair_", 2)));
    assert_eq!(scene.places(&["--only", "test-token"]), ["a:1"]);
    assert_eq!(scene.places(&["--only", "*-token"]), ["a:1", "a:2"]);
    assert_eq!(scene.places(&["--except", "test-*,faint-token"]), ["a:2"]);
    let output = scene.scan(["--only", "test-tokem"]);
    assert!(errors(&output).contains("test-token"), "the nearest is named: {}", errors(&output));
}

#[test]
fn path_rules_see_the_same_path_for_every_root() {
    let scene = ScanFixture::new();
    scene.file("vendor/lib/a", token("tok_", 1));
    scene.file("src/a", token("tok_", 2));
    let allowed = "[[allowlists]]\npaths = ['^vendor/lib/']\n";
    let rules = fs::read_to_string(scene.path("rules.toml")).expect("the tests' rules");
    fs::write(scene.path("rules.toml"), rules + allowed).expect("a file");
    fs::create_dir(scene.tree().join(".git")).expect("a directory");
    let tree = scene.tree();
    let tree = tree.to_str().expect("text");
    for (paths, expected) in [
        (&["."] as &[&str], &["./src/a:1"] as &[&str]),
        (&["vendor", "./vendor/lib"], &[]),
        (&["vendor/lib/a", "src/a"], &["src/a:1"]),
        (&["../tree/vendor/lib/a"], &[]),
        (&[tree], &[&format!("{tree}/src/a:1")]),
    ] {
        assert_eq!(scene.places(paths), expected, "{paths:?}");
    }
}

#[test]
fn unreadable_files_are_named_and_the_rest_is_scanned() {
    let scene = ScanFixture::new();
    for directory in [scene.temp.path().to_owned(), scene.tree()] {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).expect("mine");
    }
    let file = scene.file("closed", token("tok_", 1));
    let directory = scene.file("shut/x", token("tok_", 2)).parent().expect("it has one").to_owned();
    scene.file("open", token("tok_", 3));
    for closed in [&file, &directory] {
        fs::set_permissions(closed, Permissions::from_mode(0o000)).expect("mine");
    }
    let run =
        |arguments: &[&str]| requirements::output_of_another_user(&scene.heist("scan", arguments));
    let (found, none) = (run(&[]), run(&["--exclude", "open"]));
    let report = run(&["-f", "json"]);
    assert_eq!(code(&found), 1, "{}", errors(&found));
    assert!(text(&found).contains("open:1:1") && text(&found).contains("Not complete: 2 paths"));
    assert!(
        errors(&found).contains("heist: cannot scan './closed': Permission denied\n"),
        "{}",
        errors(&found)
    );
    assert!(
        errors(&found).contains("heist: cannot scan './shut': Permission denied\n"),
        "{}",
        errors(&found)
    );
    assert_eq!(code(&none), 2);
    let report = json(&report);
    assert_eq!(report["complete"], false);
    assert_eq!(report["incomplete"].as_array().expect("a list").len(), 2);
    fs::set_permissions(directory, Permissions::from_mode(0o755)).expect("mine");
}

#[test]
fn a_fifo_in_the_tree_is_skipped() {
    requirements::program("mkfifo");
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let made = Command::new("mkfifo").arg(scene.tree().join("fifo")).status().expect("it starts");
    assert!(made.success());
    let report = json(&scene.scan(["-f", "json"]));
    assert_eq!((&report["skipped"]["special"], &report["complete"]), (&1.into(), &true.into()));
}

#[test]
fn files_that_change_during_the_scan_are_reported_or_read_whole() {
    let scene = ScanFixture::new();
    let large = vec![b'x'; 12 << 20];
    let path = scene.file("changes", &large);
    scene.file("stays", token("tok_", 1));
    for round in 0..6 {
        fs::write(&path, &large).expect("there is room");
        let child = scene
            .heist("scan", ["-f", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(2 * round));
        OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(7)).expect("mine");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(code(&output), 1, "{}", errors(&output));
        let report = json(&output);
        assert_eq!(report["secrets"].as_array().expect("a list").len(), 1);
        let is_named = errors(&output).contains("'./changes'");
        assert_eq!(report["complete"], !is_named, "{}", errors(&output));
    }
}

#[test]
fn a_timeout_ends_the_scan() {
    let scene = ScanFixture::new();
    for number in 0..200 {
        scene.file(number.to_string(), "x");
    }
    let output = scene.scan(["--timeout", "0ms", "-f", "json"]);
    assert_eq!(code(&output), 2, "{}", errors(&output));
    assert_eq!(json(&output)["ended"], "timeout");
    assert!(errors(&output).contains("stopped after --timeout"));
    assert_eq!(code(&scene.scan(["--timeout", "1h"])), 0);
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let scene = ScanFixture::new();
    for number in 0..50 {
        scene.file(number.to_string(), token("tok_", number));
    }
    for format in ["text", "json", "jsonl", "sarif"] {
        let mut command = scene.heist("scan", ["-f", format]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((errors(&output), code(&output)), (String::new(), 1), "{format}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let scene = ScanFixture::new();
    scene.file("found", token("tok_", 1));
    scene.file("clean", "x");
    for format in ["text", "json", "jsonl", "sarif"] {
        for (path, expected) in [("found", 1), ("clean", 2)] {
            let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
            let mut command = scene.heist("scan", ["-f", format, path]);
            let to_stdout =
                command.stdout(full).stderr(Stdio::piped()).output().expect("it starts");
            let to_file = scene.scan(["-f", format, path, "--output", "/dev/full"]);
            let of_stdout = "to stdout: No space left on device\n  help: free some space, or redirect \
                 the output elsewhere";
            let of_file = "the output '/dev/full': No space left on device\n  help: free some space, \
                 or give another FILE";
            for (output, why) in [(to_stdout, of_stdout), (to_file, of_file)] {
                assert_eq!(code(&output), expected, "{format} {path}: {}", errors(&output));
                let says = errors(&output) == format!("heist: cannot write {why}\n");
                assert_eq!(says, expected > 0, "{format} {path}: {}", errors(&output));
            }
        }
    }
}

#[test]
fn trace_and_stats_are_written() {
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let trace = scene.path("trace.json");
    let output = scene.scan(["--stats", "--trace", trace.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 1);
    let stats = errors(&output);
    assert!(stats.contains("findings    1 reported"), "{stats}");
    assert!(stats.contains(" symbolic links, ") && stats.contains(" over the limit\n"), "{stats}");
    let trace: serde_json::Value =
        serde_json::from_slice(&fs::read(trace).expect("it was written")).expect("valid JSON");
    let events = trace.get("traceEvents").unwrap_or(&trace).as_array().expect("a list");
    assert!(!events.is_empty(), "{trace}");
}

#[test]
fn the_network_is_never_used() {
    requirements::program("strace");
    let scene = ScanFixture::new();
    scene.file("a", token("tok_", 1));
    let log = scene.path("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=%network", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_heist"));
    command.args(["scan", "--confidence", "low"]).arg(scene.tree()).stdin(Stdio::null());
    let output = run(command);
    let why = "strace has to be allowed to watch a process (ptrace)";
    assert!(matches!(output.status.code(), Some(0 | 1)), "{why}: {}", errors(&output));
    let calls = fs::read_to_string(&log).expect("strace writes it");
    // The handler of signals wakes its thread through a pair of local sockets that are connected to
    // each other. Every other socket needs a call of its own.
    let is_local = |line: &str| {
        ["socketpair(AF_UNIX,", " recvfrom(", " sendto("].iter().any(|call| line.contains(call))
    };
    let network: Vec<&str> = calls
        .lines()
        .filter(|line| line.contains('(') && !line.contains("+++") && !is_local(line))
        .collect();
    assert!(network.is_empty(), "{network:?}");
}
