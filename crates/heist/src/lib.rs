//! A work-stealing executor for typed tasks and futures. It is silent while idle, knows exactly
//! when all work is done, and contains panics.
//!
//! Suppose you have a million jobs of one kind: files to read, nodes to visit, pieces to hash. You
//! write one function that does a job and may spawn more. heist runs it on all cores, gives every
//! worker a *scratch* value of its own (buffers, caches, partial results), and returns when
//! everything is done.
//!
//! ```
//! // In how many ways can you climb 20 stairs, taking one or two at a time? Each task is a
//! // position on the stairs, and a task that reaches the top counts.
//! let output = heist::run(
//!     heist::ExecutorConfig::default(),
//!     [20_u32],        // the roots: the number of stairs left
//!     |_worker| 0_u64, // each worker's scratch: the arrivals that this worker has counted
//!     |left, ctx| match left {
//!         0 => *ctx.scratch += 1,
//!         1 => ctx.spawn_local(0),
//!         _ => ctx.spawn_local_batch([left - 1, left - 2]),
//!     },
//! )?;
//! assert_eq!(output.scratch.iter().sum::<u64>(), 10_946);
//! # Ok::<(), heist::RunError>(())
//! ```
//!
//! # Two ways to use it
//!
//! - [`run`] does one run over **borrowed** data, and returns every worker's scratch.
//! - [`Executor`] is a pool that stays. Producers spawn through an [`ExecutorHandle`] from any
//!   thread, tasks spawn through their [`WorkerCtx`], and [`Executor::join`] runs everything to the
//!   end. It also runs futures, beside its tasks and on the same threads
//!   ([`ExecutorHandle::spawn_future`]).
//!
//! Two crates build on this engine. `heist-runtime` is an async runtime: a pool for futures alone,
//! with task groups, blocking calls, timers and sockets. `heist-device` finds out which disk a file
//! is on, and limits how many jobs use each disk at a time.
//!
//! # When not to use it
//!
//! - For data-parallel loops (`par_iter`, sorting) and for recursion that waits for its halves
//!   (`join`), use rayon. There, a half that no other thread steals is a plain call; in heist every
//!   task goes through a queue.
//! - Do not use it if a task must wait for the *result* of another task. Tasks do not return
//!   results; they leave them in the scratch, or send them. (So a worker never runs an unrelated
//!   task while one of its own waits, and a lock held across a wait cannot deadlock by stealing.) A
//!   future can wait; a task that blocks holds its worker.
//! - Waking a sleeping thread costs more than a task of a few microseconds. If such tasks arrive
//!   one by one on an otherwise idle pool, run them where they arise.
//!
//! # The scheduling loop
//!
//! Each worker repeats these steps:
//!
//! 1. It takes the **newest** task of its own queue, because that task's data is still in the
//!    cache. About once a millisecond it takes one task from the injector first, so that a worker
//!    that never runs out of tasks does not starve tasks from outside.
//! 2. Otherwise it takes a **batch from the injector**: its share of the tasks there, from 4 to 64.
//!    The rest of the batch goes to its own queue, where other workers can steal it.
//! 3. Otherwise it **steals** the older half of another worker's queue. It starts at a random
//!    victim and tries all others in turn.
//! 4. Otherwise it searches again for a few microseconds, and then **parks** until it is woken.
//!
//! A thread that pushes work wakes one parked worker, unless a worker is searching already. The
//! last searcher that finds work wakes the next one. No timeout is involved: an idle pool makes no
//! system call.
//!
//! # Futures
//!
//! Each worker has a second queue, for futures that are ready to be polled. Typed tasks and futures
//! take turns, up to 16 of a kind in a row, so neither kind starves the other. Among futures:
//!
//! - A future that its own worker has woken comes **next** (the *LIFO slot*): the data that woke it
//!   is still in the cache. While other futures wait, at most three in a row come this way. If the
//!   worker is busy with a long poll, another worker takes the future after about 5 µs.
//! - A new future, and one that yields, goes to the **back** of the worker's queue. After each
//!   *lap* over that queue the worker polls its share of the injector, so that it does not starve
//!   futures from outside.
//! - A poll has a **budget** of 128 operations ([`coop`]). A future that wakes itself forever, or
//!   whose socket is always ready, yields like any other.
//!
//! A future counts from its spawn to its end, so [`Executor::join`] waits for it, and a wake-up is
//! never refused. Stopping the pool drops the futures that wait. The panic of a future is returned
//! by its [`JoinHandle`] and listed by [`ExecutorHandle::panics`]; it never stops the pool. A
//! future costs one allocation.
//!
//! ```
//! let executor = heist::Executor::builder().build(
//!     |_worker| (),
//!     |numbers: Vec<u64>, ctx| {
//!         let sum: u64 = numbers.iter().sum();
//!         // A task spawns a future, which waits for another one.
//!         let doubled = ctx.spawn_future(async move { sum * 2 });
//!         let printed = async move { println!("twice {sum} is {}", doubled.await.unwrap()) };
//!         ctx.spawn_future(printed).detach();
//!     },
//! )?;
//! executor.spawn(vec![1, 2, 3])?;
//! let metrics = executor.join();
//! assert_eq!((metrics.tasks_run(), metrics.futures_ended), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Stopping work
//!
//! Three verbs stop three kinds of things. None of them waits.
//!
//! | verb | stops | by | what happens |
//! |---|---|---|---|
//! | *abort* | a future | [`JoinHandle::abort`], [`AbortHandle`] | a worker drops it before its next poll |
//! | *cancel* | whatever watches a token | [`CancelToken::cancel`] | tasks check the token, futures await [`CancelToken::cancelled`], a pool with that token stops |
//! | *shut down* | a pool | [`Executor::shutdown`] | the pool accepts nothing more and drops what is queued or waits |
//!
//! To run everything to the end instead, call [`Executor::join`].
//!
//! # Tasks that are closures
//!
//! Your own task type (an enum of 32 bytes or less) is fastest, but a boxed closure also works:
//!
//! ```
//! use heist::{Executor, ExecutorConfig, WorkerCtx};
//!
//! struct Job(Box<dyn FnOnce(&mut WorkerCtx<'_, Job, ()>) + Send>);
//!
//! let config = ExecutorConfig::default();
//! let executor = Executor::new(config, |_worker| (), |Job(body), ctx| body(ctx))?;
//! executor.spawn(Job(Box::new(|ctx| {
//!     println!("on worker {}", ctx.worker_id());
//!     ctx.spawn_local(Job(Box::new(|_ctx| println!("and its child"))));
//! })))?;
//! executor.join();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Queues and budgets
//!
//! A task that blocks holds its worker. What a task waits for therefore arrives as another task:
//!
//! - A [`GatedQueue`] spawns its own consumer when there is an item, one consumer at a time. Use it
//!   for output, an index, or anything else with a single writer. If the queue is full,
//!   [`GatedQueue::try_push`] gives the item back, and [`GatedQueue::push_then`] spawns a task that
//!   continues when the item is in.
//! - A [`CountBudget`], a [`ByteBudget`] or, for reads, [`ReadTokens`] limits what is scarce: open
//!   files, memory, connections. Permits are owned values that live inside tasks and items, granted
//!   first come, first served. A task tries to acquire a permit, or is spawned when it is granted
//!   ([`CountBudget::acquire_then`]).
//! - The lanes of the crate `heist-device` run jobs as fast as the disks allow. The jobs of a slow
//!   disk do not hold up those of another.
//!
//! Tasks, items and jobs that wait are counted: `join` waits for them, and a stopped executor drops
//! them. Threads that are not workers may also block (`push`, `acquire`), and futures on any
//! runtime may wait (`push_async`, `acquire_async`). These are not counted, and `join` does not
//! wait for them: if they wait for room when the executor stops accepting items, they get their
//! items back.
//!
//! ```
//! use heist::{AcquireError, ByteBudget, BytePermit, Executor, GatedQueue, QueueTurn};
//!
//! /// A page, and the permit for its memory.
//! type Page = (Vec<u8>, BytePermit);
//!
//! enum Task {
//!     Render(Result<BytePermit, AcquireError>, GatedQueue<Page>),
//!     Write(QueueTurn<Page>),
//! }
//!
//! let (sender, written) = std::sync::mpsc::channel();
//! let executor = Executor::builder().build(
//!     |_worker| (),
//!     move |task, _ctx| match task {
//!         Task::Render(Ok(memory), pages) => {
//!             let page = vec![0; 64 << 10];
//!             pages.push((page, memory)).expect("the queue is unbounded, and never closed");
//!         }
//!         // The budget is never closed, and a stopped executor runs nothing.
//!         Task::Render(Err(_), _) => {}
//!         // This is the only writer at a time. Dropping the page returns its memory.
//!         Task::Write(turn) => {
//!             turn.run(|(page, _memory)| sender.send(page.len()).expect("the receiver lives"));
//!         }
//!     },
//! )?;
//! let handle = executor.handle();
//! let memory = ByteBudget::new(1 << 20)?;
//! let pages = GatedQueue::unbounded(&handle, Task::Write);
//! for _ in 0..100 {
//!     let pages = pages.clone();
//!     // Returns at once. The task is spawned when there is memory for its page.
//!     memory.acquire_then(64 << 10, &handle, |granted| Task::Render(granted, pages))?;
//! }
//! executor.join();
//! assert_eq!(written.into_iter().sum::<usize>(), 100 * (64 << 10));
//! assert!(memory.high_water() <= 1 << 20, "never more than 16 pages at a time");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below all of these are raw gates and signals ([`signal`]), for your own queues and consumers.
//!
//! # What is guaranteed
//!
//! - **Exactly once.** An accepted task runs once, or is dropped once and counted as dropped. A
//!   refused task comes back in the [`SpawnError`].
//! - **Exact end.** [`Executor::join`] returns when every task has ended, and not before. Nothing
//!   runs after that.
//! - **No lost wake-up.** No task waits while every worker that could take it sleeps.
//! - **Contained panics.** With [`OnPanic::StopPool`] the first panic closes the pool and drops
//!   what is queued, and `join` rethrows it. With [`OnPanic::Isolate`] a panic ends its own task
//!   only.
//! - **Fair yielding.** A task from [`WorkerCtx::spawn_yielded`] runs after all tasks that were in
//!   the injector and, on its own worker, after all tasks that were in that worker's queue. Neither
//!   a flood from outside nor a chain of newer local tasks starves it.
//! - **Bounded overhead.** In a steady state a task needs no heap allocation, as long as no
//!   worker's queue holds more than 64 tasks; beyond that a queue doubles, and shrinks again. The
//!   hot path (spawn, pop, complete) writes no cache line that another worker writes.
//! - **Determinism with one worker.** The same seed and the same roots give the same order.
//!
//! # What is not guaranteed
//!
//! - Order. With several workers tasks run in any order; with one worker, the newest task runs
//!   first.
//! - Fairness within a worker's own queue. A task that keeps spawning keeps its oldest siblings
//!   waiting, and a yielded task with them, until another worker steals them.
//! - Pre-emption. A task that runs for a second holds its worker for a second; see [`yielding`].
//! - A bound on queued tasks. Producers must limit themselves with a budget or a bounded
//!   [`GatedQueue`]; the example `backpressure` shows how.
//! - Order between queues, or between a queue and tasks. A [`GatedQueue`] keeps the order of each
//!   of its producers.
//! - That cancellation ends a running task. The task must check [`WorkerCtx::is_cancelled`].
//!
//! # Settings
//!
//! | field of [`ExecutorConfig`] | default | when to change it |
//! |---|---|---|
//! | `threads` | the CPUs this process may use | fewer to leave CPUs to other programs; more only if tasks block |
//! | `seed` | 0x853c49e6748fea9b | for other random numbers: the choice of victims, and [`WorkerCtx::rng`] |
//! | `steal_tries` | 4 | more if tasks are rare and stay in other workers' queues only briefly |
//! | `spin_iters` | 200 | 0 to save CPU time; more for bursts a few microseconds apart (20 µs at most) |
//! | `pin_threads` | off | on for cache-bound work on a dedicated machine |
//! | `stealing` | on | off if a spawned task must stay on its worker |
//! | `steal_batch` | 64 | smaller if tasks are long: half of a queue may be too much to take |
//! | `injector_batch` | 64 | smaller if injected tasks are long and few |
//! | `lifo_slot` | on | off if a woken future should wait its turn |
//! | `lifo_stealing` | on | off if polls are always short |
//! | `injector_interval` | adapts, 8 to 255 | a fixed number, for comparisons |
//! | `on_panic` | `StopPool` | `Isolate` if one bad input must not end the run |
//! | `park_backstop` | off | never needed; for users who want a timeout anyway |
//! | `thread_name` | `heist` | to find the threads in a profile |
//! | `stack_size` | the platform's | larger for deep recursion inside a task |
//! | `cancel` | a token of its own | to stop several pools together, or with the rest of the program |
//!
//! Settings of queues:
//!
//! | setting | default | when to change it |
//! |---|---|---|
//! | `QueueConfig::capacity` | none | set it if producers may be faster than the consumer for long |
//! | `QueueConfig::batch` | 64 | larger if items are tiny; smaller if they are long and other work should run in between |
//!
//! # What it costs
//!
//! Small tasks (32 bytes or less) are cheapest, because the queues move them by value: spawning and
//! running one takes nanoseconds, waking a parked worker for it takes microseconds, and starting
//! and joining a pool takes a fraction of a millisecond. `heist-bench costs` measures each
//! operation; `docs/benchmarks.md` in the repository has the results.

