//! Histories that are made from a seed, with `git fast-import`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::walk::trees::random::Random;

/// A history with one kind of difficulty.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum MadeHistory {
    /// 20,000 small commits to 200 files.
    Commits,
    /// One log that grows in 2,000 commits to 8 MB.
    Log,
    /// 300 binary files of a megabyte.
    Binaries,
    /// 100,000 files, and 300 commits that change one of them.
    Files,
    /// 2,000 versions of files that are full of secrets.
    Dense,
}

const SEED: u64 = 20_261_119;

impl MadeHistory {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Commits => "commits",
            Self::Log => "log",
            Self::Binaries => "binaries",
            Self::Files => "files",
            Self::Dense => "dense",
        }
    }

    /// Makes a bare repository in an empty directory.
    pub(crate) fn make(self, path: &Path) -> io::Result<()> {
        git(path, &["init", "--quiet", "--bare", "--initial-branch=main"], &[])?;
        let mut writer = Writer { random: Random::new(SEED), out: Vec::new(), commits: 0 };
        self.write(&mut writer);
        let import = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"];
        git(path, &import, &writer.out)?;
        // As a server packs it: fast-import itself makes poor deltas.
        git(path, &["repack", "-adfq", "--depth=50", "--window=10"], &[])
    }

    fn write(self, writer: &mut Writer) {
        match self {
            Self::Commits => {
                let mut files = vec![String::new(); 200];
                for number in 0..20_000 {
                    let at = number % files.len();
                    let line = writer.line();
                    files[at].push_str(&line);
                    writer.commit(&[(format!("src/{at}.rs"), files[at].clone().into_bytes())]);
                }
            }
            Self::Log => {
                let mut log = String::new();
                for _ in 0..2000 {
                    for _ in 0..60 {
                        log.push_str(&writer.line());
                    }
                    writer.commit(&[("server.log".to_owned(), log.clone().into_bytes())]);
                }
            }
            Self::Binaries => {
                for number in 0..300 {
                    let mut content = vec![0; 1 << 20];
                    for word in content.chunks_mut(8) {
                        let bytes = writer.random.next().to_le_bytes();
                        word.copy_from_slice(&bytes[..word.len()]);
                    }
                    writer.commit(&[(format!("data/{number}.bin"), content)]);
                }
            }
            Self::Files => {
                let files: Vec<(String, Vec<u8>)> = (0..100_000)
                    .map(|number: u32| {
                        let path = format!("{:02x}/{:02x}/{number}", number % 37, number % 211);
                        (path, writer.line().into_bytes())
                    })
                    .collect();
                writer.commit(&files);
                for number in 0..300 {
                    let path = files[number * 331].0.clone();
                    let line = writer.line();
                    writer.commit(&[(path, line.into_bytes())]);
                }
            }
            Self::Dense => {
                let mut lines: Vec<String> = (0..300).map(|_| writer.secret()).collect();
                for number in 0..2000 {
                    let at = number % lines.len();
                    lines[at] = writer.secret();
                    writer.commit(&[("config.env".to_owned(), lines.concat().into_bytes())]);
                }
            }
        }
    }
}

struct Writer {
    random: Random,
    out: Vec<u8>,
    commits: u64,
}

impl Writer {
    fn line(&mut self) -> String {
        let words = ["let", "value", "return", "if", "self", "error", "=>", "request", "200", "fn"];
        let mut line = String::new();
        for _ in 0..4 + self.random.next() % 8 {
            let word = words[(self.random.next() % words.len() as u64) as usize];
            // Writing to a String cannot fail.
            let _ = write!(line, "{word}{} ", self.random.next() % 100);
        }
        line + "\n"
    }

    fn secret(&mut self) -> String {
        let [first, second] = [self.random.next(), self.random.next()];
        format!("API_TOKEN_{} = \"{first:016x}{second:016x}\"\n", first % 1000)
    }

    fn commit(&mut self, files: &[(String, Vec<u8>)]) {
        self.commits += 1;
        let seconds = 1_600_000_000 + self.commits * 60;
        let head = format!(
            "commit refs/heads/main\ncommitter C <c@d> {seconds} +0000\ndata 7\nchange\n\n"
        );
        self.out.extend_from_slice(head.as_bytes());
        for (path, content) in files {
            let head = format!("M 100644 inline {path}\ndata {}\n", content.len());
            self.out.extend_from_slice(head.as_bytes());
            self.out.extend_from_slice(content);
            self.out.push(b'\n');
        }
    }
}

fn git(path: &Path, arguments: &[&str], input: &[u8]) -> io::Result<()> {
    // From a file: git may stop reading, and a pipe would break.
    let stream = path.join("stream");
    fs::File::create(&stream)?.write_all(input)?;
    let mut command = Command::new("git");
    command.args(arguments).current_dir(path).stdin(fs::File::open(&stream)?);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let ended = command.stdout(Stdio::null()).status()?;
    fs::remove_file(stream)?;
    match ended.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("git {}: {ended}", arguments.join(" ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_history_is_the_same_every_time() {
        let made = || {
            let root = tempfile::tempdir().expect("can create a temporary folder");
            MadeHistory::Dense.make(root.path()).expect("git is there");
            fs::read_to_string(root.path().join("packed-refs"))
                .or_else(|_| fs::read_to_string(root.path().join("refs/heads/main")))
                .expect("it has a branch")
        };
        assert_eq!(made(), made());
    }
}
