//! Visitors that read files: every file comes back once, can be opened, and its directory is left after it.

mod support;

use heist_walk::{Enter, Entry, FileBatch, Flow, Symlinks, Visitor, Walk, WalkError};
use std::any::Any;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::make;

/// What is kept for a directory: how many of its files were seen, and not read yet.
type Unread = Arc<AtomicU64>;

/// Reads every file, some of them by a task of its own.
#[derive(Default)]
struct Reader {
    /// By path: the path below the root, and what is in it.
    read: Vec<(PathBuf, PathBuf, String)>,
    errors: Vec<(PathBuf, std::io::ErrorKind)>,
    walk_errors: usize,
    batches: usize,
    hand_on: bool,
}

/// A file to be read by whoever has time.
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

    fn files(&mut self, files: &mut FileBatch<'_, Unread>) {
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
                // Every third by a task; its directory may be left before that.
                // It comes again.
                Ok(None) => break,
                Ok(Some(opened)) if count % 3 == 0 => {
                    if let Some(unread) = &unread {
                        unread.fetch_sub(1, Ordering::Relaxed);
                    }
                    files.spawn(Box::new(ReadLater(path, below, opened, None)));
                }
                Ok(Some(opened)) => self.read(ReadLater(path, below, opened, unread.clone())),
                Err(error) => {
                    self.errors.push((path, error.kind()));
                    if let Some(unread) = &unread {
                        unread.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
            if self.hand_on && count == 5 {
                files.hand_on();
            }
        }
    }

    fn task(&mut self, task: Box<dyn Any + Send>, _spawn: &mut dyn FnMut(Box<dyn Any + Send>)) {
        self.read(*task.downcast().expect("this visitor spawns nothing else"));
    }

    fn leave_dir(&mut self, dir: Unread, _parent: Option<&Unread>) {
        assert_eq!(dir.load(Ordering::Relaxed), 0, "left when every file was read");
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&Unread>) -> Flow {
        self.walk_errors += 1;
        Flow::Continue
    }
}

/// Reads what is below `root`, and checks that it is all there: each file has its own path below the root in it.
#[track_caller]
fn check(walk: Walk, root: &Path, files: usize, hand_on: bool) -> usize {
    let walked = walk.run(move |_worker| Reader { hand_on, ..Reader::default() }).unwrap();
    let (mut read, mut batches) = (BTreeMap::new(), 0);
    for reader in walked.visitors {
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
fn every_file_comes_back_once() {
    let (tree, files) = tree();
    for threads in [1, 4] {
        for hand_on in [false, true] {
            let walk = || Walk::new(tree.path()).threads(Some(threads));
            check(walk(), tree.path(), files, hand_on);
            // If none may wait, all are read where they are found; also if no directory can stay open.
            check(walk().max_waiting_files(0), tree.path(), files, hand_on);
            check(walk().max_descriptors(Some(3)), tree.path(), files, hand_on);
        }
    }
}

#[test]
fn files_come_in_batches_and_the_rest_can_be_handed_on() {
    let tree = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..70).map(|number| format!("{number}")).collect();
    make(tree.path(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    let walk = || Walk::new(tree.path()).threads(Some(1));
    assert_eq!(check(walk(), tree.path(), 70, false), 3);
    // 32, 32 and 6, of which each time 5 are taken before the rest is handed on.
    assert_eq!(check(walk(), tree.path(), 70, true), 7 + 7 + 2);
    assert_eq!(check(walk().max_waiting_files(0), tree.path(), 70, true), 3);
}

#[test]
fn a_root_may_be_a_file() {
    let tree = tempfile::tempdir().unwrap();
    make(tree.path(), &["file"]);
    check(Walk::new(tree.path().join("file")), tree.path(), 1, true);
}

/// Replaces a file by something else before it is opened.
struct Saboteur(PathBuf);

impl Visitor for Saboteur {
    type Dir = ();

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
        assert!(file.open().is_err(), "no link is followed that has taken the file's place");
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn a_link_that_takes_a_files_place_is_not_followed() {
    let tree = tempfile::tempdir().unwrap();
    make(tree.path(), &["file"]);
    let path = tree.path().join("file");
    let walk = Walk::new(tree.path()).symlinks(Symlinks::Never);
    walk.run(move |_worker| Saboteur(path.clone())).unwrap();
}
