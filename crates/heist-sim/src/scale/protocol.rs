//! The protocols that are compared.

use heist::__internal::sync::plant::Plant;
use serde::{Deserialize, Serialize};

/// What a pool runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// What ships.
    Heist,
    /// What ships, but a worker that runs dry counts as a searcher before it has looked round once.
    CountBeforeLooking,
    /// What ships, but quiet workers are counted in a tree.
    QuietTree,
    /// What ships, but one word counts every task in flight.
    InFlightWord,
    /// What ships, but a worker that runs dry adds what it has produced and consumed to one counter. Wrong.
    BatchedDeltaWhenIdle,
    /// What ships, but workers are woken in turn, at every 32nd local spawn, and by a timeout.
    RoundRobinWake,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Heist,
        Self::CountBeforeLooking,
        Self::QuietTree,
        Self::InFlightWord,
        Self::BatchedDeltaWhenIdle,
        Self::RoundRobinWake,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heist => "heist",
            Self::CountBeforeLooking => "count first",
            Self::QuietTree => "quiet tree",
            Self::InFlightWord => "in-flight word",
            Self::BatchedDeltaWhenIdle => "deltas when idle",
            Self::RoundRobinWake => "round robin",
        }
    }

    /// The switch that turns it on.
    pub(super) fn plant(self) -> Option<Plant> {
        match self {
            Self::Heist => None,
            Self::CountBeforeLooking => Some(Plant::CountBeforeLooking),
            Self::QuietTree => Some(Plant::QuietTree),
            Self::InFlightWord => Some(Plant::InFlightWord),
            Self::BatchedDeltaWhenIdle => Some(Plant::BatchedDeltaWhenIdle),
            Self::RoundRobinWake => Some(Plant::RoundRobinWake),
        }
    }
}
