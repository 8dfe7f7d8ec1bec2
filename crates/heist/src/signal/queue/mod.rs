//! [`GatedQueue`]: a queue that schedules its own consumer.
//!
//! Many producers push and one consumer at a time pops. The queue puts its consumer on the executor
//! exactly when there is something to pop. A queue needs no thread of its own and never spins or
//! polls; an idle queue costs only its memory.
//!
//! | file | contents |
//! |---|---|
//! | `core` | the items, the gate's flags, and when a turn is spawned |
//! | `turn`, `ring` | the consumer's turn, the consumer, and the ring of items that it holds |
//! | `schedule` | how a turn becomes a task |
//! | `error`, `stats` | why a push was refused; counters |

pub(crate) mod core;
mod error;
pub(crate) mod on_permit;
mod ring;
mod schedule;
mod stats;
mod turn;

pub use error::{PushError, PushErrorKind};
pub use stats::QueueStats;
pub use turn::{QueueConsumer, QueueTurn};

use self::core::{QueueCore, Scheduler};
use crate::budget::{AcquireError, Amount, CountBudget, CountPermit};
use crate::executor::shared::PoolShared;
use crate::executor::{ConfigError, ExecutorHandle, SpawnError};
use crate::future::coop;
use crate::sync::Arc;
use schedule::SpawnTurnAtOnce;
use std::fmt;

/// The configuration of a queue.
///
/// ```
/// use heist::QueueConfig;
///
/// let config = QueueConfig::new().capacity(Some(256));
/// assert_eq!((config.capacity, config.batch), (Some(256), 64));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct QueueConfig {
    /// The largest number of items that may wait or be with the consumer; an item gives its room
    /// back at the end of its batch. `None` means that only memory limits the queue.
    pub capacity: Option<u64>,
    /// The number of items after which a consumer checks for other work and lets it go first. A
    /// larger batch is cheaper per item; a smaller one lets other work run sooner.
    pub batch: usize,
}

impl QueueConfig {
    /// Creates the configuration of a queue without a limit, with batches of 64 items.
    pub const fn new() -> Self {
        // Large enough that the cost of a turn disappears beside that of its items. Small enough
        // that items of 10 us hold a worker for less than a millisecond.
        Self { capacity: None, batch: 64 }
    }

    /// Sets [`QueueConfig::capacity`].
    pub const fn capacity(mut self, capacity: Option<u64>) -> Self {
        self.capacity = capacity;
        self
    }

    /// Sets [`QueueConfig::batch`].
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }
}

impl Default for QueueConfig {
    /// The same as [`QueueConfig::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl QueueConfig {
    pub(crate) fn budget(&self) -> Result<Option<CountBudget>, ConfigError> {
        if self.batch == 0 {
            return Err(ConfigError::of("queue", "batch", "must be at least 1"));
        }
        let Some(capacity) = self.capacity else { return Ok(None) };
        if capacity == 0 {
            return Err(ConfigError::of("queue", "capacity", "must be at least 1"));
        }
        let too_large = |crate::budget::BudgetError::TotalTooLarge { most, .. }| {
            let problem = format!("must be at most {most}, but is {capacity}");
            ConfigError::of("queue", "capacity", problem)
        };
        CountBudget::new(capacity).map(Some).map_err(too_large)
    }
}

