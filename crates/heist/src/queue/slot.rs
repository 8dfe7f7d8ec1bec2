//! A worker's LIFO slot: the future that was woken last, which its worker polls next.
//!
//! Only the worker fills it. The worker and every thief may take from it, each with one exchange,
//! so a future is taken once. Counters beside it say whether it is occupied, because an exchange
//! cannot look without taking. The worker changes two of them by plain stores; thieves add to the
//! third.
//!
//! Not guaranteed: that a LIFO slot that looks occupied is. The count goes up before the future is
//! in, so that no thread that looks after a fence misses a future.

#[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#[path = "slot_crossbeam.rs"]
mod implementation;
#[cfg(any(heist_loom, heist_shuttle, heist_sim))]
#[path = "slot_model.rs"]
mod implementation;

use crate::sync::{AtomicUsize, Ordering};
use implementation::ExchangeCell;

/// Holds one task, which its owner runs next.
#[derive(Debug)]
pub struct LifoSlot<T> {
    cell: ExchangeCell<T>,
    /// How often the owner filled it. Also the version by which a thief sees that it has changed.
    filled: AtomicUsize,
    /// How often the owner emptied it, by taking the task or by displacing it.
    emptied_by_owner: AtomicUsize,
    emptied_by_thieves: AtomicUsize,
}

impl<T> Default for LifoSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LifoSlot<T> {
    /// Creates an empty LIFO slot.
    pub fn new() -> Self {
        Self {
            cell: ExchangeCell::new(),
            filled: AtomicUsize::new(0),
            emptied_by_owner: AtomicUsize::new(0),
            emptied_by_thieves: AtomicUsize::new(0),
        }
    }

    /// Puts a task in. Returns the task that it displaces. Only for the owner.
    #[inline]
    pub fn fill(&self, task: T) -> Option<T> {
        // First, so that a thief that takes the task at once is not counted before it.
        add_alone(&self.filled);
        let displaced = self.cell.exchange(Some(task));
        if displaced.is_some() {
            add_alone(&self.emptied_by_owner);
        }
        displaced
    }

    /// Takes the task. Only for the owner.
    #[inline]
    pub fn take(&self) -> Option<T> {
        self.occupied()?;
        let task = self.cell.exchange(None);
        if task.is_some() {
            add_alone(&self.emptied_by_owner);
        }
        task
    }

    /// Returns the version if the LIFO slot looks occupied.
    #[inline]
    pub fn occupied(&self) -> Option<usize> {
        // Acquire, as for the lengths of queues: a thread that sees a thief's count also sees the
        // fill before it.
        let emptied = self
            .emptied_by_owner
            .load(Ordering::Acquire)
            .wrapping_add(self.emptied_by_thieves.load(Ordering::Acquire));
        let filled = self.filled.load(Ordering::Acquire);
        (filled != emptied).then_some(filled)
    }

    /// Takes the task. For thieves.
    pub fn steal(&self) -> Option<T> {
        let task = self.cell.exchange(None);
        if task.is_some() {
            self.emptied_by_thieves.fetch_add(1, Ordering::AcqRel);
        }
        task
    }
}

/// Adds one to a counter that no other thread writes.
#[inline]
fn add_alone(counter: &AtomicUsize) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_task_that_was_put_in_last_comes_out() {
        let slot = LifoSlot::new();
        assert_eq!(slot.occupied(), None);
        assert_eq!(slot.take(), None);
        assert_eq!(slot.fill(1), None);
        let version = slot.occupied();
        assert!(version.is_some());
        assert_eq!(slot.fill(2), Some(1), "the older task is displaced");
        assert!(slot.occupied().is_some());
        assert_ne!(slot.occupied(), version, "and a thief sees that");
        assert_eq!(slot.take(), Some(2));
        assert_eq!(slot.occupied(), None);
        assert_eq!(slot.take(), None);
    }

    #[test]
    fn a_thief_empties_it() {
        let slot = LifoSlot::new();
        assert_eq!(slot.steal(), None);
        slot.fill(1);
        assert_eq!(slot.steal(), Some(1));
        assert_eq!(slot.occupied(), None);
        assert_eq!(slot.take(), None);
        slot.fill(2);
        assert_eq!(slot.take(), Some(2));
        assert_eq!(slot.occupied(), None);
    }
}
