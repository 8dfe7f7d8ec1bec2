//! Planted bugs: the mistakes that the protocols must not make, kept as switches so that each check
//! proves that it can fail.
//!
//! With `--cfg heist_plant`, a test switches one bug on for its own thread and requires that the
//! check fails. In every other build the switches cost nothing: [`planted`] and [`order`] are
//! constants, and the macros leave no trace of the faulty code.
//!
//! Production code names a bug in one short call, of one of these forms:
//!
//! | call | with the bug planted | otherwise |
//! |---|---|---|
//! | `planted(Plant::X)` | `true` | `false` |
//! | `plant::order(Plant::X, Ordering::Release)` | `Relaxed` | `Release` |
//! | `plant::pick!(X => faulty, _ => sound)` | evaluates `faulty` | evaluates `sound` |
//! | `plant::instead!(X => faulty());` | returns `faulty()` from the function | does nothing |
//!
//! Faulty code of more than an expression lives in a file called `rejected.rs` beside the protocol.
//! Where a whole algorithm is replaced, `planted.rs` puts a type of the same name in front of the
//! shipping one.

use super::Ordering;

/// Declares the planted bugs and the list of them, so that the list is complete.
macro_rules! plants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A known mistake, or a rejected algorithm. The `PROTOCOL.md` of its module explains it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plant {
            $($(#[$doc])* $name,)*
        }

        impl Plant {
            /// Every planted bug.
            pub const ALL: &[Plant] = &[$(Plant::$name,)*];
        }
    };
}

