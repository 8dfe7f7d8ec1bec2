//! Spawns a turn at once, as a task of the executor's own type.

use super::core::Scheduler;
use super::turn::QueueTurn;
use crate::executor::any::AnyExecutor;
use crate::executor::shared::PoolShared;
use crate::sync::Arc;

/// Makes a task out of each turn with `make`, and puts it at the back of the executor's injector.
/// So queues that are always busy alternate with each other and with all other work.
pub(super) struct SpawnTurnAtOnce<K, F> {
    pub(super) shared: Arc<PoolShared<K>>,
    pub(super) make: F,
}

impl<T, K, F> Scheduler<T> for SpawnTurnAtOnce<K, F>
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
