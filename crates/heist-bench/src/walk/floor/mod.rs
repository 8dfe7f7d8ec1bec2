//! The floor: the cheapest walk of a tree, as a yardstick for all others.
//!
//! Several threads open directories, read them in blocks, query the metadata of each entry relative
//! to the directory's descriptor, and add everything up. There are no paths, no options, no order,
//! and errors are only counted. It stands for the cost of a program that wants these totals and
//! nothing else.
//!
//! - Every thread walks depth first over a stack of its own, so few descriptors are open: those of
//!   directories with children still to be opened. If another thread has run out of work, the older
//!   half of the stack goes to the pool.
//! - A directory that filled its block goes to the pool at once, before its records are processed,
//!   so that another thread can read the next block meanwhile. That splits a huge directory and
//!   costs small ones nothing.
//! - Each thread remembers only files with more than one link. Files that several threads met are
//!   subtracted from the sum at the end.
//!
//! It does not guarantee an answer where directories cannot be read or descriptors run out:
//! [`Totals::errors`] counts what it left out, and then the totals differ from those of `du`.

mod block;
mod pool;
mod totals;

use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{iter, thread};

use clap::Args;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags};
use rustix::process::{Resource, Rlimit};

use block::RecordBlock;
use pool::{DirectoryPool, Stack, WalkTask};
pub(crate) use totals::{BYTES_PER_BLOCK, Part, Totals};

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Count names without querying sizes.
    #[arg(long)]
    names: bool,
    #[arg(long, value_name = "N", default_value = "2")]
    threads: NonZeroUsize,
}

/// Walks the tree and prints one line.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let question = if options.names { Question::Names } else { Question::Sizes };
    let totals = walk(&options.path, question, options.threads);
    println!("{}", totals.line());
    Ok(())
}

/// What to find out about a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Names and their types, as the directories list them.
    Names,
    /// Also the sizes of everything.
    Sizes,
}

/// Walks the tree below `root`, whose own size is included but whose name is not counted.
pub(crate) fn walk(root: &Path, question: Question, threads: NonZeroUsize) -> Totals {
    allow_descriptors();
    let Ok(root) =
        rustix::fs::open(root, OPEN_DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())
    else {
        return Totals { errors: 1, ..Totals::default() };
    };
    let pool = DirectoryPool::new(threads, WalkTask::Begin(root));
    let mut parts: Vec<Part> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get())
            .map(|_| scope.spawn(|| Worker::new(&pool, question).run()))
            .collect();
        let own = Worker::new(&pool, question).run();
        let others =
            others.into_iter().map(|other| other.join().expect("the floor does not panic"));
        iter::once(own).chain(others).collect()
    });
    let mut whole = parts.pop().unwrap_or_default();
    for part in parts {
        whole.add(part);
    }
    whole.totals
}

const OPEN_DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Raises the limit on descriptors: a wide and deep tree has more directories open than the usual
/// soft limit of 1,024.
fn allow_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // If this is refused, the walk may still fit into the limit; if not, it counts errors.
    let _ = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit { current: limit.maximum, maximum: limit.maximum },
    );
}

struct Worker<'pool> {
    pool: &'pool DirectoryPool,
    question: Question,
    stack: Stack,
    found: Part,
}

impl<'pool> Worker<'pool> {
    fn new(pool: &'pool DirectoryPool, question: Question) -> Self {
        Self { pool, question, stack: Stack::default(), found: Part::default() }
    }

    fn run(mut self) -> Part {
        let mut block = RecordBlock::new();
        loop {
            if let Some(opened) = self.stack.pop(open_directory) {
                self.enter(opened, &mut block);
            } else {
                match self.pool.take() {
                    Some(WalkTask::Begin(root)) => self.enter(Ok(root), &mut block),
                    Some(WalkTask::Open(parent, name)) => {
                        let opened = open_directory((*parent).as_fd(), &name);
                        // Before the long part, so that the descriptor is closed as soon as
                        // possible.
                        drop(parent);
                        self.enter(opened, &mut block);
                    }
                    Some(WalkTask::GoOn(directory)) => self.read(&directory, &mut block),
                    None => return self.found,
                }
            }
            if self.stack.len() > 1 && self.pool.is_hungry() {
                self.pool.give(self.stack.older_half());
            }
        }
    }

    fn enter(&mut self, opened: rustix::io::Result<OwnedFd>, block: &mut RecordBlock) {
        let Ok(directory) = opened else {
            self.found.totals.errors += 1;
            return;
        };
        if self.question == Question::Sizes {
            match rustix::fs::fstat(&directory) {
                Ok(stat) => {
                    let disk = stat.st_blocks as u64 * BYTES_PER_BLOCK;
                    let length = stat.st_size as u64;
                    self.found.count((disk, length));
                    self.found.totals.directory_bytes += length;
                }
                Err(_) => self.found.totals.errors += 1,
            }
        }
        self.read(&Arc::new(directory), block);
    }

