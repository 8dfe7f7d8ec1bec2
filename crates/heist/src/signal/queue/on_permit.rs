//! How a turn gets onto the executor when it needs a permit: as a task that waits for it.

use super::core::Scheduler;
use super::turn::QueueTurn;
use crate::budget::{AcquireError, Amount, BudgetCore, CountBudget, CountPermit, Permit};
use crate::executor::any::AnyExecutor;
use crate::executor::shared::PoolShared;
use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, Mutex};

/// A queue's turn becomes a task when a budget has a permit for it.
pub(crate) struct OnPermit<K, F> {
    shared: Arc<PoolShared<K>>,
    make: Arc<F>,
    permits: CountBudget,
    waiting_turn: Mutex<WaitingTurn>,
}

/// Where a queue's turn waits.
#[derive(Default)]
struct WaitingTurn {
    /// The number of the last turn that had to wait, among the executor's waiting tasks.
    number: Option<u64>,
    /// The queue is empty for good.
    recalled: bool,
}

impl<K, F> OnPermit<K, F> {
    pub(crate) fn new(shared: &Arc<PoolShared<K>>, permits: CountBudget, make: F) -> Self {
        Self {
            shared: Arc::clone(shared),
            make: Arc::new(make),
            permits,
            waiting_turn: Mutex::new(WaitingTurn::default()),
        }
    }
}

impl<T, K, F> Scheduler<T> for OnPermit<K, F>
where
    T: Send + 'static,
    K: Send + 'static,
    F: Fn(QueueTurn<T>, Option<CountPermit>) -> K + Send + Sync + 'static,
{
    fn executor(&self) -> &dyn AnyExecutor {
        &*self.shared
    }

    fn spawn_turn(&self, turn: QueueTurn<T>) {
        let make = Arc::clone(&self.make);
        let make = move |granted: Result<Permit, AcquireError>| {
            let permit = granted.ok().map(CountPermit::from_core);
            turn.make(|turn| make(turn, permit))
        };
        if planted(Plant::RequeueInsteadOfLane) {
            let permit = BudgetCore::try_acquire(self.permits.core(), Amount::ONE);
            return self.shared.spawn_made(make, permit);
        }
        let number =
            PoolShared::spawn_when_granted(&self.shared, self.permits.core(), Amount::ONE, make);
        let recalled = {
            let mut waiting = self.waiting_turn.lock();
            // That turn may be over and the next one waiting already, from another thread: the
            // later number stays.
            waiting.number = waiting.number.max(number);
            waiting.recalled
        };
        if recalled {
            self.recall_turn();
        }
    }

    fn recall_turn(&self) {
        let number = {
            let mut waiting = self.waiting_turn.lock();
            waiting.recalled = true;
            waiting.number.take()
        };
        // If the turn waits no longer, this does nothing.
        if let Some(number) = number {
            self.shared.stop_waiting(number);
        }
    }
}
