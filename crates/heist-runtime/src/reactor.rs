//! Starts the reactor of async-io, which timers and sockets need, and reports failures as errors.
//!
//! async-io starts its reactor at first use: a thread and, on Linux, three descriptors. If a
//! descriptor is missing, the caller panics, and so does the reactor's thread. A later attempt may
//! succeed, but no thread waits for timers any more, and none of them fires. So heist tries to get
//! the thread and the descriptors before it lets async-io start, and reports what is missing as an
//! error.
//!
//! Not guaranteed: that no other code of the process takes the last descriptor between the trial
//! and the start, or has ended the thread by using async-io directly. [`start_and_check`] detects
//! and reports both, but cannot repair them.

use async_io::Timer;
use polling::Poller;
use std::future::Future;
use std::io;
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use heist::__internal::sync::{Mutex, Parker, Unparker, thread};

/// Set once the reactor was started.
static STARTED: OnceLock<()> = OnceLock::new();

/// One start at a time: the trial of one thread takes descriptors that another needs.
static STARTING: OnceLock<Mutex<()>> = OnceLock::new();

/// How long the reactor may take to fire its first timer on a very busy machine.
const FIRST_TIMER_MAX: Duration = Duration::from_secs(5);

/// Starts the reactor, unless it is running.
///
/// # Errors
/// The system refuses a descriptor or the thread. A later call tries again.
#[inline]
pub(crate) fn start() -> io::Result<()> {
    match STARTED.get() {
        Some(()) => Ok(()),
        None => start_now(),
    }
}

#[cold]
fn start_now() -> io::Result<()> {
    let _one_at_a_time = STARTING.get_or_init(|| Mutex::new(())).lock();
    if STARTED.get().is_some() {
        return Ok(());
    }
    try_out()?;
    // It panics only if other code took a descriptor a moment ago.
    catch_unwind(touch).map_err(|_panic| {
        io::Error::other("what it needs was taken by another thread while it started")
    })?;
    STARTED.get_or_init(|| ());
    Ok(())
}

/// Acquires and returns what the reactor needs.
fn try_out() -> io::Result<()> {
    drop(Poller::new()?);
    let name = "heist-reactor-trial".to_owned();
    // The thread does nothing, so its result says nothing.
    let _ended = thread::Builder::new().name(name).spawn(|| ())?.join();
    Ok(())
}

/// Registers a timer, which starts the reactor, and drops it.
fn touch() {
    let timer = pin!(Timer::after(Duration::from_secs(3600)));
    let _pending = timer.poll(&mut Context::from_waker(Waker::noop()));
}

/// [`start`], and waits until the reactor has fired a timer: for callers that may block.
///
/// # Errors
/// As [`start`]; or the reactor's thread has ended, so no timer of this process will fire.
pub(crate) fn start_and_check() -> io::Result<()> {
    static CHECKED: OnceLock<()> = OnceLock::new();
    start()?;
    if CHECKED.get().is_none() {
        if !fires() {
            return Err(io::Error::other(
                "its thread has ended, because something used it when no descriptor was free",
            ));
        }
        CHECKED.get_or_init(|| ());
    }
    Ok(())
}

struct WakeThread(Unparker);

impl Wake for WakeThread {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns `true` once a timer has fired, `false` if none does.
fn fires() -> bool {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(WakeThread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    loop {
        let mut timer = pin!(Timer::after(Duration::from_micros(100)));
        // Ready at once if this thread did not get to run for long: then the reactor was not
        // involved.
        if timer.as_mut().poll(&mut cx).is_pending() {
            return parker.park_timeout(FIRST_TIMER_MAX);
        }
    }
}