plants! {
    // Idle and wake.
    /// A pusher looks for parked workers without a fence after its push.
    NoLightFence,
    /// A worker looks at the queues without a fence after it has set its parked bit.
    NoHeavyFence,
    /// The last searcher leaves with its task and wakes no other worker.
    LastSearcherSilent,
    /// The read-modify-writes of the searcher count are relaxed.
    SearchersRelaxed,
    /// A waker counts the new searcher before it clears the parked bit, and undoes the count if the
    /// bit is already clear.
    CountBeforeClear,
    /// A worker sets its parked bit and parks without another look at the queues.
    NoLookAfterBit,
    /// A worker that is not a searcher moves a batch from the injector into its own queue without
    /// the push rule.
    MoveWithoutNotify,
    /// A worker that is not a searcher steals a batch without the push rule.
    StealWithoutNotify,

    // Intake and termination.
    /// The produced counters are summed before the consumed ones.
    SumsReversed,
    /// `consumed` is stored without Release.
    ConsumedRelaxed,
    /// `produced` is stored after the push.
    ProducedAfterPush,
    /// The closer loads the quiet count instead of modifying it.
    CloserOnlyLoads,
    /// The closer does not check for the end at all.
    CloserDoesNotCheck,
    /// A spawn checks the accepting bit and counts the task in two steps.
    AcceptInTwoSteps,
    /// A panic leaves the intake open.
    IntakeOpenOnPanic,
    /// A pool that is being joined refuses what its own tasks and futures spawn through a handle.
    InsideSpawnRefused,
    /// What a task or future spawns through a handle while the pool is being joined is not counted.
    InsideSpawnUncounted,

    // Idle and wake again, and the worker loop.
    /// A worker that finds its parked bit already cleared searches on and leaves the waker's token
    /// untaken.
    TokenLeftUntaken,
    /// A worker that may not search, because too many do, parks without a look at the queues.
    RefusedDoesNotLook,
    /// A wake-up goes to the next worker in turn, parked or not.
    WakeIgnoresParked,
    /// A thief that lost a race treats the queue as empty.
    RetryIsEmpty,
    /// A worker with work of its own never looks at the injector.
    InjectorNeverDue,
    /// `shutdown` declares the pool done, whatever is queued.
    ShutdownIsDone,
    /// A running task does not learn that the pool was stopped.
    StopUnheard,
    /// Tasks that are dropped unrun are not counted.
    DropsUncounted,
    /// The wake-ups of a push are counted after all of them were sent.
    WakesCountedLate,
    /// A producer that loses the race for the intake word is refused as if the pool were closed.
    LostRaceIsRefusal,
    /// The end of a task that panics is counted twice.
    PanicCountedTwice,
    /// Tasks that must be dropped unrun are leaked instead.
    DropsForgotten,
    /// A thief that finds a queue empty tries again.
    EmptyIsRetry,

    // Whole algorithms.
    /// The end is found by one counter, to which each worker adds its batched delta (produced minus
    /// consumed) when it runs out of work.
    BatchedDeltaWhenIdle,
    /// The end is found by one counter, to which each worker adds its batched delta when it is
    /// large.
    BatchedDeltaBeyondThreshold,
    /// The end is found when all queues look empty.
    QueuesLookEmpty,
    /// Not a bug: the end is found by one word that counts every task in flight. Sound, and
    /// contended.
    InFlightWord,
    /// Not a bug: the quiet workers are counted in a tree of words.
    QuietTree,
    /// Loses no task, but lets workers sleep beside work: workers are woken in turn, parked or not,
    /// once for every 32 local spawns, and a timeout covers the rest. It includes
    /// `MoveWithoutNotify`.
    RoundRobinWake,
    /// Not a bug: a worker that runs out of work counts as a searcher before it has tried to steal.
    CountBeforeLooking,

    // Waiting tasks, gated queues and lanes.
    /// What ends outside of the workers is counted, but the thread does not check whether it was
    /// the last.
    EndOutsideUnchecked,
    /// A pool that is stopped does not release the tasks that wait for a permit.
    StopForgetsWaiters,
    /// Cancelling a token calls no watcher: only code that polls the token learns of it.
    CancelSkipsWatchers,
    /// A consumer that leaves items behind gives its turn back without scheduling another.
    BatchLeftBehind,
    /// The items that a consumer leaves go behind those that were pushed meanwhile.
    LeftoversGoBehind,
    /// A consumer ignores that it was scheduled again while it ran.
    FinishIgnoresSchedule,
    /// A consumer's next turn is spawned without being counted.
    TurnUncounted,
    /// A lane takes a device slot before it looks whether it has a job.
    SlotBeforeQueue,
    /// A lane that gets no device slot goes back to the end of the executor's queue.
    RequeueInsteadOfLane,
    /// A permit that is dropped by a panic is not given back.
    PermitLeakedOnPanic,

    // Signals and gates.
    /// `schedule` trusts a plain load of SCHEDULED, and `begin` is a plain store.
    GateTrustsLoads,
    /// A gate's `finish` sets its signal's bit again, but neither marks the summary nor releases a
    /// permit.
    FinishForgetsSummary,
    /// `finish_and_schedule` is a plain store.
    FinishAndScheduleStores,
    /// A consumer that empties a signal clears the signal's mark in the summary and does not look
    /// at the signal again.
    SummaryClearRaces,
    /// A gate's guard that is dropped unfinished only finishes.
    GuardDropForgets,
    /// A consumer that takes a bit and leaves others in the signal keeps the permit.
    PermitNotPassedOn,
    /// A consumer that finds a marked signal empty leaves it marked.
    EmptySignalLeftMarked,
    /// `schedule` trusts a plain load of SCHEDULED, beside a `begin` that is sound.
    ScheduleTrustsLoad,
    /// A gate has one flag, which `begin` clears: a second consumer may begin while one executes.
    OneFlagGate,
    /// `finish` and `finish_and_schedule` release nothing to the next consumer.
    FinishHandsNothingOver,
    /// The read-modify-writes of a signal's bits are relaxed.
    SignalBitsRelaxed,

    // Budgets.
    /// A budget grants to a waiter without subtracting the grant from what is available.
    GrantBeyondTotal,
    /// `try_acquire` takes from a budget that others wait for.
    TryOvertakes,
    /// A future that is dropped after its grant does not give it back.
    CancelLosesGrant,
    /// A waiter that gives up does not let the waiters behind it through.
    GiveUpSilent,
    /// Closing a budget does not answer the waiters.
    CloseForgetsWaiters,
    /// A release looks for waiters and adds what it gives back in two steps.
    ReleaseIgnoresWaiters,

    // Futures.
    /// Filling an empty LIFO slot wakes no worker.
    SlotFillUnannounced,
    /// A worker polls from its LIFO slot as long as the slot is full.
    SlotRunUnbounded,
    /// A wake-up is refused once the intake is closed.
    WakeRefusedAfterClose,
    /// A poll may do any number of operations.
    BudgetIgnored,
    /// A future that has waited before, and waits again while the pool is stopped, is left waiting.
    StopMissesQueued,
    /// A worker that is about to park does not look at the other workers' LIFO slots.
    SleeperIgnoresSlots,
    /// A future that gives way goes to the LIFO slot.
    GivingWayIsNext,
    /// Typed tasks go before futures as long as there are any.
    TasksAlwaysFirst,
    /// Aborting a future sets a flag in its handle and does nothing else.
    AbortForgotten,
    /// The handle of an aborted future does not wait until the future is dropped.
    AbortDoesNotWait,
    /// Dropping a handle aborts its future.
    DetachAborts,
    /// A future that is woken while it is polled is queued at once. (In the modelled raw task.)
    WakeQueuesWhatRuns,
    /// A future that ends outside of the workers is not counted as ended.
    DropOutsideUncounted,
    /// A future that completes is not counted as ended.
    FutureEndUncounted,
    /// A pool that is stopped leaves its waiting futures waiting.
    StopForgetsFutures,
    /// A future that begins to wait while the pool is stopped enters the live set and stays there.
    LiveSetTakesAfterStop,
    /// A wake-up from outside queues the future and wakes no worker.
    WakeUnannounced,
    /// A future that is woken while it runs is not queued again.
    WakeWhileRunningLost,
    /// A future that gives way is queued, and no worker is woken.
    GivingWayUnannounced,
    /// A future that is displaced from the LIFO slot is queued, and no worker is woken.
    DisplacedUnannounced,
    /// A future that is dropped before it completes is not counted as ended.
    FutureDropUncounted,
    /// The count of ended futures is stored without Release.
    FutureEndRelaxed,
    /// A LIFO slot's exchange is relaxed.
    SlotExchangeRelaxed,
    /// Waking a future that is already queued writes nothing.
    WakeOfQueuedWritesNothing,
}

