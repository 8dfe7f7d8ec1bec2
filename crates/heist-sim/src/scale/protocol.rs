//! The protocols that are compared.

use heist::__internal::sync::plant::Plant;
use serde::{Deserialize, Serialize};

/// The protocols under which a pool can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The protocols that ship.
    Heist,
    /// As `Heist`, but a worker that runs out of work counts itself as a searcher before it has
    /// looked for work once.
    CountBeforeLooking,
    /// As `Heist`, but quiet workers are counted in a tree.
    QuietTree,
    /// As `Heist`, but one word counts every task in flight.
    InFlightWord,
    /// As `Heist`, but a worker that runs out of work adds the numbers of tasks it has produced and
    /// consumed to one counter. Unsound.
    BatchedDeltaWhenIdle,
    /// As `Heist`, but workers are woken in turn, at every 32nd local spawn, and by a timeout.
    RoundRobinWake,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 6] = [
        Self::Heist,
        Self::CountBeforeLooking,
        Self::QuietTree,
        Self::InFlightWord,
        Self::BatchedDeltaWhenIdle,
        Self::RoundRobinWake,
    ];

    /// Returns the name of the protocol.
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

    /// Returns the planted bug that switches the protocol on.
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
