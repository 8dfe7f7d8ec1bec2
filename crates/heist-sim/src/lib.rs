//! The scheduler in a bottle: the code that ships, on a simulated machine.
//!
//! A real [`heist::Executor`] with its real worker loop, policy, idle protocol, intake and termination runs on
//! simulated threads, with real gated queues, budgets, device slots and lanes around it; and raw gates with threads of
//! their own. Nothing of it is written a second time: heist's `sync` is the one door to atomics, locks, parking,
//! threads and time, and behind that door stands a [`machine`]. Only two things are modelled: that machine, and
//! crossbeam's deque (heist's `queue`), which does not go through the door.
//!
//! A [`scenario`] is data: a pool, what its tasks do, and who uses it from outside. A [`driver`] decides who makes the
//! next operation. The [`world`] knows what should be true, and [`failure::Kind`] is the list of promises it watches.
//! A [`plan`] names a schedule in a word; [`explore`] plays many of them, [`mod@minimise`] makes a failing one simple,
//! [`report`] tells it to a person, and [`plants`] says which known mistakes are found, and how soon.
//!
//! # The fault model
//!
//! What may happen, at any step:
//!
//! - **Any interleaving** of the operations on heist's `sync` of all threads.
//! - **Stores arrive late**: they wait in a buffer, first in, first out, until a read-modify-write, a `SeqCst` fence,
//!   a lock or a sleep of the same thread; until nobody does anything; or until it pleases the driver.
//! - **A thread stalls** for as long as anybody else can do anything: a worker in the middle of a search, a waker
//!   between clearing a bit and giving the token, a producer between being counted and pushing.
//! - **Wake-ups are late**: a thread that has been woken runs when the driver says so.
//! - **Wake-ups come for no reason**: a wait may end without a token. The locks and the untimed park go on waiting, as
//!   the real ones do; a timed park (the backstop) gives up, as `parking`'s does.
//! - **Timeouts come at any moment**: the clock then jumps to the deadline.
//! - **Tasks panic**: at any of their steps, in the middle of handing over a batch, and when they are dropped, run or
//!   not.
//! - **Tasks block**: for each other, or for somebody outside. They listen when the pool is stopped.
//! - **Producers are lost**: they are never heard of again, between two calls.
//! - **Waiters give up**: a wait for a budget ends by its timeout, and a future is dropped, granted or not, whatever
//!   stands in line behind it.
//! - **Budgets and slots change** while they are in use: they grow, shrink below what is in use, and are closed.
//! - **Queues and lanes are closed**, with or without what they hold, while others push, wait for room, or consume.
//! - **Consumers panic or leave early**: with items in hand, a slot or a permit; and so does the making of a task that
//!   was granted something, on whichever thread has granted it.
//! - **Holders are lost** with what they hold, if the pool is stopped after that.
//! - **Anybody outside stops the pool**: closes, shuts down, cancels, drops it, several at once, while others spawn.
//!
//! What may not:
//!
//! - A thread does not end inside a call: a producer that is killed between being counted and pushing would leave a
//!   task that never ends, and Rust has no way to kill a thread.
//! - Reads are not reordered, nor stores of one thread among each other. That is x86; weaker machines are loom's job.
//! - Tasks do not stop or drop their own pool, nor spawn through a handle (but they push, and wait for budgets, through
//!   one); the tests on real threads do.
//! - Items are pushed by threads and by tasks, not by futures: `push_async` is `acquire_async` and a push.
//! - Counts of references are not simulated: that a lane or a budget is forgotten when nobody uses it is not seen here.
//! - Runtimes behave: a waker does not panic, and wakes its thread.
//! - Memory is not corrupted, and allocations succeed.
//! - Hooks of `heist::trace` do not panic: such a panic stops the pool, and nothing is promised about the counts.
//! - Time does not go backwards.
//!
//! # Adding to it
//!
//! A new part of the scheduler that goes through heist's `sync` is simulated as it is. It needs: steps or acts in
//! [`scenario::Step`] and [`scenario::Act`] that use it, played in `play`; scenarios in the library; what should be
//! true of it in [`world`]; and at least one planted bug for each new promise, with its line in [`plants`].

#![cfg(heist_sim)]
#![allow(missing_debug_implementations, reason = "coroutines and drivers have none")]

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
