//! [`Interrupt`]: Ctrl-C, and the other signals that ask heist to end.
//!
//! `main` installs the handler before it does anything else. The first SIGINT, SIGTERM or SIGHUP
//! ends the walk, and heist prints the results so far. A second one ends the process immediately,
//! and so does the first one after [`Interrupt::walk_is_over`], or in a command that has no partial
//! results ([`Interrupt::end_at_once`]). SIGQUIT always does. Invariants: no unfinished file of
//! heist is left behind; a process that was started with one of these signals ignored (a background
//! job of a script, `nohup`) keeps ignoring it. Not guaranteed: the latter on systems without
//! `/proc`; and before `main`, while the system loads the program, a signal ends it as it ends any
//! process.

use crate::exit::Exit;
use crate::messages::Messages;
use heist::CancelToken;
use heist_scan::remove_unfinished_files;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A signal that ends heist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// The terminal is gone.
    Hangup,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Another process asks heist to end.
    Terminate,
}

impl EndSignal {
    const ALL: [Self; 4] = [Self::Hangup, Self::Interrupt, Self::Quit, Self::Terminate];

    /// Returns the number of the signal, which is the same on all systems.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Hangup => 1,
            Self::Interrupt => 2,
            Self::Quit => 3,
            Self::Terminate => 15,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }
}

/// States of an [`Interrupt`]: what the next signal does. Any other state is the number of the
/// signal that cancelled the walk.
const CANCELS_WALK: u8 = 0;
const ENDS_PROCESS: u8 = u8::MAX;

/// Cancels the walk, or ends the process, when a signal arrives.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    cancel: CancelToken,
    state: Arc<AtomicU8>,
}

impl Interrupt {
    /// Installs the handler. From when this returns, no signal ends the process without the results
    /// so far. Call it at most once per process, before any work whose results would be lost.
    pub(crate) fn listen(messages: &Arc<Messages>) -> Self {
        let interrupt = Self { cancel: CancelToken::new(), state: Arc::default() };
        let (heard, messages) = (interrupt.clone(), Arc::clone(messages));
        platform::listen(move |signal| heard.hear(signal, &messages));
        interrupt
    }

    fn hear(&self, signal: EndSignal, messages: &Messages) {
        if signal == EndSignal::Quit || self.leave_state_of_walk(signal.number()).is_err() {
            messages.erase_without_waiting();
            end_process(signal);
        }
        self.cancel.cancel();
    }

    /// Changes the state if no signal has cancelled the walk; else returns the state.
    fn leave_state_of_walk(&self, state: u8) -> Result<u8, u8> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(CANCELS_WALK, state, success, failure)
    }

    /// Returns the signal that cancelled the walk.
    fn cancelled_by(&self) -> Option<EndSignal> {
        EndSignal::from_number(self.state.load(Ordering::Acquire))
    }

    /// Returns the token that the first signal cancels.
    pub(crate) fn token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Returns the exit code of a command that a signal ended early.
    pub(crate) fn exit(&self) -> Exit {
        Exit::Interrupted(self.cancelled_by().unwrap_or(EndSignal::Interrupt))
    }

    /// From now on, a signal ends the process. For a command whose output can be repeated.
    pub(crate) fn walk_is_over(&self) {
        // A signal that has cancelled the walk already has the same effect on the next one.
        let _ = self.leave_state_of_walk(ENDS_PROCESS);
    }

    /// From now on, a signal ends the process; one that has arrived already ends it now. For a
    /// command that has no partial results.
    pub(crate) fn end_at_once(&self) {
        self.walk_is_over();
        if let Some(signal) = self.cancelled_by() {
            end_process(signal);
        }
    }
}

/// Ends the process because of a signal, and leaves no temporary file.
fn end_process(signal: EndSignal) -> ! {
    let _no_files = remove_unfinished_files();
    std::process::exit(i32::from(Exit::Interrupted(signal).code()));
}

#[cfg(unix)]
mod platform {
    use super::EndSignal;
    use signal_hook::iterator::Signals;
    use std::sync::mpsc::channel;

    /// Calls `hear` on a thread of its own for each signal that the process does not ignore.
    pub(super) fn listen(mut hear: impl FnMut(EndSignal) + Send + 'static) {
        let ignored = ignored();
        let signals = EndSignal::ALL.map(EndSignal::number).into_iter();
        let signals: Vec<i32> =
            signals.filter(|number| ignored >> (number - 1) & 1 == 0).map(i32::from).collect();
        let (installed, wait) = channel::<()>();
        let run = move || {
            // Installed here, because a handler that no thread serves would swallow the signals. If
            // it cannot be installed, the signals end heist as they end any process.
            let Ok(mut signals) = Signals::new(signals) else { return };
            drop(installed);
            for number in signals.forever() {
                if let Some(signal) = u8::try_from(number).ok().and_then(EndSignal::from_number) {
                    hear(signal);
                }
            }
        };
        if std::thread::Builder::new().name("heist-signals".into()).spawn(run).is_ok() {
            // It fails as soon as the handler is installed and the sender dropped.
            let _ = wait.recv();
        }
    }

    /// Returns the signals that the process ignores, one bit for each, the lowest for signal 1.
    fn ignored() -> u64 {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod platform {
    use super::EndSignal;

    /// Calls `hear` on a thread of its own for each Ctrl-C.
    pub(super) fn listen(mut hear: impl FnMut(EndSignal) + Send + 'static) {
        // This fails if the thread cannot be started; then Ctrl-C ends heist as any process.
        let _ = ctrlc::try_set_handler(move || hear(EndSignal::Interrupt));
    }
}