#![forbid(unsafe_code)]

pub mod affinity;
pub mod budget;
mod cancel;
mod executor;
mod future;
mod idle;
mod intake;
pub mod metrics;
mod policy;
mod queue;
pub mod rng;
pub mod signal;
mod sync;
mod termination;
pub mod trace;
mod worker_id;
pub mod yielding;

#[doc(hidden)]
#[path = "internal.rs"]
pub mod __internal;

/// Giving way: how many operations a future may do in one poll, and how it asks for one more.
///
/// A future whose socket always has data would never return `Pending`, and everything else on its
/// worker would wait forever. So each poll has a budget of
/// [`OPERATIONS_PER_POLL`](coop::OPERATIONS_PER_POLL) operations. Heist's own futures ask for each
/// operation; a leaf future of yours asks with [`poll_proceed`](coop::poll_proceed), and a loop
/// awaits [`consume_budget`](coop::consume_budget).
pub mod coop {
    pub use crate::future::coop::{
        OPERATIONS_PER_POLL, consume_budget, has_budget_remaining, poll_proceed,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

// Inlined: the front page then shows each with its summary. Each name has this one public path.
#[doc(inline)]
pub use budget::counted::{ByteBudget, BytePermit, CountBudget, CountPermit};
#[doc(inline)]
pub use budget::error::AcquireError;
#[doc(inline)]
pub use budget::read_tokens::{ReadPermit, ReadTokens};
#[doc(inline)]
pub use cancel::{CancelToken, Cancelled};
#[doc(inline)]
pub use executor::{
    ConfigError, Executor, ExecutorBuilder, ExecutorConfig, ExecutorHandle, JoinTimeout, OnPanic,
    RunError, RunOutput, SpawnError, SpawnErrorKind, Spawner, StartError, TaskPanic, WorkerCtx,
    run,
};
#[doc(inline)]
pub use future::{AbortHandle, JoinError, JoinHandle, PanicPayload, yield_now};
#[doc(inline)]
pub use metrics::snapshot::MetricsSnapshot;
#[doc(inline)]
pub use signal::queue::{
    GatedQueue, PushError, PushErrorKind, QueueConfig, QueueConsumer, QueueStats, QueueTurn,
};
#[doc(inline)]
pub use worker_id::current_worker_id;
