//! The rejected ways to find the end. Three are wrong; two are sound but cost more.
//!
//! All but one of them keep a single counter of the tasks produced minus the tasks consumed.
//! Together with the accepted tasks it is zero when nothing is outstanding. `PROTOCOL.md` says why
//! each was rejected.

use super::protocol::Termination;
use crate::intake::Intake;
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicU64, CachePadded, Ordering};

/// A worker keeps a delta of up to this size to itself.
const DELTA_THRESHOLD: i64 = 1_000;

/// The number of children of a tree node.
const FAN_IN: usize = 4;

/// A rejected scheme that is in force instead of the shipping one.
#[derive(Debug)]
pub(super) struct Scheme {
    plant: Plant,
    /// Produced minus consumed, modulo 2^64.
    outstanding: CachePadded<AtomicU64>,
    tree: QuietTree,
}

impl Termination {
    /// Sums in the wrong order ([`Plant::SumsReversed`]).
    pub(super) fn reversed_sums_are_equal(&self, accepted: u64) -> bool {
        let produced = self.sum_produced();
        self.sum_consumed() == accepted + produced
    }
}

impl Scheme {
    /// Returns the scheme that is planted, if one is.
    pub(super) fn planted(workers: usize) -> Option<Self> {
        let schemes = [
            Plant::BatchedDeltaWhenIdle,
            Plant::BatchedDeltaBeyondThreshold,
            Plant::QueuesLookEmpty,
            Plant::InFlightWord,
            Plant::QuietTree,
        ];
        let plant = schemes.into_iter().find(|plant| planted(*plant))?;
        let outstanding = CachePadded::new(AtomicU64::new(0));
        Some(Self { plant, outstanding, tree: QuietTree::new(workers) })
    }

    /// Counts tasks that were produced or, if `change` is negative, consumed.
    pub(super) fn count(&self, delta: &mut i64, change: i64) {
        *delta += change;
        let publish = match self.plant {
            Plant::InFlightWord => true,
            Plant::BatchedDeltaBeyondThreshold => delta.abs() > DELTA_THRESHOLD,
            _ => false,
        };
        if publish {
            self.publish(delta);
        }
    }

    /// Counts without a worker's ledger, so there is no delta to batch.
    pub(super) fn count_at_once(&self, change: i64) {
        self.publish(&mut { change });
    }

    fn publish(&self, delta: &mut i64) {
        self.outstanding.fetch_add(std::mem::take(delta) as u64, Ordering::AcqRel);
    }

    /// Marks a worker as quiet. Returns whether it checked, and whether it found the pool done.
    pub(super) fn went_quiet(
        &self,
        termination: &Termination,
        intake: &Intake,
        worker: usize,
        delta: &mut i64,
    ) -> (bool, bool) {
        match self.plant {
            Plant::QuietTree => {
                let all_quiet = self.tree.change(worker, 1);
                (all_quiet, all_quiet && termination.sums_are_equal(intake))
            }
            Plant::BatchedDeltaWhenIdle => {
                self.publish(delta);
                (true, self.counted_out(intake))
            }
            _ => (true, self.counted_out(intake)),
        }
    }

    pub(super) fn left_quiet(&self, worker: usize) {
        if self.plant == Plant::QuietTree {
            self.tree.change(worker, -1);
        }
    }

    pub(super) fn closer_finds_done(&self, termination: &Termination, intake: &Intake) -> bool {
        match self.plant {
            Plant::QuietTree => self.tree.is_full() && termination.sums_are_equal(intake),
            _ => self.counted_out(intake),
        }
    }

    fn counted_out(&self, intake: &Intake) -> bool {
        let state = intake.state();
        let outstanding = state.accepted.wrapping_add(self.outstanding.load(Ordering::Acquire));
        !state.accepting && (outstanding == 0 || self.plant == Plant::QueuesLookEmpty)
    }
}

/// Counts quiet workers without a word that all of them write: each node counts its full children.
#[derive(Debug)]
struct QuietTree {
    /// From the parents of the leaves up to the root.
    levels: Vec<Vec<Node>>,
}

#[derive(Debug)]
struct Node {
    children: u64,
    /// How many of the children are full.
    full: CachePadded<AtomicU64>,
}

impl QuietTree {
    fn new(workers: usize) -> Self {
        let mut levels: Vec<Vec<Node>> = Vec::new();
        let mut width = workers;
        loop {
            let nodes = width.div_ceil(FAN_IN);
            let children = |node: usize| FAN_IN.min(width - node * FAN_IN) as u64;
            let node =
                |node| Node { children: children(node), full: CachePadded::new(AtomicU64::new(0)) };
            levels.push((0..nodes).map(node).collect());
            width = nodes;
            if nodes == 1 {
                return Self { levels };
            }
        }
    }

    /// Counts a worker in or out. Returns `true` if that made the root full.
    ///
    /// A change moves up as long as it makes a node full, or no longer full. Changes of different
    /// workers may overtake each other on the way, so the count may be wrong for a moment, but the
    /// thread that makes the last change sees the right one.
    fn change(&self, worker: usize, change: i64) -> bool {
        let mut index = worker;
        let mut change = change;
        for level in &self.levels {
            index /= FAN_IN;
            let node = &level[index];
            let before = node.full.fetch_add(change as u64, Ordering::AcqRel);
            let after = before.wrapping_add(change as u64);
            change = match (before == node.children, after == node.children) {
                (false, true) => 1,
                (true, false) => -1,
                _ => return false,
            };
        }
        change == 1
    }

    fn is_full(&self) -> bool {
        let root = &self.levels.last().expect("there is a root")[0];
        root.full.fetch_add(0, Ordering::AcqRel) == root.children
    }
}
