//! `TaskGroup`: futures that belong together and end together.
//!
//! A member's handle is polled with a waker of its own, which puts the member's place on a list of those that are ready
//! and wakes whoever waits for the group. So the next result is found in constant time, however many members there are.
//!
//! Invariant: every member is on the list, or its handle has a waker that will put it there. A place may be on the list
//! for no reason (its member was taken, and perhaps another one put there): then it is looked at in vain.

use super::RuntimeHandle;
use heist::__internal::sync::{Arc, Mutex, show_to_sanitizer};
use heist::__internal::{self as internal, contain, coop, is_large};
use heist::{JoinError, JoinHandle};
use slab::Slab;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Wake, Waker};

/// Members whose handles are to be polled, and who waits for that.
#[derive(Debug, Default)]
struct Ready {
    places: VecDeque<usize>,
    waiter: Option<Waker>,
}

/// A member's waker.
#[derive(Debug)]
struct MemberWaker {
    place: usize,
    ready: Arc<Mutex<Ready>>,
}

impl Wake for MemberWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        let waiter = {
            let mut ready = self.ready.lock();
            ready.places.push_back(self.place);
            ready.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        show_to_sanitizer();
    }
}

impl Drop for MemberWaker {
    fn drop(&mut self) {
        show_to_sanitizer();
    }
}

#[derive(Debug)]
struct Member<T: Send + 'static> {
    /// How many were spawned before it.
    number: u64,
    state: State<T>,
}

#[derive(Debug)]
enum State<T: Send + 'static> {
    Spawned(JoinHandle<T>, Waker),
    /// It had ended before it could be listened to.
    Ended(Result<T, JoinError>),
    /// Its result was taken, and it is about to be removed.
    Taken,
}

impl<T: Send + 'static> Member<T> {
    /// Its result if it has ended; else it is going to be on the list.
    fn poll(&mut self) -> Poll<Result<T, JoinError>> {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Spawned(mut handle, waker) => {
                let polled = internal::poll_ended(&mut handle, &mut Context::from_waker(&waker));
                if polled.is_pending() {
                    self.state = State::Spawned(handle, waker);
                }
                polled
            }
            State::Ended(result) => Poll::Ready(result),
            State::Taken => Poll::Pending,
        }
    }
}

/// Futures that belong together: they are awaited together, and end together.
///
/// Results come in the order in which members end ([`TaskGroup::join_next`]), or all at once
/// ([`TaskGroup::join_all`], [`TaskGroup::try_join_all`]). A member's panic is its result, like any other error.
///
/// **Dropping a group aborts its members.** They are dropped by the workers soon after, and a blocking call that has
/// begun goes on to its end; to wait for that, [`TaskGroup::cancel`] the group and [`TaskGroup::join_all`].
///
/// ```
/// let runtime = heist_runtime::Runtime::new()?;
/// let mut squares = runtime.handle().group();
/// for number in 0..10_u64 {
///     squares.spawn(async move { number * number });
/// }
/// let sum = runtime.block_on(async {
///     let mut sum = 0;
///     while let Some(square) = squares.join_next().await {
///         sum += square?;
///     }
///     Ok::<_, heist::JoinError>(sum)
/// })?;
/// assert_eq!(sum, 285);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TaskGroup<T: Send + 'static> {
    runtime: RuntimeHandle,
    members: Slab<Member<T>>,
    ready: Arc<Mutex<Ready>>,
    spawned: u64,
}

