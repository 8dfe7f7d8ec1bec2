//! The planted bugs, and what the simulator says to each.

use crate::failure::Kind;
use heist::sync::plant::Plant;

/// What the simulator must say.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// It finds one of these failures, within so many schedules of the scenario (or of all of them).
    Found {
        /// The scenario that shows it best.
        scenario: &'static str,
        /// The failures that it shows as.
        kinds: &'static [Kind],
        /// Within so many schedules.
        within: u64,
    },
    /// It finds nothing, because the simulated machine's read-modify-writes order more than the language promises;
    /// loom finds it.
    LeftToLoom,
    /// It finds nothing, because there is nothing wrong: another way to do the same, for comparison.
    Sound,
}

/// What the simulator must say to each planted bug.
pub fn verdict(plant: Plant) -> Verdict {
    use Kind::{
        AcceptedAfterClose, AsleepBesideWork, DoneNeverFound, DoneTooEarly, DroppedForNoReason,
        EnginePanicked, Lost, MetricsWrong, NoEnd, RanAfterDone, RefusedForNoReason, RetryIgnored,
        Starved, Stuck,
    };
    let found = |scenario, kinds, within| Verdict::Found { scenario, kinds, within };
    match plant {
        Plant::NoLightFence => found("standard", &[AsleepBesideWork], 1_000),
        Plant::LastSearcherSilent => found("batch-needs-all", &[AsleepBesideWork], 200),
        Plant::CountBeforeClear => found("crowd", &[AsleepBesideWork], 5_000),
        Plant::NoLookAfterBit => found("standard", &[AsleepBesideWork], 200),
        Plant::MoveWithoutNotify => found("close-against-spawn", &[AsleepBesideWork], 5_000),
        Plant::StealWithoutNotify => found("standard", &[AsleepBesideWork], 50_000),
        Plant::SumsReversed => found("close-against-run", &[DoneTooEarly, RanAfterDone], 50_000),
        Plant::ProducedAfterPush => {
            found("close-against-run", &[DoneTooEarly, RanAfterDone], 1_000_000)
        }
        Plant::CloserDoesNotCheck => found("join-idle", &[DoneNeverFound], 500),
        Plant::AcceptInTwoSteps => found(
            "close-against-spawn",
            &[DroppedForNoReason, DoneTooEarly, RanAfterDone, MetricsWrong],
            2_000,
        ),
        Plant::IntakeOpenOnPanic => found("panic-against-producers", &[AcceptedAfterClose], 2_000),
        Plant::TokenLeftUntaken => found("standard", &[AsleepBesideWork, MetricsWrong], 1_000),
        Plant::RefusedDoesNotLook => found("batch-needs-all", &[AsleepBesideWork], 500),
        Plant::WakeRoundRobin => found("two-need-two", &[AsleepBesideWork, Stuck], 200),
        Plant::RetryIsEmpty => found("crowd", &[RetryIgnored], 200),
        Plant::InjectorNeverDue => found("chain-against-injector", &[Starved], 500),
        Plant::ShutdownIsDone => {
            found("shutdown-with-queue", &[DoneTooEarly, MetricsWrong, Lost], 200)
        }
        Plant::StopUnheard => found("shutdown-with-queue", &[Kind::StopUnheard], 2_000),
        Plant::DropsUncounted => found("shutdown-with-queue", &[MetricsWrong], 200),
        Plant::WakesCountedLate => found("batch-against-join", &[MetricsWrong], 20_000),
        Plant::LostRaceIsRefusal => found("two-need-two", &[RefusedForNoReason], 1_000),
        Plant::PanicCountedTwice => {
            found("isolated-panics", &[EnginePanicked, DroppedForNoReason], 500)
        }
        Plant::DropsForgotten => found("shutdown-with-queue", &[Lost], 200),
        Plant::EmptyIsRetry => found("join-idle", &[NoEnd], 200),
        Plant::DeltasWhenIdle => found("standard", &[DoneTooEarly, RanAfterDone], 500),
        Plant::DeltasBeyondThreshold => found("standard", &[DoneNeverFound], 50),
        Plant::QueuesLookEmpty => {
            found("standard", &[DoneTooEarly, DroppedForNoReason, RanAfterDone], 200)
        }
        Plant::SearchersRelaxed
        | Plant::NoHeavyFence
        | Plant::ConsumedRelaxed
        | Plant::CloserOnlyLoads => Verdict::LeftToLoom,
        Plant::SeedIdle => found("standard", &[AsleepBesideWork], 200),
        Plant::BatchLeftBehind => Verdict::LeftToLoom,
        _ => Verdict::LeftToLoom,
        Plant::InFlightWord | Plant::QuietTree | Plant::CountBeforeLooking => Verdict::Sound,
    }
}
