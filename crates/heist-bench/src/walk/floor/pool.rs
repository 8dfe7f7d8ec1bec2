//! How the floor's threads share directories: a stack for each thread, and a pool between them.
//!
//! A thread works from its own stack without locks. After each directory it checks one flag, and if
//! the flag says that another thread waits, it moves half of its stack to the pool. Shares are not
//! balanced at every moment, but no thread waits long.

use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A piece of work that any thread can continue.
pub(super) enum WalkTask {
    /// Reads the root.
    Begin(OwnedFd),
    /// Opens a directory by its name in another one.
    Open(Arc<OwnedFd>, Box<CStr>),
    /// Continues a directory of which some blocks have been read.
    GoOn(Arc<OwnedFd>),
}

/// The work that threads hand to each other.
pub(super) struct DirectoryPool {
    state: Mutex<PoolState>,
    filled: Condvar,
    /// Whether a thread waits for tasks. Only a hint that saves the other threads from taking the
    /// lock.
    hungry: AtomicBool,
    threads: usize,
}

struct PoolState {
    tasks: Vec<WalkTask>,
    waiting: usize,
}

impl DirectoryPool {
    pub(super) fn new(threads: NonZeroUsize, first: WalkTask) -> Self {
        Self {
            state: Mutex::new(PoolState { tasks: vec![first], waiting: 0 }),
            filled: Condvar::new(),
            hungry: AtomicBool::new(false),
            threads: threads.get(),
        }
    }

    /// Returns `true` if another thread waits for tasks.
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn give(&self, tasks: impl IntoIterator<Item = WalkTask>) {
        self.lock().tasks.extend(tasks);
        // The next thread that finds the pool empty sets the flag again.
        if self.hungry.swap(false, Ordering::Relaxed) {
            self.filled.notify_all();
        }
    }

    /// Waits for a task. Returns `None` once all threads wait, because then no thread is left to
    /// add any.
    pub(super) fn take(&self) -> Option<WalkTask> {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop() {
                return Some(task);
            }
            if state.waiting + 1 == self.threads {
                state.waiting = self.threads;
                self.filled.notify_all();
                return None;
            }
            state.waiting += 1;
            // Set under the lock: a thread that read the flag too early to see this has already
            // added its tasks.
            self.hungry.store(true, Ordering::Relaxed);
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            if state.waiting == self.threads {
                return None;
            }
            state.waiting -= 1;
        }
    }
}

/// Directories that one thread still has to open, last in first out. Their names are stored back to
/// back in one buffer, so that a push does not allocate.
#[derive(Default)]
pub(super) struct Stack {
    /// The parent, and where the name starts. `None` if the entry was given away.
    entries: Vec<(Option<Arc<OwnedFd>>, usize)>,
    names: Vec<u8>,
    /// How many of the oldest entries were given away.
    given: usize,
}

impl Stack {
    pub(super) fn push(&mut self, parent: Arc<OwnedFd>, name: &CStr) {
        self.entries.push((Some(parent), self.names.len()));
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Pops the newest directory and calls `open` with it.
    pub(super) fn pop<T>(&mut self, open: impl FnOnce(BorrowedFd<'_>, &CStr) -> T) -> Option<T> {
        let Some((Some(parent), start)) = self.entries.pop() else {
            self.entries.clear();
            self.names.clear();
            self.given = 0;
            return None;
        };
        let name = CStr::from_bytes_with_nul(&self.names[start..]).expect("pushed with its end");
        let opened = open((*parent).as_fd(), name);
        self.names.truncate(start);
        Some(opened)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.given
    }

    /// Removes and returns the older half, rounded down.
    pub(super) fn older_half(&mut self) -> impl Iterator<Item = WalkTask> {
        let from = self.given;
        self.given += self.len() / 2;
        let names = &self.names;
        self.entries[from..self.given].iter_mut().map(|(parent, start)| {
            let name = CStr::from_bytes_until_nul(&names[*start..]).expect("pushed with its end");
            WalkTask::Open(parent.take().expect("given once"), name.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, iter};

    use super::*;

    #[test]
    fn the_older_half_is_given_away_and_the_rest_pops_newest_first() {
        let root = tempfile::tempdir().expect("can create a temporary folder");
        let parent = Arc::new(OwnedFd::from(fs::File::open(root.path()).expect("is there")));
        let mut stack = Stack::default();
        for name in [c"a", c"bb", c"ccc", c"d", c"e"] {
            stack.push(Arc::clone(&parent), name);
        }
        let name_of = |task| match task {
            WalkTask::Open(_, name) => name,
            WalkTask::Begin(_) | WalkTask::GoOn(_) => panic!("a stack has names only"),
        };
        let given: Vec<_> = stack.older_half().map(name_of).collect();
        assert_eq!(given, [c"a".into(), c"bb".into()]);
        assert_eq!(stack.len(), 3);
        let rest: Vec<Box<CStr>> =
            iter::from_fn(|| stack.pop(|_parent, name| name.into())).collect();
        assert_eq!(rest, [c"e".into(), c"d".into(), c"ccc".into()]);
        assert_eq!(stack.len(), 0);
        assert_eq!(Arc::strong_count(&parent), 1, "nothing keeps a descriptor open");
    }
}