    /// Reads block after block. If a block is full, hands the directory to the pool and stops.
    fn read(&mut self, directory: &Arc<OwnedFd>, block: &mut RecordBlock) {
        loop {
            match block.fill((**directory).as_fd()) {
                Ok(0) => return,
                Ok(used) => {
                    let full = RecordBlock::is_full(used);
                    if full {
                        self.pool.give([WalkTask::GoOn(Arc::clone(directory))]);
                    }
                    for (name, kind) in block.records(used) {
                        self.found.totals.names += 1;
                        self.meet(directory, name, kind);
                    }
                    if full {
                        return;
                    }
                }
                Err(_) => {
                    self.found.totals.errors += 1;
                    return;
                }
            }
        }
    }

    fn meet(&mut self, parent: &Arc<OwnedFd>, name: &CStr, kind: FileType) {
        match kind {
            FileType::Directory => self.meet_directory(parent, name),
            // Some filesystems do not report the type with the name.
            FileType::Unknown => self.meet_unknown(parent, name),
            _ => {
                self.found.totals.files += u64::from(kind == FileType::RegularFile);
                if self.question == Question::Sizes {
                    self.meet_file(parent, name);
                }
            }
        }
    }

    #[cold]
    fn meet_unknown(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.meet(parent, name, FileType::from_raw_mode(stat.st_mode)),
            Err(_) => self.found.totals.errors += 1,
        }
    }

    fn meet_directory(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        self.found.totals.directories += 1;
        self.stack.push(Arc::clone(parent), name);
    }

    fn meet_file(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::TYPE
            | StatxFlags::NLINK
            | StatxFlags::INO
            | StatxFlags::SIZE
            | StatxFlags::BLOCKS;
        let Ok(found) = rustix::fs::statx(parent, name, flags, wanted) else {
            self.found.totals.errors += 1;
            return;
        };
        let sizes = (found.stx_blocks * BYTES_PER_BLOCK, found.stx_size);
        if found.stx_nlink == 1 {
            self.found.count(sizes);
        } else {
            let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
            self.found.count_once((device, found.stx_ino), sizes);
        }
    }
}

fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(parent, name, OPEN_DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    /// Computes the totals in the simplest way: paths, one thread, a set of all files.
    fn slow_obvious_count(root: &Path) -> Totals {
        let mut totals = Totals::default();
        let mut met = BTreeSet::new();
        let mut paths = vec![root.to_owned()];
        while let Some(path) = paths.pop() {
            let metadata = fs::symlink_metadata(&path).expect("made by the test");
            if met.insert((metadata.dev(), metadata.ino())) {
                totals.disk_bytes += metadata.blocks() * BYTES_PER_BLOCK;
                totals.apparent_bytes += metadata.size();
                totals.directory_bytes += if metadata.is_dir() { metadata.size() } else { 0 };
            }
            if path != root {
                totals.names += 1;
                totals.directories += u64::from(metadata.is_dir());
                totals.files += u64::from(metadata.is_file());
            }
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).expect("made by the test");
                paths.extend(entries.map(|entry| entry.expect("readable").path()));
            }
        }
        totals
    }

    /// Makes nested directories, files of several sizes, hard links across directories, symbolic
    /// links, a directory of more than one block, and names that are not UTF-8.
    fn small_tree() -> tempfile::TempDir {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tempfile::tempdir().expect("can create a temporary folder");
        let mut directories = vec![root.path().to_owned()];
        for number in 0..60 {
            let directory = directories[number / 3].join(format!("directory {number}"));
            fs::create_dir(&directory).expect("is new");
            fs::write(directory.join("file"), vec![1; number * 700]).expect("is new");
            let name = std::ffi::OsStr::from_bytes(b"\xff\xfe\x01");
            fs::hard_link(directories[number / 2].join("file"), directory.join(name))
                .or_else(|_root_has_none| fs::write(directory.join(name), b"x"))
                .expect("is new");
            symlink("nowhere", directory.join("link")).expect("is new");
            directories.push(directory);
        }
        for number in 0..5_000 {
            fs::write(directories[9].join(format!("one of many {number}")), b"").expect("is new");
        }
        root
    }

    #[test]
    fn the_floor_agrees_with_the_slow_obvious_count() {
        let root = small_tree();
        let expected = slow_obvious_count(root.path());
        assert!(expected.names > 5_000 && expected.directories == 60, "{expected:?}");
        for threads in [1, 2, 5] {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            assert_eq!(walk(root.path(), Question::Sizes, threads), expected);
            let names = Totals { disk_bytes: 0, apparent_bytes: 0, directory_bytes: 0, ..expected };
            assert_eq!(walk(root.path(), Question::Names, threads), names);
        }
    }

    #[test]
    fn a_directory_that_cannot_be_opened_counts_as_an_error() {
        let root = tempfile::tempdir().expect("can create a temporary folder");
        let missing = root.path().join("missing");
        assert_eq!(walk(&missing, Question::Sizes, NonZeroUsize::MIN).errors, 1);
    }
}
