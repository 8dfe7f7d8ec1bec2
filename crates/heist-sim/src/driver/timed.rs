//! Lets every thread have a core and a clock of its own: whoever's clock is behind goes next.

use super::{Action, Driver, View};
use crate::machine::{Status, ThreadId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a thread does next, by itself. In order of time, then of threads: ties are broken the same way every time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    thread: ThreadId,
    /// Its wait ends; otherwise it runs.
    expires: bool,
}

/// The driver for questions of cost.
///
/// It keeps the threads sorted by their clocks, since asking all of them before every step is too slow when there are
/// hundreds. An entry may be out of date: a wait that has a deadline may have ended before.
#[derive(Debug, Default)]
pub struct Timed {
    due: BinaryHeap<Reverse<Due>>,
    /// Who was let run last: not among those that are due.
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

    /// What a thread does next by itself, if anything.
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

    /// Takes the earliest of all.
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
                    // One sift instead of two: the most common case when many threads run.
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
        // A store arrives before anything else happens: what it costs is counted, but not hidden.
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

    /// A thread's name, and what it does.
    type Named = (&'static str, Box<dyn FnOnce()>);

    /// Runs threads that do what they do, and then say their name; returns who spoke when.
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
    fn a_wait_ends_at_its_deadline_or_when_somebody_ends_it() {
        use crate::machine::costs::{WAKE_NS, WAKER_NS};
        let spoken = order_of(vec![
            (
                "waits",
                Box::new(|| {
                    assert!(machine().wait(machine().allocate(0), Some(20_000)), "time is over");
                }),
            ),
            (
                "is woken",
                Box::new(|| {
                    // The first word that the other one makes.
                    let word = heist::__internal::sync::machine::Address(1);
                    assert!(!machine().wait(word, Some(90_000)), "somebody was faster");
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
