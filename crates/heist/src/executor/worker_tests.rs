//! How many tasks a worker takes at a time: from another worker the older half of its queue,
//! rounded up and at most 64; from the injector its share, from 4 to 64.

use super::ExecutorConfig;
use super::shared::PoolShared;
use super::worker::Worker;
use crate::policy::Context;
use crate::queue::Order;
use crate::sync::Arc;

type Pool = (Arc<PoolShared<usize>>, Vec<Worker<usize>>);

fn pool(workers: usize) -> Pool {
    PoolShared::new(&ExecutorConfig::new(workers))
}

/// Returns how many tasks one steal takes from a worker that has `queued`. Checks that the steal
/// returns an old task.
fn stolen_of(queued: usize) -> u64 {
    let (shared, mut workers) = pool(2);
    let [victim, thief] = workers.as_mut_slice() else { panic!("two workers") };
    victim.spawn_local_batch(0..queued);
    let stolen = thief.steal_from(0).success();
    let moved = shared.metrics_snapshot().tasks_moved;
    assert_eq!(stolen.is_some(), queued > 0);
    assert!(stolen.is_none_or(|task| (task as u64) < moved), "{stolen:?} of {moved}");
    moved
}

#[test]
fn a_steal_takes_half_rounded_up() {
    let expected = [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (99, 50), (127, 64)];
    for (queued, stolen) in expected {
        assert_eq!(stolen_of(queued), stolen, "of {queued}");
    }
}

#[test]
fn a_steal_takes_64_at_most() {
    for queued in [127, 128, 129, 130, 1_000] {
        assert_eq!(stolen_of(queued), 64, "of {queued}");
    }
}

/// Returns how many of `queued` tasks in the injector one of `workers` takes at a time.
fn injected_share(workers: usize, queued: usize) -> usize {
    let (shared, mut workers) = pool(workers);
    shared.spawn_drain(&mut (0..queued).collect()).unwrap();
    assert_eq!(workers[0].pop_injector(Order::All, usize::MAX), Some(0), "the oldest");
    queued - shared.injector.len()
}

#[test]
fn a_worker_takes_its_share_of_the_injector_from_4_to_64() {
    for (workers, queued, share) in [
        // Fewer than 4 for each: 4, or all that there are.
        (4, 1, 1),
        (4, 3, 3),
        (4, 4, 4),
        (4, 19, 4),
        // A share, rounded down.
        (4, 20, 5),
        (4, 23, 5),
        (1, 50, 50),
        (2, 100, 50),
        // 64 at most.
        (4, 255, 63),
        (4, 256, 64),
        (4, 260, 64),
        (1, 10_000, 64),
    ] {
        assert_eq!(injected_share(workers, queued), share, "{queued} for {workers} workers");
    }
}

#[test]
fn the_configuration_bounds_the_batches() {
    let config = ExecutorConfig::new(2).steal_batch(5).injector_batch(6);
    let (shared, mut workers) = PoolShared::<usize>::new(&config);
    shared.spawn_drain(&mut (0..100).collect()).unwrap();
    workers[0].pop_injector(Order::All, usize::MAX);
    assert_eq!(shared.injector.len(), 94);
    workers[0].spawn_local_batch(100..200);
    assert!(workers[1].steal_from(0).is_success());
    assert_eq!(shared.metrics_snapshot().tasks_moved, 5);
}
