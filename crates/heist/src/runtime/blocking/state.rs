//! What the threads for blocking calls share under one lock: who waits for whom.
//!
//! Invariants, whenever the lock is free:
//! - a call waits in the queue only while no thread is idle;
//! - a thread that is listed as idle sleeps, or is about to, and whoever takes it off the list gives it a token;
//! - a thread leaves only when the queue is empty. So a call that is queued while a thread lives will be taken.

use crate::future::raw::Runnable;
use crate::sync::mpsc::Sender;
use crate::sync::thread::JoinHandle;
use crate::sync::{Arc, Mutex, Unparker};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::ops::Range;

/// Where an idle thread finds its next call: it then need not ask for the lock that everybody wants.
#[derive(Debug)]
pub(super) struct Mailbox {
    call: Mutex<Option<Runnable>>,
    unparker: Unparker,
}

impl Mailbox {
    pub(super) fn new(unparker: Unparker) -> Self {
        Self { call: Mutex::new(None), unparker }
    }

    /// The call that came with the token. None came, if the thread is only to look around.
    pub(super) fn take(&self) -> Option<Runnable> {
        self.call.lock().take()
    }

    fn put(&self, call: Runnable) {
        let before = self.call.lock().replace(call);
        debug_assert!(before.is_none(), "a thread that was handed a call was not idle");
    }

    /// Gives the thread its token.
    pub(super) fn wake(&self) {
        self.unparker.unpark();
    }
}

/// One thread, as far as others know.
#[derive(Debug)]
pub(super) enum Thread {
    /// It is being started; the system may still refuse it.
    Starting,
    /// It runs, but whoever started it has not yet said so.
    Unclaimed,
    /// It runs.
    Running(JoinHandle<()>),
    /// It has left before whoever started it could say that it runs.
    Left,
}

/// A call in the queue, and the number by which whoever queued it finds it again.
#[derive(Debug)]
struct Queued {
    number: u64,
    call: Runnable,
}

/// See the module.
#[derive(Debug)]
pub(super) struct State {
    queue: VecDeque<Queued>,
    next_number: u64,
    /// The one that was busy last is the first to be busy again: its stack is warm, and the others may retire.
    pub(super) idle: Vec<Arc<Mailbox>>,
    pub(super) threads: BTreeMap<u64, Thread>,
    next_thread: u64,
    /// Threads that have not looked into the queue yet.
    to_look: usize,
    /// The last thread that retired. The next one waits for it, so that at most one is past its last look at all this.
    pub(super) retired: Option<JoinHandle<()>>,
    stopped: bool,
    /// Every thread holds one until its last line. `None` when the pool is done.
    running: Option<Sender<Infallible>>,
}

/// A thread that is to be started.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) id: u64,
    pub(super) running: Sender<Infallible>,
}

impl State {
    pub(super) fn new(running: Sender<Infallible>) -> Self {
        Self {
            queue: VecDeque::new(),
            next_number: 0,
            idle: Vec::new(),
            threads: BTreeMap::new(),
            next_thread: 0,
            to_look: 0,
            retired: None,
            stopped: false,
            running: Some(running),
        }
    }

    /// Whether calls are dropped instead of made.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped || self.is_done()
    }

    /// Whether nothing will come any more.
    pub(super) fn is_done(&self) -> bool {
        self.running.is_none()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The number that the next call in the queue gets.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Hands a call to an idle thread, which the caller must wake, or else queues it.
    pub(super) fn place(&mut self, call: Runnable) -> Option<Arc<Mailbox>> {
        if let Some(mailbox) = self.idle.pop() {
            mailbox.put(call);
            return Some(mailbox);
        }
        self.queue.push_back(Queued { number: self.next_number, call });
        self.next_number += 1;
        None
    }

    /// Counts one more thread, which the caller must start, if there is a call for it and there may be one more.
    pub(super) fn reserve(&mut self, limit: usize) -> Option<Reserved> {
        // Those that have not looked yet will take one each.
        if self.queue.len() <= self.to_look || self.threads.len() >= limit {
            return None;
        }
        let running = self.running.clone()?;
        let id = self.next_thread;
        self.next_thread += 1;
        self.threads.insert(id, Thread::Starting);
        self.to_look += 1;
        Some(Reserved { id, running })
    }

    /// The system has let thread `id` be. Returns its handle if it has left already: nobody else will wait for it.
    pub(super) fn started(&mut self, id: u64, handle: JoinHandle<()>) -> Option<JoinHandle<()>> {
        match self.threads.get_mut(&id) {
            Some(thread @ (Thread::Starting | Thread::Unclaimed)) => {
                *thread = Thread::Running(handle);
                None
            }
            _left => {
                self.threads.remove(&id);
                self.retired.replace(handle)
            }
        }
    }

    /// The system has refused thread `id`. If there is no other, the calls with these numbers would wait for nobody:
    /// they are taken back, as far as they are still there, and returned with their numbers.
    pub(super) fn refused(&mut self, id: u64, numbers: &Range<u64>) -> Vec<(u64, Runnable)> {
        self.threads.remove(&id);
        self.to_look -= 1;
        let is_here = |thread: &Thread| matches!(thread, Thread::Unclaimed | Thread::Running(_));
        if self.threads.values().any(is_here) {
            return Vec::new();
        }
        let (back, left): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition(|queued| numbers.contains(&queued.number));
        self.queue = left;
        back.into_iter().map(|queued| (queued.number, queued.call)).collect()
    }

    /// Thread `id`, which has not looked yet, does so now.
    pub(super) fn looks(&mut self, id: u64) {
        self.to_look -= 1;
        if let Some(thread @ Thread::Starting) = self.threads.get_mut(&id) {
            *thread = Thread::Unclaimed;
        }
    }

    /// Takes the next call.
    pub(super) fn take(&mut self) -> Option<Runnable> {
        self.queue.pop_front().map(|queued| queued.call)
    }

    /// Takes a thread off the list of those that are idle; says whether it was there.
    pub(super) fn leave_idle(&mut self, mailbox: &Arc<Mailbox>) -> bool {
        let place = self.idle.iter().position(|idle| Arc::ptr_eq(idle, mailbox));
        place.map(|place| self.idle.remove(place)).is_some()
    }

    /// Thread `id` leaves. Returns the handle of the one that left before it, to be waited for.
    pub(super) fn leave(&mut self, id: u64) -> Option<JoinHandle<()>> {
        debug_assert!(self.queue.is_empty(), "a thread leaves although there is a call for it");
        match self.threads.remove(&id) {
            Some(Thread::Running(handle)) => self.retired.replace(handle),
            _unclaimed => {
                self.threads.insert(id, Thread::Left);
                None
            }
        }
    }

    /// From now on calls are dropped. Returns those that wait.
    pub(super) fn stop(&mut self) -> Vec<Runnable> {
        self.stopped = true;
        std::mem::take(&mut self.queue).into_iter().map(|queued| queued.call).collect()
    }

    /// From now on threads leave instead of waiting. Returns those that wait.
    pub(super) fn end(&mut self) -> Vec<Arc<Mailbox>> {
        self.running = None;
        std::mem::take(&mut self.idle)
    }
}
