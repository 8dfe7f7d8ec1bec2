//! The reactor of async-io, which timers and sockets need, started where a failure can be told.
//!
//! async-io starts it when the process first uses it: a thread, and three descriptors on Linux. If a descriptor is
//! missing then, the caller panics, and the reactor's thread with it. A later attempt may find descriptors and succeed,
//! but no thread waits for timers any more, and none of them ever fires. So heist tries out the thread and the
//! descriptors before it lets async-io start, and tells what is missing as an error.
//!
//! Not guaranteed: that nothing else in the process takes the last descriptor between the trial and the start, or used
//! async-io directly before and ended its thread. [`start_and_check`] notices both and says so, but cannot mend it.

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

/// One start at a time: a thread that tries out descriptors has those that another one needs.
static STARTING: OnceLock<Mutex<()>> = OnceLock::new();

/// How long the reactor may take to fire its first timer, on a machine that is very busy.
const FIRST_TIMER_MAX: Duration = Duration::from_secs(5);

/// Starts the reactor, unless it runs.
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
    // It panics only if something else took what was there a moment ago.
    catch_unwind(touch).map_err(|_panic| {
        io::Error::other("what it needs was taken by another thread while it started")
    })?;
    STARTED.get_or_init(|| ());
    Ok(())
}

/// Gets, and gives back, what the reactor needs.
fn try_out() -> io::Result<()> {
    drop(Poller::new()?);
    let name = "heist-reactor-trial".to_owned();
    // It does nothing, so there is nothing that its end could say.
    let _ended = thread::Builder::new().name(name).spawn(|| ())?.join();
    Ok(())
}

/// Registers a timer, which starts the reactor, and takes it back.
fn touch() {
    let timer = pin!(Timer::after(Duration::from_secs(3600)));
    let _pending = timer.poll(&mut Context::from_waker(Waker::noop()));
}

/// [`start`], and waits until the reactor has fired a timer: for those who may wait for it.
///
/// # Errors
/// Those of [`start`]; or the reactor's thread has ended, so that no timer of this process will fire.
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
        // Ready already if this thread was kept from running: then the reactor was not asked.
        if timer.as_mut().poll(&mut cx).is_pending() {
            return parker.park_timeout(FIRST_TIMER_MAX);
        }
    }
}
