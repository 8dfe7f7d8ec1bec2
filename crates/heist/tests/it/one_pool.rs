//! Proves that typed tasks, futures and gated queues can share one executor. Random programs, in
//! which each kind spawns every other, run with wake-ups from foreign threads. Each piece of work
//! runs once and is counted once, nothing is lost, `join` returns when all have ended, and the
//! metrics agree. In a stopped pool, each piece is run or dropped.
//!
//! `HEIST_ONE_POOL_SEED` repeats a program, with the same number of workers and the same end.

use crate::support::queued::check_all_run_with_turns;
use crate::support::sync::{Condvar, Mutex};
use crate::support::{Runs, check_finished, watched};
use heist::rng::XorShift64;
use heist::{
    CountBudget, Executor, ExecutorConfig, ExecutorHandle, GatedQueue, JoinHandle, MetricsSnapshot,
    PushError, QueueConfig, QueueStats, QueueTurn, WorkerCtx,
};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of pieces of all kinds together. ThreadSanitizer makes everything ten times slower.
const NODES: usize = if cfg!(heist_tsan) { 3_000 } else { 12_000 };

/// The number of programs in each test.
const PROGRAMS: u64 = if cfg!(heist_tsan) { 4 } else { 12 };

const QUEUES: usize = 8;

/// The kind of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Task,
    Future,
    /// An item of the queue with this number.
    Item(usize),
}

/// How a future spends its time before it ends.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Not,
    /// Yields this many times.
    Yields(u32),
    /// Waits until foreign threads have woken it this many times.
    ForThreads(u32),
    /// Waits for the futures among its children.
    ForChildren,
    /// Spawns its children, and then waits until it is dropped. Only in a stopped pool.
    ForEver,
}

/// A piece of work. It does nothing but count itself and spawn its children.
#[derive(Debug)]
struct Node {
    kind: Kind,
    waits: Waits,
    children: Vec<usize>,
    /// Decides which call spawns each child.
    seed: u64,
}

/// A tree of work, with node 0 as its root. It is made in advance, so that the expected result is
/// known.
struct Program {
    nodes: Vec<Node>,
}

impl Program {
    fn new(random: &mut XorShift64, is_stopped: bool) -> Self {
        let mut nodes: Vec<Node> = Vec::with_capacity(NODES);
        for number in 0..NODES {
            let kind = match random.below(3) {
                0 => Kind::Task,
                1 => Kind::Future,
                _ => Kind::Item(random.below_usize(QUEUES)),
            };
            let waits = match random.below(6) {
                0 => Waits::Yields(1 + random.below(5)),
                1 | 2 => Waits::ForThreads(1 + random.below(3)),
                3 => Waits::ForChildren,
                4 if is_stopped => Waits::ForEver,
                _ => Waits::Not,
            };
            nodes.push(Node { kind, waits, children: Vec::new(), seed: random.next_u64() });
            if number > 0 {
                // A recent one: so the tree is deep as well as wide.
                let nearest = number - 1 - random.below_usize(number.min(64));
                nodes[nearest].children.push(number);
            }
        }
        Self { nodes }
    }

    fn count(&self, kind: impl Fn(Kind) -> bool) -> u64 {
        self.nodes.iter().filter(|node| kind(node.kind)).count() as u64
    }
}

/// Foreign threads with which futures leave their wakers. The threads wake them in any order, and
/// now and then without a reason.
#[derive(Default)]
struct Station {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Default)]
struct Wanted {
    wakers: Vec<(Waker, Arc<AtomicU32>)>,
    closed: bool,
}

impl Station {
    /// Wakes others until it is closed.
    fn work(&self, mut random: XorShift64) {
        loop {
            let wanted = self.wanted.lock().unwrap();
            let waiting = |wanted: &mut Wanted| wanted.wakers.is_empty() && !wanted.closed;
            let mut wanted = self.changed.wait_while(wanted, waiting).unwrap();
            if wanted.wakers.is_empty() {
                return;
            }
            let among = wanted.wakers.len();
            let (waker, woken) = wanted.wakers.swap_remove(random.below_usize(among));
            drop(wanted);
            match random.below(8) {
                0 => waker.wake_by_ref(),
                1 => thread::yield_now(),
                _ => {}
            }
            woken.fetch_add(1, Ordering::Release);
            waker.wake();
        }
    }

    /// Waits to be woken by a foreign thread.
    async fn wait(&self) {
        let woken = Arc::new(AtomicU32::new(0));
        let mut asked = false;
        poll_fn(|cx| {
            if woken.load(Ordering::Acquire) > 0 {
                return Poll::Ready(());
            }
            // Only once: the waker of a future stays the same for its life.
            if !std::mem::replace(&mut asked, true) {
                let waker = (cx.waker().clone(), Arc::clone(&woken));
                self.wanted.lock().unwrap().wakers.push(waker);
                self.changed.notify_one();
            }
            Poll::Pending
        })
        .await;
    }

