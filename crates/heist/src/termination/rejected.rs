//! The rejected ways to find the end, to be planted: three that are wrong, and two that are right but dearer.
//!
//! They keep one counter, of what was produced minus what was consumed; with the accepted tasks it is zero when
//! nothing is outstanding. See `PROTOCOL.md` for why each was rejected.

use super::Termination;
use crate::intake::Intake;
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicU64, CachePadded, Ordering};

/// Deltas up to this are kept back.
const DELTA_THRESHOLD: i64 = 1_000;

/// How many children a node of the tree has.
const FAN_IN: usize = 4;

#[derive(Debug)]
pub(super) struct Scheme {
    plant: Plant,
    /// Produced minus consumed, modulo 2^64.
    outstanding: CachePadded<AtomicU64>,
    tree: QuietTree,
}

impl Scheme {
    /// The scheme that is planted, if one is.
    pub(super) fn planted(workers: usize) -> Option<Self> {
        let schemes = [
            Plant::DeltasWhenIdle,
            Plant::DeltasBeyondThreshold,
            Plant::QueuesLookEmpty,
            Plant::InFlightWord,
            Plant::QuietTree,
        ];
        let plant = schemes.into_iter().find(|plant| planted(*plant))?;
        let outstanding = CachePadded::new(AtomicU64::new(0));
        Some(Self { plant, outstanding, tree: QuietTree::new(workers) })
    }

    pub(super) fn asks_the_queues(&self) -> bool {
        !matches!(self.plant, Plant::InFlightWord | Plant::QuietTree)
    }

    /// Counts tasks that were produced (or, negative, consumed).
    pub(super) fn count(&self, delta: &mut i64, change: i64) {
        *delta += change;
        let publish = match self.plant {
            Plant::InFlightWord => true,
            Plant::DeltasBeyondThreshold => delta.abs() > DELTA_THRESHOLD,
            _ => false,
        };
        if publish {
            self.publish(delta);
        }
    }

    /// Counts what nobody keeps back: no worker's ledger was in hand.
    pub(super) fn count_at_once(&self, change: i64) {
        self.publish(&mut { change });
    }

    fn publish(&self, delta: &mut i64) {
        self.outstanding.fetch_add(std::mem::take(delta) as u64, Ordering::AcqRel);
    }

    /// A worker has gone quiet. Returns whether it checked, and whether it found everything done.
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
            Plant::DeltasWhenIdle => {
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

/// Counts quiet workers without one word that all of them write: each node counts its full children.
#[derive(Debug)]
struct QuietTree {
    /// From the leaves' parents up to the root: how many children each node has, and how many of them are full.
    levels: Vec<Vec<Node>>,
}

#[derive(Debug)]
struct Node {
    children: u64,
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

    /// Counts a worker in or out; says whether that made the root full. A change goes up as long as it makes a node
    /// full or no longer full. Those of different workers may overtake each other on the way, so the count may be
    /// wrong for a moment, but whoever makes the last change sees the right one.
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
