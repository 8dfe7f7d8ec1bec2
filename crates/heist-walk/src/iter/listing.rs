//! [`Listing`]: a directory, read and sorted; [`Place`]: one that is to be read; [`Reader`]: who reads.
//!
//! A reader has the engine do the work, one directory at a time, and catches the tasks that the engine leaves: blocks
//! of the same directory are read at once, and directories in it become places of their own.

use super::found::Found;
use crate::counters::WorkerCounts;
use crate::engine::{DirNode, Engine, Hands, Pending, Spawn, WalkTask};
use crate::entry::Entry;
use crate::error::{Operation, WalkError};
use crate::sys::os_str;
use crate::visitor::{Enter, Flow, Visitor};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A directory to be read, or a root, which may be anything.
#[derive(Debug)]
pub(super) struct Place {
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) enum State {
    /// Nobody has begun.
    Waiting(WalkTask<()>),
    /// Somebody reads it.
    Claimed,
    Read(Listing),
}

impl Place {
    pub(super) fn root(root: usize) -> Arc<Self> {
        Self::new(WalkTask::Root(root))
    }

    fn new(task: WalkTask<()>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::Waiting(task)) })
    }

    /// What has become of it; and from now on it is claimed. Who gets [`State::Waiting`] has to read it.
    pub(super) fn claim(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, State::Claimed)
    }

    /// Claims it, unless somebody else has.
    pub(super) fn try_claim(&self) -> Option<WalkTask<()>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Waiting(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Claimed) {
            State::Waiting(task) => Some(task),
            State::Claimed | State::Read(_) => None,
        }
    }

    /// Whether somebody has claimed it.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Waiting(_))
    }

    pub(super) fn set_read(&self, listing: Listing) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Read(listing);
    }
}

/// What a place turned out to be.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The place's own entry; `None` if it could not be visited, or is left out.
    pub(super) own: Option<Found>,
    /// What went wrong with the place itself.
    pub(super) errors: Vec<WalkError>,
    /// What is in it, by name, the last one first: it is taken from the end.
    pub(super) contents: Vec<Content>,
    /// Its path; `None` if it is empty.
    pub(super) path: Option<Arc<Path>>,
    /// Whence the path can be found out again; `None` if there are no directories in it.
    pub(super) node: Option<Arc<DirNode<()>>>,
    /// What it takes in memory, about.
    pub(super) bytes: usize,
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) enum Content {
    File(Found),
    Failed(WalkError),
    Directory(Box<OsStr>, Arc<Place>),
}

impl Content {
    /// What it is sorted by.
    fn key(&self) -> &[u8] {
        let name = match self {
            Self::File(found) => &found.name,
            Self::Directory(name, _) => name,
            Self::Failed(error) => error.path.file_name().unwrap_or_default(),
        };
        name.as_encoded_bytes()
    }

    fn bytes(&self) -> usize {
        match self {
            Self::File(found) => found.bytes(),
            Self::Directory(name, _) => size_of::<Place>() + 2 * name.len(),
            Self::Failed(error) => size_of::<WalkError>() + error.path.as_os_str().len(),
        }
    }
}

impl Listing {
    /// The directories in it that wait to be read, the last one first.
    pub(super) fn places(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.contents.iter().filter_map(|content| match content {
            Content::Directory(_, place) => Some(place),
            Content::File(_) | Content::Failed(_) => None,
        })
    }
}

/// Level by level: what was read ahead may be deeper than the stack.
impl Drop for Listing {
    fn drop(&mut self) {
        let mut contents = std::mem::take(&mut self.contents);
        while let Some(content) = contents.pop() {
            if let Content::Directory(_, place) = content
                && let Some(place) = Arc::into_inner(place)
                && let State::Read(mut listing) =
                    place.state.into_inner().unwrap_or_else(PoisonError::into_inner)
            {
                contents.append(&mut listing.contents);
            }
        }
    }
}

