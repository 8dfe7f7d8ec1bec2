//! A deterministic simulator that runs heist's scheduler, unchanged, on a simulated machine.
//!
//! Concurrency bugs hide in rare interleavings of threads, and a test on real threads meets such an
//! interleaving once in a million runs, or never. The simulator decides itself which thread makes
//! the next operation, when a store becomes visible to other threads, and when a wait ends. So it
//! can visit rare interleavings on purpose, repeat any of them exactly, and cut a failing one down
//! to the few decisions that matter.
//!
//! # What is real and what is modelled
//!
//! The code under test is the code that ships: a real [`heist::Executor`] with its worker loop,
//! policy, idle protocol, intake and termination; real gated queues, budgets, device slots and
//! lanes around it; and real signal gates used by threads without an executor. heist reaches
//! atomics, locks, parking, threads and time only through its `sync` module, and the configuration
//! `--cfg heist_sim` puts a simulated [`machine`] behind that module.
//!
//! Two things are modelled instead: that machine, and crossbeam's deque, which does not go through
//! heist's `sync` module.
//!
//! # The parts
//!
//! - A [`scenario`] is data: a pool, the programs of its tasks and futures, and the actors, which
//!   are threads that use the pool from outside.
//! - [`play`] runs a scenario on the machine.
//! - A [`driver`] chooses the next action before every operation: at random, by priorities, as an
//!   adversary, exhaustively, or from a recorded list.
//! - The [`world`] records what the code under test has promised so far and checks it. Its checks
//!   are called oracles; [`failure::Kind`] lists the promises that they watch.
//! - A [`plan`] names one schedule as `scenario/driver/seed`, for example `standard/pct/7`.
//! - [`explore`] plays many schedules and reports those that fail.
//! - [`schedule`] writes a failing schedule to a JSON file, [`mod@minimise`] simplifies it, and
//!   [`report`] prints it step by step.
//! - [`plants`] states for every planted bug how the simulator finds it, and how soon.
//! - [`scale`] uses the same machine with a cost model to compare protocols on 2 to 256 workers.
//!
//! # Replaying and minimising a failure
//!
//! `heist-sim run` plays schedules until one fails. It then prints the plan of that schedule and
//! writes the schedule to a file. Both can be played again with the same result:
//!
//! ```text
//! heist-sim replay standard/pct/7
//! heist-sim replay failures/standard-pct-7.json
//! ```
//!
//! A plan depends on the random numbers of its driver and, if its scenario is generated, on the
//! generator. A file contains the scenario and every decision, as *deviations* from the default
//! schedule at numbered steps, so it survives changes to drivers and generators. After a change to
//! the code under test, the same steps may lead elsewhere, for plans and files alike.
//!
//! `heist-sim minimise` first removes parts of the scenario (actors, acts, task steps, workers),
//! then deviations, for as long as the schedule still breaks the same promise. The result is often
//! short enough to be read as an explanation of the bug. The minimised schedules of all planted
//! bugs are in `corpus/`.
//!
//! # The fault model
//!
//! The machine may do any of the following at any step:
//!
//! - **Interleave** the operations that threads make through heist's `sync` module in any order.
//! - **Delay stores.** A store waits in its thread's first-in, first-out buffer. It becomes visible
//!   when the same thread makes a read-modify-write or a `SeqCst` fence, takes a lock or goes to
//!   sleep; when no thread does anything; or when the driver says so.
//! - **Stall a thread** for as long as any other thread can make progress: a worker in the middle
//!   of a search, a waker between clearing a bit and giving the token, a producer between being
//!   counted and pushing.
//! - **Delay wake-ups.** A thread that was woken runs when the driver says so.
//! - **Wake threads spuriously.** A wait may end without a token. Locks and the untimed park go on
//!   waiting, as the real ones do; a timed park (the backstop) gives up, as `parking`'s does.
//! - **Let timeouts expire early.** The clock then jumps to the deadline.
//!
//! Scenarios add these events:
//!
//! - **Tasks panic**: at any step, in the middle of handing over a batch, and when they are
//!   dropped, whether they have run or not.
//! - **Tasks block**, waiting for each other or for an actor. They stop waiting when the pool is
//!   stopped.
//! - **Producers vanish** between two calls and never come back.
//! - **Waiters give up**: a wait for a budget times out, or its future is dropped, granted or not,
//!   while other requests wait behind it.
//! - **Budgets and device slots change** while they are in use: they grow, shrink below what is in
//!   use, and are closed.
//! - **Queues and lanes are closed**, with or without dropping their items, while threads push,
//!   wait for room, or consume.
//! - **Consumers panic or end their turn early** while they hold items, a device slot or a permit.
//!   The closure that makes a task for a granted permit panics as well, on the thread that grants
//!   it.
//! - **Holders vanish** with their permits, if the pool is stopped afterwards.
//! - **Actors stop the pool**: they close it, shut it down, cancel it or drop it, several at once,
//!   while others spawn.
//!
//! # What is not modelled
//!
//! - A thread does not end inside a call. A producer that was killed between being counted and
//!   pushing would leave a task that never ends, and Rust cannot kill a thread.
//! - Loads are not reordered, and neither are the stores of one thread among each other. This is
//!   what x86 promises; loom checks heist against weaker memory models.
//! - Tasks do not stop or drop their own pool, and do not spawn through a handle (they do push and
//!   wait for budgets through one). The tests on real threads cover that.
//! - Threads, tasks and futures push items, but no future waits for room: `push_async` is
//!   `acquire_async` followed by a push.
//! - Reference counts are not simulated, so the simulator does not notice whether an unused lane or
//!   budget is freed.
//! - Wakers do not panic, and they do wake their thread.
//! - Memory is not corrupted, and allocations succeed.
//! - Hooks of `heist::trace` do not panic. Such a panic stops the pool, and heist promises nothing
//!   about the counts afterwards.
//! - Time does not go backwards.
//!
//! # Extending it
//!
//! New scheduler code that goes through heist's `sync` module runs on the simulator without
//! changes. To check it, add steps or acts that use it to [`scenario::Step`] and [`scenario::Act`]
//! and play them in [`play`]; add scenarios to the library; add what must hold to [`world`]; and
//! plant at least one bug for each new promise, with its entry in [`plants`].

#![cfg(heist_sim)]
#![allow(missing_debug_implementations, reason = "coroutines and drivers do not implement Debug")]

pub mod driver;
pub mod explore;
pub mod failure;
pub mod machine;
pub mod minimise;
pub mod plan;
pub mod plants;
pub mod play;
pub mod report;
pub mod scale;
pub mod scenario;
pub mod schedule;
pub mod world;
