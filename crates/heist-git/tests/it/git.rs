//! Runs git on repositories in temporary directories: with no configuration, and the same time and
//! names in every run.

use heist_git::{HashKind, ObjectId, ObjectKind};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary directory with repositories in it.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Makes an empty repository.
    pub(crate) fn init(&self, name: &str, hash: HashKind) -> Repo {
        let repo = Repo { path: self.path().join(name) };
        std::fs::create_dir_all(&repo.path).unwrap();
        let format = match hash {
            HashKind::Sha1 => "--object-format=sha1",
            HashKind::Sha256 => "--object-format=sha256",
        };
        repo.git(&["init", "--quiet", "--initial-branch=main", format]);
        repo
    }
}

/// A repository, by the path of its work tree or of a bare one.
pub(crate) struct Repo {
    pub path: PathBuf,
}

/// An object as git sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GitObject {
    pub id: ObjectId,
    pub kind: ObjectKind,
    pub content: Vec<u8>,
}

impl Repo {
    /// Runs git with these arguments, and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> Vec<u8> {
        self.git_with(arguments, b"")
    }

    /// Runs git with these arguments and this input.
    pub(crate) fn git_with(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.path)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "A U Thor")
            .env("GIT_AUTHOR_EMAIL", "author@example.com")
            .env("GIT_AUTHOR_DATE", "1700000000 +0100")
            .env("GIT_COMMITTER_NAME", "C O Mitter")
            .env("GIT_COMMITTER_EMAIL", "committer@example.com")
            .env("GIT_COMMITTER_DATE", "1700000001 +0100")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("these tests need git");
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // Git may write before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// Returns the first line that git prints.
    pub(crate) fn line(&self, arguments: &[&str]) -> String {
        let text = String::from_utf8(self.git(arguments)).unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    }

    /// Runs git with this input, and returns the first line that it prints.
    pub(crate) fn line_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let text = String::from_utf8(self.git_with(arguments, input)).unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn id(&self, name: &str) -> ObjectId {
        ObjectId::from_hex(self.line(&["rev-parse", name]).as_bytes()).unwrap()
    }

    /// Returns every object that git finds, sorted, with its content.
    pub(crate) fn all_objects(&self) -> Vec<GitObject> {
        let output = self.git(&["cat-file", "--batch-all-objects", "--batch", "--buffer"]);
        let mut rest = output.as_slice();
        let mut objects = Vec::new();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let header = std::str::from_utf8(&rest[..end]).unwrap();
            let words: Vec<_> = header.split(' ').collect();
            let len: usize = words[2].parse().unwrap();
            objects.push(GitObject {
                id: ObjectId::from_hex(words[0].as_bytes()).unwrap(),
                kind: ObjectKind::from_name(words[1].as_bytes()).unwrap(),
                content: rest[end + 1..end + 1 + len].to_vec(),
            });
            rest = &rest[end + 1 + len + 1..];
        }
        objects.sort();
        objects
    }

    /// Writes a blob as a loose object.
    pub(crate) fn write_blob(&self, content: &[u8]) -> ObjectId {
        let id = self.git_with(&["hash-object", "-w", "--stdin"], content);
        ObjectId::from_hex(id.trim_ascii()).unwrap()
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        let dot_git = self.path.join(".git");
        if dot_git.is_dir() { dot_git } else { self.path.clone() }
    }

    /// Returns the files in the directory of packs with this extension, sorted.
    pub(crate) fn packs(&self, extension: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.git_dir().join("objects/pack")).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|found| found == extension));
        paths.sort();
        paths
    }
}
