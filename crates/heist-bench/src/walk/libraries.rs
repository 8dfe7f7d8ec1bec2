//! The walkers of other libraries, each in a minimal program: the hidden subcommand `library`.
//!
//! They answer the same questions as the floor and print in the same format. Each is used as its
//! documentation shows: names and types come from the directory, metadata from
//! `DirEntry::metadata`. Filters are off.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{fs, mem};

use clap::{Args, ValueEnum};
use ignore::{ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use super::floor::{BYTES_PER_BLOCK, Part, Question, Totals};

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    library: Library,
    path: PathBuf,
    /// Count names without querying sizes.
    #[arg(long)]
    names: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Library {
    /// `ignore::WalkParallel`, with its default number of threads.
    Ignore,
    /// `walkdir::WalkDir`, which is single-threaded.
    Walkdir,
}

/// Walks the tree and prints one line.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let question = if options.names { Question::Names } else { Question::Sizes };
    let totals = match options.library {
        Library::Ignore => with_ignore(&options.path, question),
        Library::Walkdir => with_walkdir(&options.path, question),
    };
    println!("{}", totals.line());
    Ok(())
}

impl Part {
    /// Counts an entry by its type in the directory. The root itself does not count as a name.
    fn meet(&mut self, depth: usize, kind: Option<fs::FileType>) {
        if depth > 0 {
            self.totals.names += 1;
            self.totals.directories += u64::from(kind.is_some_and(|kind| kind.is_dir()));
            self.totals.files += u64::from(kind.is_some_and(|kind| kind.is_file()));
        }
    }

    fn meet_metadata<E>(&mut self, metadata: Result<fs::Metadata, E>) {
        let Ok(metadata) = metadata else {
            self.totals.errors += 1;
            return;
        };
        let sizes = (metadata.blocks() * BYTES_PER_BLOCK, metadata.len());
        if metadata.is_dir() {
            self.count(sizes);
            self.totals.directory_bytes += metadata.len();
        } else if metadata.nlink() == 1 {
            self.count(sizes);
        } else {
            self.count_once((metadata.dev(), metadata.ino()), sizes);
        }
    }
}

fn with_walkdir(path: &Path, question: Question) -> Totals {
    let mut found = Part::default();
    for entry in walkdir::WalkDir::new(path) {
        match entry {
            Ok(entry) => {
                found.meet(entry.depth(), Some(entry.file_type()));
                if question == Question::Sizes {
                    found.meet_metadata(entry.metadata());
                }
            }
            Err(_) => found.totals.errors += 1,
        }
    }
    found.totals
}

fn with_ignore(path: &Path, question: Question) -> Totals {
    let whole = Mutex::new(Part::default());
    let walk = WalkBuilder::new(path).standard_filters(false).threads(0).build_parallel();
    walk.visit(&mut Visitors { question, whole: &whole });
    whole.into_inner().expect("visitors do not panic").totals
}

/// Creates a visitor for each thread.
struct Visitors<'whole> {
    question: Question,
    whole: &'whole Mutex<Part>,
}

impl<'whole> ParallelVisitorBuilder<'whole> for Visitors<'whole> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'whole> {
        Box::new(Visitor { question: self.question, found: Part::default(), whole: self.whole })
    }
}

/// Counts for one thread, and adds its counts to the total when the thread is done.
struct Visitor<'whole> {
    question: Question,
    found: Part,
    whole: &'whole Mutex<Part>,
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: Result<ignore::DirEntry, ignore::Error>) -> WalkState {
        match entry {
            Ok(entry) => {
                self.found.meet(entry.depth(), entry.file_type());
                if self.question == Question::Sizes {
                    self.found.meet_metadata(entry.metadata());
                }
            }
            Err(_) => self.found.totals.errors += 1,
        }
        WalkState::Continue
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let found = mem::take(&mut self.found);
        if let Ok(mut whole) = self.whole.lock() {
            whole.add(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::walk::floor;

    #[test]
    fn all_walkers_find_the_same() {
        let root = tempfile::tempdir().expect("can create a temporary folder");
        for number in 0..20 {
            let directory = root.path().join(format!("directory {number}/.hidden"));
            fs::create_dir_all(&directory).expect("is new");
            fs::write(directory.join("file"), vec![1; number * 700]).expect("is new");
            fs::write(directory.join(".gitignore"), "*").expect("is new");
            fs::hard_link(directory.join("file"), root.path().join(format!("link {number}")))
                .expect("is new");
        }
        for question in [Question::Names, Question::Sizes] {
            let expected = floor::walk(root.path(), question, NonZeroUsize::MIN);
            assert_eq!(with_walkdir(root.path(), question), expected);
            assert_eq!(with_ignore(root.path(), question), expected);
        }
    }
}
