//! The state that the threads for blocking calls share under one lock.
//!
//! A call waits in the queue, and the first free thread takes it. To bring a thread to the queue, a
//! sleeping one is woken or a new one is started: by the thread that queues a call, unless two
//! threads are on their way already; and by each of those two, when it takes its first call and
//! leaves others behind. So there are soon as many threads as calls, and each caller pays for one
//! or two of them at most. Calls shorter than a wake-up need few threads: those that are awake take
//! them.
//!
//! Invariants, whenever the lock is free:
//! - while a call is queued, and a thread sleeps or one more may be started, some thread is on its
//!   way to the queue (unless the system refuses threads);
//! - a thread that is listed as idle sleeps, or is about to, and the thread that takes it off the
//!   list wakes it;
//! - a thread ends only when the queue is empty. So a call that is queued while a thread lives will
//!   be taken.

use heist::__internal::Runnable;
use heist::__internal::sync::Unparker;
use heist::__internal::sync::mpsc::Sender;
use heist::__internal::sync::thread::JoinHandle;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

/// One thread, as seen by the others.
#[derive(Debug)]
pub(super) enum Thread {
    /// It is being started; the system may still refuse it.
    Starting,
    /// It runs, but the thread that started it has not recorded its handle yet.
    Unclaimed,
    /// It runs.
    Running(JoinHandle<()>),
    /// It ended before the thread that started it recorded its handle.
    Left,
}

/// A thread that sleeps.
#[derive(Debug)]
struct Idle {
    thread: u64,
    unparker: Unparker,
}

/// The shared state. See the module.
#[derive(Debug)]
pub(super) struct ThreadsState {
    queue: VecDeque<Runnable>,
    /// Used as a stack: the thread that was busy last is used first, because its stack is warm, and
    /// the others may retire.
    idle: Vec<Idle>,
    threads: BTreeMap<u64, Thread>,
    /// How many of them are [`Thread::Left`].
    left: usize,
    next_thread: u64,
    /// Threads on their way to the queue: woken or being started, and yet to look at it.
    to_look: usize,
    /// The last thread that retired. The next one waits for it, so at most one thread has left this
    /// state but not ended yet.
    retired: Option<JoinHandle<()>>,
    stopped: bool,
    /// Every thread holds a clone until its last line. `None` when the pool is done.
    running: Option<Sender<Infallible>>,
}

/// Each helper brings two more: after five times the duration of a wake-up there are 31.
const HELPERS: usize = 2;

/// An action to take after the lock is released.
#[derive(Debug)]
pub(super) enum Help {
    /// Wake this thread.
    Wake(Unparker),
    /// Start a thread with this number. It holds the sender until its last line.
    Start(u64, Sender<Infallible>),
}

impl ThreadsState {
    pub(super) fn new(running: Sender<Infallible>) -> Self {
        Self {
            queue: VecDeque::new(),
            idle: Vec::new(),
            threads: BTreeMap::new(),
            left: 0,
            next_thread: 0,
            to_look: 0,
            retired: None,
            stopped: false,
            running: Some(running),
        }
    }