/// A queue with many producers and one consumer at a time, which the queue itself puts on an
/// executor.
///
/// The consumer is a task of the executor's own type that contains a [`QueueTurn`], so it can use
/// the worker's scratch and spawn tasks. Items of the same producer come out in the order in which
/// it pushed them. The executor counts the items: [`join`] waits until all of them are consumed.
/// Once `join` has been called, the queue refuses items from outside the executor, but not from the
/// executor's own tasks.
///
/// Cloning a `GatedQueue` gives another handle to the same queue.
///
/// ```
/// use heist::{Executor, GatedQueue, QueueTurn};
///
/// enum Task {
///     Square(u64, GatedQueue<u64>),
///     Collect(QueueTurn<u64>),
/// }
///
/// let (sender, results) = std::sync::mpsc::channel();
/// let executor = Executor::builder().build(
///     |_worker| (),
///     move |task, _ctx| match task {
///         Task::Square(number, squares) => squares.push(number * number).unwrap(),
///         // Two of these never run at the same time, so the consumer's data needs no lock.
///         Task::Collect(turn) => {
///             turn.run(|square| sender.send(square).expect("the receiver is alive"));
///         }
///     },
/// )?;
/// let squares = GatedQueue::unbounded(&executor.handle(), Task::Collect);
/// for number in 1..=4 {
///     executor.spawn(Task::Square(number, squares.clone()))?;
/// }
/// executor.join();
/// assert_eq!(results.into_iter().sum::<u64>(), 1 + 4 + 9 + 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`join`]: crate::Executor::join
pub struct GatedQueue<T> {
    core: Arc<QueueCore<T>>,
}

impl<T> Clone for GatedQueue<T> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core) }
    }
}

impl<T> fmt::Debug for GatedQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedQueue")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> GatedQueue<T> {
    /// Creates a queue without a bound. `turn` makes the task that consumes the queue; it is
    /// usually a variant of the task enum. If `turn` panics, heist treats that as a panic of the
    /// task, and closes and empties the queue.
    pub fn unbounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        let scheduler =
            Box::new(SpawnTurnAtOnce { shared: Arc::clone(executor.shared()), make: turn });
        Self::with_scheduler(scheduler, None, QueueConfig::default().batch)
    }

    /// Creates a queue that holds at most `capacity` items. See [`QueueConfig::capacity`] for when
    /// an item gives its room back.
    ///
    /// # Errors
    /// Returns an error if the capacity is 0 or larger than a budget can count.
    pub fn bounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        capacity: u64,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let config = QueueConfig { capacity: Some(capacity), ..QueueConfig::default() };
        Self::with_config(executor, &config, turn)
    }

    /// Creates a queue with the given configuration.
    ///
    /// # Errors
    /// Returns an error if a value of the configuration is out of range.
    pub fn with_config<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        config: &QueueConfig,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let capacity = config.budget()?;
        let scheduler =
            Box::new(SpawnTurnAtOnce { shared: Arc::clone(executor.shared()), make: turn });
        Ok(Self::with_scheduler(scheduler, capacity, config.batch))
    }
}

impl<T> GatedQueue<T> {
    pub(crate) fn with_scheduler(
        scheduler: Box<dyn Scheduler<T>>,
        capacity: Option<CountBudget>,
        batch: usize,
    ) -> Self {
        Self::from_core(Arc::new(QueueCore::new(scheduler, capacity, batch)))
    }

    pub(crate) fn from_core(core: Arc<QueueCore<T>>) -> Self {
        Self { core }
    }

    /// Returns `true` if this is the only handle and there is neither a turn nor a consumer.
    pub(crate) fn is_sole_handle(&self) -> bool {
        Arc::strong_count(&self.core) == 1
    }

    /// Returns the number of waiting items, without those that a running consumer has taken.
    pub fn len(&self) -> usize {
        self.core.len()
    }

    /// Returns `true` if no items wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the largest number of items that the queue holds, or `None` if it is unbounded.
    pub fn capacity(&self) -> Option<u64> {
        self.core.capacity.as_ref().map(CountBudget::total)
    }

    /// Returns `true` if the queue was closed. An executor that accepts no more work refuses items
    /// but does not close the queue.
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Returns the counters of the queue.
    pub fn stats(&self) -> QueueStats {
        self.core.stats()
    }

    /// Closes the queue. Items that wait are still consumed; producers that wait for room get their
    /// items back.
    pub fn close(&self) {
        self.core.close(false);
    }

    /// Closes the queue, drops the waiting items, and returns their number. Items that a running
    /// consumer holds beyond its current batch are dropped when its turn ends.
    pub fn close_and_drop(&self) -> usize {
        self.core.close(true)
    }

