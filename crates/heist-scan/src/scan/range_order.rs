//! [`RangeOrder`]: any number of workers scan the ranges of a file in any order, and report them in
//! the order of the file.
//!
//! - Workers *take* one range after the other. The first range that is not completely reported is
//!   the *leading* range.
//! - The *baton* holds what all ranges before the leading one came to. One worker holds it at a
//!   time, and only that worker reports, without a lock. While no worker holds it, the baton waits
//!   here for the worker of the leading range.
//! - A worker whose range is not leading *stores* it when it is scanned, or earlier, unfinished, to
//!   be continued later. The worker that *advances* the baton to a stored range gets the range, and
//!   finishes it if necessary.
//! - A worker takes no range while too much is stored ahead of the leading range. It does not wait
//!   for that to change but leaves, and is counted as *absent*. The next worker that looks for a
//!   range and sees that there is room again recalls all absent workers.
//!
//! Invariant: until the file is done, the leading range can be taken, or a worker has it. That
//! worker finishes it, takes the baton and advances it; then it takes the next range, which is
//! never refused if it is leading. So the file gets done without any worker waiting, if need be by
//! a single worker. The tests try every order in which the workers can take the lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Orders the ranges of one file. `B` is the baton, `R` what a range came to.
#[derive(Debug)]
pub(super) struct RangeOrder<B, R>(Mutex<OrderState<B, R>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OrderState<B, R> {
    ranges: u64,
    ahead_max: u64,
    /// The next range to be taken.
    next: u64,
    leading: u64,
    /// `None` while a worker holds it.
    baton: Option<B>,
    stored: BTreeMap<u64, R>,
    /// The number of workers that left because there was no room.
    absent: u64,
    is_done: bool,
}

/// The answer to a worker that asks for the baton.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BatonClaim<B> {
    /// The worker's range is leading, and the worker now holds the baton.
    Granted(B),
    /// The worker's range is not leading.
    NotYet,
    /// The file is done, and its remaining ranges are not needed.
    NotWanted,
}

/// The answer to a worker that wants to store its range.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoreResult<B, R> {
    Stored,
    /// The range is leading. The worker keeps it and now holds the baton.
    Leading(B, R),
    /// The file is done, and its remaining ranges are not needed.
    NotWanted(R),
}

impl<B, R> OrderState<B, R> {
    fn take_range(&mut self, has_room: bool) -> Option<u64> {
        if self.is_done || self.next >= self.ranges {
            return None;
        }
        let ahead = self.next - self.leading;
        if ahead > 0 && (!has_room || ahead > self.ahead_max) {
            self.absent += 1;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    fn claim_baton(&mut self, number: u64) -> BatonClaim<B> {
        if self.is_done {
            return BatonClaim::NotWanted;
        }
        let baton = if self.leading == number { self.baton.take() } else { None };
        baton.map_or(BatonClaim::NotYet, BatonClaim::Granted)
    }

    fn store(&mut self, number: u64, range: R) -> StoreResult<B, R> {
        match self.claim_baton(number) {
            BatonClaim::Granted(baton) => StoreResult::Leading(baton, range),
            BatonClaim::NotWanted => StoreResult::NotWanted(range),
            BatonClaim::NotYet => {
                self.stored.insert(number, range);
                StoreResult::Stored
            }
        }
    }

    fn advance(&mut self, baton: B) -> Option<(B, R)> {
        self.leading += 1;
        let range = self.stored.remove(&self.leading);
        if range.is_none() {
            self.baton = Some(baton);
            return None;
        }
        range.map(|range| (baton, range))
    }

    fn recall_absent(&mut self, has_room: bool) -> u64 {
        let is_ahead = self.next.saturating_sub(self.leading) > self.ahead_max;
        if self.is_done || !has_room || is_ahead { 0 } else { std::mem::take(&mut self.absent) }
    }

    fn finish(&mut self) -> BTreeMap<u64, R> {
        self.is_done = true;
        std::mem::take(&mut self.stored)
    }
}

impl<B, R> RangeOrder<B, R> {
    /// Creates the order of a file with `ranges` ranges, the first of which the caller has taken.
    /// Workers take at most `ahead_max` ranges beyond the leading one.
    pub(super) fn new(ranges: u64, ahead_max: u64, baton: B) -> Self {
        Self(Mutex::new(OrderState {
            ranges,
            ahead_max,
            next: 1,
            leading: 0,
            baton: Some(baton),
            stored: BTreeMap::new(),
            absent: 0,
            is_done: false,
        }))
    }

    fn state(&self) -> MutexGuard<'_, OrderState<B, R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next range. Returns `None` if none is left, or if there is no room and the range
    /// is not leading.
    pub(super) fn take_range(&self, has_room: bool) -> Option<u64> {
        self.state().take_range(has_room)
    }

    /// Takes the baton if range `number`, which the caller has, is leading.
    pub(super) fn claim_baton(&self, number: u64) -> BatonClaim<B> {
        self.state().claim_baton(number)
    }

    /// Leaves range `number` to the worker that will advance the baton to it, unless it is leading
    /// already.
    pub(super) fn store(&self, number: u64, range: R) -> StoreResult<B, R> {
        self.state().store(number, range)
    }

    /// Makes the next range the leading one, after the leading range was reported. Returns that
    /// range with the baton if it is stored.
    pub(super) fn advance(&self, baton: B) -> Option<(B, R)> {
        self.state().advance(baton)
    }

    /// Returns the number of absent workers to call for help, if there is room again, and forgets
    /// them.
    pub(super) fn recall_absent(&self, has_room: bool) -> u64 {
        self.state().recall_absent(has_room)
    }

    /// Marks the file as done. Returns the stored ranges.
    pub(super) fn finish(&self) -> BTreeMap<u64, R> {
        self.state().finish()
    }
}

/// A model that tries every order of steps of a few workers. Each step takes the lock at most once,
/// so there are no other orders.
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const RANGES: u64 = 4;
    const CHUNKS: u64 = 2;
    const WORKERS: usize = 3;
    const AHEAD_MAX: u64 = 2;
    /// The number of chunks that may be held ahead.
    const HELD_MAX: u64 = 1;

    /// How many chunks of a range were scanned, and how many of these were not reported yet.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct ModelRange {
        scanned: u64,
        held: u64,
    }

