//! Proves that on one executor no kind of work starves another. Beside an endless *supply* of typed
//! tasks, futures or queue items, *the one*, a piece of another kind that is queued again and
//! again, gets its turn soon each time.
//!
//! There is one worker: with several, an idle one would help out and hide the starvation. Time is
//! counted in pieces of the supply that go first, so a slow machine does not matter. No supply
//! lasts longer than some seconds.

use crate::support::sync::Mutex;
use crate::support::{wait_until, watched, workers};
use heist::{Executor, ExecutorHandle, GatedQueue, QueueTurn, WorkerCtx};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How many turns the one gets before the supply ends.
const TURNS: usize = 200;

/// The number of pieces in supplies that consist of many.
const AT_A_TIME: usize = 32;

/// How much of the supply may go first: some batches, each of at most 64. (The most that was seen
/// is 64.)
const FAIR: u64 = 256;

/// If the supply lasts this long, the one was starved. Usually it ends after some milliseconds.
const SUPPLY_TIME_MAX: Duration = Duration::from_secs(10);

/// The endless supply.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Supply {
    /// Tasks, each of which spawns the next onto its worker's own queue.
    Tasks,
    /// The same through the injector, many of them at a time.
    InjectedTasks,
    /// Tasks that yield.
    YieldingTasks,
    /// A queue whose consumer pushes an item for each that it takes.
    Items,
    /// Futures that yield and go on.
    YieldingFutures,
    /// Futures, each of which spawns the next.
    FuturesThatSpawn,
    /// Two futures that wake each other: each comes to the LIFO slot.
    FuturesThatWake,
    /// A future that is always ready, except when its budget is used up.
    BusyFuture,
}

/// The kinds of the one, which must get its turn. Each records how much of the supply went first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum One {
    LocalTask,
    InjectedTask,
    YieldingTask,
    /// A task from a thread that is not a worker.
    TaskFromOutside,
    Item,
    YieldingFuture,
    /// A future that spawns another one like it, and ends.
    SpawnedFuture,
    FutureFromOutside,
    /// A future that a foreign thread wakes.
    FutureWokenOutside,
}

const ONES: [One; 9] = [
    One::LocalTask,
    One::InjectedTask,
    One::YieldingTask,
    One::TaskFromOutside,
    One::Item,
    One::YieldingFuture,
    One::SpawnedFuture,
    One::FutureFromOutside,
    One::FutureWokenOutside,
];

impl One {
    fn comes_from_outside(self) -> bool {
        matches!(self, Self::TaskFromOutside | Self::FutureFromOutside | Self::FutureWokenOutside)
    }
}

enum Task {
    Supply,
    One,
    Consume(QueueTurn<Item>),
}

#[derive(Clone, Copy, PartialEq)]
enum Item {
    Supply,
    One,
}

/// What a foreign thread does for the one.
enum Errand {
    Wake(Waker),
    SpawnTask,
    SpawnFuture,
}

struct Bench {
    supply: Supply,
    one: One,
    /// Pieces of the supply so far.
    supplied: AtomicU64,
    /// The supply when the one was queued.
    queued_at: AtomicU64,
    /// How much of the supply went before each turn of the one.
    waits: Mutex<Vec<u64>>,
    ended: AtomicBool,
    deadline: Instant,
    pair: Mutex<[Option<Waker>; 2]>,
    errands: Mutex<Option<Sender<Errand>>>,
    doors: OnceLock<(ExecutorHandle<Task>, [GatedQueue<Item>; 2])>,
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

type Ctx<'w> = WorkerCtx<'w, Task, ()>;

impl Bench {
    fn handle(&self) -> &ExecutorHandle<Task> {
        &self.doors.get().expect("set at the beginning").0
    }

    /// The queue of the supply, or of the one.
    fn queue(&self, item: Item) -> &GatedQueue<Item> {
        &self.doors.get().expect("set at the beginning").1[item as usize]
    }