    fn close(&self) {
        self.wanted.lock().unwrap().closed = true;
        self.changed.notify_all();
    }
}

/// A node on its way.
struct Piece {
    node: usize,
    world: Arc<World>,
}

impl Piece {
    fn new(node: usize, world: &Arc<World>) -> Self {
        world.made.count(node);
        Self { node, world: Arc::clone(world) }
    }

    fn node(&self) -> &Node {
        &self.world.program.nodes[self.node]
    }

    /// Counts the node as run, and returns how to spawn its children.
    fn run(&self) -> XorShift64 {
        self.world.runs.count(self.node);
        self.world.all_runs.fetch_add(1, Ordering::Relaxed);
        XorShift64::new(self.node().seed)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.world.ends.count(self.node);
    }
}

/// What all nodes share, and what happened to them.
struct World {
    program: Program,
    station: Arc<Station>,
    /// How often each node was made, run, and dropped, run or not.
    made: Arc<Runs>,
    runs: Arc<Runs>,
    ends: Arc<Runs>,
    all_runs: AtomicU64,
    /// The number of successful spawns.
    tasks: AtomicU64,
    futures: AtomicU64,
    items: AtomicU64,
    /// The number of refused spawns, and of futures that lost a child.
    lost: AtomicU64,
}

impl World {
    fn count<R, E>(&self, spawned: &AtomicU64, result: Result<R, E>) -> Option<R> {
        let counter = if result.is_ok() { spawned } else { &self.lost };
        counter.fetch_add(1, Ordering::Relaxed);
        result.ok()
    }
}

enum Task {
    Run(Piece),
    /// A piece that was pushed by `push_then` is in its queue.
    Pushed(Result<(), PushError<Piece>>),
    Consume(QueueTurn<Piece>),
}

