//! The walks of the library `heist-walk`, as programs that take part in the race: the hidden subcommand `heist-walk`.
//!
//! Three of them: names that are counted, as the floor does it; names with their metadata; and paths that are
//! printed, as `fd` and `bfs` do it.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};

use super::answer::Format;
use super::contender::{Contender, Program, Section, TREE};
use super::floor::{Part, Question, Totals};

/// Those who walk for `heist-walk`.
pub(crate) const CONTENDERS: &[Contender] = &[
    Contender {
        name: "heist-walk",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["heist-walk", TREE],
        format: Format::TotalsWithSizes,
    },
    Contender {
        name: "heist-walk",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["heist-walk", "--names", TREE],
        format: Format::TotalsOfNames,
    },
    Contender {
        name: "heist-walk-paths",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["heist-walk", "--paths", TREE],
        format: Format::Names,
    },
];

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Count names and do not ask for sizes.
    #[arg(long)]
    names: bool,
    /// Print the paths below the root, each ended by a zero byte.
    #[arg(long)]
    paths: bool,
}

/// Walks and prints one line, or all paths.
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
    let walked = walk.run(|_worker| Counting::default()).map_err(|error| error.to_string())?;
    let mut whole = Part::default();
    for counting in walked.visitors {
        whole.add(counting.0);
    }
    Ok(whole.totals)
}

/// Counts on one worker.
#[derive(Default)]
struct Counting(Part);

impl Counting {
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

impl Visitor for Counting {
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
    let walked = Walk::new(path).run(|_worker| Printing::default());
    walked.map(drop).map_err(|error| error.to_string())
}

/// Prints what one worker has met, some thousand paths at a time.
#[derive(Default)]
struct Printing {
    path: PathBuf,
    output: Vec<u8>,
}

/// Enough that the lock of stdout is nothing.
const OUTPUT_BYTES: usize = 64 << 10;

impl Printing {
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
        // If nobody listens any more, nobody misses it.
        let _ = std::io::stdout().lock().write_all(&self.output);
        self.output.clear();
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        self.print();
        let _ = std::io::stdout().flush();
    }
}

impl Visitor for Printing {
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
    fn it_counts_as_the_floor_does() {
        let root = tempfile::tempdir().expect("a place for a test");
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
