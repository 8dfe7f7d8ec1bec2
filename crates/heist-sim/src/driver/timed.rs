//! A driver for measurements: every thread has its own core and clock, and the thread whose clock
//! is furthest behind goes next.

use super::{Action, Driver, View};
use crate::machine::{Status, ThreadId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next thing that a thread does by itself. The order is by time, then by thread, so ties are
/// always broken in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    thread: ThreadId,
    /// Whether its wait expires. Otherwise the thread runs.
    expires: bool,
}

/// A driver that runs threads in the order of their clocks, for questions of cost.
///
/// It keeps the threads sorted by their clocks, because comparing hundreds of threads before every
/// step would be too slow. An entry may be outdated: a wait with a deadline may have ended earlier.
#[derive(Debug, Default)]
pub struct Timed {
    due: BinaryHeap<Reverse<Due>>,
    /// The thread that ran last. It is not in `due`.
    running: Option<ThreadId>,
}

impl Timed {
    fn is_valid(view: &View<'_>, due: Due) -> bool {
        let thread = &view.threads[due.thread];
        match thread.status {
            Status::Ready | Status::Working => !due.expires && thread.clock_ns == due.at_ns,
            Status::Waiting { deadline_ns, .. } => due.expires && deadline_ns == Some(due.at_ns),
            Status::Ended => false,
        }
    }

    /// Returns what a thread does next by itself, if anything.
    fn next_of(view: &View<'_>, thread: ThreadId) -> Option<Due> {
        let at_ns = view.threads[thread].clock_ns;
        match view.threads[thread].status {
            Status::Ready | Status::Working => Some(Due { at_ns, thread, expires: false }),
            Status::Waiting { deadline_ns, .. } => {
                deadline_ns.map(|at_ns| Due { at_ns, thread, expires: true })
            }
            Status::Ended => None,
        }
    }

    /// Removes and returns the earliest of all.
    fn next(&mut self, view: &View<'_>) -> Option<Due> {
        let mine = self.running.take().and_then(|thread| Self::next_of(view, thread));
        while let Some(Reverse(first)) = self.due.peek().copied() {
            if !Self::is_valid(view, first) {
                self.due.pop();
                continue;
            }
            match mine {
                Some(mine) if mine < first => return Some(mine),
                Some(mine) => {
                    // One sift instead of two: this is the most common case when many threads run.
                    *self.due.peek_mut().expect("it was there") = Reverse(mine);
                }
                None => {
                    self.due.pop();
                }
            }
            return Some(first);
        }
        mine
    }
}

impl Driver for Timed {
    fn choose(&mut self, view: &View<'_>) -> Action {
        let woken = view.woken.iter().filter_map(|thread| Self::next_of(view, *thread));
        self.due.extend(woken.map(Reverse));
        // Flush stores before anything else: the cost model charges for a store but does not delay
        // it.
        if let Some(thread) = view.buffered.first() {
            return Action::Flush(*thread);
        }
        match self.next(view) {
            Some(Due { thread, expires: true, .. }) => Action::Expire(thread),
            Some(Due { thread, .. }) => {
                self.running = Some(thread);
                Action::Run(thread)
            }
            None => view.default_action().expect("something can happen"),
        }
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{CostModel, Setup, machine};
    use heist::__internal::sync::machine::Machine;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A thread's name and its body.
    type Named = (&'static str, Box<dyn FnOnce()>);

    /// Runs the threads. Each of them says its name at its end; returns the names with their times.
    fn order_of(bodies: Vec<Named>) -> Vec<(&'static str, u64)> {
        let said = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&said);
        let main = move || {
            for (name, body) in bodies {
                let heard = Rc::clone(&heard);
                let body = Box::new(move || {
                    body();
                    heard.borrow_mut().push((name, machine().now_ns()));
                });
                machine().spawn(name, body);
            }
        };
        let driver = Box::new(Timed::default());
        let costs = Some(CostModel::default());
        let setup = Setup { driver, steps_max: u64::MAX, record: false, costs };
        let stuck = || crate::failure::Failure::new(crate::failure::Kind::Stuck, "");
        let outcome = machine().run(setup, main, || None, stuck);
        assert_eq!(outcome.failure, None);
        said.take()
    }

    fn working(ns: u64) -> Box<dyn FnOnce()> {
        Box::new(move || machine().work(ns))
    }

    #[test]
    fn threads_run_side_by_side_and_in_order_of_their_clocks() {
        let spoken =
            order_of(vec![("slow", working(300)), ("fast", working(100)), ("even", working(300))]);
        assert_eq!(spoken, [("fast", 100), ("slow", 300), ("even", 300)]);
    }

    #[test]
    fn a_wait_ends_at_its_deadline_or_when_another_thread_ends_it() {
        use crate::machine::costs::{WAKE_NS, WAKER_NS};
        let spoken = order_of(vec![
            (
                "waits",
                Box::new(|| {
                    assert!(
                        machine().wait(machine().allocate(0), Some(20_000)),
                        "the wait times out"
                    );
                }),
            ),
            (
                "is woken",
                Box::new(|| {
                    // The first word that the other thread allocates.
                    let word = heist::__internal::sync::machine::Address(1);
                    assert!(
                        !machine().wait(word, Some(90_000)),
                        "the other thread ends the wait first"
                    );
                }),
            ),
            (
                "wakes",
                Box::new(|| {
                    let word = machine().allocate(0);
                    machine().work(50_000);
                    machine().notify(word);
                }),
            ),
        ]);
        let expected = [
            ("waits", 20_000 + WAKE_NS),
            ("wakes", 50_000 + WAKER_NS),
            ("is woken", 50_000 + WAKE_NS),
        ];
        assert_eq!(spoken, expected);
    }
}
