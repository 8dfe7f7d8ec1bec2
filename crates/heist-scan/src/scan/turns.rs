//! [`Turns`]: ranges of a file, scanned by any number of workers in any order, and given out in the order of the file.
//!
//! - Workers *take* ranges one after the other. The first range that was not given out is *in turn*.
//! - The *front* is what all ranges before that have come to. One worker has it at a time: it alone gives out, without
//!   a lock. While none does, the front lies here, for the worker of the range in turn.
//! - A worker whose range is not in turn *sets it aside* at its end; or before, to go on with later. The worker that
//!   *advances* the front to a range that was set aside gets it, and finishes it if it is not finished.
//! - A worker takes no range while too much is ahead. It does not wait for that to change: it leaves, and is *missed*
//!   until a worker that looks for its next range sees that there is room again, and calls for all that are missed.
//!
//! Invariant: until the file is done, the range in turn is one that can be taken, or a worker has it. That worker
//! brings it to its end, takes the front, and advances; then it takes the next range, which is never refused if it is
//! in turn. So the file gets done without anything to wait for, and by one worker if need be. The tests try every order
//! in which the workers can take the lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a file's workers share. `F` is the front, `R` what has come of a range.
#[derive(Debug)]
pub(super) struct Turns<F, R>(Mutex<State<F, R>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State<F, R> {
    ranges: u64,
    ahead_max: u64,
    /// The next range to be taken.
    next: u64,
    in_turn: u64,
    /// `None` while a worker has it.
    front: Option<F>,
    aside: BTreeMap<u64, R>,
    missed: u64,
    is_done: bool,
}

/// What a worker whose range is not known to be in turn learns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim<F> {
    /// The range is in turn, and the worker has the front.
    InTurn(F),
    NotYet,
    /// The file is done, and nothing more is wanted of it.
    NotWanted,
}

/// What becomes of a range that a worker sets aside.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Aside<F, R> {
    Kept,
    /// The range is in turn after all: it is still the worker's, and so is the front.
    InTurn(F, R),
    /// The file is done.
    NotWanted(R),
}

