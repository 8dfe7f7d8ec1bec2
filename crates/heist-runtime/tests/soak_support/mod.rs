//! The pieces of work of `soak_mixed.rs`: what they count, how they spawn each other, and how each
//! kind runs.

use heist::rng::XorShift64;
use heist::{
    AcquireError, CountBudget, CountPermit, ExecutorHandle, GatedQueue, JoinError, JoinHandle,
    PushError, QueueTurn, WorkerCtx,
};
use heist_runtime::RuntimeHandle;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::task::Poll;

/// Fewer than the pieces that ask for permits, so that some wait. Two, so that a request can be for
/// all of them.
pub(crate) const PERMITS: u64 = 2;

/// More operations in a row than the cooperative budget of one poll allows.
const MORE_THAN_A_BUDGET: u32 = 200;

/// What happened to the pieces of a round.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) made: AtomicU64,
    pub(crate) run: AtomicU64,
    pub(crate) gone: AtomicU64,
    /// Dropped without having run, although they were not aborted.
    pub(crate) not_run: AtomicU64,
    /// Refused because they came from outside after the pool was closed. `not_run` includes these.
    pub(crate) refused: AtomicU64,
    /// Refusals and outcomes that must not happen in a pool that is not stopped.
    pub(crate) unexpected: AtomicU64,
}

fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Everything through which the pieces of a round spawn others.
pub(crate) struct Doors {
    pub(crate) pool: Pool,
    pub(crate) permits: CountBudget,
    /// Leads to the thread that aborts futures from outside.
    pub(crate) to_abort: Sender<AbortedWhenDropped>,
    pub(crate) counts: Arc<Counts>,
    /// Whether pieces sometimes panic.
    pub(crate) panics: bool,
    /// Whether the round ends by stopping its pool, so that futures may wait forever.
    pub(crate) ends_by_stop: bool,
    /// Whether the pool is stopped, in that way or by a panic, so that pieces are dropped and not
    /// run.
    pub(crate) stops: bool,
}

pub(crate) enum Pool {
    Executor { handle: ExecutorHandle<Task>, queues: [GatedQueue<Piece>; 2] },
    Runtime(RuntimeHandle),
}

pub(crate) enum Task {
    Run(Piece),
    Granted(Piece, Result<CountPermit, AcquireError>),
    Consume(QueueTurn<Piece>),
    Pushed(Result<(), PushError<Piece>>),
}

impl Task {
    pub(crate) fn run(self, ctx: &mut WorkerCtx<'_, Self, u64>) {
        *ctx.scratch += 1;
        match self {
            Self::Run(piece) => piece.run_as_task(ctx),
            Self::Granted(piece, Ok(_permit)) => piece.run_as_task(ctx),
            Self::Granted(piece, Err(_)) => piece.doors.expected_only_if_stopped(false),
            Self::Consume(turn) => drop(turn.run(|piece| piece.run_as_task(ctx))),
            Self::Pushed(Ok(())) => {}
            Self::Pushed(Err(refused)) => {
                refused.into_inner().doors.expected_only_if_stopped(false);
            }
        }
    }
}

/// Aborts a future at the latest when its holder is dropped, so that no future waits forever after
/// its holder was aborted.
pub(crate) struct AbortedWhenDropped(Option<JoinHandle<()>>);

impl AbortedWhenDropped {
    fn abort(&mut self) {
        if let Some(handle) = &mut self.0 {
            handle.abort();
        }
    }

    fn into_handle(mut self) -> JoinHandle<()> {
        self.0.take().expect("the handle is taken only once")
    }
}

impl Drop for AbortedWhenDropped {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Doors {
    fn expected_only_if_stopped(&self, is_fine: bool) {
        if !is_fine && !self.stops {
            add_one(&self.counts.unexpected);
        }
    }

    /// Spawns a future from inside the pool.
    fn spawn_future(&self, piece: Piece) -> Option<JoinHandle<()>> {
        let spawned = match &self.pool {
            Pool::Executor { handle, .. } => handle.spawn_future(piece.into_future()).ok(),
            Pool::Runtime(handle) => handle.try_spawn(piece.into_future()).ok(),
        };
        self.expected_only_if_stopped(spawned.is_some());
        spawned
    }

    /// Spawns a typed task from inside the pool, or a blocking call in a runtime.
    fn spawn_task(&self, piece: Piece) {
        match &self.pool {
            Pool::Executor { handle, .. } => {
                self.expected_only_if_stopped(handle.spawn(Task::Run(piece)).is_ok());
            }
            Pool::Runtime(handle) => drop(handle.spawn_blocking(move || piece.run_as_call())),
        }
    }

