//! How a turn gets onto the executor at once: as a task of its own type.

use super::core::Scheduler;
use super::turn::QueueTurn;
use crate::executor::any::AnyExecutor;
use crate::executor::shared::PoolShared;
use crate::sync::Arc;

/// Turns become tasks by `make`, and go to the back of the executor's shared queue: so queues that are busy all the
/// time take turns with each other, and with everybody else.
pub(super) struct AtOnce<K, F> {
    pub(super) shared: Arc<PoolShared<K>>,
    pub(super) make: F,
}

impl<T, K, F> Scheduler<T> for AtOnce<K, F>
where
    K: Send + 'static,
    F: Fn(QueueTurn<T>) -> K + Send + Sync,
{
    fn executor(&self) -> &dyn AnyExecutor {
        &*self.shared
    }

    fn spawn_turn(&self, turn: QueueTurn<T>) {
        self.shared.spawn_made(|turn| turn.make(&self.make), turn);
    }
}
