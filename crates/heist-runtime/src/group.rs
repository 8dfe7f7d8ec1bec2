//! `TaskGroup`: futures that belong together and end together.
//!
//! Each member's handle is polled with its own waker, which puts the member on a list of ready
//! members and wakes the task that waits for the group. So the next result is found in constant
//! time, even with many members.
//!
//! Invariant: every member is on the list, or its handle has a waker that will put it there. A
//! place may be on the list for no reason (its result was taken, and perhaps another member has the
//! place now): polling it again is harmless.

use super::RuntimeHandle;
use heist::__internal::sync::{Arc, Mutex, show_to_sanitizer};
use heist::__internal::{self as internal, contain, coop, is_large};
use heist::{AbortHandle, JoinError, JoinHandle};
use slab::Slab;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Wake, Waker};

/// The members whose handles must be polled, and the waker of the future that awaits the group.
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
    /// The number of members that were spawned before it.
    number: u64,
    state: MemberState<T>,
}

#[derive(Debug)]
enum MemberState<T: Send + 'static> {
    Spawned(JoinHandle<T>, Waker),
    /// It had ended when it was polled first.
    Ended(Result<T, JoinError>),
    /// Its result was taken, and it is about to be removed.
    Taken,
}

impl<T: Send + 'static> Member<T> {
    /// Returns the result if the member has ended. Otherwise its waker will put it on the list.
    fn poll(&mut self) -> Poll<Result<T, JoinError>> {
        match std::mem::replace(&mut self.state, MemberState::Taken) {
            MemberState::Spawned(mut handle, waker) => {
                let polled = internal::poll_ended(&mut handle, &mut Context::from_waker(&waker));
                if polled.is_pending() {
                    self.state = MemberState::Spawned(handle, waker);
                }
                polled
            }
            MemberState::Ended(result) => Poll::Ready(result),
            MemberState::Taken => Poll::Pending,
        }
    }

    /// Has the member put its place on the list when it ends, or does so now if it has ended. This
    /// is done when the member is added, not when a result is asked for: members that end before
    /// that must be listed in the order in which they ended.
    fn listen(&mut self, place: usize, ready: &Mutex<Ready>) {
        if let Poll::Ready(result) = self.poll() {
            self.state = MemberState::Ended(result);
            ready.lock().places.push_back(place);
        }
    }
}

/// A member that was just spawned, by [`TaskGroup::spawn`] or [`TaskGroup::spawn_blocking`].
#[derive(Debug)]
pub struct SpawnedMember<'g, T: Send + 'static> {
    group: &'g mut TaskGroup<T>,
    place: usize,
}

impl<T: Send + 'static> SpawnedMember<'_, T> {
    /// Returns a handle that aborts this member alone. Its result is then [`JoinError::Aborted`],
    /// unless it has ended before.
    ///
    /// ```
    /// let runtime = heist_runtime::Runtime::new()?;
    /// let mut group = runtime.handle().group();
    /// let abort = group.spawn(std::future::pending::<u32>()).abort_handle();
    /// group.spawn(async { 7 });
    /// abort.abort();
    /// let results = runtime.block_on(group.join_all());
    /// assert!(matches!(results[0], Err(heist::JoinError::Aborted)));
    /// assert_eq!(*results[1].as_ref().unwrap(), 7);
    /// # Ok::<(), heist::StartError>(())
    /// ```
    pub fn abort_handle(self) -> AbortHandle {
        let Self { group, place } = self;
        let member = &mut group.members[place];
        match &member.state {
            MemberState::Spawned(handle, _waker) => {
                let abort = handle.abort_handle();
                // Only a poll after that leaves a waker which an abort from elsewhere wakes.
                member.listen(place, &group.ready);
                abort
            }
            MemberState::Ended(_) | MemberState::Taken => internal::abort_handle_of_nothing(),
        }
    }
}