    /// Returns `true` if calls are dropped instead of run.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped || self.is_done()
    }

    /// Returns `true` if no more calls will come.
    pub(super) fn is_done(&self) -> bool {
        self.running.is_none()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns how many threads there are, and how many of them are idle.
    pub(super) fn threads(&self) -> (usize, usize) {
        (self.threads.len() - self.left, self.idle.len())
    }

    pub(super) fn queue(&mut self, call: Runnable) {
        self.queue.push_back(call);
    }

    pub(super) fn queue_all(&mut self, calls: Vec<Runnable>) {
        self.queue.extend(calls);
    }

    /// Takes the next call.
    pub(super) fn take(&mut self) -> Option<Runnable> {
        self.queue.pop_front()
    }

    /// Counts an idle thread as on its way.
    fn wake_one(&mut self) -> Option<Unparker> {
        let idle = self.idle.pop()?;
        self.to_look += 1;
        Some(idle.unparker)
    }

    /// Counts one more thread as on its way, if there is a call that no thread is on its way to.
    fn get_one(&mut self, limit: usize) -> Option<Help> {
        if self.queue.len() <= self.to_look {
            return None;
        }
        if let Some(unparker) = self.wake_one() {
            return Some(Help::Wake(unparker));
        }
        // Threads that have ended do not count towards the limit, even if the thread that started
        // them does not know yet: it will not look at the queue again, so a call that waited for
        // that place would wait forever.
        if self.threads.len() - self.left >= limit {
            return None;
        }
        let running = self.running.clone()?;
        let id = self.next_thread;
        self.next_thread += 1;
        self.threads.insert(id, Thread::Starting);
        self.to_look += 1;
        Some(Help::Start(id, running))
    }

    /// Returns what the thread that has queued calls must do.
    pub(super) fn help_for_queued(&mut self, limit: usize) -> [Option<Help>; HELPERS] {
        if self.to_look >= HELPERS { [const { None }; HELPERS] } else { self.help_for_rest(limit) }
    }

    /// Returns what a thread must do that was on its way and has taken a call.
    pub(super) fn help_for_rest(&mut self, limit: usize) -> [Option<Help>; HELPERS] {
        [(); HELPERS].map(|()| self.get_one(limit))
    }

    /// Records that the system has started thread `id`. Returns a handle that need not be joined.
    pub(super) fn started(&mut self, id: u64, handle: JoinHandle<()>) -> Option<JoinHandle<()>> {
        match self.threads.get_mut(&id) {
            Some(thread @ (Thread::Starting | Thread::Unclaimed)) => {
                *thread = Thread::Running(handle);
                None
            }
            // It has ended, or the handles were taken in the meantime.
            _gone => {
                self.left -= usize::from(self.threads.remove(&id).is_some());
                self.retired.replace(handle)
            }
        }
    }

    /// Records that the system has refused thread `id`. If it was the only thread, this returns the
    /// queued calls, because no thread will take them. Otherwise the other threads take them when
    /// they are free; one of them may have to be woken.
    pub(super) fn refused(&mut self, id: u64) -> (VecDeque<Runnable>, Option<Unparker>) {
        self.threads.remove(&id);
        self.to_look -= 1;
        if self.threads().0 == 0 {
            return (std::mem::take(&mut self.queue), None);
        }
        let is_lacking = self.queue.len() > self.to_look;
        (VecDeque::new(), if is_lacking { self.wake_one() } else { None })
    }

    /// Records that thread `id`, which was on its way, looks at the queue now.
    pub(super) fn looks(&mut self, id: u64) {
        self.to_look -= 1;
        if let Some(thread @ Thread::Starting) = self.threads.get_mut(&id) {
            *thread = Thread::Unclaimed;
        }
    }

    /// Records that thread `id` found nothing to do.
    pub(super) fn go_idle(&mut self, id: u64, unparker: Unparker) {
        self.idle.push(Idle { thread: id, unparker });
    }

    /// Takes thread `id` off the list of idle threads, and returns whether it was there.
    pub(super) fn leave_idle(&mut self, id: u64) -> bool {
        let place = self.idle.iter().position(|idle| idle.thread == id);
        place.map(|place| self.idle.remove(place)).is_some()
    }

    /// Records that thread `id` ends. Returns the handle of the thread that ended before it, to be
    /// joined.
    pub(super) fn leave(&mut self, id: u64) -> Option<JoinHandle<()>> {
        match self.threads.remove(&id) {
            Some(Thread::Running(handle)) => self.retired.replace(handle),
            _unclaimed => {
                self.threads.insert(id, Thread::Left);
                self.left += 1;
                None
            }
        }
    }

    /// Makes the threads drop calls from now on. Returns the calls that wait.
    pub(super) fn stop(&mut self) -> VecDeque<Runnable> {
        self.stopped = true;
        std::mem::take(&mut self.queue)
    }

    /// Makes the threads end instead of waiting from now on. Returns the sleeping ones, to be
    /// woken.
    pub(super) fn end(&mut self) -> Vec<Unparker> {
        self.running = None;
        self.to_look += self.idle.len();
        self.idle.drain(..).map(|idle| idle.unparker).collect()
    }

    /// Takes the handles of all threads that have one.
    pub(super) fn take_handles(&mut self) -> Vec<JoinHandle<()>> {
        let handle = |thread| match thread {
            Thread::Running(handle) => Some(handle),
            Thread::Starting | Thread::Unclaimed | Thread::Left => None,
        };
        self.left = 0;
        let threads = std::mem::take(&mut self.threads).into_values().filter_map(handle);
        threads.chain(self.retired.take()).collect()
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod tests {
    use super::*;
    use heist::__internal::sync::mpsc::channel;
    use heist::__internal::sync::thread;

    fn call() -> Runnable {
        let (runnable, task) = heist::__internal::raw::spawn(async {}, |_runnable, _yielded| ());
        task.detach();
        runnable
    }

    /// The starting thread is delayed before it records the handle; meanwhile the new thread has
    /// ended.
    #[test]
    fn a_thread_that_ended_early_does_not_count_towards_the_limit() {
        let (running, _all_ended) = channel();
        let mut state = ThreadsState::new(running);
        state.queue(call());
        let [Some(Help::Start(first, _running)), None] = state.help_for_queued(1) else {
            panic!("the only thread is started")
        };
        state.looks(first);
        assert!(state.take().is_some());
        assert!(state.leave(first).is_none());
        assert_eq!(state.threads(), (0, 0));

        state.queue(call());
        let help = state.help_for_queued(1);
        let second = help.iter().flatten().find_map(|help| match help {
            Help::Start(id, _running) => Some(*id),
            Help::Wake(_) => None,
        });
        assert!(
            second.is_some_and(|second| second != first),
            "no thread is on its way to the call: {help:?}"
        );
        assert_eq!(state.threads(), (1, 0));

        assert!(state.started(first, thread::spawn(|| ())).is_none());
        assert_eq!(state.threads(), (1, 0));
        state.queue(call());
        assert!(state.help_for_rest(1).iter().all(Option::is_none), "there is one already");
        for handle in state.take_handles() {
            handle.join().unwrap();
        }
    }
}
