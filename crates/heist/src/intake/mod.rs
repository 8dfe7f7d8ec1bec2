//! The intake: may tasks still come in from outside, and how many have.
//!
//! Both answers live in one word, so that an external spawn checks and counts in a single atomic step and
//! nothing is accepted after the intake was closed. See `PROTOCOL.md` beside this file.
//!
//! Not guaranteed: that an accepted task is already in the queue. It is counted first and pushed after.

#[cfg(heist_plant)]
mod rejected;

use crate::sync::plant::{self, Plant, planted};
use crate::sync::{AtomicU64, CachePadded, Ordering};

/// The intake word: bit 0 says whether tasks are accepted, bits 1..64 how many have been.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    const ACCEPTING: u64 = 1;
    const COUNT_SHIFT: u32 = 1;
    const OPEN_AND_EMPTY: Word = Word(Self::ACCEPTING);

    fn is_accepting(self) -> bool {
        self.0 & Self::ACCEPTING != 0
    }

    fn accepted(self) -> u64 {
        self.0 >> Self::COUNT_SHIFT
    }

    /// The word after `count` more tasks. 63 bits last 290 years at a billion tasks a second.
    fn plus(self, count: u64) -> Self {
        Word(self.0.wrapping_add(count << Self::COUNT_SHIFT))
    }
}

/// What the intake looked like at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeState {
    /// Whether tasks were still accepted.
    pub accepting: bool,
    /// How many tasks had been accepted so far.
    pub accepted: u64,
}

/// The accepting bit and the count of externally accepted tasks.
#[derive(Debug)]
pub struct Intake {
    word: CachePadded<AtomicU64>,
}

impl Default for Intake {
    fn default() -> Self {
        Self::new()
    }
}

impl Intake {
    /// An open intake that has accepted nothing.
    pub fn new() -> Self {
        Self { word: CachePadded::new(AtomicU64::new(Word::OPEN_AND_EMPTY.0)) }
    }

    /// Counts `count` tasks if the intake is open; says whether it was.
    #[must_use]
    pub fn try_accept(&self, count: u64) -> bool {
        let mut seen = Word(self.word.load(Ordering::Relaxed));
        plant::instead!(AcceptInTwoSteps => self.accept_in_two_steps(seen, count));
        while seen.is_accepting() {
            // AcqRel: whoever later reads the count has everything that came before the acceptance.
            match self.word.compare_exchange_weak(
                seen.0,
                seen.plus(count).0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(_) if planted(Plant::LostRaceIsRefusal) => return false,
                Err(now) => seen = Word(now),
            }
        }
        false
    }

    /// Closes the intake for good; says whether it was open.
    pub fn close(&self) -> bool {
        Word(self.word.fetch_and(!Word::ACCEPTING, Ordering::AcqRel)).is_accepting()
    }

    /// Whether tasks are accepted right now.
    #[inline]
    pub fn is_accepting(&self) -> bool {
        Word(self.word.load(Ordering::Acquire)).is_accepting()
    }

    /// Both halves of the word, read in one step.
    pub fn state(&self) -> IntakeState {
        let word = Word(self.word.load(Ordering::Acquire));
        IntakeState { accepting: word.is_accepting(), accepted: word.accepted() }
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn counts_until_closed_and_nothing_after() {
        let intake = Intake::new();
        assert!(intake.try_accept(1));
        assert!(intake.try_accept(64));
        assert_eq!(intake.state(), IntakeState { accepting: true, accepted: 65 });
        assert!(intake.is_accepting());
        assert!(intake.close());
        assert!(!intake.is_accepting());
        assert!(!intake.close(), "the second closer is told that it was closed");
        assert!(!intake.try_accept(1));
        assert_eq!(intake.state(), IntakeState { accepting: false, accepted: 65 });
    }
}
