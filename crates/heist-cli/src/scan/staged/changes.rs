//! [`Changes`]: the files that differ from `HEAD`, and what cannot be compared.

use super::{StagedError, StagedPlace};
use heist_git::{
    Commit, Index, Limits, ObjectId, ObjectKind, ObjectStore, StagedChange, StagedProblem,
};
use std::path::PathBuf;
use std::sync::Arc;

/// The largest file that is scanned. It is in memory as a whole, because git compresses it so.
const BLOB_BYTES_MAX: u64 = 1 << 30;

/// The size of the paths of all changes. More than a million files do not fit.
const PATH_BYTES_MAX: usize = 128 << 20;

/// A version of a file.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The path below the root of the work tree.
    pub(super) path: PathBuf,
    pub(super) id: ObjectId,
}

/// The differences between an index and `HEAD`.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) store: Arc<ObjectStore>,
    /// What the index adds or changes.
    pub(super) new: Vec<Version>,
    /// What was there before.
    pub(super) old: Vec<Version>,
    /// What cannot be compared.
    pub(super) problems: Vec<(PathBuf, StagedProblem)>,
    pub(super) submodules: u64,
    pub(super) unmerged: u64,
    /// The number of changed files that are left out, because there are too many.
    pub(super) left_out: u64,
}

impl Changes {
    /// Compares the index with `HEAD`.
    ///
    /// # Errors
    /// The index, `HEAD` or its commit cannot be read.
    pub(super) fn read(place: &StagedPlace) -> Result<Self, StagedError> {
        let StagedPlace { layout, access, index, .. } = place;
        let mut limits = Limits::default();
        limits.object_bytes = BLOB_BYTES_MAX;
        let store = Arc::new(ObjectStore::open(layout, access, limits)?);
        let mut changes = Self {
            store: Arc::clone(&store),
            new: Vec::new(),
            old: Vec::new(),
            problems: Vec::new(),
            submodules: 0,
            unmerged: 0,
            left_out: 0,
        };
        let Some(index) = Index::read(index, layout.hash_kind(), access)? else {
            return Ok(changes);
        };
        let mut reader = store.reader();
        let tree = match layout.head_commit(access)? {
            None => None,
            Some(commit) => {
                let failed = |error| (PathBuf::new(), StagedProblem::Tree(commit, error));
                match reader.read(&commit) {
                    Ok(object) if object.kind == ObjectKind::Commit => {
                        Commit::parse(layout.hash_kind(), &object.content).map(|commit| commit.tree)
                    }
                    Ok(_) => None,
                    Err(error) => {
                        changes.problems.push(failed(error));
                        None
                    }
                }
            }
        };
        let mut deleted = Vec::new();
        let mut has_added = false;
        let mut bytes = 0;
        let Self { new, old, problems, left_out, .. } = &mut changes;
        let mut change = |change: StagedChange<'_>| {
            bytes += change.path.len();
            if bytes > PATH_BYTES_MAX {
                *left_out += u64::from(change.new.is_some());
                return;
            }
            let version = |id| Version { path: path_of(change.path), id };
            match (change.new, change.old) {
                (Some(_), None) => has_added = true,
                (None, Some(gone)) => deleted.push(version(gone.id)),
                (_, Some(before)) => old.push(version(before.id)),
                (None, None) => {}
            }
            new.extend(change.new.map(|blob| version(blob.id)));
        };
        let mut problem = |path: &[u8], what| problems.push((path_of(path), what));
        let summary = index.staged(tree, &mut reader, &mut change, &mut problem);
        (changes.submodules, changes.unmerged) = (summary.submodules, summary.unmerged);
        // A file that is added may be one that was renamed, and has its secrets from there.
        if has_added {
            changes.old.append(&mut deleted);
        }
        Ok(changes)
    }
}

#[cfg(unix)]
fn path_of(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(path).into()
}

#[cfg(not(unix))]
fn path_of(path: &[u8]) -> PathBuf {
    String::from_utf8_lossy(path).into_owned().into()
}