    /// Pushes an item if there is room.
    ///
    /// # Errors
    /// Returns the item if the queue is full or closed, or if its executor accepts no more work.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<(), PushError<T>> {
        match self.core.try_take_room() {
            Ok(()) => self.push_with_room(item, false),
            Err(error) => Err(PushError::new(error, item)),
        }
    }

    /// Pushes an item, and blocks the thread until there is room. An unbounded queue always has
    /// room.
    ///
    /// # Errors
    /// Returns the item if the queue is closed, if its executor accepts no more work, or if there
    /// is no room and the caller is an executor's worker, which must not block.
    #[inline]
    pub fn push(&self, item: T) -> Result<(), PushError<T>> {
        let room = match self.core.try_take_room() {
            Err(AcquireError::NotNow) => self.core.wait_for_room(),
            taken => taken,
        };
        match room {
            Ok(()) => self.push_with_room(item, false),
            Err(error) => Err(PushError::new(error, item)),
        }
    }

    /// Pushes an item as soon as there is room. This works on any runtime. If the future is dropped
    /// before it is ready, it has pushed nothing and drops the item.
    ///
    /// # Errors
    /// Returns the item if the queue is closed or if its executor accepts no more work.
    pub async fn push_async(&self, item: T) -> Result<(), PushError<T>> {
        match &self.core.capacity {
            Some(capacity) => match capacity.acquire_async(1).await {
                Ok(room) => room.into_item(),
                Err(error) => return Err(PushError::new(error, item)),
            },
            // There is nothing to wait for, but even a producer that never waits must yield.
            None => coop::consume_budget().await,
        }
        self.push_with_room(item, false)
    }

    /// Pushes an item whose room was already taken. The item owns that room from now on, and gives
    /// it back when it is consumed or dropped.
    #[inline]
    fn push_with_room(&self, item: T, inside: bool) -> Result<(), PushError<T>> {
        QueueCore::push(&self.core, item, inside).map_err(|(refused, item)| {
            self.core.give_room_back(1);
            PushError::new(refused, item)
        })
    }
}

impl<T: Send + 'static> GatedQueue<T> {
    /// Pushes an item as soon as there is room, and then spawns the task that `then` makes. A task
    /// must not block; this lets it continue in another task once its item is in. `executor` counts
    /// the new task from now on.
    ///
    /// `then` gets the item back if the queue was closed, if its executor accepts no more work, or
    /// if `executor` was stopped while the task waited. A running task of `executor` may call this
    /// even while the executor is being joined. heist calls `then` on whichever thread makes room,
    /// so `then` should only make the task.
    ///
    /// # Errors
    /// Returns the item and `then` if `executor` accepts no more tasks.
    pub fn push_then<K, F>(
        &self,
        item: T,
        executor: &ExecutorHandle<K>,
        then: F,
    ) -> Result<(), SpawnError<(T, F)>>
    where
        K: Send + 'static,
        F: FnOnce(Result<(), PushError<T>>) -> K + Send + 'static,
    {
        let shared = executor.shared();
        if let Err(kind) = shared.count_now() {
            return Err(SpawnError::new(kind, (item, then)));
        }
        // The waiting task keeps its own executor from ending, on whichever thread the item is
        // pushed.
        let inside = self.core.executor().pool() == shared.pool();
        let queue = self.clone();
        let push = move |room: Result<(), AcquireError>| {
            then(match room {
                Ok(()) => queue.push_with_room(item, inside),
                Err(error) => Err(PushError::new(error, item)),
            })
        };
        match &self.core.capacity {
            None => shared.spawn_made(push, Ok(())),
            Some(capacity) => {
                PoolShared::spawn_when_granted(shared, capacity.core(), Amount::ONE, |granted| {
                    push(granted.map(|room| CountPermit::from_core(room).into_item()))
                });
            }
        }
        Ok(())
    }
}
