//! Real git repositories in temporary directories, with a cleared environment and fixed dates.

use super::requirements;
use super::scan::ScanFixture;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A repository in the tree of a fixture, on the branch `main`.
pub(crate) struct GitFixture {
    pub(crate) scan: ScanFixture,
}

impl GitFixture {
    #[track_caller]
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    /// Creates a repository whose ids are `sha1` or `sha256`.
    #[track_caller]
    pub(crate) fn with_format(format: &str) -> Self {
        requirements::program("git");
        let fixture = Self { scan: ScanFixture::new() };
        fixture.git(["init", "-q", "-b", "main", "--object-format", format]);
        fixture
    }

    /// Returns git in the tree, with these arguments.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut git = git(self.scan.temp.path(), &self.scan.tree());
        git.args(arguments);
        git
    }

    /// Runs git in the tree, and returns what it prints. It must succeed.
    #[track_caller]
    pub(crate) fn git<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Vec<u8> {
        succeed(self.command(arguments))
    }

    /// Writes a file and stages it.
    #[track_caller]
    pub(crate) fn stage(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        self.scan.file(&name, content);
        self.git([
            OsStr::new("add"),
            OsStr::new("-f"),
            OsStr::new("--"),
            name.as_ref().as_os_str(),
        ]);
    }

    /// Commits what is staged.
    #[track_caller]
    pub(crate) fn commit(&self) {
        self.git(["commit", "-q", "--no-verify", "--allow-empty", "-m", "a change"]);
    }
}

/// Returns git in `directory`, with its home in `home` and nothing of the caller's environment.
pub(crate) fn git(home: &Path, directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .current_dir(directory)
        .stdin(Stdio::null());
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "A Tester")
            .env(format!("GIT_{who}_EMAIL"), "tester@localhost")
            .env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
    }
    git
}

/// Runs a command that must succeed, and returns what it prints.
#[track_caller]
pub(crate) fn succeed(mut command: Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {:?}\n{errors}", output.status);
    output.stdout
}

/// Runs a command with this stdin.
#[track_caller]
pub(crate) fn feed(mut command: Command, stdin: &[u8]) -> Output {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let path = temp.path().join("stdin");
    fs::write(&path, stdin).expect("a file");
    command.stdin(fs::File::open(path).expect("a file"));
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}
