//! Starts the reactor of async-io, which timers and sockets need, and reports failures as errors.
//!
//! async-io starts its reactor at first use: a thread and, on Linux, three descriptors. If a
//! descriptor is missing, the caller panics, and so does the reactor's thread. A later attempt may
//! succeed, but then no thread waits for timers, and none of them ever fires. So heist first tries
//! to get a thread and the descriptors itself, and returns an error if the system refuses one.
//!
//! Not guaranteed: that no other code of the process takes the last descriptor between this trial
//! and the start, or has made the reactor's thread panic by using async-io directly.
//! [`start_and_check`] detects and reports both, but cannot repair them.

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

/// Set once the reactor has started.
static STARTED: OnceLock<()> = OnceLock::new();

/// Lets one thread at a time start the reactor: a trial takes descriptors that another start needs.
static STARTING: OnceLock<Mutex<()>> = OnceLock::new();

/// How long to wait for the reactor's first timer. A very busy machine may need this long.
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
    // async-io panics only if other code has just taken a descriptor.
    catch_unwind(touch).map_err(|_panic| {
        io::Error::other("another thread took its descriptors while it started")
    })?;
    STARTED.get_or_init(|| ());
    Ok(())
}

/// Acquires what the reactor needs, and releases it again.
fn try_out() -> io::Result<()> {
    drop(Poller::new()?);
    let name = "heist-reactor-trial".to_owned();
    // The thread does nothing, so its result does not matter.
    let _ended = thread::Builder::new().name(name).spawn(|| ())?.join();
    Ok(())
}

/// Registers a timer, which starts the reactor, and drops the timer.
fn touch() {
    let timer = pin!(Timer::after(Duration::from_secs(3600)));
    let _pending = timer.poll(&mut Context::from_waker(Waker::noop()));
}

/// Does the same as [`start`], and then waits until the reactor has fired a timer. For callers that
/// may block.
///
/// # Errors
/// As [`start`]; or the reactor's thread has ended, so no timer of this process will fire.
pub(crate) fn start_and_check() -> io::Result<()> {
    static CHECKED: OnceLock<()> = OnceLock::new();
    start()?;
    if CHECKED.get().is_none() {
        if !fires() {
            return Err(io::Error::other(
                "its thread has ended, because other code used it while no descriptor was free",
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

/// Returns `true` once a timer has fired, or `false` if none fires in time.
fn fires() -> bool {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(WakeThread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    loop {
        let mut timer = pin!(Timer::after(Duration::from_micros(100)));
        // If this thread did not run for a while, the timer is ready at once. Then the reactor was
        // not involved, and this proves nothing.
        if timer.as_mut().poll(&mut cx).is_pending() {
            return parker.park_timeout(FIRST_TIMER_MAX);
        }
    }
}
