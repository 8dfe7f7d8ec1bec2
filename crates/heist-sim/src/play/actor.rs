//! Actors: threads that use the pool from outside.

use super::permits::Held;
use super::task::{Job, Task};
use super::{futures, gates, handles, items, permits, signals, stop};
use crate::machine::machine;
use crate::scenario::{Act, To};
use crate::world::{Of, Place, Producer, Refusable, World, world};
use heist::__internal::sync::machine::Machine;
use heist::__internal::sync::{Ordering, fence};
use heist::{CancelToken, ExecutorHandle, SpawnError};
use std::collections::VecDeque;

/// Performs the acts of an actor. Returns what it holds at its end.
pub(super) fn act(
    number: usize,
    acts: &[Act],
    handle: &ExecutorHandle<Job>,
    cancel: &CancelToken,
) -> VecDeque<Held> {
    let mut held = VecDeque::new();
    for act in acts {
        machine().say(|| format!("{act:?}"));
        match act {
            Act::Spawn { program, hold } => {
                if *hold && !take_permit() {
                    continue;
                }
                let task = Task::new(*program, Place::Injector, true);
                let job = task.number();
                world(|world| world.job(job).permit = *hold);
                offer(&[job], Refusable::OnceClosed, || handle.spawn(Job::Program(task)));
            }
            Act::Batch { program, count } => {
                let tasks: Vec<_> =
                    (0..*count).map(|_| Task::new(*program, Place::Injector, true)).collect();
                let numbers: Vec<_> = tasks.iter().map(Task::number).collect();
                let jobs: Vec<_> = tasks.into_iter().map(Job::Program).collect();
                offer(&numbers, Refusable::OnceClosed, || handle.spawn_batch(jobs));
            }
            Act::Run { ns } => machine().work(*ns),
            Act::Sleep { ns } => {
                let never_notified = machine().allocate(0);
                // A spurious wake-up only makes the sleep shorter.
                machine().wait(never_notified, Some(*ns));
            }
            Act::Block { gate } => gates::wait_at(*gate),
            Act::Open { gate } => gates::open(*gate),
            Act::Wake { gate } => gates::wake_for_nothing(*gate),
            Act::Shutdown => {
                stop();
                handle.shutdown();
                world(World::has_stopped);
            }
            Act::Cancel => {
                stop();
                cancel.cancel();
                // A cancelled pool accepts nothing, whether it has noticed or not. But other
                // threads can only know of the cancellation once the store has arrived.
                fence(Ordering::SeqCst);
                world(World::has_stopped);
            }
            Act::Vanish => {
                world(|world| world.keep_forever(handle.clone()));
                // Leak it instead of keeping it in the world: if it were given back after the
                // schedule, the next schedule would count it as its own.
                std::mem::forget(std::mem::take(&mut held));
                break;
            }
            Act::Push { to, count, push } => {
                for _ in 0..*count {
                    items::push(*to, *push, handle, Producer::this_actor());
                }
            }
            Act::CloseQueue { queue, drops } => items::close(&[To::Queue(*queue)], *drops),
            Act::CloseLanes { drops } => items::close_lanes(*drops),
            Act::Acquire { budget, count, timeout_ns } => {
                held.extend(permits::acquire(*budget, *count, *timeout_ns));
            }
            Act::Await { budget, count, patience_ns } => {
                held.extend(permits::acquire_async(*budget, *count, *patience_ns));
            }
            Act::TryAcquire { budget, count } => held.extend(permits::try_acquire(*budget, *count)),
            Act::AcquireThen { budget, count, program, panics } => {
                permits::acquire_then(*budget, *count, (*program, *panics), handle, true);
            }
            Act::AcquireSlot { device } => held.extend(permits::acquire_slot(*device)),
            Act::Release => drop(held.pop_front()),
            Act::Resize { budget, total } => permits::resize(Of::Budget(*budget), *total),
            Act::SetSlots { device, slots } => permits::resize(Of::Device(*device), *slots as u64),
            Act::CloseBudget { budget } => permits::close(*budget),
            Act::Publish { queue, count } => signals::publish(*queue, number, *count),
            Act::Consume { batch, drops_guard } => signals::consume(*batch, *drops_guard),
            Act::SpawnFuture { future, handle: kept } => {
                futures::spawn(*future, *kept, |future| handle.spawn_future(future));
            }
            Act::RunFuture { future, handle: kept } => futures::run_here(*future, *kept, handle),
            Act::UseHandle { future, how } => {
                if let Some(awaited) = handles::use_one(*future, *how) {
                    awaited.block();
                }
            }
        }
    }
    held
}

/// Offers tasks to the pool.
pub(super) fn offer<R>(
    jobs: &[usize],
    refusable: Refusable,
    spawn: impl FnOnce() -> Result<(), SpawnError<R>>,
) {
    let was_closed = world(|world| world.must_refuse(refusable));
    match spawn() {
        Ok(()) => world(|world| jobs.iter().for_each(|job| world.accepted(*job, was_closed))),
        Err(refused) => {
            machine().say(|| format!("refused: {refused}"));
            world(|world| jobs.iter().for_each(|job| world.refused(*job, refusable)));
            drop(refused);
        }
    }
}

/// Waits for a permit. Returns `false` if the pool was closed, because there may never be one then.
fn take_permit() -> bool {
    loop {
        let (taken, stopped, word) =
            world(|world| (world.try_take_permit(), world.is_closed(), world.permit_word()));
        if taken || stopped {
            return taken;
        }
        machine().wait(word, None);
    }
}
