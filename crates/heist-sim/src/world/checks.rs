//! Checks when the machine is at rest, and at the end of a schedule.

use super::{Fate, Place, Record, World};
use crate::failure::{Failure, Kind};

impl World {
    /// Returns a failure if a thread sleeps that should not. Called when the machine is at rest.
    pub fn check_at_rest(&self) -> Option<Failure> {
        let idle = |worker: &usize| {
            let is_busy =
                self.running[*worker].is_some() || self.futures.polled_on(*worker).is_some();
            !is_busy && !self.left[*worker]
        };
        let idle_workers: Vec<_> = (0..self.running.len()).filter(idle).collect();
        let left_alone = self
            .stranded_at_rest()
            .or_else(|| self.forgotten_at_rest(idle_workers.len() == self.running.len()))
            .or_else(|| self.unheard_at_rest())
            .or_else(|| self.due_at_rest(&idle_workers));
        if left_alone.is_some() {
            return left_alone;
        }
        let nothing_left = self.outstanding == 0 && !self.has_items() && !self.turn_may_wait();
        if self.joining && nothing_left {
            let worker = idle_workers.first()?;
            let text = format!(
                "every task has ended and the pool is closed, but worker {worker} still sleeps"
            );
            return Some(Failure::new(Kind::DoneNeverFound, text));
        }
        let waiting = self.jobs.iter().enumerate().filter(|(_, job)| job.fate == Fate::Waiting);
        for (number, job) in waiting {
            let can_take = |worker: &usize| match job.place {
                Place::Own(owner) if !self.scenario.pool.stealing => owner == *worker,
                Place::Own(_) | Place::Injector => true,
                Place::Line => false,
            };
            if let Some(worker) = idle_workers.iter().find(|worker| can_take(worker)) {
                let text =
                    format!("task {number} waits, worker {worker} sleeps, and no worker searches");
                return Some(Failure::new(Kind::AsleepBesideWork, text));
            }
        }
        None
    }

    /// Explains why threads are left that wait forever.
    pub fn explain_stuck(&self) -> Failure {
        let waiting = self.jobs.iter().filter(|job| job.fate == Fate::Waiting).count();
        let running = self.running.iter().flatten().count();
        let futures = self.futures.live();
        let text = format!(
            "all threads wait: {running} tasks are running, {waiting} are queued, {futures} futures are live"
        );
        Failure::new(Kind::Stuck, text)
    }

    /// Returns a failure if anything is unaccounted for at the end of the schedule.
    pub fn check_end(&self) -> Option<Failure> {
        let metrics = self.metrics.as_ref()?;
        if let Some(number) = self.jobs.iter().position(Record::is_lost) {
            let fate = self.jobs[number].fate;
            return Some(Failure::new(Kind::Lost, format!("task {number} is {fate:?} at the end")));
        }
        if let Some(number) = self.futures.any_live() {
            return Some(Failure::new(
                Kind::Lost,
                format!("future {number} is still live at the end"),
            ));
        }
        let figures = [
            ("tasks run", metrics.tasks_run(), self.tasks_begun),
            ("tasks dropped", metrics.tasks_dropped, self.dropped),
            ("panics", metrics.panics, self.panics),
            ("tasks in the injector", metrics.injector_depth, 0),
            ("tasks that wait for a permit", metrics.tasks_waiting, 0),
            ("futures spawned", metrics.futures_spawned, self.futures.spawned),
            ("futures ended", metrics.futures_ended, self.futures.spawned),
        ];
        for (what, counted, expected) in figures {
            if counted != expected {
                let text = format!("{what}: {counted} counted, but there were {expected}");
                return Some(Failure::new(Kind::MetricsWrong, text));
            }
        }
        let at_most = [
            ("wake-ups received and sent", metrics.wakes_received, metrics.wakes_sent),
            ("wake-ups received and parks", metrics.wakes_received, metrics.parks),
            ("steals won and tried", metrics.steals_won, metrics.steals_tried),
            ("tasks stolen and steals won", metrics.tasks_stolen, metrics.steals_won),
            ("steals won and tasks moved", metrics.steals_won, metrics.tasks_moved),
            ("polls and polls counted", self.futures.polls, metrics.polls),
            // Dropping a future that was aborted while queued counts as a poll.
            ("polls counted and polls", metrics.polls, self.futures.polls + self.futures.cut_short),
        ];
        for (what, less, more) in at_most {
            if less > more {
                let text = format!("{what}: {less} is more than {more}");
                return Some(Failure::new(Kind::MetricsWrong, text));
            }
        }
        None
    }
}
