//! [`GatedQueue`]: a queue that schedules its own consumer.
//!
//! Many producers push; one consumer at a time takes, and it is put on the executor exactly when there is something to
//! take. No thread belongs to the queue, and nothing spins or polls: an idle queue costs its memory.
//!
//! | file | idea |
//! |---|---|
//! | `core` | the items, the gate's flags, and who is told |
//! | `turn`, `hand` | the consumer's turn, the guard that it becomes, and what that holds |
//! | `schedule` | how a turn becomes a task |
//! | `error`, `stats` | why an item was not taken; what a queue has done |

pub(crate) mod core;
mod error;
mod hand;
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
use schedule::AtOnce;
use std::fmt;

/// How a queue is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// How many items may wait or be in the consumer's hands, until the end of their batch; `None` for as many as
    /// memory holds.
    pub capacity: Option<u64>,
    /// After how many items a consumer looks whether others wait, and lets them go first. A larger one is cheaper per
    /// item; a smaller one lets others in sooner.
    pub batch: usize,
}

impl Default for QueueConfig {
    fn default() -> Self {
        // Large enough to make the cost of a turn disappear beside that of its items, small enough for items of 10 us
        // to hold a worker for less than a millisecond.
        Self { capacity: None, batch: 64 }
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

/// A queue with many producers and one consumer at a time, which the queue itself puts on an executor.
///
/// The consumer is a task of the executor's own type, made of a [`QueueTurn`]; so it has the worker's scratch, and can
/// spawn. Items come in the order in which each producer pushed them. They count for the executor: [`join`] waits until
/// all of them are consumed, and refuses new ones from outside (but not from its own tasks).
///
/// A handle: clones are the same queue.
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
///         Task::Square(number, squares) => squares.push(number * number).expect("it is not closed"),
///         // Never two of these at the same time: no lock is needed around what the consumer writes to.
///         Task::Collect(turn) => {
///             turn.run(|square| sender.send(square).expect("somebody listens"));
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
    /// A queue without a bound. `turn` makes the executor's task that consumes it: usually the variant of an enum. (If
    /// it panics, that counts as the task's panic, and the queue is closed and emptied.)
    pub fn unbounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        let scheduler = Box::new(AtOnce { shared: Arc::clone(executor.shared()), make: turn });
        Self::with_scheduler(scheduler, None, QueueConfig::default().batch)
    }

    /// A queue that holds `capacity` items at most; see [`QueueConfig::capacity`] for when their room comes back.
    ///
    /// # Errors
    /// A capacity of 0, or one beyond what a budget can count.
    pub fn bounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        capacity: u64,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let config = QueueConfig { capacity: Some(capacity), ..QueueConfig::default() };
        Self::with_config(executor, &config, turn)
    }

    /// A queue as configured.
    ///
    /// # Errors
    /// The configuration names an impossible value.
    pub fn with_config<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        config: &QueueConfig,
        turn: impl Fn(QueueTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let capacity = config.budget()?;
        let scheduler = Box::new(AtOnce { shared: Arc::clone(executor.shared()), make: turn });
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

    /// Whether this is the only handle, and no consumer is due or at work.
    pub(crate) fn is_sole_handle(&self) -> bool {
        Arc::strong_count(&self.core) == 1
    }

    /// How many items wait. Those that a running consumer has taken are not among them.
    pub fn len(&self) -> usize {
        self.core.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the queue holds at most.
    pub fn capacity(&self) -> Option<u64> {
        self.core.capacity.as_ref().map(CountBudget::total)
    }

    /// Whether it was closed. (An executor that takes nothing more closes no queue: it refuses the items.)
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// What it has done so far.
    pub fn stats(&self) -> QueueStats {
        self.core.stats()
    }

    /// Takes no more items. Those that wait are still consumed; producers that wait for room get their items back.
    pub fn close(&self) {
        self.core.close(false);
    }

    /// Takes no more items, and drops those that wait; says how many. Those of them that a running consumer has in
    /// hand, beyond its batch, are dropped when that ends.
    pub fn close_and_drop(&self) -> usize {
        self.core.close(true)
    }

    /// Pushes an item if there is room.
    ///
    /// # Errors
    /// The queue is full or closed, or its executor takes nothing more. The error gives the item back.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<(), PushError<T>> {
        match self.core.try_take_room() {
            Ok(()) => self.push_with_room(item, false),
            Err(error) => Err(PushError::new(error, item)),
        }
    }

    /// Pushes an item, after waiting for room if need be. An unbounded queue always has room.
    ///
    /// # Errors
    /// The queue is closed; its executor takes nothing more; or this is a worker of an executor, which must not wait,
    /// and there is no room. The error gives the item back.
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

    /// Pushes an item as soon as there is room. On any runtime; dropped before it is ready, it has pushed nothing, and
    /// drops the item.
    ///
    /// # Errors
    /// The queue is closed, or its executor takes nothing more. The error gives the item back.
    pub async fn push_async(&self, item: T) -> Result<(), PushError<T>> {
        match &self.core.capacity {
            Some(capacity) => match capacity.acquire_async(1).await {
                Ok(room) => room.into_item(),
                Err(error) => return Err(PushError::new(error, item)),
            },
            // Nothing to wait for, but a producer that never waits must give way, too.
            None => coop::consume_budget().await,
        }
        self.push_with_room(item, false)
    }

    /// Pushes an item for which there is room: that is the item's from now on, and whoever ends the item gives it back.
    #[inline]
    fn push_with_room(&self, item: T, inside: bool) -> Result<(), PushError<T>> {
        QueueCore::push(&self.core, item, inside).map_err(|(refused, item)| {
            self.core.give_room_back(1);
            PushError::new(refused, item)
        })
    }
}

impl<T: Send + 'static> GatedQueue<T> {
    /// Pushes an item as soon as there is room, and then spawns the task that `then` makes: the way for a task, which
    /// must not wait, to go on when its item is in. The task counts for `executor` from now on.
    ///
    /// `then` gets the item back if the queue was closed, its executor takes nothing more, or `executor` was stopped
    /// while the task waited. A running task of `executor` may call this also while that is being joined. `then` is
    /// called on whichever thread makes room, so it should do no more than make the task.
    ///
    /// # Errors
    /// `executor` takes no more tasks; the error gives the item and `then` back.
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
        // The task that waits keeps its own executor from ending, wherever the item is pushed from.
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
