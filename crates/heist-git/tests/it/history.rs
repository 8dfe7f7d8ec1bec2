//! Random histories: edits, moves, copies, binary files, merges, tags; the same for a seed.

use crate::git::Repo;
use heist::rng::XorShift64;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a history has.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub seed: u64,
    pub commits: usize,
    pub files: usize,
    /// The number of lines of a new file.
    pub lines: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { seed: 1, commits: 60, files: 12, lines: 80 }
    }
}

/// Writes a history into the repository with `git fast-import`, on `main` and on a few branches.
/// It is in one pack afterwards.
pub(crate) fn write(repo: &Repo, plan: Plan) {
    let stream = Writer::new(plan).stream();
    let arguments =
        ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--date-format=raw"];
    repo.git_with(&arguments, &stream);
}

struct Writer {
    plan: Plan,
    rng: XorShift64,
    files: BTreeMap<String, Vec<u8>>,
    out: Vec<u8>,
}

impl Writer {
    fn new(plan: Plan) -> Self {
        let rng = XorShift64::new(plan.seed);
        Self { plan, rng, files: BTreeMap::new(), out: Vec::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }

    fn line(&mut self) -> String {
        let words = ["let", "value", "=", "fn", "return", "if", "0x1f", "\u{e4}\u{f6}", "", "==>"];
        let mut line = String::new();
        for _ in 0..1 + self.below(8) {
            let word = words[self.below(words.len() as u64) as usize];
            let _ = write!(line, "{word}{} ", self.rng.next_u64() % 1000);
        }
        line + "\n"
    }

    fn new_file(&mut self) -> Vec<u8> {
        if self.below(6) == 0 {
            let len = self.below(40 * self.plan.lines);
            return (0..len).map(|_| self.rng.next_u64() as u8).collect();
        }
        let lines = self.below(self.plan.lines);
        (0..lines).flat_map(|_| self.line().into_bytes()).collect()
    }

    fn edit(&mut self, content: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            let at = self.below(content.len() as u64 + 1) as usize;
            let end = (at + self.below(60) as usize).min(content.len());
            let line = if self.below(4) == 0 { String::new() } else { self.line() };
            content.splice(at..end, line.into_bytes());
        }
    }

    fn change(&mut self) {
        let names: Vec<_> = self.files.keys().cloned().collect();
        let known = self.below(names.len() as u64) as usize;
        let name = format!("dir{}/file {}", self.below(4), self.below(1000));
        match self.below(10) {
            _ if names.is_empty() => {
                let content = self.new_file();
                self.files.insert(name, content);
            }
            0 | 1 if names.len() < self.plan.files => {
                let content = self.new_file();
                self.files.insert(name, content);
            }
            2 => {
                let content = self.files.remove(&names[known]).unwrap();
                self.files.insert(name, content);
            }
            3 => {
                let content = self.files[&names[known]].clone();
                self.files.insert(name, content);
            }
            4 if names.len() > 2 => {
                self.files.remove(&names[known]);
            }
            _ => {
                let mut content = self.files.remove(&names[known]).unwrap();
                self.edit(&mut content);
                self.files.insert(names[known].clone(), content);
            }
        }
    }

    fn stream(mut self) -> Vec<u8> {
        let mut side = None;
        for number in 0..self.plan.commits {
            for _ in 0..1 + self.below(4) {
                self.change();
            }
            let branch = if self.below(5) == 0 { "side" } else { "main" };
            let from = match number {
                0 => String::new(),
                _ => format!("from :{number}\n"),
            };
            let merge = match side {
                Some(mark) if branch == "main" && self.below(3) == 0 => {
                    side = None;
                    format!("merge :{mark}\n")
                }
                _ => String::new(),
            };
            if branch == "side" {
                side = Some(number + 1);
            }
            let time = 1_600_000_000 + number * 1000;
            let message = format!("Change {number}\n\nBecause of {}", self.line());
            let mut text = format!("commit refs/heads/{branch}\nmark :{}\n", number + 1);
            let _ = writeln!(text, "author A <a@example.com> {time} +0100");
            let _ = writeln!(text, "committer C <c@example.com> {time} -0530");
            let _ = write!(text, "data {}\n{message}\n{from}{merge}deleteall\n", message.len());
            self.out.extend_from_slice(text.as_bytes());
            for (name, content) in &self.files {
                let header = format!("M 100644 inline {name}\ndata {}\n", content.len());
                self.out.extend_from_slice(header.as_bytes());
                self.out.extend_from_slice(content);
                self.out.push(b'\n');
            }
            if number % 20 == 19 {
                let tag = format!(
                    "tag v{number}\nfrom :{}\ntagger T <t@example.com> {time} +0000\n\
                     data 6\nnotes\n\n",
                    number + 1
                );
                self.out.extend_from_slice(tag.as_bytes());
            }
        }
        self.out
    }
}