/// What nodes spawn through.
#[derive(Clone)]
struct Doors {
    world: Arc<World>,
    handle: ExecutorHandle<Task>,
    queues: Arc<[GatedQueue<Piece>]>,
    /// Always granted at once: a way for a future to spawn a task while the pool is being joined.
    free: CountBudget,
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Doors {
    /// Every second queue is bounded, and soon full.
    fn new(world: &Arc<World>, handle: ExecutorHandle<Task>, random: &mut XorShift64) -> Self {
        let queue = |number: usize| {
            let capacity = (number % 2 == 1).then_some(4);
            let config = QueueConfig::new().capacity(capacity).batch(1 + random.below_usize(16));
            GatedQueue::with_config(&handle, &config, Task::Consume).unwrap()
        };
        let queues = (0..QUEUES).map(queue).collect();
        let free = CountBudget::new(1 << 20).unwrap();
        Self { world: Arc::clone(world), handle, queues, free }
    }

    fn run_task(&self, task: Task, ctx: &mut WorkerCtx<'_, Task, ()>) {
        match task {
            Task::Run(piece) => self.run_on_worker(&piece, ctx),
            Task::Pushed(result) => drop(self.world.count(&self.world.items, result)),
            Task::Consume(turn) => drop(turn.run(|piece| self.run_on_worker(&piece, ctx))),
        }
    }

    /// Runs a task or an item.
    fn run_on_worker(&self, piece: &Piece, ctx: &mut WorkerCtx<'_, Task, ()>) {
        let mut random = piece.run();
        for child in piece.node().children.iter().copied() {
            let piece = Piece::new(child, &self.world);
            match piece.node().kind {
                Kind::Task => self.spawn_from_worker(piece, ctx, &mut random),
                Kind::Future if random.below(2) == 0 => {
                    ctx.spawn_future(self.future(piece)).detach();
                    self.world.futures.fetch_add(1, Ordering::Relaxed);
                }
                Kind::Future => drop(self.spawn_future(piece)),
                Kind::Item(queue) => self.push_on_worker(&self.queues[queue], piece, &mut random),
            }
        }
    }

    fn spawn_from_worker(
        &self,
        piece: Piece,
        ctx: &mut WorkerCtx<'_, Task, ()>,
        random: &mut XorShift64,
    ) {
        match random.below(5) {
            0 => ctx.spawn_local(Task::Run(piece)),
            1 => ctx.spawn_local_batch([Task::Run(piece)]),
            2 => ctx.spawn_global(Task::Run(piece)),
            3 => ctx.spawn_yielded(Task::Run(piece)),
            _ => return self.spawn_granted(piece),
        }
        self.world.tasks.fetch_add(1, Ordering::Relaxed);
    }

    fn push_on_worker(&self, queue: &GatedQueue<Piece>, piece: Piece, random: &mut XorShift64) {
        // Only a queue without a bound has room at all times.
        if queue.capacity().is_none() && random.below(2) == 0 {
            self.world.count(&self.world.items, queue.push(piece));
        } else {
            let pushed = queue.push_then(piece, &self.handle, Task::Pushed);
            self.world.count(&self.world.tasks, pushed);
        }
    }

    fn spawn_granted(&self, piece: Piece) {
        let spawned = self.free.acquire_then(1, &self.handle, |_granted| Task::Run(piece));
        self.world.count(&self.world.tasks, spawned);
    }

    fn spawn_future(&self, piece: Piece) -> Option<JoinHandle<()>> {
        let spawned = self.handle.spawn_future(self.future(piece));
        self.world.count(&self.world.futures, spawned)
    }

    /// The future of a piece. (In a box: it spawns others of its kind.)
    fn future(&self, piece: Piece) -> BoxedFuture {
        Box::pin(self.clone().run_as_future(piece))
    }

    async fn run_as_future(self, piece: Piece) {
        let mut random = piece.run();
        let node = piece.node();
        let spawns_first = random.below(2) == 0 || matches!(node.waits, Waits::ForEver);
        if !spawns_first {
            self.wait(node.waits).await;
        }
        let mut children = Vec::new();
        for child in &node.children {
            let piece = Piece::new(*child, &self.world);
            match piece.node().kind {
                Kind::Task => self.spawn_task(piece),
                Kind::Future => children.extend(self.spawn_future(piece)),
                Kind::Item(queue) => {
                    let pushed = match &self.queues[queue] {
                        queue if queue.capacity().is_none() => queue.push(piece),
                        bounded => bounded.push_async(piece).await,
                    };
                    self.world.count(&self.world.items, pushed);
                }
            }
        }
        if spawns_first {
            self.wait(node.waits).await;
        }
        if matches!(node.waits, Waits::ForChildren) {
            for child in children {
                let lost = child.await.is_err();
                self.world.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
            }
        }
    }

    /// Spawns as a future does, which has no `WorkerCtx`.
    fn spawn_task(&self, piece: Piece) {
        match self.handle.spawn(Task::Run(piece)) {
            Ok(()) => drop(self.world.tasks.fetch_add(1, Ordering::Relaxed)),
            // The pool is being joined: a handle's tasks count as from outside.
            Err(refused) => match refused.into_inner() {
                Task::Run(piece) => self.spawn_granted(piece),
                _ => unreachable!("it was a piece"),
            },
        }
    }

    async fn wait(&self, waits: Waits) {
        match waits {
            Waits::Yields(times) => {
                for _ in 0..times {
                    heist::yield_now().await;
                }
            }
            Waits::ForThreads(times) => {
                for _ in 0..times {
                    self.world.station.wait().await;
                }
            }
            Waits::ForEver => std::future::pending().await,
            Waits::Not | Waits::ForChildren => {}
        }
    }
}

/// A number that differs from run to run, unless `HEIST_ONE_POOL_SEED` repeats a program.
fn seeds() -> impl Iterator<Item = u64> {
    let given = std::env::var("HEIST_ONE_POOL_SEED").ok();
    let given = given.map(|seed| seed.parse().expect("HEIST_ONE_POOL_SEED is a number"));
    let now =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    let (first, programs) = (given.unwrap_or_else(now), given.map_or(PROGRAMS, |_| 1));
    (0..programs).map(move |program| first.wrapping_add(program))
}

/// A running program.
struct Play {
    executor: Executor<Task>,
    doors: Doors,
    foreign: Vec<thread::JoinHandle<()>>,
}

impl Play {
    fn start(random: &mut XorShift64, is_stopped: bool) -> Self {
        let seed = random.next_u64();
        let config = ExecutorConfig::new(1 + random.below_usize(4))
            .seed(seed)
            .spin_iters([0, 5, 200][random.below_usize(3)])
            .stealing(random.below(6) != 0)
            .lifo_slot(random.below(4) != 0)
            .lifo_stealing(random.below(2) == 0)
            .injector_batch(1 + random.below_usize(64));
        let station = Arc::<Station>::default();
        let world = Arc::new(World {
            program: Program::new(random, is_stopped),
            station: Arc::clone(&station),
            made: Runs::of(NODES),
            runs: Runs::of(NODES),
            ends: Runs::of(NODES),
            all_runs: AtomicU64::new(0),
            tasks: AtomicU64::new(0),
            futures: AtomicU64::new(0),
            items: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        let doors = Arc::<OnceLock<Doors>>::default();
        let for_tasks = Arc::clone(&doors);
        let runner = move |task, ctx: &mut WorkerCtx<'_, Task, ()>| {
            for_tasks.get().expect("set before the first task").run_task(task, ctx);
        };
        let executor = Executor::new(config, |_worker| (), runner).unwrap();
        let doors = doors.get_or_init(|| Doors::new(&world, executor.handle(), random)).clone();
        let foreign = (0..2)
            .map(|thread| {
                let (station, random) =
                    (Arc::clone(&station), XorShift64::for_worker(seed, thread));
                thread::spawn(move || station.work(random))
            })
            .collect();
        let play = Self { executor, doors, foreign };
        play.spawn_root();
        play
    }

    fn spawn_root(&self) {
        let (doors, root) = (&self.doors, Piece::new(0, &self.doors.world));
        match root.node().kind {
            Kind::Task => doors.spawn_task(root),
            Kind::Future => drop(doors.spawn_future(root)),
            Kind::Item(queue) => {
                doors.world.count(&doors.world.items, doors.queues[queue].push(root));
            }
        }
    }

    fn world(&self) -> Arc<World> {
        Arc::clone(&self.doors.world)
    }

    /// Waits until this many nodes have run.
    fn wait_for_runs(&self, runs: u64) {
        while self.doors.world.all_runs.load(Ordering::Relaxed) < runs {
            thread::yield_now();
        }
    }

    /// Waits for the end of everything. Returns the metrics, and how many turns the queues have
    /// had.
    fn join(self) -> (MetricsSnapshot, Vec<QueueStats>) {
        let metrics = self.executor.join();
        self.doors.world.station.close();
        for thread in self.foreign {
            thread.join().unwrap();
        }
        (metrics, self.doors.queues.iter().map(GatedQueue::stats).collect())
    }
}

/// The metrics count exactly the futures that were spawned, and none is left.
#[track_caller]
fn check_futures(metrics: &MetricsSnapshot, spawned: u64) {
    assert_eq!(metrics.futures_spawned, spawned, "{metrics}");
    assert_eq!(metrics.futures_ended, spawned, "{metrics}");
    assert_eq!(metrics.futures_live(), 0, "{metrics}");
}

#[test]
fn tasks_futures_and_items_spawn_each_other_and_each_is_run_once() {
    for seed in seeds() {
        println!("HEIST_ONE_POOL_SEED={seed}");
        watched(move || {
            let mut random = XorShift64::new(seed);
            let play = Play::start(&mut random, false);
            let world = play.world();
            // Joined at the beginning, somewhere on the way, or when nothing is left to be done.
            let runs_before = [0, random.below_usize(NODES), NODES][random.below_usize(3)];
            play.wait_for_runs(runs_before as u64);
            let (metrics, queues) = play.join();

            assert_eq!(world.lost.load(Ordering::Relaxed), 0, "pieces refused or lost");
            world.made.check_each_once();
            world.runs.check_each_once();
            world.ends.check_each_once();
            let program = &world.program;
            let futures = program.count(|kind| kind == Kind::Future);
            check_futures(&metrics, futures);
            assert!(metrics.polls >= futures, "{metrics}");
            let items = program.count(|kind| matches!(kind, Kind::Item(_)));
            assert_eq!(queues.iter().map(|queue| queue.consumed).sum::<u64>(), items);
            assert_eq!(queues.iter().map(|queue| queue.dropped).sum::<u64>(), 0);
            // Those of the program, and one for each `push_then`.
            let tasks = world.tasks.load(Ordering::Relaxed);
            assert!(tasks >= program.count(|kind| kind == Kind::Task));
            let turns = queues.iter().map(|queue| queue.turns).sum();
            check_all_run_with_turns(&metrics, tasks, turns);
            assert_eq!(metrics.tasks_waiting, 0, "{metrics}");
        });
    }
}

#[test]
fn in_a_pool_that_is_stopped_each_is_run_or_dropped_once() {
    for seed in seeds() {
        println!("HEIST_ONE_POOL_SEED={seed}");
        watched(move || {
            let mut random = XorShift64::new(seed);
            let play = Play::start(&mut random, true);
            let world = play.world();
            play.wait_for_runs(random.below_usize(NODES) as u64);
            play.doors.handle.shutdown();
            let (metrics, queues) = play.join();

            for node in 0..NODES {
                let (made, ended) = (world.made.get(node), world.ends.get(node));
                assert!(made <= 1, "node {node} was made {made} times");
                assert_eq!(ended, made, "pieces of node {node} that ended");
                assert!(world.runs.get(node) <= made, "node {node} was run too often");
            }
            check_futures(&metrics, world.futures.load(Ordering::Relaxed));
            // What is left are the tasks that consumed, or would have.
            let (tasks, ended) = (world.tasks.load(Ordering::Relaxed), metrics.tasks_ended());
            assert!(ended >= tasks, "{tasks} tasks were spawned: {metrics}");
            check_finished(&metrics, ended);
            for queue in &queues {
                assert_eq!(queue.consumed + queue.dropped, queue.pushed, "{queue:?}");
            }
        });
    }
}