impl<F, R> State<F, R> {
    fn take(&mut self, has_room: bool) -> Option<u64> {
        if self.is_done || self.next >= self.ranges {
            return None;
        }
        let ahead = self.next - self.in_turn;
        if ahead > 0 && (!has_room || ahead > self.ahead_max) {
            self.missed += 1;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    fn claim(&mut self, number: u64) -> Claim<F> {
        if self.is_done {
            return Claim::NotWanted;
        }
        let front = if self.in_turn == number { self.front.take() } else { None };
        front.map_or(Claim::NotYet, Claim::InTurn)
    }

    fn set_aside(&mut self, number: u64, range: R) -> Aside<F, R> {
        match self.claim(number) {
            Claim::InTurn(front) => Aside::InTurn(front, range),
            Claim::NotWanted => Aside::NotWanted(range),
            Claim::NotYet => {
                self.aside.insert(number, range);
                Aside::Kept
            }
        }
    }

    fn advance(&mut self, front: F) -> Option<(F, R)> {
        self.in_turn += 1;
        let range = self.aside.remove(&self.in_turn);
        if range.is_none() {
            self.front = Some(front);
            return None;
        }
        range.map(|range| (front, range))
    }

    fn call_missed(&mut self, has_room: bool) -> u64 {
        let is_ahead = self.next.saturating_sub(self.in_turn) > self.ahead_max;
        if self.is_done || !has_room || is_ahead { 0 } else { std::mem::take(&mut self.missed) }
    }

    fn finish(&mut self) -> BTreeMap<u64, R> {
        self.is_done = true;
        std::mem::take(&mut self.aside)
    }
}

impl<F, R> Turns<F, R> {
    /// Of a file with `ranges` ranges, the first of which is taken by the caller. At most `ahead_max` ranges are taken
    /// beyond the one in turn.
    pub(super) fn new(ranges: u64, ahead_max: u64, front: F) -> Self {
        Self(Mutex::new(State {
            ranges,
            ahead_max,
            next: 1,
            in_turn: 0,
            front: Some(front),
            aside: BTreeMap::new(),
            missed: 0,
            is_done: false,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State<F, R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next range. Returns `None` if none is left, or if it would be ahead and ranges ahead have no room.
    pub(super) fn take(&self, has_room: bool) -> Option<u64> {
        self.state().take(has_room)
    }

    /// Takes the front if `number`, which the caller has, is in turn.
    pub(super) fn claim(&self, number: u64) -> Claim<F> {
        self.state().claim(number)
    }

    /// Leaves range `number` to the worker that brings it in turn, unless it is already.
    pub(super) fn set_aside(&self, number: u64, range: R) -> Aside<F, R> {
        self.state().set_aside(number, range)
    }

    /// The range in turn was given out: the next one is in turn. Returns it, with the front, if it was set aside.
    pub(super) fn advance(&self, front: F) -> Option<(F, R)> {
        self.state().advance(front)
    }

    /// Returns how many workers left for want of room, if there is room again. Each is returned once.
    pub(super) fn call_missed(&self, has_room: bool) -> u64 {
        self.state().call_missed(has_room)
    }

    /// The file is done. Returns what was set aside.
    pub(super) fn finish(&self) -> BTreeMap<u64, R> {
        self.state().finish()
    }
}

/// Every order of steps of a few workers. Each step takes the lock once, so there are no others.
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const RANGES: u64 = 4;
    const CHUNKS: u64 = 2;
    const WORKERS: usize = 3;
    const AHEAD_MAX: u64 = 2;
    /// How many chunks may be held ahead.
    const HELD_MAX: u64 = 1;

    /// Up to which chunk of a range was scanned, and how many chunks of it were not given out.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Range {
        scanned: u64,
        held: u64,
    }

    /// How many chunks were given out.
    type Front = u64;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Worker {
        /// Waits for a call for help.
        Away,
        /// Looks whether there is room, and calls those that are missed.
        Looks,
        /// Takes a range, with what it saw.
        Takes(bool),
        Scans(u64, Range, Option<Front>),
        SetsAside(u64, Range),
        GivesOut(u64, Range, Front),
    }

    /// A mistake for the model to find.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Mistake {
        None,
        /// A range is set aside although it has come in turn meanwhile.
        SetAsideInTurn,
        /// An unfinished range that comes in turn is taken for finished.
        LoseTheRest,
        /// The range in turn is refused for want of room, too.
        RefuseInTurn,
        /// Workers go on without room.
        IgnoreRoom,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct World {
        state: State<Front, Range>,
        workers: Vec<Worker>,
        calls: u64,
        held: u64,
        /// What other files hold ahead, all the time.
        held_elsewhere: u64,
        told: u64,
    }

    impl World {
        fn new(held_elsewhere: u64) -> Self {
            let turns = Turns::new(RANGES, AHEAD_MAX, 0);
            let mut workers = vec![Worker::Away; WORKERS];
            workers[0] = Worker::Scans(0, Range::default(), None);
            let state = turns.0.into_inner().unwrap();
            Self { state, workers, calls: WORKERS as u64 - 1, held: 0, held_elsewhere, told: 0 }
        }

        /// Lets a worker do one step. `given_up` is a chunk at which the file is given up. `None` if the worker has
        /// nothing to do.
        fn step(&self, at: usize, given_up: Option<u64>, mistake: Mistake) -> Option<Self> {
            let mut world = self.clone();
            world.workers[at] = match self.workers[at].clone() {
                Worker::Away if world.calls > 0 => {
                    world.calls -= 1;
                    Worker::Looks
                }
                Worker::Away => return None,
                Worker::Looks => {
                    let has_room = self.has_room() || mistake == Mistake::IgnoreRoom;
                    world.calls += world.state.call_missed(has_room);
                    Worker::Takes(has_room)
                }
                Worker::Takes(has_room) => match world.state.take(has_room) {
                    Some(_) if mistake == Mistake::RefuseInTurn && !has_room => {
                        world.state = self.state.clone();
                        Worker::Away
                    }
                    Some(number) => Worker::Scans(number, Range::default(), None),
                    None => Worker::Away,
                },
                Worker::Scans(number, mut range, front) => {
                    range.scanned += 1;
                    range.held += 1;
                    world.held += 1;
                    let claimed = match front {
                        Some(front) => Claim::InTurn(front),
                        None => world.state.claim(number),
                    };
                    match claimed {
                        Claim::InTurn(mut front) => {
                            world.give_out(number, &mut range, &mut front);
                            if range.scanned == CHUNKS || given_up == Some(front) {
                                Worker::GivesOut(number, range, front)
                            } else {
                                Worker::Scans(number, range, Some(front))
                            }
                        }
                        Claim::NotYet => {
                            let stops = !world.has_room() && mistake != Mistake::IgnoreRoom;
                            if range.scanned == CHUNKS || stops {
                                Worker::SetsAside(number, range)
                            } else {
                                Worker::Scans(number, range, None)
                            }
                        }
                        Claim::NotWanted => Worker::SetsAside(number, range),
                    }
                }
                Worker::SetsAside(number, range) => {
                    if mistake == Mistake::SetAsideInTurn && !world.state.is_done {
                        world.state.aside.insert(number, range);
                        Worker::Looks
                    } else {
                        match world.state.set_aside(number, range) {
                            Aside::Kept => Worker::Looks,
                            Aside::InTurn(front, range) => Worker::GivesOut(number, range, front),
                            Aside::NotWanted(range) => {
                                world.held -= range.held;
                                Worker::Looks
                            }
                        }
                    }
                }
                Worker::GivesOut(number, mut range, mut front) => {
                    world.give_out(number, &mut range, &mut front);
                    let ends = given_up.is_some_and(|chunk| front >= chunk);
                    let is_finished = range.scanned == CHUNKS || mistake == Mistake::LoseTheRest;
                    if ends || (is_finished && number + 1 == RANGES) {
                        assert!(ends || front == RANGES * CHUNKS, "all of it was given out");
                        world.told += 1;
                        let dropped = world.state.finish();
                        world.held -= dropped.values().map(|range| range.held).sum::<u64>();
                        Worker::Looks
                    } else if !is_finished {
                        Worker::Scans(number, range, Some(front))
                    } else {
                        match world.state.advance(front) {
                            Some((front, range)) => Worker::GivesOut(number + 1, range, front),
                            None => Worker::Looks,
                        }
                    }
                }
            };
            Some(world)
        }

        fn give_out(&mut self, number: u64, range: &mut Range, front: &mut Front) {
            assert_eq!(*front, number * CHUNKS + range.scanned - range.held, "in order");
            *front += range.held;
            self.held -= std::mem::take(&mut range.held);
        }

        fn has_room(&self) -> bool {
            self.held + self.held_elsewhere <= HELD_MAX
        }

        fn check(&self) {
            assert!(self.held <= HELD_MAX + WORKERS as u64, "what is ahead is bounded");
            assert!(self.told <= 1, "told once");
        }
    }

    /// Tries every order, with room and without. Returns how many states there are.
    fn explore(given_up: Option<u64>, mistake: Mistake) -> usize {
        let mut open = vec![World::new(0), World::new(HELD_MAX + 1)];
        let mut seen = HashSet::new();
        while let Some(world) = open.pop() {
            if !seen.insert(world.clone()) {
                continue;
            }
            world.check();
            let before = open.len();
            open.extend((0..WORKERS).filter_map(|at| world.step(at, given_up, mistake)));
            if open.len() == before {
                assert_eq!(world.told, 1, "when no worker has anything to do, the file is done");
                assert_eq!(world.held, 0, "nothing is ahead of a file that is done");
            }
        }
        seen.len()
    }

    #[test]
    fn every_order_of_steps_gives_out_every_range_once_and_in_order() {
        let mut states = explore(None, Mistake::None);
        for chunk in 1..=RANGES * CHUNKS {
            states += explore(Some(chunk), Mistake::None);
        }
        assert!(states > 10_000, "{states} states are too few to mean anything");
    }

    #[test]
    fn mistakes_are_found() {
        use Mistake::{IgnoreRoom, LoseTheRest, RefuseInTurn, SetAsideInTurn};
        for mistake in [SetAsideInTurn, LoseTheRest, RefuseInTurn, IgnoreRoom] {
            let found = std::panic::catch_unwind(|| explore(None, mistake));
            assert!(found.is_err(), "{mistake:?} is not found");
        }
    }

    #[test]
    fn workers_that_leave_for_want_of_room_are_called_when_there_is_some() {
        let turns: Turns<(), ()> = Turns::new(9, 3, ());
        assert_eq!((turns.take(false), turns.take(true), turns.take(false)), (None, Some(1), None));
        assert_eq!(
            (turns.take(true), turns.take(true), turns.take(true)),
            (Some(2), Some(3), None)
        );
        // As many as may be are ahead.
        assert_eq!((turns.call_missed(true), turns.claim(0)), (0, Claim::InTurn(())));
        assert_eq!(turns.advance(()), None);
        assert_eq!((turns.call_missed(false), turns.call_missed(true)), (0, 3));
        assert_eq!(turns.call_missed(true), 0);
    }
}
