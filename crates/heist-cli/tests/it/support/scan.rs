//! Support for tests of `heist scan`: rules, generated tokens, and a directory to scan.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The rules of the tests, with high, medium and low confidence.
const RULES: &str = "\
[[rules]]
id = 'test-token'
description = 'Token of a test'
remedy = 'Throw it away.'
regex = '''tok_[a-z0-9]{20}'''
keywords = ['tok_']
confidence = 'high'

[[rules]]
id = 'fair-token'
description = 'Fair token of a test'
regex = '''fair_[a-z0-9]{20}'''
keywords = ['fair_']
confidence = 'medium'

[[rules]]
id = 'faint-token'
description = 'Faint token of a test'
regex = '''faint_[a-z0-9]{20}'''
keywords = ['faint_']
confidence = 'low'
";

/// Returns a token of `prefix` and twenty characters, different for each seed.
pub(crate) fn token(prefix: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut text = prefix.to_owned();
    for _ in 0..20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[(state >> 33) as usize % 36]));
    }
    text
}

/// A directory with a `tree` to scan and the rules beside it.
pub(crate) struct ScanFixture {
    pub(crate) temp: TempDir,
}

impl ScanFixture {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().expect("a directory for the test");
        fs::create_dir(temp.path().join("tree")).expect("a directory");
        fs::write(temp.path().join("rules.toml"), RULES).expect("a file");
        Self { temp }
    }

    /// Returns the directory to scan.
    pub(crate) fn tree(&self) -> PathBuf {
        self.temp.path().join("tree")
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Writes a file in the tree.
    pub(crate) fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.tree().join(name);
        fs::create_dir_all(path.parent().expect("it is in the tree")).expect("a directory");
        fs::write(&path, content).expect("a file");
        if path.ends_with("heist.toml") {
            // Above the PATHs, the file counts only if no group may write to it or its directory.
            let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
            mode(&path, 0o644).expect("mine");
            mode(path.parent().expect("it is in the tree"), 0o755).expect("mine");
        }
        path
    }

    /// Returns `heist COMMAND` with the rules of the tests, in the tree.
    pub(crate) fn heist<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut heist = plain();
        heist.arg(command).arg("--rules").arg(self.path("rules.toml")).args(arguments);
        heist.current_dir(self.tree());
        heist
    }

    /// Runs `heist scan` with the rules of the tests, in the tree.
    pub(crate) fn scan<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        run(self.heist("scan", arguments))
    }

    /// Returns the locations that `--format jsonl` reports, as `path:line`, sorted.
    #[track_caller]
    pub(crate) fn places(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.scan(["--format", "jsonl"].iter().chain(arguments));
        let mut places: Vec<String> = lines(&output)
            .iter()
            .map(|line| format!("{}:{}", line["path"].as_str().expect("text"), line["line"]))
            .collect();
        places.sort();
        places
    }
}

/// Returns the tool, without variables for colours and without a configuration of the user.
pub(crate) fn plain() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command.env_remove("HEIST_POLICY").env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

#[track_caller]
pub(crate) fn run(mut command: Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a command, and fails if it takes too long.
#[track_caller]
pub(crate) fn in_time(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let started = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if started.elapsed() > Duration::from_secs(20) {
            child.kill().expect("a child");
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("its output")
}

/// Returns stdout as text.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns stderr as text.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the exit code.
#[track_caller]
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{:?}: {}", output.status, errors(output)))
}

/// Parses the findings of `--format jsonl`, which an end record must follow.
#[track_caller]
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let (findings, _) = findings_and_end(output);
    findings
}

/// Parses the end record of `--format jsonl`.
#[track_caller]
pub(crate) fn end(output: &Output) -> Value {
    let (_, end) = findings_and_end(output);
    end
}

#[track_caller]
fn findings_and_end(output: &Output) -> (Vec<Value>, Value) {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let mut findings: Vec<Value> = text(output).lines().map(parse).collect();
    let last = findings.pop().unwrap_or_else(|| panic!("no end record: {}", errors(output)));
    let Value::Object(last) = last else { panic!("{last} is not an object") };
    let [(key, end)] = <[_; 1]>::try_from(last.into_iter().collect::<Vec<_>>()).expect("one key");
    assert_eq!(key, "end");
    for finding in &findings {
        assert!(finding["rule"].is_string() && finding.get("end").is_none(), "{finding}");
    }
    (findings, end)
}

/// Parses the object of `--format json` or `sarif`.
#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(output), errors(output)))
}
