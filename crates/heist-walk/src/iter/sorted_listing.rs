//! [`SortedListing`], a directory that was read and sorted; [`ListingRequest`], a directory to
//! read; and [`DirectoryReader`], which reads it.
//!
//! A reader runs the engine for one directory at a time and receives the tasks that the engine
//! spawns. It runs tasks for further blocks of the same directory at once, and turns the
//! directories in it into requests.

use super::walk_entry::EntryData;
use crate::counters::WorkerCounts;
use crate::engine::{DirNode, Engine, PendingDirs, TaskQueue, WalkScratch, WalkTask};
use crate::entry::Entry;
use crate::error::{Operation, WalkError};
use crate::sys::os_str;
use crate::visitor::{Enter, Flow, Visitor};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A request to read a directory, or a root of any kind.
#[derive(Debug)]
pub(super) struct ListingRequest {
    state: Mutex<RequestState>,
}

#[derive(Debug)]
pub(super) enum RequestState {
    /// No reader has claimed it.
    Waiting(WalkTask<(), Infallible>),
    /// A reader is reading it.
    Claimed,
    Done(SortedListing),
}

impl ListingRequest {
    pub(super) fn root(root: usize) -> Arc<Self> {
        Self::new(WalkTask::Root(root))
    }

    fn new(task: WalkTask<(), Infallible>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(RequestState::Waiting(task)) })
    }

    /// Returns the state and claims the request. A caller that gets [`RequestState::Waiting`] has
    /// to read it.
    pub(super) fn claim(&self) -> RequestState {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, RequestState::Claimed)
    }

    /// Claims the request, unless it is claimed already.
    pub(super) fn try_claim(&self) -> Option<WalkTask<(), Infallible>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, RequestState::Waiting(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, RequestState::Claimed) {
            RequestState::Waiting(task) => Some(task),
            RequestState::Claimed | RequestState::Done(_) => None,
        }
    }

    /// Returns `true` if the request was claimed.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(
            *self.state.lock().unwrap_or_else(PoisonError::into_inner),
            RequestState::Waiting(_)
        )
    }

    pub(super) fn set_done(&self, listing: SortedListing) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = RequestState::Done(listing);
    }
}

/// What a reader found for a request.
#[derive(Debug, Default)]
pub(super) struct SortedListing {
    /// The entry of the directory or root itself. `None` if it could not be visited or is left out.
    pub(super) own: Option<EntryData>,
    /// Errors about the directory or root itself.
    pub(super) errors: Vec<WalkError>,
    /// The contents in reverse order of names, so that they can be taken from the end.
    pub(super) contents: Vec<ListedEntry>,
    /// The path of the directory, or `None` if it is empty.
    pub(super) path: Option<Arc<Path>>,
    /// From here the path can be built again. `None` if there are no directories inside.
    pub(super) node: Option<Arc<DirNode<()>>>,
    /// Roughly how much memory the listing takes.
    pub(super) bytes: usize,
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) enum ListedEntry {
    File(EntryData),
    Failed(WalkError),
    Directory(Box<OsStr>, Arc<ListingRequest>),
}

impl ListedEntry {
    /// Returns the sort key.
    fn key(&self) -> &[u8] {
        let name = match self {
            Self::File(data) => &data.name,
            Self::Directory(name, _) => name,
            Self::Failed(error) => error.path.file_name().unwrap_or_default(),
        };
        name.as_encoded_bytes()
    }

    fn bytes(&self) -> usize {
        match self {
            Self::File(data) => data.bytes(),
            Self::Directory(name, _) => size_of::<ListingRequest>() + 2 * name.len(),
            Self::Failed(error) => size_of::<WalkError>() + error.path.as_os_str().len(),
        }
    }
}

impl SortedListing {
    /// Iterates over the requests for the directories inside, the last one first.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Arc<ListingRequest>> {
        self.contents.iter().filter_map(|content| match content {
            ListedEntry::Directory(_, request) => Some(request),
            ListedEntry::File(_) | ListedEntry::Failed(_) => None,
        })
    }
}

/// Drops nested listings in a loop. They may be nested deeper than the stack, so drops must not
/// nest.
impl Drop for SortedListing {
    fn drop(&mut self) {
        let mut contents = std::mem::take(&mut self.contents);
        while let Some(content) = contents.pop() {
            if let ListedEntry::Directory(_, request) = content
                && let Some(request) = Arc::into_inner(request)
                && let RequestState::Done(mut listing) =
                    request.state.into_inner().unwrap_or_else(PoisonError::into_inner)
            {
                contents.append(&mut listing.contents);
            }
        }
    }
}

