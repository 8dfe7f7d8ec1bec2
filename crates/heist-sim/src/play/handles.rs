//! The kept handles of futures, which all actors, tasks and futures reach.

use crate::machine::machine;
use crate::scenario::{Handle, Use};
use crate::world::{Answer, world};
use heist::{JoinError, JoinHandle};
use std::cell::RefCell;

/// A kept handle. They are in the order of the futures' numbers.
struct Kept {
    program: usize,
    future: usize,
    handle: JoinHandle<()>,
    aborted: bool,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Keeps or drops the handle of a future that was spawned.
pub(super) fn keep(program: usize, future: usize, how: Handle, handle: JoinHandle<()>) {
    match how {
        Handle::Kept => put(Kept { program, future, handle, aborted: false }),
        Handle::Detached => handle.detach(),
    }
}

fn put(kept: Kept) {
    KEPT.with_borrow_mut(|all| {
        let place = all.partition_point(|other| other.future < kept.future);
        all.insert(place, kept);
    });
}

fn take(program: usize, which: impl Fn(&Kept) -> bool) -> Option<Kept> {
    KEPT.with_borrow_mut(|all| {
        let place = all.iter().position(|kept| kept.program == program && which(kept))?;
        Some(all.remove(place))
    })
}

/// Uses the oldest handle of a future with this program. Returns the handle if it is to be awaited.
pub(super) fn use_one(program: usize, how: Use) -> Option<Awaited> {
    let kept = match how {
        Use::Abort => take(program, |kept| !kept.aborted),
        Use::Await | Use::Detach => take(program, |_| true),
    };
    let mut kept = kept?;
    let future = kept.future;
    match how {
        Use::Abort => {
            machine().say(|| format!("aborts future {future}"));
            world(|world| world.aborts(future));
            kept.handle.abort();
            world(|world| world.has_aborted(future));
            kept.aborted = true;
            put(kept);
        }
        Use::Detach => {
            machine().say(|| format!("detaches future {future}"));
            drop(kept);
        }
        Use::Await => return Some(Awaited(kept)),
    }
    None
}

/// A handle that is to be awaited.
pub(super) struct Awaited(Kept);

impl Awaited {
    /// Blocks the calling thread until the future has ended.
    pub(super) fn block(self) {
        let Kept { future, handle, .. } = self.0;
        machine().say(|| format!("waits for future {future}"));
        world(|world| world.awaits(None, future));
        let answer = answer(&heist_runtime::block_on(handle));
        world(|world| world.answered(None, future, answer));
    }

    /// Awaits the future, as future `who`.
    pub(super) async fn wait(self, who: usize) {
        let Kept { future, handle, .. } = self.0;
        machine().say(|| format!("future {who} awaits future {future}"));
        world(|world| world.awaits(Some(who), future));
        let answer = answer(&handle.await);
        world(|world| world.answered(Some(who), future, answer));
    }
}

fn answer(result: &Result<(), JoinError>) -> Answer {
    match result {
        Ok(()) => Answer::Output,
        Err(JoinError::Panicked(_)) => Answer::Panic,
        Err(JoinError::Aborted) => Answer::Aborted,
        Err(JoinError::Stopped) => Answer::Stopped,
        Err(_) => Answer::Other,
    }
}

/// Drops all handles, when no thread will use them any more.
pub(super) fn clear() {
    drop(KEPT.take());
}

/// Leaks the handles that a failed schedule has left behind.
pub(super) fn forget_what_is_left() {
    std::mem::forget(KEPT.take());
}
