//! Visitors that read files: each file is offered once and can be opened, and its directory is left
//! afterwards.

use crate::support::make;
use heist_walk::{Enter, Entry, FileBatch, Flow, Symlinks, Visitor, Walk, WalkError};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the visitor keeps for a directory: the number of files that were seen and not yet read.
type Unread = Arc<AtomicU64>;

/// Reads every file, some of them in follow-up tasks.
#[derive(Default)]
struct Reader {
    /// The path, the path below the root, and the contents of each file.
    read: Vec<(PathBuf, PathBuf, String)>,
    errors: Vec<(PathBuf, std::io::ErrorKind)>,
    walk_errors: usize,
    batches: usize,
    share_rest: bool,
}

/// A follow-up task that reads a file.
struct ReadLater(PathBuf, PathBuf, std::fs::File, Option<Unread>);

impl Reader {
    fn read(&mut self, ReadLater(path, below, mut file, unread): ReadLater) {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        self.read.push((path, below, text));
        if let Some(unread) = unread {
            unread.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Visitor for Reader {
    type Dir = Unread;
    type Task = ReadLater;

    const READS_FILES: bool = true;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&Unread>) -> Enter<Unread> {
        Enter::Into(Unread::default())
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&Unread>) -> Flow {
        if !file.kind().is_file() {
            return Flow::Continue;
        }
        if let Some(unread) = parent {
            unread.fetch_add(1, Ordering::Relaxed);
        }
        Flow::Later
    }

    fn files(&mut self, files: &mut FileBatch<'_, Unread, ReadLater>) {
        self.batches += 1;
        assert!(!files.is_empty() && files.len() <= 32 && files.root() == 0);
        let unread = files.dir().cloned();
        let mut count = 0;
        while let Some(file) = files.next() {
            count += 1;
            let (mut path, mut below) = (PathBuf::new(), PathBuf::new());
            file.path_into(&mut path);
            file.path_below_root_into(&mut below);
            match file.open() {
                // The walk offers the file again.
                Ok(None) => break,
                // A task does not keep its directory from being left.
                Ok(Some(opened)) if count % 3 == 0 => {
                    if let Some(unread) = &unread {
                        unread.fetch_sub(1, Ordering::Relaxed);
                    }
                    files.spawn(ReadLater(path, below, opened, None));
                }
                Ok(Some(opened)) => self.read(ReadLater(path, below, opened, unread.clone())),
                Err(error) => {
                    self.errors.push((path, error.kind()));
                    if let Some(unread) = &unread {
                        unread.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
            if self.share_rest && count == 5 {
                files.share_rest();
            }
        }
    }

    fn task(&mut self, task: ReadLater, _spawn: &mut dyn FnMut(ReadLater)) {
        self.read(task);
    }

    fn leave_dir(&mut self, dir: Unread, _parent: Option<&Unread>) {
        assert_eq!(dir.load(Ordering::Relaxed), 0, "left before every file was read");
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&Unread>) -> Flow {
        self.walk_errors += 1;
        Flow::Continue
    }
}

/// Reads everything below `root` and checks that it is complete. Each file contains its own path
/// below the root.
#[track_caller]
fn check(walk: Walk, root: &Path, files: usize, share_rest: bool) -> usize {
    let report = walk.run(move |_thread| Reader { share_rest, ..Reader::default() }).unwrap();
    let (mut read, mut batches) = (BTreeMap::new(), 0);
    for reader in report.visitors {
        assert_eq!((reader.errors, reader.walk_errors), (Vec::new(), 0));
        batches += reader.batches;
        for (path, below, text) in reader.read {
            assert_eq!(path, root.join(&below));
            assert_eq!(below, Path::new(&text));
            assert!(read.insert(path, ()).is_none(), "{text} once");
        }
    }
    assert_eq!(read.len(), files);
    batches
}

fn tree() -> (tempfile::TempDir, usize) {
    let tree = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for directory in ["", "a/", "a/b/", "a/b/c/", "empty/x/"] {
        for number in 0..75 {
            names.push(format!("{directory}file {number}"));
        }
    }
    names.extend((0..100).map(|number| format!("many/{number}/one")));
    make(tree.path(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    (tree, names.len())
}

#[test]
fn every_file_is_offered_once() {
    let (tree, files) = tree();
    for threads in [1, 4] {
        for share_rest in [false, true] {
            let walk = || Walk::new(tree.path()).threads(Some(threads));
            check(walk(), tree.path(), files, share_rest);
            // If no files may wait or no directory can stay open, the worker that finds the files
            // reads them at once.
            check(walk().max_waiting_files(0), tree.path(), files, share_rest);
            check(walk().max_descriptors(Some(3)), tree.path(), files, share_rest);
        }
    }
}

#[test]
fn files_come_in_batches_whose_rest_can_be_shared() {
    let tree = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..70).map(|number| format!("{number}")).collect();
    make(tree.path(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    let walk = || Walk::new(tree.path()).threads(Some(1));
    assert_eq!(check(walk(), tree.path(), 70, false), 3);
    // Batches of 32, 32 and 6 files. Each time 5 are taken before the rest is shared.
    assert_eq!(check(walk(), tree.path(), 70, true), 7 + 7 + 2);
    assert_eq!(check(walk().max_waiting_files(0), tree.path(), 70, true), 3);
}

#[test]
fn a_root_may_be_a_file() {
    let tree = tempfile::tempdir().unwrap();
    make(tree.path(), &["file"]);
    check(Walk::new(tree.path().join("file")), tree.path(), 1, true);
}

/// Replaces a file before it is opened.
struct FileReplacer(PathBuf);

impl Visitor for FileReplacer {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        Flow::Later
    }

    fn files(&mut self, files: &mut FileBatch<'_, ()>) {
        std::fs::remove_file(&self.0).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", &self.0).unwrap();
        let file = files.next().expect("one file");
        assert!(file.open().is_err(), "the walk followed a link that replaced the file");
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn a_link_that_replaces_a_file_is_not_followed() {
    let tree = tempfile::tempdir().unwrap();
    make(tree.path(), &["file"]);
    let path = tree.path().join("file");
    let walk = Walk::new(tree.path()).symlinks(Symlinks::Never);
    walk.run(move |_thread| FileReplacer(path.clone())).unwrap();
}

/// Reads the clock of the thread on its way down, and takes all paths.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[derive(Default)]
struct Descent {
    /// The CPU time, in nanoseconds, at each depth.
    reached: Vec<u128>,
    paths: usize,
    path: PathBuf,
}

#[cfg(all(target_os = "linux", not(heist_portable)))]
impl Visitor for Descent {
    type Dir = ();
    type Task = Infallible;

    const READS_FILES: bool = true;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        if self.reached.len() == dir.depth() {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let seconds = u128::try_from(now.tv_sec).expect("a time");
            let nanoseconds = u128::try_from(now.tv_nsec).expect("a time");
            self.reached.push(seconds * 1_000_000_000 + nanoseconds);
        }
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        Flow::Later
    }

    fn files(&mut self, files: &mut FileBatch<'_, ()>) {
        while let Some(file) = files.next() {
            file.path_into(&mut self.path);
            assert!(self.path.ends_with("file"));
            self.paths += 1;
        }
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// If each path were built from the root, the last third of the chain would take five times as long
/// as the first one.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[test]
fn paths_deep_in_a_chain_cost_little_more_than_at_its_top() {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
    const DEPTH: usize = 12_000;
    let root = tempfile::tempdir().unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let open = |at: &rustix::fd::OwnedFd, name| openat(at, name, flags, Mode::empty()).unwrap();
    let mut at = openat(CWD, root.path(), flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        drop(openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap());
        at = open(&at, "d");
    }
    let filter = heist_walk::Filter::new().exclude("nothing").unwrap();
    let walk = Walk::new(root.path()).threads(Some(1)).filter(filter);
    let report = walk.run(|_| Descent::default()).unwrap();
    let Descent { reached, paths, .. } = &report.visitors[0];
    assert_eq!((reached.len(), *paths), (DEPTH + 1, DEPTH));
    let third = |number: usize| reached[(number + 1) * DEPTH / 3] - reached[number * DEPTH / 3];
    let (first, last) = (third(0), third(2));
    assert!(last < 3 * first, "the first third took {first} ns, the last one {last} ns");
    for _ in 0..DEPTH {
        at = open(&at, "..");
        unlinkat(&at, "file", AtFlags::empty()).unwrap();
        unlinkat(&at, "d", AtFlags::REMOVEDIR).unwrap();
    }
}