    fn push(&self, item: Item) {
        self.queue(item).push(item).expect("the pool is open, or this is one of its tasks");
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Counts a piece of the supply. Returns `true` if there must be another one.
    fn supply_goes_on(&self) -> bool {
        let supplied = self.supplied.fetch_add(1, Ordering::Relaxed);
        if supplied.is_multiple_of(1_024) && Instant::now() > self.deadline {
            self.ended.store(true, Ordering::Release);
        }
        !self.has_ended()
    }

    /// The one is about to be queued.
    fn queue_one(&self) {
        self.queued_at.store(self.supplied.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Counts a turn of the one. Returns `true` if it must be queued again.
    fn one_comes_again(&self) -> bool {
        let waited = self.supplied.load(Ordering::Relaxed) - self.queued_at.load(Ordering::Relaxed);
        let mut waits = self.waits.lock().unwrap();
        waits.push(waited);
        if waits.len() == TURNS {
            self.ended.store(true, Ordering::Release);
        }
        !self.has_ended()
    }

    fn run_errand(self: &Arc<Self>, errand: Errand) {
        self.queue_one();
        match errand {
            Errand::Wake(waker) => waker.wake(),
            Errand::SpawnTask => self.handle().spawn(Task::One).expect("the pool is open"),
            Errand::SpawnFuture => self.spawn(Self::one_future),
        }
    }

    fn send(&self, errand: Errand) {
        let errands = self.errands.lock().unwrap();
        errands.as_ref().expect("open").send(errand).expect("the thread for errands runs");
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        future: fn(Arc<Self>) -> F,
    ) {
        let spawned = self.handle().spawn_future(future(Arc::clone(self)));
        spawned.expect("the pool is open, or this is one of its futures").detach();
    }

    fn run_task(self: &Arc<Self>, task: Task, ctx: &mut Ctx<'_>) {
        match task {
            Task::Supply if self.supply_goes_on() => match self.supply {
                Supply::Tasks => ctx.spawn_local(Task::Supply),
                Supply::YieldingTasks => ctx.spawn_yielded(Task::Supply),
                _ => ctx.spawn_global(Task::Supply),
            },
            Task::One if self.one_comes_again() => {
                self.queue_one();
                match self.one {
                    One::LocalTask => ctx.spawn_local(Task::One),
                    One::YieldingTask => ctx.spawn_yielded(Task::One),
                    One::TaskFromOutside => self.send(Errand::SpawnTask),
                    _ => ctx.spawn_global(Task::One),
                }
            }
            Task::Supply | Task::One => {}
            Task::Consume(turn) => drop(turn.run(|item| self.consume(item))),
        }
    }

    fn consume(&self, item: Item) {
        let comes_again = match item {
            Item::Supply => self.supply_goes_on(),
            Item::One => self.one_comes_again(),
        };
        if comes_again {
            if item == Item::One {
                self.queue_one();
            }
            self.push(item);
        }
    }

    async fn yielding_supply(self: Arc<Self>) {
        while self.supply_goes_on() {
            heist::yield_now().await;
        }
    }

    /// (Not `async`: it spawns another one of its own type.)
    fn spawning_supply(self: Arc<Self>) -> BoxedFuture {
        Box::pin(async move {
            if self.supply_goes_on() {
                self.spawn(Self::spawning_supply);
            }
        })
    }

    async fn busy_supply(self: Arc<Self>) {
        while self.supply_goes_on() {
            // A whole budget, so that a piece is a poll here as well.
            for _ in 0..heist::coop::OPERATIONS_PER_POLL {
                heist::coop::consume_budget().await;
            }
        }
    }

    /// Wakes the other of the two whenever it is polled.
    async fn waking_supply(self: Arc<Self>, own: usize) {
        poll_fn(|cx| {
            let goes_on = self.supply_goes_on();
            let mut pair = self.pair.lock().unwrap();
            pair[own] = goes_on.then(|| cx.waker().clone());
            let other = pair[1 - own].take();
            drop(pair);
            other.into_iter().for_each(Waker::wake);
            if goes_on { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    /// The one as a future.
    fn one_future(self: Arc<Self>) -> BoxedFuture {
        Box::pin(async move {
            while self.one_comes_again() {
                match self.one {
                    One::SpawnedFuture => {
                        self.queue_one();
                        return self.spawn(Self::one_future);
                    }
                    One::FutureFromOutside => return self.send(Errand::SpawnFuture),
                    One::FutureWokenOutside => self.wait_for_errand().await,
                    _ => {
                        self.queue_one();
                        heist::yield_now().await;
                    }
                }
            }
        })
    }

    async fn wait_for_errand(&self) {
        let mut asked = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(());
            }
            self.send(Errand::Wake(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    fn start_supply(self: &Arc<Self>) {
        let tasks = |count| {
            let tasks = std::iter::repeat_with(|| Task::Supply).take(count);
            self.handle().spawn_batch(tasks).unwrap();
        };
        match self.supply {
            Supply::Tasks => tasks(1),
            Supply::InjectedTasks | Supply::YieldingTasks => tasks(AT_A_TIME),
            Supply::Items => (0..AT_A_TIME).for_each(|_| self.push(Item::Supply)),
            Supply::YieldingFutures => {
                (0..AT_A_TIME).for_each(|_| self.spawn(Self::yielding_supply));
            }
            Supply::FuturesThatSpawn => self.spawn(Self::spawning_supply),
            Supply::FuturesThatWake => {
                self.spawn(|bench| bench.waking_supply(0));
                self.spawn(|bench| bench.waking_supply(1));
            }
            Supply::BusyFuture => self.spawn(Self::busy_supply),
        }
    }

    fn start_one(self: &Arc<Self>) {
        self.queue_one();
        match self.one {
            One::Item => self.push(Item::One),
            One::LocalTask | One::InjectedTask | One::YieldingTask | One::TaskFromOutside => {
                self.handle().spawn(Task::One).unwrap();
            }
            _ => self.spawn(Self::one_future),
        }
    }
}

fn run_errands(bench: &Arc<Bench>, errands: Receiver<Errand>) {
    for errand in errands {
        bench.run_errand(errand);
    }
}

/// How many pieces of the supply went before each turn of the one, in order of size.
fn waits(supply: Supply, one: One) -> Vec<u64> {
    let (sender, errands) = channel();
    let bench = Arc::new(Bench {
        supply,
        one,
        supplied: AtomicU64::new(0),
        queued_at: AtomicU64::new(0),
        waits: Mutex::new(Vec::new()),
        ended: AtomicBool::new(false),
        deadline: Instant::now() + SUPPLY_TIME_MAX,
        pair: Mutex::new([None, None]),
        errands: Mutex::new(Some(sender)),
        doors: OnceLock::new(),
    });
    let for_tasks = Arc::clone(&bench);
    let runner = move |task, ctx: &mut Ctx<'_>| for_tasks.run_task(task, ctx);
    let executor = Executor::new(workers(1), |_worker| (), runner).unwrap();
    let queue = || GatedQueue::unbounded(&executor.handle(), Task::Consume);
    assert!(bench.doors.set((executor.handle(), [queue(), queue()])).is_ok());
    let foreign = Arc::clone(&bench);
    let foreign = thread::spawn(move || run_errands(&foreign, errands));

    bench.start_supply();
    // In one batch with the supply, the one would come to the worker's own queue, below that.
    wait_until("the supply has begun", || bench.supplied.load(Ordering::Relaxed) > 0);
    bench.start_one();
    wait_until("the supply has ended", || bench.has_ended());
    executor.join();
    drop(bench.errands.lock().unwrap().take());
    foreign.join().unwrap();
    let mut waits = std::mem::take(&mut *bench.waits.lock().unwrap());
    let supplied = bench.supplied.load(Ordering::Relaxed);
    assert!(
        waits.len() >= TURNS,
        "{one:?} starved beside {supply:?}: it had {} turns while {supplied} pieces of that were run",
        waits.len()
    );
    // The first time it came from this thread, which may have been kept from running just before
    // that.
    waits.remove(0);
    waits.sort_unstable();
    waits
}

/// Requires that each of these has its turn soon beside each supply.
fn check_fair(supplies: impl IntoIterator<Item = Supply>) {
    for supply in supplies {
        for one in ONES {
            // In a worker's own queue the newest task goes first: that is not fair, by design.
            if supply == Supply::Tasks && one == One::LocalTask {
                continue;
            }
            let waits = waits(supply, one);
            let (longest, median) = (waits[waits.len() - 1], waits[waits.len() / 2]);
            println!("{one:?} beside {supply:?}: {median} go first, {longest} at most");
            // A foreign thread may be kept from running just before it hands the one in.
            let waited = if one.comes_from_outside() { median } else { longest };
            assert!(waited <= FAIR, "{one:?} beside {supply:?}: {waited} pieces went first");
        }
    }
}

#[test]
fn nothing_starves_beside_tasks() {
    watched(|| check_fair([Supply::Tasks, Supply::InjectedTasks, Supply::YieldingTasks]));
}

#[test]
fn nothing_starves_beside_a_queue() {
    watched(|| check_fair([Supply::Items]));
}

#[test]
fn nothing_starves_beside_futures() {
    watched(|| {
        check_fair([
            Supply::YieldingFutures,
            Supply::FuturesThatSpawn,
            Supply::FuturesThatWake,
            Supply::BusyFuture,
        ]);
    });
}