    /// The number of reported chunks.
    type ModelBaton = u64;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum ModelWorker {
        /// Waits for a call for help.
        Away,
        /// Looks whether there is room, and recalls absent workers.
        Looks,
        /// Takes a range, knowing whether there was room.
        Takes(bool),
        Scans(u64, ModelRange, Option<ModelBaton>),
        Stores(u64, ModelRange),
        Reports(u64, ModelRange, ModelBaton),
    }

    /// A mistake that the model must find.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Mistake {
        None,
        /// A range is stored although it has become the leading one.
        StoreLeading,
        /// An unfinished range that becomes leading is treated as finished.
        LoseTheRest,
        /// The leading range is refused too if there is no room.
        RefuseLeading,
        /// Workers continue without room.
        IgnoreRoom,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Model {
        state: OrderState<ModelBaton, ModelRange>,
        workers: Vec<ModelWorker>,
        calls: u64,
        held: u64,
        /// What other files hold ahead, all the time.
        held_elsewhere: u64,
        outcomes: u64,
    }

    impl Model {
        fn new(held_elsewhere: u64) -> Self {
            let order = RangeOrder::new(RANGES, AHEAD_MAX, 0);
            let mut workers = vec![ModelWorker::Away; WORKERS];
            workers[0] = ModelWorker::Scans(0, ModelRange::default(), None);
            let state = order.0.into_inner().unwrap();
            Self { state, workers, calls: WORKERS as u64 - 1, held: 0, held_elsewhere, outcomes: 0 }
        }