impl<T: Send + 'static> TaskGroup<T> {
    /// A group without members, whose futures run on `runtime`.
    pub fn new(runtime: RuntimeHandle) -> Self {
        Self {
            runtime,
            members: Slab::new(),
            ready: Arc::new(Mutex::new(Ready::default())),
            spawned: 0,
        }
    }

    /// Spawns a future as a member. Refused by a runtime that is shut down, its result says so.
    pub fn spawn<F>(&mut self, future: F)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let handle = if const { is_large::<F>() } {
            self.runtime.spawn_boxed(Box::new(future))
        } else {
            self.runtime.spawn(future)
        };
        self.add(handle);
    }

    /// Makes a call that blocks, as a member. See [`RuntimeHandle::spawn_blocking`].
    pub fn spawn_blocking(&mut self, call: impl FnOnce() -> T + Send + 'static) {
        let handle = self.runtime.spawn_blocking(call);
        self.add(handle);
    }

    fn add(&mut self, handle: JoinHandle<T>) {
        let entry = self.members.vacant_entry();
        let place = entry.key();
        let waker = MemberWaker { place, ready: Arc::clone(&self.ready) };
        let waker = Waker::from(std::sync::Arc::new(waker));
        let mut member = Member { number: self.spawned, state: State::Spawned(handle, waker) };
        self.spawned += 1;
        // Now, and not when somebody asks: those that end until then are to be known in that order.
        if let Poll::Ready(result) = member.poll() {
            member.state = State::Ended(result);
            self.ready.lock().places.push_back(place);
        }
        entry.insert(member);
    }

    /// How many members there are whose results were not taken yet.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether every result was taken.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The result of a member that has ended, the first of them first; waits for one if there is none. `None` when the
    /// group is empty.
    ///
    /// Dropping this future loses nothing: the next one goes on.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.next().await.map(|(_number, result)| result)
    }

    /// Waits for all members, and empties the group. The results are in the order in which the members were spawned.
    ///
    /// Dropping this future before its end drops the results that it has.
    pub async fn join_all(&mut self) -> Vec<Result<T, JoinError>> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(result) = self.next().await {
            results.push(result);
        }
        in_order(results)
    }

    /// Aborts all members. Their results say so, unless they have ended before; take them to wait for the members' end.
    pub fn cancel(&mut self) {
        for (_place, member) in &mut self.members {
            if let State::Spawned(handle, _waker) = &mut member.state {
                handle.abort();
            }
        }
        // Aborting has made the handles forget their wakers.
        let places = self.members.iter().map(|(place, _member)| place);
        self.ready.lock().places.extend(places);
    }

    async fn next(&mut self) -> Option<(u64, Result<T, JoinError>)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Result<T, JoinError>)>> {
        coop::poll_counted(cx, |cx| self.poll_next_uncounted(cx))
    }

    fn poll_next_uncounted(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(u64, Result<T, JoinError>)>> {
        if self.members.is_empty() {
            return Poll::Ready(None);
        }
        while let Some(place) = self.next_place(cx.waker()) {
            let Some(member) = self.members.get_mut(place) else { continue };
            if let Poll::Ready(result) = member.poll() {
                let number = self.members.remove(place).number;
                return Poll::Ready(Some((number, result)));
            }
        }
        Poll::Pending
    }

    /// The next place on the list, or else leaves the waker there, in one step.
    fn next_place(&self, waker: &Waker) -> Option<usize> {
        let mut ready = self.ready.lock();
        let place = ready.places.pop_front();
        if place.is_none() && !ready.waiter.as_ref().is_some_and(|waiter| waiter.will_wake(waker)) {
            let before = ready.waiter.replace(waker.clone());
            drop(ready);
            // Without the lock: a waker's drop may be the end of its task.
            drop(before);
        }
        place
    }
}

fn in_order<R>(mut results: Vec<(u64, R)>) -> Vec<R> {
    results.sort_unstable_by_key(|(number, _result)| *number);
    results.into_iter().map(|(_number, result)| result).collect()
}

impl<T: Send + 'static, E: Send + 'static> TaskGroup<Result<T, E>> {
    /// Waits for all members, and empties the group. The values are in the order in which the members were spawned.
    ///
    /// ```
    /// let runtime = heist_runtime::Runtime::new()?;
    /// let mut files = runtime.handle().group();
    /// for path in ["Cargo.toml", "no such file", "src/lib.rs"] {
    ///     files.spawn_blocking(move || std::fs::read(path));
    /// }
    /// let error = runtime.block_on(files.try_join_all()).unwrap_err();
    /// let heist_runtime::GroupError::Failed(error) = error else { panic!("{error}") };
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// assert!(files.is_empty());
    /// # Ok::<(), heist::StartError>(())
    /// ```
    ///
    /// # Errors
    /// A member has failed, panicked, or was dropped. The first such error aborts the other members and is returned
    /// when all of them have ended. What they end with is dropped; their panics are still in [`RuntimeHandle::panics`].
    pub async fn try_join_all(&mut self) -> Result<Vec<T>, GroupError<E>> {
        let mut values = Vec::with_capacity(self.len());
        while let Some((number, result)) = self.next().await {
            let error = match result {
                Ok(Ok(value)) => {
                    values.push((number, value));
                    continue;
                }
                Ok(Err(error)) => GroupError::Failed(error),
                Err(error) => GroupError::Ended(error),
            };
            self.cancel();
            while self.next().await.is_some() {}
            return Err(error);
        }
        Ok(in_order(values))
    }
}

impl<T: Send + 'static> Drop for TaskGroup<T> {
    fn drop(&mut self) {
        for member in self.members.drain() {
            match member.state {
                State::Spawned(handle, _waker) => internal::abort_and_detach(handle),
                // As one that nobody takes: of two that panic in one `drop`, the second would end the process.
                State::Ended(untaken) => contain(|| drop(untaken)),
                State::Taken => {}
            }
        }
        // Members that still run have the list; whoever waited need not be kept by it.
        let waiter = self.ready.lock().waiter.take();
        drop(waiter);
    }
}

/// Why a group has no values. See [`TaskGroup::try_join_all`].
#[derive(Debug)]
pub enum GroupError<E> {
    /// A member has returned this.
    Failed(E),
    /// A member has ended without returning anything.
    Ended(JoinError),
}

impl<E: fmt::Display> fmt::Display for GroupError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "a member of the group failed: {error}"),
            Self::Ended(error) => write!(f, "a member of the group did not complete: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for GroupError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Ended(error) => Some(error),
        }
    }
}
