//! Proves that thousands of gated queues can share one executor: every item of every queue is
//! consumed once, in the order of its producer; and idle queues cost nothing.

use crate::support::queued::check_all_run_with_turns;
use crate::support::{watched, workers};
use heist::rng::XorShift64;
use heist::{Executor, GatedQueue, QueueConfig, QueueTurn, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const QUEUES: usize = 4_096;
const PRODUCERS: usize = 4;

/// ThreadSanitizer makes everything ten times slower.
const ITEMS: usize = if cfg!(heist_tsan) { 100_000 } else { 1_000_000 };

/// A task, which the consumer of another queue spawns, pushes one in this many items.
const RELAYED: u32 = 64;

struct Item {
    producer: usize,
    /// Its number among this producer's items in this queue.
    number: u32,
    /// Another queue that should get one more item.
    relay_to: Option<usize>,
}

/// What the consumer of a queue has seen. There is only one consumer, so this needs no lock; the
/// flag shows whether that is wrong.
#[derive(Default)]
struct Seen {
    busy: AtomicBool,
    next: [AtomicU32; PRODUCERS],
    relayed: AtomicU32,
}

#[derive(Default)]
struct Faults {
    two_consumers: AtomicU64,
    out_of_order: AtomicU64,
    refused: AtomicU64,
}

enum Task {
    Consume(usize, QueueTurn<Item>),
    Relay(usize),
}

/// Returns a seed that is different in every run, unless `HEIST_QUEUES_SEED` sets it.
fn seed() -> u64 {
    let now =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    let given = std::env::var("HEIST_QUEUES_SEED").ok();
    given.map_or_else(now, |seed| seed.parse().expect("HEIST_QUEUES_SEED is a number"))
}

type Queues = Arc<std::sync::OnceLock<Vec<GatedQueue<Item>>>>;

fn run_task(
    task: Task,
    ctx: &mut WorkerCtx<'_, Task, ()>,
    seen: &[Seen],
    faults: &Faults,
    queues: &Queues,
) {
    match task {
        Task::Consume(queue, turn) => {
            let seen = &seen[queue];
            turn.run(|item| {
                if seen.busy.swap(true, Ordering::AcqRel) {
                    faults.two_consumers.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(next) = seen.next.get(item.producer) {
                    // A load and a store, which is enough because no second thread writes.
                    let expected = next.load(Ordering::Relaxed);
                    let in_order = expected == item.number;
                    faults.out_of_order.fetch_add(u64::from(!in_order), Ordering::Relaxed);
                    next.store(expected + 1, Ordering::Relaxed);
                } else {
                    seen.relayed.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(other) = item.relay_to {
                    ctx.spawn_local(Task::Relay(other));
                }
                seen.busy.store(false, Ordering::Release);
            });
        }
        Task::Relay(queue) => {
            let queue = &queues.get().expect("set before the first push")[queue];
            let relayed = Item { producer: PRODUCERS, number: 0, relay_to: None };
            if queue.push(relayed).is_err() {
                faults.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Pushes items into random queues, in bursts of random length. Returns how many went into each
/// queue, and how many of them ask for one more.
fn produce(producer: usize, queues: &[GatedQueue<Item>], seed: u64) -> (Vec<u32>, u32) {
    let mut random = XorShift64::for_worker(seed, producer);
    let (mut pushed, mut relayed) = (vec![0_u32; queues.len()], 0);
    let mut left = ITEMS / PRODUCERS;
    while left > 0 {
        // Half of the bursts go to a few queues, which are always busy.
        let among = if random.below(2) == 0 { 8 } else { queues.len() };
        let queue = random.below_usize(among);
        let burst = (1 + random.below_usize(100)).min(left);
        for _ in 0..burst {
            let relay_to = (random.below(RELAYED) == 0).then(|| random.below_usize(queues.len()));
            relayed += u32::from(relay_to.is_some());
            let item = Item { producer, number: pushed[queue], relay_to };
            queues[queue].push(item).expect("the pool is open");
            pushed[queue] += 1;
        }
        left -= burst;
    }
    (pushed, relayed)
}

#[test]
fn a_million_items_through_4096_queues_arrive_once_and_in_order() {
    watched(|| {
        let seed = seed();
        println!("HEIST_QUEUES_SEED={seed}");
        let seen: Arc<Vec<Seen>> = Arc::new((0..QUEUES).map(|_| Seen::default()).collect());
        let (faults, queues) = (Arc::new(Faults::default()), Queues::default());
        let runner = {
            let (seen, faults, queues) = (Arc::clone(&seen), Arc::clone(&faults), queues.clone());
            move |task: Task, ctx: &mut WorkerCtx<'_, Task, ()>| {
                run_task(task, ctx, &seen, &faults, &queues);
            }
        };
        let executor = Executor::new(workers(3), |_worker| (), runner).unwrap();
        let handle = executor.handle();
        let mut random = XorShift64::new(seed);
        let all = (0..QUEUES).map(|queue| {
            let config = QueueConfig::new().batch(1 + random.below_usize(64));
            GatedQueue::with_config(&handle, &config, move |turn| Task::Consume(queue, turn))
        });
        assert!(queues.set(all.collect::<Result<_, _>>().unwrap()).is_ok());
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let queues = queues.clone();
                thread::spawn(move || produce(producer, queues.get().unwrap(), seed))
            })
            .collect();
        let pushed: Vec<_> = producers.into_iter().map(|p| p.join().unwrap()).collect();
        let metrics = executor.join();

        for (queue, seen) in seen.iter().enumerate() {
            for (producer, (pushed, _)) in pushed.iter().enumerate() {
                let arrived = seen.next[producer].load(Ordering::Relaxed);
                assert_eq!(arrived, pushed[queue], "queue {queue}, producer {producer}");
            }
        }
        let relays: u32 = pushed.iter().map(|(_, relayed)| relayed).sum();
        let relayed: u32 = seen.iter().map(|seen| seen.relayed.load(Ordering::Relaxed)).sum();
        assert_eq!(relayed, relays, "items pushed by tasks");
        assert_eq!(faults.two_consumers.load(Ordering::Relaxed), 0, "two consumers of a queue");
        assert_eq!(faults.out_of_order.load(Ordering::Relaxed), 0, "items out of order");
        assert_eq!(faults.refused.load(Ordering::Relaxed), 0, "refused items of tasks");
        let stats = queues.get().unwrap().iter().map(GatedQueue::stats);
        let turns: u64 = stats.clone().map(|stats| stats.turns).sum();
        assert_eq!(
            stats.map(|stats| stats.consumed).sum::<u64>(),
            (ITEMS + relayed as usize) as u64
        );
        check_all_run_with_turns(&metrics, u64::from(relays), turns);
        println!("{turns} turns; {metrics}");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn idle_queues_make_no_context_switch() {
    use crate::support::queued::consumed_by;
    use crate::support::silence::check_silent_for;
    use crate::support::{start_jobs, wait_until};
    use std::time::Duration;

    watched(|| {
        let config = workers(2).thread_name("sleepers");
        let executor = start_jobs(config);
        let handle = executor.handle();
        let consumed = Arc::new(AtomicU64::new(0));
        let queues: Vec<_> = (0..1_000)
            .map(|number| {
                let count = Arc::clone(&consumed);
                let consume = consumed_by(move |()| {
                    count.fetch_add(1, Ordering::Release);
                });
                let capacity = (number % 2 == 0).then_some(1);
                let config = QueueConfig::new().capacity(capacity);
                GatedQueue::with_config(&handle, &config, consume).unwrap()
            })
            .collect();
        check_silent_for("sleepers", 2, Duration::from_millis(500));
        queues.iter().for_each(|queue| queue.push(()).unwrap());
        wait_until("all are consumed", || consumed.load(Ordering::Acquire) == 1_000);
        check_silent_for("sleepers", 2, Duration::from_millis(500));
        executor.join();
    });
}
