//! How the threads of the floor share directories: a stack for each, and a pool between them.
//!
//! A thread works from its own stack without locks. It looks at one flag after each directory, and gives half of its
//! stack to the pool if the flag says that somebody waits. Nobody's share is fair at any moment; nobody waits long.

use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Something that any thread can go on with.
pub(super) enum Task {
    /// The root.
    Begin(OwnedFd),
    /// A directory, by its name in another.
    Open(Arc<OwnedFd>, Box<CStr>),
    /// A directory of which some blocks are read.
    GoOn(Arc<OwnedFd>),
}

/// What threads hand to each other.
pub(super) struct Pool {
    state: Mutex<PoolState>,
    filled: Condvar,
    /// Whether a thread waits for tasks. Only a hint, so that the others need not take the lock to see it.
    hungry: AtomicBool,
    threads: usize,
}

struct PoolState {
    tasks: Vec<Task>,
    waiting: usize,
}

impl Pool {
    pub(super) fn new(threads: NonZeroUsize, first: Task) -> Self {
        Self {
            state: Mutex::new(PoolState { tasks: vec![first], waiting: 0 }),
            filled: Condvar::new(),
            hungry: AtomicBool::new(false),
            threads: threads.get(),
        }
    }

    /// Whether it is worth to give something.
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn give(&self, tasks: impl IntoIterator<Item = Task>) {
        self.lock().tasks.extend(tasks);
        // The next thread that finds nothing sets it again.
        if self.hungry.swap(false, Ordering::Relaxed) {
            self.filled.notify_all();
        }
    }

    /// Waits for a task; `None` once all threads wait, for then nobody is left to give any.
    pub(super) fn take(&self) -> Option<Task> {
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
            // Under the lock, so a giver that came too early to see it has its tasks in already.
            self.hungry.store(true, Ordering::Relaxed);
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            if state.waiting == self.threads {
                return None;
            }
            state.waiting -= 1;
        }
    }
}

/// Directories still to be opened by one thread, the last one first. Their names lie behind each other in one buffer,
/// so that pushing one allocates nothing.
#[derive(Default)]
pub(super) struct Stack {
    /// The parent, and where the name starts. `None`: given away.
    entries: Vec<(Option<Arc<OwnedFd>>, usize)>,
    names: Vec<u8>,
    /// How many of the oldest are given away.
    given: usize,
}

impl Stack {
    pub(super) fn push(&mut self, parent: Arc<OwnedFd>, name: &CStr) {
        self.entries.push((Some(parent), self.names.len()));
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Takes the youngest and calls `open` with it.
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

    /// Takes the older half, rounded down.
    pub(super) fn older_half(&mut self) -> impl Iterator<Item = Task> {
        let from = self.given;
        self.given += self.len() / 2;
        let names = &self.names;
        self.entries[from..self.given].iter_mut().map(|(parent, start)| {
            let name = CStr::from_bytes_until_nul(&names[*start..]).expect("pushed with its end");
            Task::Open(parent.take().expect("given once"), name.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, iter};

    use super::*;

    #[test]
    fn the_older_half_of_a_stack_is_given_and_the_rest_is_popped_from_the_top() {
        let root = tempfile::tempdir().expect("a place for a test");
        let parent = Arc::new(OwnedFd::from(fs::File::open(root.path()).expect("is there")));
        let mut stack = Stack::default();
        for name in [c"a", c"bb", c"ccc", c"d", c"e"] {
            stack.push(Arc::clone(&parent), name);
        }
        let name_of = |task| match task {
            Task::Open(_, name) => name,
            Task::Begin(_) | Task::GoOn(_) => panic!("a stack has names only"),
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
