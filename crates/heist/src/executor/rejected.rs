//! What planted bugs and the rejected idle protocol (`RoundRobinWake`) do instead.

use super::shared::PoolShared;
use super::spin::SpinThenPark;
use super::worker::Worker;
use crate::future::raw::Runnable;
use crate::policy::IdleAction;
use crate::sync::plant::{Plant, planted};
use crate::sync::spin_loop;

impl SpinThenPark {
    /// Pauses once between two looks. Once the looks are used up, the worker looks once between two
    /// parks.
    pub(super) fn on_no_work_without_backoff(&mut self) -> IdleAction {
        if self.looks == self.looks_max {
            return IdleAction::Park;
        }
        self.looks += 1;
        spin_loop();
        IdleAction::Search
    }
}

impl<T> Worker<T> {
    /// Wakes a worker for every 32 local spawns.
    pub(super) fn notify_hoarded(&self, spawned: usize) {
        self.shared.idle.notify_hoarded(self.id, spawned);
    }
}

impl<T: Send + 'static> PoolShared<T> {
    /// Loses a wake-up, or gives way in the wrong manner.
    pub(super) fn schedule_wrongly(&self, runnable: Runnable, while_it_ran: bool) {
        let refused = planted(Plant::WakeRefusedAfterClose) && !self.intake.is_accepting();
        if refused || while_it_ran && planted(Plant::WakeWhileRunningLost) {
            return std::mem::forget(runnable);
        }
        let push = match while_it_ran {
            true if planted(Plant::GivingWayUnannounced) => Self::push_without_notify,
            true if planted(Plant::GivingWayIsNext) => Self::push_next,
            true => Self::push_behind,
            false => Self::push_next,
        };
        self.queue(runnable, push);
    }
}