/// Reads directories, on a background thread or on the caller's.
#[derive(Debug)]
pub(super) struct DirectoryReader {
    engine: Arc<Engine>,
    scratch: WalkScratch<ListingCollector>,
}

impl DirectoryReader {
    pub(super) fn new(engine: Arc<Engine>, counts: WorkerCounts) -> Self {
        Self { engine, scratch: WalkScratch::new(ListingCollector::default(), counts) }
    }

    /// Reads everything that belongs to a request.
    pub(super) fn read(&mut self, task: WalkTask<(), Infallible>) -> SortedListing {
        let mut left = LeftoverTasks::default();
        let mut next = Some(task);
        while let Some(task) = next {
            self.engine.run(task, &mut self.scratch, &mut left);
            next = left.blocks.pop().or_else(|| {
                // This thread is not a worker of an executor, and no other task is left for it, so
                // it may sleep.
                let refused = left.refused.take();
                refused.inspect(|_| std::thread::sleep(NEXT_TRY))
            });
        }
        let collected = std::mem::take(&mut self.scratch.visitor);
        collected.into_listing(left.directories, &self.engine.roots)
    }
}

/// How long a reader waits after it was refused a descriptor.
const NEXT_TRY: Duration = Duration::from_millis(1);

/// The tasks that the engine spawned for one request.
#[derive(Default)]
struct LeftoverTasks {
    /// Further blocks of the same directory.
    blocks: Vec<WalkTask<(), Infallible>>,
    /// A task that found no free descriptor.
    refused: Option<WalkTask<(), Infallible>>,
    directories: Vec<PendingDirs<()>>,
}

impl TaskQueue<(), Infallible> for LeftoverTasks {
    fn spawn(&mut self, task: WalkTask<(), Infallible>) {
        match task {
            WalkTask::EnterDirs(pending) => self.directories.push(*pending),
            _ => self.blocks.push(task),
        }
    }

    fn put_off(&mut self, task: WalkTask<(), Infallible>) {
        self.refused = Some(task);
    }
}

/// The visitor that collects the contents of one directory.
#[derive(Debug, Default)]
struct ListingCollector {
    own: Option<EntryData>,
    errors: Vec<WalkError>,
    contents: Vec<ListedEntry>,
    path: Option<Arc<Path>>,
}

impl Visitor for ListingCollector {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.own = Some(EntryData::new(dir));
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        match file.within {
            // The request is for a root that is a file.
            None => self.own = Some(EntryData::new(file)),
            Some(within) => {
                self.path.get_or_insert_with(|| Arc::from(within.path()));
                self.contents.push(ListedEntry::File(EntryData::new(file)));
            }
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        // After the directory was entered, deeper errors are about its contents. Errors about rule
        // files are an exception: they count as the directory's own, although the files are inside.
        let is_inside = self.own.as_ref().is_some_and(|own| error.depth > own.depth as usize)
            && error.operation != Operation::ReadIgnoreFile;
        if is_inside {
            self.contents.push(ListedEntry::Failed(error));
        } else {
            self.errors.push(error);
        }
        Flow::Continue
    }
}

impl ListingCollector {
    fn into_listing(self, directories: Vec<PendingDirs<()>>, roots: &[PathBuf]) -> SortedListing {
        let Self { own, errors, mut contents, mut path } = self;
        let mut node = None;
        for PendingDirs { within, mut names } in directories {
            if node.is_none() {
                node = Some(Arc::clone(&within.node));
                path = path.or_else(|| Some(Arc::from(within.node.path(roots))));
            }
            while let Some((name, follow)) = names.next() {
                let request =
                    ListingRequest::new(WalkTask::enter_one(Arc::clone(&within), name, follow));
                contents.push(ListedEntry::Directory(os_str(name).into(), request));
            }
        }
        contents.sort_unstable_by(|one, other| other.key().cmp(one.key()));
        let own_bytes = own.as_ref().map_or(0, EntryData::bytes);
        let path_bytes = path.as_ref().map_or(0, |path| path.as_os_str().len());
        let bytes = size_of::<SortedListing>() + own_bytes + path_bytes;
        let bytes = contents.iter().map(ListedEntry::bytes).sum::<usize>() + bytes;
        SortedListing { own, errors, contents, path, node, bytes }
    }
}