#[cfg(not(heist_plant))]
mod switch {
    use super::{Ordering, Plant};

    /// Returns `false`: this build has no planted bugs.
    #[inline(always)]
    pub const fn planted(_plant: Plant) -> bool {
        false
    }

    /// Returns `sound`: this build has no planted bugs.
    #[inline(always)]
    pub const fn order(_plant: Plant, sound: Ordering) -> Ordering {
        sound
    }
}

#[cfg(heist_plant)]
mod switch {
    use super::{Ordering, Plant};
    use std::cell::Cell;

    thread_local! {
        // Loom, shuttle and the simulator run their threads on the test's own thread. So all of
        // them see this switch, and tests that run at the same time do not.
        static PLANTED: Cell<Option<Plant>> = const { Cell::new(None) };
    }

    /// Returns `true` if `plant` is switched on in this thread.
    #[inline]
    pub fn planted(plant: Plant) -> bool {
        match PLANTED.get() {
            Some(Plant::RoundRobinWake) if plant == Plant::MoveWithoutNotify => true,
            on => on == Some(plant),
        }
    }

    /// Returns `Relaxed` if `plant` is switched on in this thread, and `sound` otherwise.
    #[inline]
    pub fn order(plant: Plant, sound: Ordering) -> Ordering {
        if planted(plant) { Ordering::Relaxed } else { sound }
    }

    /// Switches one planted bug on for this thread, or all off.
    pub fn set(plant: Option<Plant>) {
        PLANTED.set(plant);
    }
}

pub use switch::*;

/// Evaluates the expression beside the bug that is planted, or the one beside `_`.
#[cfg(heist_plant)]
macro_rules! pick {
    ($($($plant:ident)|+ => $faulty:expr,)+ _ => $sound:expr $(,)?) => {
        $(if $($crate::sync::plant::planted($crate::sync::plant::Plant::$plant))||+ {
            $faulty
        } else)+ {
            $sound
        }
    };
}

/// Evaluates the expression beside `_`: this build has no planted bugs.
#[cfg(not(heist_plant))]
macro_rules! pick {
    ($($($plant:ident)|+ => $faulty:expr,)+ _ => $sound:expr $(,)?) => {
        $sound
    };
}

/// Returns the value beside the bug that is planted from the calling function. (Nothing beside it
/// means `()`.) Does nothing if none of the bugs is planted.
macro_rules! instead {
    ($($plant:ident)|+) => {
        $crate::sync::plant::instead!($($plant)|+ => ())
    };
    ($($($plant:ident)|+ => $faulty:expr),+ $(,)?) => {
        $(
            #[cfg(heist_plant)]
            if $($crate::sync::plant::planted($crate::sync::plant::Plant::$plant))||+ {
                return $faulty;
            }
        )+
    };
}

pub(crate) use {instead, pick};
