//! Planted bugs: the mistakes that the protocols must not make, kept as switches so that every check is
//! known to bite.
//!
//! With `--cfg heist_plant` a test turns one on for its own thread and requires that the check fails. In
//! every other build [`planted`] is a constant `false` and the switch compiles away.

/// Declares the planted bugs and the list of them, so that the list cannot forget one.
macro_rules! plants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One known mistake. The protocol's `PROTOCOL.md` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plant {
            $($(#[$doc])* $name,)*
        }

        impl Plant {
            /// All of them.
            pub const ALL: &[Plant] = &[$(Plant::$name,)*];
        }
    };
}

plants! {
    /// The pusher looks for sleepers without a fence after its push.
    NoLightFence,
    /// The sleeper looks at the queues without a fence after declaring itself asleep.
    NoHeavyFence,
    /// The last searcher leaves with its task and wakes nobody.
    LastSearcherSilent,
    /// The searcher count orders nothing.
    SearchersRelaxed,
    /// A waker counts the searcher first and clears its bit after, undoing the count if the bit is gone.
    CountBeforeClear,
    /// A worker sets its parked bit and parks without another look at the queues.
    NoLookAfterBit,
    /// A batch is moved into the own queue by a worker that is no searcher, without the push rule.
    MoveWithoutNotify,
    /// A batch is stolen by a worker that is no searcher, without the push rule.
    StealWithoutNotify,
    /// The produced counters are summed before the consumed ones.
    SumsReversed,
    /// `consumed` is stored without release.
    ConsumedRelaxed,
    /// `produced` is stored after the push.
    ProducedAfterPush,
    /// The closer loads the quiet count instead of modifying it.
    CloserOnlyLoads,
    /// The closer does not check for completion at all.
    CloserDoesNotCheck,
    /// The accepting bit is checked and the task counted in two steps.
    AcceptInTwoSteps,
    /// A panic leaves the intake open.
    IntakeOpenOnPanic,
    /// A pool that is being joined refuses what its own tasks and futures spawn through a handle.
    InsideSpawnRefused,
    /// What a task or future spawns through a handle while the pool is being joined is not counted.
    InsideSpawnUncounted,
    /// A worker that finds its parked bit gone goes searching and leaves the waker's token untaken.
    TokenLeftUntaken,
    /// A worker that may not search, because too many do, parks without a look at the queues.
    RefusedDoesNotLook,
    /// Workers are woken in turn, whether they sleep or not.
    WakeRoundRobin,
    /// A thief that lost a race takes the queue for empty.
    RetryIsEmpty,
    /// A worker with work of its own never looks at the injector.
    InjectorNeverDue,
    /// `shutdown` declares the pool done, whatever is queued.
    ShutdownIsDone,
    /// A running task is not told that the pool was stopped.
    StopUnheard,
    /// Tasks that are dropped unrun are not counted.
    DropsUncounted,
    /// The wake-ups of a push are counted when all of them were sent.
    WakesCountedLate,
    /// A producer that loses the race for the intake word is told that the pool is closed.
    LostRaceIsRefusal,
    /// A task that panics is counted as ended twice.
    PanicCountedTwice,
    /// Tasks that are to be dropped unrun are forgotten instead.
    DropsForgotten,
    /// A thief that finds a queue empty asks again.
    EmptyIsRetry,
    /// Done is found by batched deltas on one counter, added when a worker runs dry.
    DeltasWhenIdle,
    /// Done is found by batched deltas on one counter, added when they are large.
    DeltasBeyondThreshold,
    /// Done is found when all queues look empty.
    QueuesLookEmpty,
    /// No bug: done is found by one word that counts every task in flight. Sound, and contended.
    InFlightWord,
    /// No bug: the quiet workers are counted in a tree of words.
    QuietTree,
    /// No lost task, but sleepers beside work: workers are woken in turn, at every 32nd local spawn, and by a timeout.
    SeedIdle,
    /// No bug: a worker that runs dry counts as a searcher before it has looked round once.
    CountBeforeLooking,

    // Waiting tasks, gated queues and lanes.
    /// What ends outside of the workers is counted, and nobody looks whether that was the last.
    EndOutsideUnchecked,
    /// A pool that is stopped leaves those alone that wait for a permit.
    StopForgetsWaiters,
    /// Cancelling tells nobody: who does not ask does not learn of it.
    CancelTellsNobody,
    /// A consumer that leaves items behind gives its turn back without scheduling another.
    BatchLeftBehind,
    /// What a consumer leaves behind goes behind what came in meanwhile.
    LeftoversGoBehind,
    /// A consumer does not look whether it was scheduled again while it ran.
    FinishIgnoresSchedule,
    /// A consumer's next turn is spawned without being counted.
    TurnUncounted,
    /// A lane takes a slot, and then looks whether it has a job.
    SlotBeforeQueue,
    /// A lane that gets no slot goes back to the end of the executor's queue.
    RequeueInsteadOfLane,
    /// A permit that is dropped by a panic is not given back.
    PermitLeakedOnPanic,

    // Signals and gates. `Seed` names what the source of the idea did.
    /// `schedule` trusts a plain load of SCHEDULED, and `begin` is a plain store.
    SeedGateLoads,
    /// A gate's `finish` sets its signal's bit again, but neither summary nor permit.
    SeedFinishForgetsSummary,
    /// `finish_and_schedule` is a plain store.
    SeedFinishAndScheduleStores,
    /// Who empties a signal clears its summary bit and does not look at the signal again.
    SeedSummaryClearRaces,
    /// A gate's guard that is dropped unfinished only finishes.
    GuardDropForgets,
    /// Who takes a bit and leaves others in the signal keeps the permit.
    PermitNotPassedOn,
    /// Who finds a signal empty that the summary has marked leaves it marked.
    EmptySignalLeftMarked,
    /// `schedule` trusts a plain load of SCHEDULED, beside a `begin` that is sound.
    ScheduleLoads,
    /// A gate has one flag, which `begin` clears: that somebody executes stops nobody.
    OneFlagGate,
    /// `finish` and `finish_and_schedule` release nothing to the next consumer.
    FinishHandsNothingOver,
    /// A signal's bits order nothing.
    SignalBitsRelaxed,

    // Budgets.
    /// A budget grants to a waiter without taking what it grants from what is available.
    GrantBeyondTotal,
    /// `try_acquire` takes from a budget that others wait for.
    TryOvertakes,
    /// A future that is dropped after its grant does not give it back.
    CancelLosesGrant,
    /// A waiter that gives up does not let those behind it through.
    GiveUpSilent,
    /// A budget is closed without a word to those who wait.
    CloseForgetsWaiters,
    /// A release looks for waiters and adds what it gives back in two steps.
    ReleaseIgnoresWaiters,

    // Futures.
    /// Filling an empty LIFO slot wakes nobody.
    SlotFillIsNoPush,
    /// A worker polls what is in its slot as long as there is something.
    SlotRunUnbounded,
    /// A wake-up is refused once the intake is closed.
    WakeRefusedAfterClose,
    /// Futures may do as many operations in one poll as they like.
    BudgetIgnored,
    /// A future that has waited before, and waits again while the pool is stopped, is left there.
    StopMissesQueued,
    /// A worker that is about to sleep does not look at the others' LIFO slots.
    SleeperIgnoresSlots,
    /// A future that gives way goes to the LIFO slot.
    GivingWayIsNext,
    /// Typed tasks go before futures as long as there are any.
    TasksAlwaysFirst,
    /// Aborting a future is remembered by its handle, and that is all.
    AbortForgotten,
    /// The handle of a future that was aborted does not wait until that is gone.
    AbortDoesNotWait,
    /// Dropping a handle aborts its future.
    DetachAborts,
    /// A future that is woken while it is polled is queued at once. (In the modelled raw task.)
    WakeQueuesWhatRuns,
    /// A future that ends outside of the workers is not counted as ended.
    DropOutsideUncounted,
    /// A future that completes is not counted as ended.
    FutureEndUncounted,
    /// A pool that is stopped leaves those futures alone that wait.
    StopForgetsFutures,
    /// A future that begins to wait while the pool is stopped is taken in, and left there.
    LiveSetTakesAfterStop,
    /// A wake-up from outside is queued, and nobody is told.
    WakeIsNoPush,
    /// A future that is woken while it runs is not queued again.
    WakeWhileRunningLost,
    /// A future that gives way is queued, and nobody is told.
    GivingWayIsNoPush,
    /// What is displaced from the LIFO slot is queued, and nobody is told.
    DisplacedIsNoPush,
    /// A future that is dropped before it completes is not counted as ended.
    FutureDropUncounted,
    /// That a future has ended is stored without release.
    FutureEndRelaxed,
    /// A LIFO slot's exchange orders nothing.
    SlotExchangeRelaxed,
    /// Waking a future that is queued already writes nothing.
    WakeOfQueuedWritesNothing,
}

#[cfg(not(heist_plant))]
mod switch {
    /// Whether `plant` is turned on: never, in this build.
    #[inline(always)]
    pub const fn planted(_plant: super::Plant) -> bool {
        false
    }
}

#[cfg(heist_plant)]
mod switch {
    use super::Plant;
    use std::cell::Cell;

    thread_local! {
        // Loom and shuttle run their threads as coroutines on the test's own thread, so they all see this switch and
        // tests that run side by side do not.
        static PLANTED: Cell<Option<Plant>> = const { Cell::new(None) };
    }

    /// Whether `plant` is turned on in this thread.
    #[inline]
    pub fn planted(plant: Plant) -> bool {
        PLANTED.get() == Some(plant)
    }

    /// Turns one planted bug on for this thread, or all off.
    pub fn set(plant: Option<Plant>) {
        PLANTED.set(plant);
    }
}

pub use switch::*;