/// A group of futures that are awaited together and end together.
///
/// [`TaskGroup::join_next`] returns results in the order in which the members end.
/// [`TaskGroup::join_all`] and [`TaskGroup::try_join_all`] return all of them. A member's panic is
/// its result, like any other error.
///
/// **Dropping a group aborts its members.** The workers drop them soon afterwards, and a blocking
/// call that has begun runs to its end. To wait for that, call [`TaskGroup::abort_all`] and await
/// [`TaskGroup::join_all`].
///
/// # Examples
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
    /// Creates a group without members, whose futures run on `runtime`.
    pub fn new(runtime: RuntimeHandle) -> Self {
        Self {
            runtime,
            members: Slab::new(),
            ready: Arc::new(Mutex::new(Ready::default())),
            spawned: 0,
        }
    }

    /// Spawns a future as a member. If the runtime refuses it, because it was shut down, the
    /// member's result is that error.
    ///
    /// The return value may be ignored; [`SpawnedMember::abort_handle`] is for aborting this member
    /// alone.
    pub fn spawn<F>(&mut self, future: F) -> SpawnedMember<'_, T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let handle = if const { is_large::<F>() } {
            self.runtime.spawn_boxed(Box::new(future))
        } else {
            self.runtime.spawn(future)
        };
        self.add(handle)
    }

    /// Runs a blocking call as a member. See [`RuntimeHandle::spawn_blocking`].
    pub fn spawn_blocking(
        &mut self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> SpawnedMember<'_, T> {
        let handle = self.runtime.spawn_blocking(call);
        self.add(handle)
    }

    fn add(&mut self, handle: JoinHandle<T>) -> SpawnedMember<'_, T> {
        let entry = self.members.vacant_entry();
        let place = entry.key();
        let waker = MemberWaker { place, ready: Arc::clone(&self.ready) };
        let waker = Waker::from(std::sync::Arc::new(waker));
        let mut member =
            Member { number: self.spawned, state: MemberState::Spawned(handle, waker) };
        self.spawned += 1;
        member.listen(place, &self.ready);
        entry.insert(member);
        SpawnedMember { group: self, place }
    }

    /// Returns the number of members whose results were not taken yet.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns `true` if every result was taken.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Waits until a member has ended, and returns its result. Results come in the order in which
    /// the members end. Returns `None` if the group is empty.
    ///
    /// This is cancel-safe: dropping the future loses no result.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.next().await.map(|(_number, result)| result)
    }

    /// Waits for all members, and empties the group. The results are in the order in which the
    /// members were spawned.
    ///
    /// Dropping this future early drops the results that it has collected.
    pub async fn join_all(&mut self) -> Vec<Result<T, JoinError>> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(result) = self.next().await {
            results.push(result);
        }
        in_order(results)
    }

    /// Aborts all members, as [`JoinHandle::abort`] does, without waiting. To wait for the members'
    /// end, take their results: [`JoinError::Aborted`], except for members that had ended before.
    pub fn abort_all(&mut self) {
        for (_place, member) in &mut self.members {
            if let MemberState::Spawned(handle, _waker) = &mut member.state {
                handle.abort();
            }
        }
        // Aborting makes the handles forget the wakers that they were polled with.
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

    /// Returns the next place on the list. If the list is empty, stores the waker there in the same
    /// step.
    fn next_place(&self, waker: &Waker) -> Option<usize> {
        let mut ready = self.ready.lock();
        let place = ready.places.pop_front();
        if place.is_none() && !ready.waiter.as_ref().is_some_and(|waiter| waiter.will_wake(waker)) {
            let before = ready.waiter.replace(waker.clone());
            drop(ready);
            // Without the lock: dropping a waker may drop its task.
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
    /// Waits for all members, and empties the group. The values are in the order in which the
    /// members were spawned.
    ///
    /// # Examples
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
    /// Fails if a member fails, panics or is dropped. The first such error aborts the other
    /// members, and is returned when all of them have ended. Their results are dropped; their
    /// panics are still in [`RuntimeHandle::panics`].
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
            self.abort_all();
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
                MemberState::Spawned(handle, _waker) => internal::abort_and_detach(handle),
                // One by one: if the drops of two results panicked, the second would abort the
                // process.
                MemberState::Ended(untaken) => contain(|| drop(untaken)),
                MemberState::Taken => {}
            }
        }
        // Members that still run keep the list alive. It must not keep the waker alive.
        let waiter = self.ready.lock().waiter.take();
        drop(waiter);
    }
}

/// The reason why a group has no values. See [`TaskGroup::try_join_all`].
#[derive(Debug)]
#[non_exhaustive]
pub enum GroupError<E> {
    /// A member has returned this error.
    Failed(E),
    /// A member has ended without returning a value.
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