/// Who reads places: a worker, or the caller.
#[derive(Debug)]
pub(super) struct Reader {
    engine: Arc<Engine>,
    hands: Hands<Collector>,
}

impl Reader {
    pub(super) fn new(engine: Arc<Engine>, counts: WorkerCounts) -> Self {
        Self { engine, hands: Hands::new(Collector::default(), counts) }
    }

    /// Reads a place to its end.
    pub(super) fn read(&mut self, task: WalkTask<()>) -> Listing {
        let mut left = Left::default();
        let mut next = Some(task);
        while let Some(task) = next {
            self.engine.run(task, &mut self.hands, &mut left);
            next = left.blocks.pop().or_else(|| {
                // This is the only way to what was refused a descriptor, and no executor's worker: it may sleep.
                let refused = left.refused.take();
                refused.inspect(|_| std::thread::sleep(NEXT_TRY))
            });
        }
        let collected = std::mem::take(&mut self.hands.visitor);
        collected.into_listing(left.directories, &self.engine.roots)
    }
}

/// When a reader that was refused a descriptor tries again.
const NEXT_TRY: Duration = Duration::from_millis(1);

/// What the engine leaves to be done.
#[derive(Default)]
struct Left {
    /// More of the same directory.
    blocks: Vec<WalkTask<()>>,
    /// What found no descriptor free.
    refused: Option<WalkTask<()>>,
    directories: Vec<Pending<()>>,
}

impl Spawn<()> for Left {
    fn spawn(&mut self, task: WalkTask<()>) {
        match task {
            WalkTask::Pending(pending) => self.directories.push(*pending),
            _ => self.blocks.push(task),
        }
    }

    fn put_off(&mut self, task: WalkTask<()>) {
        self.refused = Some(task);
    }
}

/// The visitor: keeps what it sees of one directory.
#[derive(Debug, Default)]
struct Collector {
    own: Option<Found>,
    errors: Vec<WalkError>,
    contents: Vec<Content>,
    path: Option<Arc<Path>>,
}

impl Visitor for Collector {
    type Dir = ();

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.own = Some(Found::new(dir));
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        match file.within {
            // A root.
            None => self.own = Some(Found::new(file)),
            Some(within) => {
                self.path.get_or_insert_with(|| Arc::from(within.path()));
                self.contents.push(Content::File(Found::new(file)));
            }
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        // The directory is entered before anything in it is asked; and only what is in it can fail to answer then.
        // (Rules are the directory's own, though their files are in it.)
        let is_inside = self.own.as_ref().is_some_and(|own| error.depth > own.depth as usize)
            && error.operation != Operation::ReadIgnoreFile;
        if is_inside {
            self.contents.push(Content::Failed(error));
        } else {
            self.errors.push(error);
        }
        Flow::Continue
    }
}

impl Collector {
    fn into_listing(self, directories: Vec<Pending<()>>, roots: &[PathBuf]) -> Listing {
        let Self { own, errors, mut contents, mut path } = self;
        let mut node = None;
        for Pending { within, mut names } in directories {
            if node.is_none() {
                node = Some(Arc::clone(&within.node));
                path = path.or_else(|| Some(Arc::from(within.node.path(roots))));
            }
            while let Some((name, follow)) = names.next() {
                let place = Place::new(WalkTask::enter_one(Arc::clone(&within), name, follow));
                contents.push(Content::Directory(os_str(name).into(), place));
            }
        }
        contents.sort_unstable_by(|one, other| other.key().cmp(one.key()));
        let own_bytes = own.as_ref().map_or(0, Found::bytes);
        let path_bytes = path.as_ref().map_or(0, |path| path.as_os_str().len());
        let bytes = size_of::<Listing>() + own_bytes + path_bytes;
        let bytes = contents.iter().map(Content::bytes).sum::<usize>() + bytes;
        Listing { own, errors, contents, path, node, bytes }
    }
}