    /// Spawns a task that waits for permits, or a future in a runtime.
    fn spawn_granted(&self, piece: Piece, wanted: u64) {
        match &self.pool {
            Pool::Executor { handle, .. } => {
                let make = |granted| Task::Granted(piece, granted);
                let spawned = self.permits.acquire_then(wanted, handle, make);
                self.expected_only_if_stopped(spawned.is_ok());
            }
            Pool::Runtime(_) => drop(self.spawn_future(piece)),
        }
    }

    /// Queues a piece without waiting, or spawns a future in a runtime.
    fn push(&self, piece: Piece, random: &mut XorShift64) {
        match &self.pool {
            Pool::Executor { handle, queues } => {
                let queue = &queues[random.below_usize(2)];
                let is_pushed = if queue.capacity().is_none() && random.below(2) == 0 {
                    queue.push(piece).is_ok()
                } else {
                    queue.push_then(piece, handle, Task::Pushed).is_ok()
                };
                self.expected_only_if_stopped(is_pushed);
            }
            Pool::Runtime(_) => drop(self.spawn_future(piece)),
        }
    }

    async fn push_async(&self, piece: Piece, random: &mut XorShift64) {
        match &self.pool {
            Pool::Executor { queues, .. } => {
                let pushed = queues[random.below_usize(2)].push_async(piece).await;
                self.expected_only_if_stopped(pushed.is_ok());
            }
            Pool::Runtime(_) => drop(self.spawn_future(piece)),
        }
    }

