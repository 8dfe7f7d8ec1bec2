//! The walks of the library `heist-walk`, as contenders of `walk`: the hidden subcommand
//! `heist-walk`.
//!
//! It has three modes: count names, as the floor does; count names and query metadata; and print
//! paths, as `fd` and `bfs` do.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};

use super::answer::AnswerFormat;
use super::contender::{Program, Section, TREE, WalkContender};
use super::floor::{Part, Question, Totals};

/// The contenders that use `heist-walk`.
pub(crate) const CONTENDERS: &[WalkContender] = &[
    WalkContender {
        name: "heist-walk",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["heist-walk", TREE],
        format: AnswerFormat::TotalsWithSizes,
    },
    WalkContender {
        name: "heist-walk",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["heist-walk", "--names", TREE],
        format: AnswerFormat::TotalsOfNames,
    },
    WalkContender {
        name: "heist-walk-paths",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["heist-walk", "--paths", TREE],
        format: AnswerFormat::Names,
    },
];

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Count names without querying sizes.
    #[arg(long)]
    names: bool,
    /// Print the paths below the root, each followed by a zero byte.
    #[arg(long)]
    paths: bool,
}

/// Walks the tree and prints one line, or all paths.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.paths {
        return print_paths(&options.path);
    }
    let question = if options.names { Question::Names } else { Question::Sizes };
    println!("{}", count(&options.path, question)?.line());
    Ok(())
}

fn count(path: &Path, question: Question) -> Result<Totals, String> {
    let walk = Walk::new(path).metadata(question == Question::Sizes);
    let walked =
        walk.run(|_worker| CountingVisitor::default()).map_err(|error| error.to_string())?;
    let mut whole = Part::default();
    for counting in walked.visitors {
        whole.add(counting.0);
    }
    Ok(whole.totals)
}

/// Counts what one worker meets.
#[derive(Default)]
struct CountingVisitor(Part);

impl CountingVisitor {
    fn meet(&mut self, entry: &Entry<'_>) {
        let totals = &mut self.0.totals;
        if entry.depth() > 0 {
            totals.names += 1;
            totals.directories += u64::from(entry.kind().is_dir());
            totals.files += u64::from(entry.kind().is_file());
        }
        let Some(metadata) = entry.metadata() else { return };
        let sizes = (metadata.allocated, metadata.len);
        if metadata.kind.is_dir() {
            totals.directory_bytes += metadata.len;
            self.0.count(sizes);
        } else if metadata.links == 1 {
            self.0.count(sizes);
        } else {
            self.0.count_once((metadata.device, metadata.inode), sizes);
        }
    }
}

impl Visitor for CountingVisitor {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.meet(dir);
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.meet(file);
        Flow::Continue
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&()>) -> Flow {
        self.0.totals.errors += 1;
        Flow::Continue
    }
}

fn print_paths(path: &Path) -> Result<(), String> {
    let walked = Walk::new(path).run(|_worker| PathPrinter::default());
    walked.map(drop).map_err(|error| error.to_string())
}

/// Prints what one worker meets, a few thousand paths at a time.
#[derive(Default)]
struct PathPrinter {
    path: PathBuf,
    output: Vec<u8>,
}

/// Large enough that taking the lock of stdout costs nothing in comparison.
const OUTPUT_BYTES: usize = 64 << 10;

impl PathPrinter {
    fn meet(&mut self, entry: &Entry<'_>) {
        if entry.depth() == 0 {
            return;
        }
        entry.path_into(&mut self.path);
        self.output.extend_from_slice(self.path.as_os_str().as_encoded_bytes());
        self.output.push(0);
        if self.output.len() >= OUTPUT_BYTES {
            self.print();
        }
    }

    fn print(&mut self) {
        // The reader may have closed the pipe; then the output is not needed.
        let _ = std::io::stdout().lock().write_all(&self.output);
        self.output.clear();
    }
}

impl Drop for PathPrinter {
    fn drop(&mut self) {
        self.print();
        let _ = std::io::stdout().flush();
    }
}

impl Visitor for PathPrinter {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.meet(dir);
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.meet(file);
        Flow::Continue
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&()>) -> Flow {
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::floor;
    use std::num::NonZeroUsize;

    #[test]
    fn heist_walk_counts_what_the_floor_counts() {
        let root = tempfile::tempdir().expect("can create a temporary folder");
        for number in 0..20 {
            let directory = root.path().join(format!("directory {number}/inner"));
            std::fs::create_dir_all(&directory).expect("is new");
            std::fs::write(directory.join("file"), vec![1; number * 700]).expect("is new");
            std::fs::hard_link(directory.join("file"), root.path().join(format!("link {number}")))
                .expect("is new");
        }
        for question in [Question::Names, Question::Sizes] {
            let expected = floor::walk(root.path(), question, NonZeroUsize::MIN);
            assert_eq!(count(root.path(), question), Ok(expected));
        }
    }
}
