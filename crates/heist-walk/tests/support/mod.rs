//! Shared by the tests of walks: a visitor that records everything, and trees.
#![allow(dead_code, reason = "each test program uses a part of it")]

#[cfg(target_os = "linux")]
pub(crate) mod mounts;

use heist_walk::{Enter, Entry, FileKind, Flow, Totals, Visitor, Walk, WalkError};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// An entry as a visitor saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: FileKind,
    pub(crate) depth: usize,
    pub(crate) root: usize,
    pub(crate) len: Option<u64>,
}

/// Records what it sees.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) seen: Vec<(PathBuf, Seen)>,
    pub(crate) left: Vec<PathBuf>,
    pub(crate) errors: Vec<WalkError>,
}

impl Log {
    fn see(&mut self, entry: &Entry<'_>) {
        let seen = Seen {
            kind: entry.kind(),
            depth: entry.depth(),
            root: entry.root(),
            len: entry.metadata().map(|metadata| metadata.len),
        };
        self.seen.push((entry.path(), seen));
    }
}

impl Visitor for Log {
    type Dir = PathBuf;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&PathBuf>) -> Enter<PathBuf> {
        self.see(dir);
        Enter::Into(dir.path())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&PathBuf>) -> Flow {
        self.see(file);
        Flow::Continue
    }

    fn leave_dir(&mut self, dir: PathBuf, _parent: Option<&PathBuf>) {
        self.left.push(dir);
    }

    fn error(&mut self, error: WalkError, _parent: Option<&PathBuf>) -> Flow {
        self.errors.push(error);
        Flow::Continue
    }
}

/// Everything that a walk has seen, by path.
#[derive(Debug)]
pub(crate) struct WalkRecord {
    pub(crate) seen: BTreeMap<PathBuf, Seen>,
    pub(crate) errors: Vec<WalkError>,
    pub(crate) totals: Totals,
}

impl WalkRecord {
    /// Returns the paths below `root`, in order.
    pub(crate) fn below(&self, root: &Path) -> Vec<String> {
        let below = |path: &PathBuf| path.strip_prefix(root).ok().map(Path::to_path_buf);
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        self.seen.keys().filter_map(below).map(shown).filter(|path| !path.is_empty()).collect()
    }
}

/// Walks and checks what is true for every complete walk: nothing is seen twice, and every
/// directory is left.
#[track_caller]
pub(crate) fn check(walk: Walk) -> WalkRecord {
    let report = walk.run(|_thread| Log::default()).expect("the walk starts");
    assert!(!report.stopped);
    let (mut seen, mut errors) = (BTreeMap::new(), Vec::new());
    let (mut directories, mut left, mut entries) = (0, 0, 0);
    for log in report.visitors {
        left += log.left.len();
        entries += log.seen.len();
        for (path, one) in log.seen {
            directories += usize::from(one.kind.is_dir());
            assert!(seen.insert(path.clone(), one).is_none(), "{} twice", path.display());
        }
        errors.extend(log.errors);
    }
    assert_eq!(directories, left, "every directory is left once");
    assert_eq!(report.totals.entries(), entries as u64);
    assert_eq!(report.totals.errors, errors.len() as u64);
    WalkRecord { seen, errors, totals: report.totals }
}

/// Makes files, and directories for names that end in a slash.
pub(crate) fn make(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        if name.ends_with('/') {
            std::fs::create_dir_all(path).unwrap();
        } else {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
    }
}