    /// Spawns a piece from an outside thread, which the pool may refuse.
    pub(crate) fn spawn_from_outside(&self, piece: Piece, random: &mut XorShift64) {
        let is_accepted = match (&self.pool, random.below(2)) {
            (Pool::Executor { handle, .. }, 0) => handle.spawn(Task::Run(piece)).is_ok(),
            (Pool::Executor { handle, .. }, _) => handle.spawn_future(piece.into_future()).is_ok(),
            (Pool::Runtime(handle), _) => handle.try_spawn(piece.into_future()).is_ok(),
        };
        if !is_accepted {
            add_one(&self.counts.refused);
        }
    }
}

/// A piece of work of any kind: it counts itself, spawns others, and sometimes waits or panics.
pub(crate) struct Piece {
    doors: Arc<Doors>,
    seed: u64,
    /// The number of generations that may follow.
    levels: u32,
    is_run: bool,
    /// Whether it will be aborted, so that it may wait forever.
    is_aborted: bool,
    /// Whether it may be dropped before it runs, because it is aborted or was handed over by a
    /// future that is.
    may_not_run: bool,
}

impl Drop for Piece {
    fn drop(&mut self) {
        add_one(&self.doors.counts.gone);
        if !self.is_run && !self.may_not_run {
            add_one(&self.doors.counts.not_run);
        }
    }
}

type PieceFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Piece {
    pub(crate) fn new(doors: &Arc<Doors>, levels: u32, seed: u64) -> Self {
        add_one(&doors.counts.made);
        let doors = Arc::clone(doors);
        Self { doors, seed, levels, is_run: false, is_aborted: false, may_not_run: false }
    }

    fn child(&self, random: &mut XorShift64) -> Self {
        Self::new(&self.doors, self.levels - 1, random.next_u64())
    }

    /// Returns a random number of children.
    fn children(&self, random: &mut XorShift64) -> u32 {
        if self.levels == 0 { 0 } else { random.below(4) }
    }

    /// Counts the piece as run, and returns the random numbers that decide everything else about
    /// it.
    fn begin(&mut self) -> XorShift64 {
        assert!(!std::mem::replace(&mut self.is_run, true), "a piece was run twice");
        add_one(&self.doors.counts.run);
        XorShift64::new(self.seed)
    }

    fn end(self, random: &mut XorShift64) {
        if self.doors.panics && random.below(16) == 0 {
            resume_unwind(Box::new("deliberate panic"));
        }
    }

    /// Spawns a future that another thread or the returned guard aborts.
    fn spawn_aborted(&self, random: &mut XorShift64) -> Option<AbortedWhenDropped> {
        let mut child = self.child(random);
        child.is_aborted = true;
        child.may_not_run = true;
        let handle = self.doors.spawn_future(child)?;
        let guard = AbortedWhenDropped(Some(handle));
        if random.below(2) == 0 {
            // If the receiver is gone, the error contains the guard, which aborts the future.
            drop(self.doors.to_abort.send(guard));
            return None;
        }
        Some(guard)
    }

    fn run_as_task(mut self, ctx: &mut WorkerCtx<'_, Task, u64>) {
        let mut random = self.begin();
        for _ in 0..self.children(&mut random) {
            match random.below(9) {
                0 => ctx.spawn_local(Task::Run(self.child(&mut random))),
                1 => ctx.spawn_global(Task::Run(self.child(&mut random))),
                2 => ctx.spawn_yielded(Task::Run(self.child(&mut random))),
                3 => self.doors.spawn_task(self.child(&mut random)),
                4 => drop(ctx.spawn_future(self.child(&mut random).into_future())),
                5 => drop(self.doors.spawn_future(self.child(&mut random))),
                6 => {
                    let wanted = 1 + u64::from(random.below(PERMITS as u32));
                    self.doors.spawn_granted(self.child(&mut random), wanted);
                }
                7 => self.doors.push(self.child(&mut random), &mut random),
                _ => drop(self.spawn_aborted(&mut random)),
            }
        }
        self.end(&mut random);
    }

    fn run_as_call(mut self) {
        let mut random = self.begin();
        for _ in 0..self.children(&mut random) {
            match random.below(3) {
                0 => self.doors.spawn_task(self.child(&mut random)),
                1 => drop(self.doors.spawn_future(self.child(&mut random))),
                _ => drop(self.spawn_aborted(&mut random)),
            }
        }
        self.end(&mut random);
    }

    /// Converts the piece into a future. (Boxed, because it spawns others of its kind.)
    fn into_future(self) -> PieceFuture {
        Box::pin(self.run_as_future())
    }

    async fn run_as_future(mut self) {
        let mut random = self.begin();
        let mut awaited = Vec::new();
        for _ in 0..self.children(&mut random) {
            match random.below(6) {
                0 => self.doors.spawn_task(self.child(&mut random)),
                1 => self.doors.spawn_granted(self.child(&mut random), 1),
                2 => {
                    let mut child = self.child(&mut random);
                    child.may_not_run = self.is_aborted;
                    self.doors.push_async(child, &mut random).await;
                }
                3 => {
                    if let Some(guard) = self.spawn_aborted(&mut random) {
                        self.end_aborted(guard, &mut random).await;
                    }
                }
                _ => awaited.extend(self.doors.spawn_future(self.child(&mut random))),
            }
        }
        match random.below(8) {
            0 => yield_times(random.below(5)).await,
            1 => self.hold_permits(&mut random).await,
            2 => self.give_up_permits().await,
            3 => {
                for _ in 0..MORE_THAN_A_BUDGET {
                    drop(self.doors.permits.acquire_async(1).await);
                }
            }
            4 | 5 if self.is_aborted || self.doors.ends_by_stop => std::future::pending().await,
            4 => {
                for handle in awaited {
                    self.check_outcome(&handle.await);
                }
            }
            _ => {}
        }
        self.end(&mut random);
    }

    async fn hold_permits(&self, random: &mut XorShift64) {
        let wanted = 1 + u64::from(random.below(PERMITS as u32));
        let permit = self.doors.permits.acquire_async(wanted).await;
        self.doors.expected_only_if_stopped(permit.is_ok());
        yield_times(random.below(4)).await;
    }

    /// Requests all permits, and gives up if they are not granted at once.
    async fn give_up_permits(&self) {
        let mut acquire = pin!(self.doors.permits.acquire_async(PERMITS));
        poll_fn(|cx| Poll::Ready(acquire.as_mut().poll(cx).is_ready())).await;
    }

    /// Aborts a future, at once or later, and waits for its end in one of several ways.
    async fn end_aborted(&self, mut guard: AbortedWhenDropped, random: &mut XorShift64) {
        yield_times(random.below(3)).await;
        guard.abort();
        match random.below(3) {
            0 => drop(guard),
            1 => self.check_outcome(&guard.into_handle().await),
            _ => {
                let handle = guard.into_handle();
                while !handle.is_finished() {
                    heist::yield_now().await;
                }
            }
        }
    }

    fn check_outcome(&self, outcome: &Result<(), JoinError>) {
        let is_fine = match outcome {
            Ok(()) | Err(JoinError::Aborted) => true,
            Err(JoinError::Panicked(_)) => self.doors.panics,
            Err(_) => false,
        };
        self.doors.expected_only_if_stopped(is_fine);
    }
}

async fn yield_times(times: u32) {
    for _ in 0..times {
        heist::yield_now().await;
    }
}
