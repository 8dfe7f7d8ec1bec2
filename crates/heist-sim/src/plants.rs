//! What the simulator must report for each planted bug.

use crate::failure::Kind;
use heist::__internal::sync::plant::Plant;

/// What the simulator must report for a planted bug.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// One of these failures, within a number of schedules of one scenario.
    Found {
        /// The scenario that shows the bug best.
        scenario: &'static str,
        /// The failures that the bug may show as.
        kinds: &'static [Kind],
        /// The largest number of schedules that the simulator may need.
        within: u64,
    },
    /// Nothing, because the simulated machine orders more than the language promises: its
    /// read-modify-writes are full fences, and the stores of a thread arrive in order. Loom finds
    /// the bug.
    LeftToLoom {
        /// The loom test that finds it, as `loom::file::name`.
        test: &'static str,
    },
    /// Nothing, because this is not a bug but a different, correct algorithm, kept for comparison.
    Sound,
}

/// The number of schedules to play where the simulator must find nothing. Most of the bugs that it
/// can find need fewer.
pub const SOUND_SCHEDULES: u64 = 20_000;

/// Returns what the simulator must report for a planted bug.
pub fn verdict(plant: Plant) -> Verdict {
    use Kind::{
        AcceptedAfterClose, AsleepBesideWork, DoneNeverFound, DoneTooEarly, DroppedForNoReason,
        EnginePanicked, ItemTwice, Lost, MetricsWrong, NoEnd, OutOfOrder, OverGranted, Overtaken,
        PermitLost, PollTooLong, PolledTooSoon, PolledWrongly, RanAfterDone, RefusedForNoReason,
        RetryIgnored, Starved, Stranded, Stuck, TwoConsumers, WaiterForgotten, WakeLost,
        WrongAnswer,
    };
    let found = |scenario, kinds, within| Verdict::Found { scenario, kinds, within };
    let loom = |test| Verdict::LeftToLoom { test };
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
        Plant::InsideSpawnRefused => {
            found("tasks-of-futures-against-join", &[RefusedForNoReason], 50)
        }
        Plant::InsideSpawnUncounted => found(
            "tasks-of-futures-against-join",
            &[EnginePanicked, DoneTooEarly, RanAfterDone],
            50,
        ),
        Plant::TokenLeftUntaken => found("standard", &[AsleepBesideWork, MetricsWrong], 1_000),
        Plant::RefusedDoesNotLook => found("batch-needs-all", &[AsleepBesideWork], 500),
        Plant::WakeIgnoresParked => found("two-need-two", &[AsleepBesideWork, Stuck], 200),
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
        Plant::BatchedDeltaWhenIdle => found("standard", &[DoneTooEarly, RanAfterDone], 500),
        Plant::BatchedDeltaBeyondThreshold => found("standard", &[DoneNeverFound], 50),
        Plant::QueuesLookEmpty => {
            found("standard", &[DoneTooEarly, DroppedForNoReason, RanAfterDone], 200)
        }
        Plant::EndOutsideUnchecked => found("making-panics", &[DoneNeverFound], 50),
        Plant::StopForgetsWaiters => found("acquire-then-against-shutdown", &[Stuck], 50),
        Plant::CancelSkipsWatchers => found("cancel-with-waiters", &[Stuck], 50),
        Plant::BatchLeftBehind => found("turns-that-end-early", &[Stranded], 50),
        Plant::LeftoversGoBehind => found("consumer-panics", &[OutOfOrder], 500),
        Plant::FinishIgnoresSchedule => found("pipeline", &[Stranded], 500),
        Plant::TurnUncounted => found(
            "turns-that-end-early",
            &[EnginePanicked, DoneNeverFound, DroppedForNoReason, RanAfterDone],
            50,
        ),
        Plant::SlotBeforeQueue => found("one-slot-two-jobs", &[NoEnd], 5),
        Plant::RequeueInsteadOfLane => found("one-slot-two-jobs", &[NoEnd], 50),
        Plant::PermitLeakedOnPanic => found("making-panics", &[PermitLost], 50),
        Plant::GateTrustsLoads => found("gates-of-two-signals", &[Stranded], 1_000),
        Plant::FinishForgetsSummary => found("gates-of-two-signals", &[Stranded], 500),
        Plant::SummaryClearRaces => found("gates-of-one-signal", &[Stranded], 500),
        Plant::GuardDropForgets => found("gates-left-early", &[Stranded], 50),
        Plant::PermitNotPassedOn => found("gates-of-one-signal", &[Stranded], 50),
        Plant::EmptySignalLeftMarked => found("gates-of-two-signals", &[Stranded], 10_000),
        Plant::ScheduleTrustsLoad => found("gates-of-two-signals", &[Stranded], 5_000),
        Plant::OneFlagGate => found("gate", &[TwoConsumers, ItemTwice, OutOfOrder], 500),
        Plant::GrantBeyondTotal => found("bounded-queue", &[OverGranted], 50),
        Plant::TryOvertakes => found("budget-line", &[Overtaken], 200),
        Plant::CancelLosesGrant => found("budget-given-up", &[WaiterForgotten, PermitLost], 200),
        Plant::GiveUpSilent => found("budget-given-up", &[WaiterForgotten], 500),
        Plant::CloseForgetsWaiters => found("budget-closed", &[Stuck], 50),
        Plant::ReleaseIgnoresWaiters => found("budget-line", &[WaiterForgotten], 500),
        // Each of these weakens the ordering of a read-modify-write, or replaces one with a store.
        // On the simulated machine this changes nothing, because its stores arrive in order.
        Plant::NoHeavyFence => loom("loom::idle::bites_no_heavy_fence"),
        Plant::SearchersRelaxed => loom("loom::idle::bites_a_searcher_count_that_orders_nothing"),
        Plant::ConsumedRelaxed => loom("loom::termination::bites_consumed_relaxed"),
        Plant::CloserOnlyLoads => loom("loom::termination::bites_a_closer_that_only_loads_quiet"),
        Plant::FinishAndScheduleStores => {
            loom("loom::signal::bites_a_finish_and_schedule_that_stores")
        }
        Plant::FinishHandsNothingOver => {
            loom("loom::signal::bites_a_finish_that_hands_nothing_over")
        }
        Plant::SignalBitsRelaxed => loom("loom::signal::bites_bits_that_order_nothing"),
        Plant::FutureEndRelaxed => loom("loom::termination::bites_the_end_of_a_future_relaxed"),
        Plant::SlotExchangeRelaxed => loom("loom::slot::bites_a_slot_that_hands_nothing_over"),
        Plant::WakeOfQueuedWritesNothing => {
            loom("loom::futures::bites_a_wake_of_a_queued_future_that_writes_nothing")
        }
        Plant::SlotFillUnannounced => found("slot-and-a-long-poll", &[AsleepBesideWork], 500),
        Plant::SlotRunUnbounded => found("chain-through-the-slot", &[Starved], 500),
        Plant::WakeRefusedAfterClose => {
            found("wake-after-close", &[WakeLost, AsleepBesideWork], 50)
        }
        Plant::BudgetIgnored => found("a-greedy-future", &[PollTooLong], 50),
        Plant::DropOutsideUncounted => found("future-run-outside", &[DoneNeverFound], 500),
        Plant::FutureEndUncounted => found("wake-against-park", &[DoneNeverFound], 500),
        Plant::StopForgetsFutures => {
            found("futures-against-shutdown", &[WakeLost, AsleepBesideWork], 1_000)
        }
        Plant::LiveSetTakesAfterStop => found("wake-against-shutdown", &[WakeLost], 5_000),
        Plant::StopMissesQueued => found("wake-against-shutdown", &[WakeLost], 50_000),
        Plant::SleeperIgnoresSlots => found("slot-and-a-long-poll", &[AsleepBesideWork], 5_000),
        Plant::GivingWayIsNext => found("yielding-futures", &[PolledTooSoon], 500),
        Plant::TasksAlwaysFirst => found("turns-of-tasks-and-futures", &[Starved], 500),
        Plant::AbortForgotten => found("abort-against-poll", &[PolledWrongly, WakeLost], 500),
        Plant::AbortDoesNotWait => found("abort-against-poll", &[WrongAnswer], 500),
        Plant::DetachAborts => found("wake-against-park", &[DroppedForNoReason], 50),
        Plant::WakeQueuesWhatRuns => found("wake-against-park", &[EnginePanicked], 1_000),
        Plant::WakeUnannounced => found("wake-against-park", &[WakeLost], 1_000),
        Plant::WakeWhileRunningLost => found("abort-against-poll", &[WakeLost], 1_000),
        Plant::GivingWayUnannounced => {
            found("giving-way-to-a-private-slot", &[AsleepBesideWork], 1_000)
        }
        Plant::DisplacedUnannounced => {
            found("displaced-from-a-private-slot", &[AsleepBesideWork], 1_000)
        }
        Plant::FutureDropUncounted => found("futures-against-shutdown", &[DoneNeverFound], 1_000),
        Plant::RoundRobinWake => found("standard", &[AsleepBesideWork], 200),
        Plant::InFlightWord | Plant::QuietTree | Plant::CountBeforeLooking => Verdict::Sound,
    }
}
