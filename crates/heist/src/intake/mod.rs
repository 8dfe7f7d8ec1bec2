//! The intake: whether the pool still accepts tasks from outside, and how many it has accepted.
//!
//! Both live in one word, so that a spawn from outside checks and counts in a single atomic step,
//! and no task is accepted after the intake was closed. See `PROTOCOL.md` beside this file.
//!
//! Not guaranteed: that an accepted task is already in a queue. It is counted first and pushed
//! later.

#[cfg(heist_plant)]
mod rejected;

use crate::sync::plant::{self, Plant, planted};
use crate::sync::{AtomicU64, CachePadded, Ordering};

/// The intake word: bit 0 is set while tasks are accepted, bits 1 to 63 count the accepted tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct IntakeWord(u64);

impl IntakeWord {
    const ACCEPTING: u64 = 1;
    const COUNT_SHIFT: u32 = 1;
    const OPEN_AND_EMPTY: IntakeWord = IntakeWord(Self::ACCEPTING);

    fn is_accepting(self) -> bool {
        self.0 & Self::ACCEPTING != 0
    }

    fn accepted(self) -> u64 {
        self.0 >> Self::COUNT_SHIFT
    }

    /// Returns the word after `count` more tasks. 63 bits last 290 years at a billion tasks a
    /// second.
    fn plus(self, count: u64) -> Self {
        IntakeWord(self.0.wrapping_add(count << Self::COUNT_SHIFT))
    }
}

/// The state of the intake at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeState {
    /// Whether tasks were still accepted.
    pub accepting: bool,
    /// The number of tasks accepted so far.
    pub accepted: u64,
}

/// The accepting bit and the number of tasks accepted from outside.
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
    /// Creates an open intake that has accepted nothing.
    pub fn new() -> Self {
        Self { word: CachePadded::new(AtomicU64::new(IntakeWord::OPEN_AND_EMPTY.0)) }
    }

    /// Accepts `count` tasks if the intake is open. Returns `false` if it is closed.
    #[must_use]
    pub fn try_accept(&self, count: u64) -> bool {
        let mut seen = IntakeWord(self.word.load(Ordering::Relaxed));
        plant::instead!(AcceptInTwoSteps => self.accept_in_two_steps(seen, count));
        while seen.is_accepting() {
            // AcqRel: a thread that reads the count later sees everything that came before the
            // acceptance.
            match self.word.compare_exchange_weak(
                seen.0,
                seen.plus(count).0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(_) if planted(Plant::LostRaceIsRefusal) => return false,
                Err(now) => seen = IntakeWord(now),
            }
        }
        false
    }

    /// Closes the intake for good. Returns `true` if this call closed it.
    pub fn close(&self) -> bool {
        IntakeWord(self.word.fetch_and(!IntakeWord::ACCEPTING, Ordering::AcqRel)).is_accepting()
    }

    /// Returns `true` if the intake is open.
    #[inline]
    pub fn is_accepting(&self) -> bool {
        IntakeWord(self.word.load(Ordering::Acquire)).is_accepting()
    }

    /// Returns both halves of the word, read in one step.
    pub fn state(&self) -> IntakeState {
        let word = IntakeWord(self.word.load(Ordering::Acquire));
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
        assert!(!intake.close(), "it was already closed");
        assert!(!intake.try_accept(1));
        assert_eq!(intake.state(), IntakeState { accepting: false, accepted: 65 });
    }
}
