//! A work-stealing executor for typed tasks and futures: silent when idle, exact at the end, safe when they panic.
//!
//! You have a million jobs of one kind (files to read, nodes to visit, pieces to hash). You write one function
//! that does a job and may spawn more; heist runs it on all cores, gives every worker a *scratch* value of its
//! own (buffers, caches, partial results), and tells you exactly when everything is done.
//!
//! ```
//! // A puzzle: how many ways are there to go up 20 stairs, taking one or two at a time? Each task is a
//! // position on the stairs; whoever reaches the top counts.
//! let output = heist::run(
//!     heist::ExecutorConfig::default(),
//!     [20_u32],        // the roots: stairs left to climb
//!     |_worker| 0_u64, // each worker's scratch: arrivals counted by this worker
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
//! # Three ways in
//!
//! - [`run`] does one run over **borrowed** data and hands every worker's scratch back.
//! - [`Executor`] is a pool that stays: producers spawn through an [`ExecutorHandle`] from any thread, tasks
//!   spawn through their [`WorkerCtx`], and [`Executor::join`] runs everything to the end.
//! - [`Runtime`] is a pool for futures alone: [`spawn`], [`Runtime::block_on`] and what else users of an async runtime
//!   expect. An [`Executor`] takes futures as well, beside its tasks and on the same threads
//!   ([`ExecutorHandle::spawn_future`]).
//!
//! # When not to use it
//!
//! - For data-parallel loops (`par_iter`, sorting) and for recursion that waits for its halves (`join`), take rayon: it
//!   is made for them. A half that no other thread steals is a plain call there; here every task goes through a queue.
//! - For a task that must wait for the *result* of another one: tasks have no results, they leave what they found in
//!   the scratch, or send it. (So a worker never runs an unrelated task while one of its own waits, and a lock held
//!   across a wait cannot deadlock by stealing.) A future can wait; a task that blocks holds its worker.
//! - For a server that does nothing but move bytes between sockets: sockets and timers here are async-io's, whose
//!   thread wakes our workers. A runtime whose workers poll the sockets themselves saves that step.
//! - When most of your libraries insist on tokio. One of them is no problem (`docs/TOKIO.md`).
//! - For tasks of microseconds started one by one on an otherwise idle pool: waking a sleeping thread costs more
//!   than such a task.
//!
//! # The scheduling loop
//!
//! Each worker, over and over (the code is [`policy::worker_step`]):
//!
//! 1. takes the **newest** task of its own queue: what it touched last is still in the cache. (Futures: below.) About
//!    once a millisecond, by [`policy::InjectorInterval`], it takes one task from the injector first, so that those
//!    from outside are not starved by a worker that never runs dry;
//! 2. else takes a **batch from the injector**: its share of what waits, from 4 up to 64 tasks. The rest of the
//!    batch goes to its own queue, where others can steal it;
//! 3. else **steals** the older half of another worker's queue, from a random victim on, all others in turn;
//! 4. else looks again for a few microseconds, and then **parks** until somebody wakes it.
//!
//! Whoever pushes work wakes one parked worker, unless somebody is searching already; the last searcher that
//! finds work wakes the next. No timeout is involved: an idle pool makes no system call.
//!
//! # Futures
//!
//! Each worker has a second queue, for futures that are to be polled. Typed tasks and futures take turns by 16, so
//! neither kind starves the other. Among futures:
//!
//! - one that a worker wakes itself is **next** (the *LIFO slot*): what woke it is still in the cache. Three in a row
//!   at most, while others wait; and when that worker's poll lasts long, another worker takes it after about 5 µs;
//! - a spawned one, and one that yields, goes to the **back** of the worker's queue. Each *lap* over that queue is
//!   followed by the worker's share of the injector, so those from outside are not starved by a worker that never runs
//!   dry;
//! - a poll has a **budget** of 128 operations ([`coop`]). A future that wakes itself for ever, or whose socket is
//!   always ready, gives way like any other.
//!
//! A future is counted from its spawn to its end, so [`Executor::join`] waits for it, and a wake-up is never refused. A
//! stop drops those that wait, too. Its panic goes to whoever awaits its [`JoinHandle`], and to
//! [`ExecutorHandle::panics`]; it never stops the pool. One allocation per future.
//!
//! ```
//! let executor = heist::Executor::builder().build(
//!     |_worker| (),
//!     |numbers: Vec<u64>, ctx| {
//!         let sum: u64 = numbers.iter().sum();
//!         // A task starts a future, which waits for another one.
//!         let doubled = ctx.spawn_future(async move { sum * 2 });
//!         ctx.spawn_future(async move { println!("twice {sum} is {}", doubled.await.unwrap()) }).detach();
//!     },
//! )?;
//! executor.spawn(vec![1, 2, 3])?;
//! let metrics = executor.join();
//! assert_eq!((metrics.tasks_run(), metrics.futures_ended), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tasks that are closures
//!
//! A task type of your own (an enum of 32 bytes or less) is fastest, but a boxed closure works too:
//!
//! ```
//! use heist::{Executor, ExecutorConfig, WorkerCtx};
//!
//! struct Job(Box<dyn FnOnce(&mut WorkerCtx<'_, Job, ()>) + Send>);
//!
//! let executor = Executor::new(ExecutorConfig::default(), |_worker| (), |Job(body), ctx| body(ctx))?;
//! executor.spawn(Job(Box::new(|ctx| {
//!     println!("on worker {}", ctx.worker_id());
//!     ctx.spawn_local(Job(Box::new(|_ctx| println!("and its child"))));
//! })))?;
//! executor.join();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Queues, budgets, disks
//!
//! A task that blocks holds its worker, so what a task waits for must come to it as a task:
//!
//! - A [`GatedQueue`] puts its own consumer on the executor when there is something to take, one at a time: for output,
//!   an index, anything with a single writer. A full one gives the item back ([`GatedQueue::try_push`]), or spawns the
//!   task that goes on when the item is in ([`GatedQueue::push_then`]).
//! - A [`CountBudget`], a [`ByteBudget`] or, for reads, [`ReadTokens`] hands out what there is not enough of: open
//!   files, memory, connections. Permits are owned values that live inside of tasks and items; who comes first is
//!   granted first. A task tries, or is spawned when it is granted ([`CountBudget::acquire_then`]).
//! - [`DeviceLanes`] run jobs as the [`DeviceSlots`] of their disks allow. A slow disk's jobs hold up no other disk's;
//!   see the example `device_lanes`. Which disk a file is on: [`DeviceId::from_path`] tells for one path, a
//!   [`DeviceMap`](device::DeviceMap) for many, with a system call for each and the rest once per file system.
//!
//! Tasks, items and jobs that wait count for the executor: `join` waits for them, and a stopped executor lets go of
//! them. Threads that are no workers may also block (`push`, `acquire`), and futures on any runtime may wait
//! (`push_async`, `acquire_async`). These do not count, and `join` does not wait for them: who waits for room when the
//! executor takes nothing more gets the item back.
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
//!             pages.push((page, memory)).expect("a queue without a bound, and nobody closes it");
//!         }
//!         // Nobody closes the budget, and a stopped executor runs nothing.
//!         Task::Render(Err(_), _) => {}
//!         // Nobody else writes meanwhile. The memory is given back with the page.
//!         Task::Write(turn) => {
//!             turn.run(|(page, _memory)| sender.send(page.len()).expect("somebody listens"));
//!         }
//!     },
//! )?;
//! let handle = executor.handle();
//! let memory = ByteBudget::new(1 << 20)?;
//! let pages = GatedQueue::unbounded(&handle, Task::Write);
//! for _ in 0..100 {
//!     let pages = pages.clone();
//!     // Returns at once; the task comes when there is memory for its page.
//!     memory.acquire_then(64 << 10, &handle, |granted| Task::Render(granted, pages))?;
//! }
//! executor.join();
//! assert_eq!(written.into_iter().sum::<usize>(), 100 * (64 << 10));
//! assert!(memory.high_water() <= 1 << 20, "never more than 16 pages at a time");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below all that are raw gates and signals ([`signal`]), for queues and consumers of your own.
//!
//! # What is guaranteed
//!
//! - **Exactly once.** A task that was accepted is run once, or dropped once and counted as dropped; a refused
//!   one comes back in the [`SpawnError`].
//! - **Exact end.** [`Executor::join`] returns when every task has ended, and not before; nothing runs after.
//! - **No lost wake-up.** No task waits while every worker that could take it sleeps.
//! - **Panics are contained.** With [`OnPanic::StopPool`] the first one closes the pool, drops what is queued (so
//!   that a producer waiting for a permit inside a task is freed) and is rethrown by `join`; with
//!   [`OnPanic::Isolate`] it ends its task alone.
//! - **Yielding is fair.** A task spawned with [`WorkerCtx::spawn_yielded`] runs after everything that was in the
//!   injector, on its own worker after everything that was in the queue there; and neither a flood from outside
//!   nor a chain of newer local tasks starves it.
//! - **Bounded overhead.** In a steady state no heap allocation per task (none at all while no queue of a worker
//!   holds more than 64; beyond that a queue grows by doubling, and shrinks again). The hot path (spawn, pop,
//!   complete) writes no cache line that another worker writes.
//! - **Deterministic with one worker**: the same seed and the same roots give the same order.
//!
//! # What is not
//!
//! - Order. With several workers tasks run in any order; with one, newest first.
//! - Fairness between tasks that are in the own queue: a task that keeps spawning keeps its oldest siblings
//!   waiting, and a yielded task with them, until another worker steals them.
//! - Pre-emption. A task that runs for a second holds its worker for a second; see [`yielding`].
//! - A bound on queued tasks. Producers must hold themselves back, by a budget or a bounded [`GatedQueue`]; the example
//!   `backpressure` shows how.
//! - Order between queues, or between a queue and tasks. A [`GatedQueue`] keeps the order of each of its producers.
//! - That a running task is stopped by cancellation. It is told ([`WorkerCtx::is_cancelled`]) and should listen.
//!
//! # The knobs
//!
//! | field of [`ExecutorConfig`] | default | what moves it |
//! |---|---|---|
//! | `workers` | the CPUs this process may use | fewer to leave room for others; more only for tasks that block |
//! | `seed` | 0x853c49e6748fea9b | repeatable victim choice and [`WorkerCtx::rng`] |
//! | `steal_tries` | 4 | more when tasks are rare and short-lived in others' queues |
//! | `spin_iters` | 200 | 0 to save every cycle; more for bursts a few microseconds apart (20 µs at most) |
//! | `pin_threads` | off | on for cache-bound work on a machine of your own |
//! | `stealing` | on | off when a spawned task must stay on its worker |
//! | `steal_batch` | 64 | smaller when tasks are long: half of a queue may be too much to take along |
//! | `injector_batch` | 64 | smaller when injected tasks are long and few |
//! | `lifo_slot` | on | off when a woken future should wait its turn |
//! | `lifo_stealing` | on | off when futures are short and never compute for long |
//! | `injector_interval` | adapts, 8 to 255 | a fixed number for those who compare |
//! | `on_panic` | `StopPool` | `Isolate` when one bad input must not end the run |
//! | `park_backstop` | off | for those who insist on a timeout; never needed |
//! | `thread_name` | `heist` | to find the threads in a profile |
//! | `stack_size` | the platform's | deep recursion inside a task |
//! | `cancel` | a token of its own | to stop several pools at once, or with the rest of the program |
//!
//! And of queues and disks:
//!
//! | knob | default | what moves it |
//! |---|---|---|
//! | `QueueConfig::capacity` | none | a bound when producers may be faster than the consumer for long |
//! | `QueueConfig::batch` | 64 | larger when items are tiny; smaller when they are long and others should come in between |
//! | `DeviceSlotsConfig::default_slots` | 4 | for devices of which nothing else is known or said |
//! | `DeviceSlotsConfig::slots_by_kind` | 2 rotational, 4 SSD, 8 NVMe, 8 network, 8 memory, 4 unknown | what your disks can take, by measuring |
//! | `DeviceSlotsConfig::device_overrides` | none | a disk that is not like the others of its kind |
//!
//! And of a runtime, besides those of its executor:
//!
//! | knob | default | what moves it |
//! |---|---|---|
//! | `RuntimeBuilder::max_blocking_threads` | 512 | fewer to spare memory; more when hundreds of calls block for long |
//! | `RuntimeBuilder::blocking_keep_alive` | 10 s | longer when calls come in bursts that are further apart |
//!
//! # What it costs
//!
//! Measured on a virtual Zen 3 by `cargo run --release -p heist-bench -- costs --runs 45`, medians; the first four with
//! a single worker. The machine was noisy: the interquartile range was 10 to 58 % of the median.
//!
//! | operation | cost |
//! |---|---|
//! | `spawn_local` and run the task | 12 ns |
//! | `spawn_local_batch` and run the tasks, per task | 13 ns |
//! | `spawn_global` and run the task | 51 ns |
//! | `spawn_yielded` and run the task | 48 ns |
//! | `ExecutorHandle::spawn`, the producer's part | 29 ns |
//! | `ExecutorHandle::spawn_drain` of 64, the producer's part per task | 0.5 ns |
//! | `ExecutorHandle::metrics`, 2 workers | 0.3 µs |
//! | start and join a pool of 2 workers | 220 µs |
//! | from idle to running (`-- executor --case wake`) | 7 µs |
//!
//! Small tasks (32 bytes or less) are cheapest: they are moved by value through the queues.