        /// Lets a worker do one step. Returns `None` if the worker has nothing to do. `given_up` is
        /// a chunk at which the file is given up.
        fn step(&self, at: usize, given_up: Option<u64>, mistake: Mistake) -> Option<Self> {
            let mut model = self.clone();
            model.workers[at] = match self.workers[at].clone() {
                ModelWorker::Away if model.calls > 0 => {
                    model.calls -= 1;
                    ModelWorker::Looks
                }
                ModelWorker::Away => return None,
                ModelWorker::Looks => {
                    let has_room = self.has_room() || mistake == Mistake::IgnoreRoom;
                    model.calls += model.state.recall_absent(has_room);
                    ModelWorker::Takes(has_room)
                }
                ModelWorker::Takes(has_room) => match model.state.take_range(has_room) {
                    Some(_) if mistake == Mistake::RefuseLeading && !has_room => {
                        model.state = self.state.clone();
                        ModelWorker::Away
                    }
                    Some(number) => ModelWorker::Scans(number, ModelRange::default(), None),
                    None => ModelWorker::Away,
                },
                ModelWorker::Scans(number, mut range, baton) => {
                    range.scanned += 1;
                    range.held += 1;
                    model.held += 1;
                    let claimed = match baton {
                        Some(baton) => BatonClaim::Granted(baton),
                        None => model.state.claim_baton(number),
                    };
                    match claimed {
                        BatonClaim::Granted(mut baton) => {
                            model.report(number, &mut range, &mut baton);
                            if range.scanned == CHUNKS || given_up == Some(baton) {
                                ModelWorker::Reports(number, range, baton)
                            } else {
                                ModelWorker::Scans(number, range, Some(baton))
                            }
                        }
                        BatonClaim::NotYet => {
                            let stops = !model.has_room() && mistake != Mistake::IgnoreRoom;
                            if range.scanned == CHUNKS || stops {
                                ModelWorker::Stores(number, range)
                            } else {
                                ModelWorker::Scans(number, range, None)
                            }
                        }
                        BatonClaim::NotWanted => ModelWorker::Stores(number, range),
                    }
                }
                ModelWorker::Stores(number, range) => {
                    if mistake == Mistake::StoreLeading && !model.state.is_done {
                        model.state.stored.insert(number, range);
                        ModelWorker::Looks
                    } else {
                        match model.state.store(number, range) {
                            StoreResult::Stored => ModelWorker::Looks,
                            StoreResult::Leading(baton, range) => {
                                ModelWorker::Reports(number, range, baton)
                            }
                            StoreResult::NotWanted(range) => {
                                model.held -= range.held;
                                ModelWorker::Looks
                            }
                        }
                    }
                }
                ModelWorker::Reports(number, mut range, mut baton) => {
                    model.report(number, &mut range, &mut baton);
                    let ends = given_up.is_some_and(|chunk| baton >= chunk);
                    let is_finished = range.scanned == CHUNKS || mistake == Mistake::LoseTheRest;
                    if ends || (is_finished && number + 1 == RANGES) {
                        assert!(ends || baton == RANGES * CHUNKS, "the whole file was reported");
                        model.outcomes += 1;
                        let dropped = model.state.finish();
                        model.held -= dropped.values().map(|range| range.held).sum::<u64>();
                        ModelWorker::Looks
                    } else if !is_finished {
                        ModelWorker::Scans(number, range, Some(baton))
                    } else {
                        match model.state.advance(baton) {
                            Some((baton, range)) => ModelWorker::Reports(number + 1, range, baton),
                            None => ModelWorker::Looks,
                        }
                    }
                }
            };
            Some(model)
        }

        fn report(&mut self, number: u64, range: &mut ModelRange, baton: &mut ModelBaton) {
            assert_eq!(*baton, number * CHUNKS + range.scanned - range.held, "in order");
            *baton += range.held;
            self.held -= std::mem::take(&mut range.held);
        }

        fn has_room(&self) -> bool {
            self.held + self.held_elsewhere <= HELD_MAX
        }

        fn check(&self) {
            assert!(self.held <= HELD_MAX + WORKERS as u64, "what is held ahead is bounded");
            assert!(self.outcomes <= 1, "one outcome");
        }
    }

    /// Tries every order, with room and without. Returns the number of states.
    fn explore(given_up: Option<u64>, mistake: Mistake) -> usize {
        let mut open = vec![Model::new(0), Model::new(HELD_MAX + 1)];
        let mut seen = HashSet::new();
        while let Some(model) = open.pop() {
            if !seen.insert(model.clone()) {
                continue;
            }
            model.check();
            let before = open.len();
            open.extend((0..WORKERS).filter_map(|at| model.step(at, given_up, mistake)));
            if open.len() == before {
                assert_eq!(
                    model.outcomes, 1,
                    "when no worker has anything to do, the file is done"
                );
                assert_eq!(model.held, 0, "a file that is done holds nothing");
            }
        }
        seen.len()
    }

    #[test]
    fn every_order_of_steps_reports_every_range_once_and_in_order() {
        let mut states = explore(None, Mistake::None);
        for chunk in 1..=RANGES * CHUNKS {
            states += explore(Some(chunk), Mistake::None);
        }
        assert!(states > 10_000, "{states} states are too few to mean anything");
    }

    #[test]
    fn the_model_finds_every_mistake() {
        use Mistake::{IgnoreRoom, LoseTheRest, RefuseLeading, StoreLeading};
        for mistake in [StoreLeading, LoseTheRest, RefuseLeading, IgnoreRoom] {
            let found = std::panic::catch_unwind(|| explore(None, mistake));
            assert!(found.is_err(), "{mistake:?} is not found");
        }
    }

    #[test]
    fn workers_that_left_without_room_are_recalled_when_there_is_room() {
        let order: RangeOrder<(), ()> = RangeOrder::new(9, 3, ());
        assert_eq!(
            (order.take_range(false), order.take_range(true), order.take_range(false)),
            (None, Some(1), None)
        );
        assert_eq!(
            (order.take_range(true), order.take_range(true), order.take_range(true)),
            (Some(2), Some(3), None)
        );
        // The maximum number of ranges is ahead.
        assert_eq!((order.recall_absent(true), order.claim_baton(0)), (0, BatonClaim::Granted(())));
        assert_eq!(order.advance(()), None);
        assert_eq!((order.recall_absent(false), order.recall_absent(true)), (0, 3));
        assert_eq!(order.recall_absent(true), 0);
    }
}