#![forbid(unsafe_code)]

pub mod affinity;
mod cancel;
pub mod device;
mod histogram;
pub mod metrics;
pub mod policy;
mod rng;
pub mod runtime;
pub mod signal;
pub mod trace;
mod worker_id;
pub mod yielding;

// The protocols. Public for the model checkers, which run this very code; no promise of stability is made for
// them.
#[doc(hidden)]
pub mod budget;
#[doc(hidden)]
pub mod executor;
#[doc(hidden)]
pub mod future;
#[doc(hidden)]
pub mod idle;
#[doc(hidden)]
pub mod intake;
#[doc(hidden)]
pub mod queue;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod termination;

// async-io is real threads and real sockets, of which the checkers' schedulers know nothing, with locks that
// ThreadSanitizer does not see wait.
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub mod net;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
mod reactor;
#[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
pub mod time;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

// Its example needs what only the tests depend on.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../../docs/TOKIO.md")]
struct TokioExamples;

// Inlined: the front page then shows each with its summary, wherever it is defined.
#[doc(inline)]
pub use budget::{
    Acquire, AcquireError, BudgetError, BudgetUnit, ByteBudget, BytePermit, CountBudget,
    CountPermit, PermitRef, ReadAmount, ReadPermit, ReadTokens,
};
#[doc(inline)]
pub use cancel::{CancelToken, Cancelled};
#[doc(inline)]
pub use device::{
    DeviceId, DeviceKind, DeviceLanes, DeviceSlotPermit, DeviceSlots, DeviceSlotsConfig,
    DeviceSlotsError, DeviceTurn, IoModel, PhysicalDevice,
};
#[doc(inline)]
pub use executor::{
    ConfigError, ExecutorConfig, OnPanic, RunError, SpawnError, SpawnErrorKind, Spawner,
    StartError, TaskPanic, WorkerCtx,
};
#[doc(inline)]
pub use executor::{Executor, ExecutorBuilder, ExecutorHandle, JoinTimeout, RunOutput, run};
#[doc(inline)]
pub use future::{AbortHandle, JoinError, JoinHandle, PanicPayload, coop, yield_now};
#[doc(inline)]
pub use histogram::Histogram;
#[doc(inline)]
pub use metrics::MetricsSnapshot;
#[doc(inline)]
pub use rng::XorShift64;
#[doc(inline)]
pub use runtime::{
    GroupError, Runtime, RuntimeBuilder, RuntimeHandle, RuntimeJoinTimeout, ShutdownTimeout,
    SpawnedMember, TaskGroup, block_on, spawn, spawn_blocking,
};
#[doc(inline)]
pub use signal::{
    GateGuard, GatedQueue, PushError, PushErrorKind, QueueConfig, QueueConsumer, QueueStats,
    QueueTurn, Signal, SignalGate, SignalIndexError, SignalIndexKind, SignalPermit, SignalWaker,
};
#[doc(inline)]
pub use worker_id::current_worker_id;
