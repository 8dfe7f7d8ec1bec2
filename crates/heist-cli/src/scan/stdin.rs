//! [`Stdin`]: stdin as something to be scanned. Whoever types there, or has not begun to, can be waited for no longer
//! than the scan may take. What was cut is no end: it is an error, or a scan that was ended would look like one that is
//! complete.

use heist::CancelToken;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether the scan is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Stdin, until it ends or the scan does.
#[derive(Debug)]
pub(super) struct Stdin {
    stdin: io::Stdin,
    cancel: CancelToken,
    deadline: Option<Instant>,
    is_cut: Arc<AtomicBool>,
}

impl Stdin {
    pub(super) fn new(cancel: CancelToken, deadline: Option<Instant>) -> Self {
        Self { stdin: io::stdin(), cancel, deadline, is_cut: Arc::default() }
    }

    /// Will be true if the scan was over before stdin was.
    pub(super) fn is_cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_cut)
    }

    fn is_over(&self) -> bool {
        self.cancel.is_cancelled()
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_over() {
                self.is_cut.store(true, Ordering::Release);
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the scan was over before its end",
                ));
            }
            if is_ready(&self.stdin, LOOK)? {
                return self.stdin.read(buffer).map_err(named);
            }
        }
    }
}

/// In a tree a directory is no file that is missing; as stdin it is.
fn named(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::IsADirectory => io::Error::other("it is a directory; give it as a PATH"),
        _ => error,
    }
}

/// Whether a read would not wait; looked at for some time.
#[cfg(unix)]
fn is_ready(stdin: &io::Stdin, patience: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&patience)) {
        // (What is wrong with it, if anything is, the read says.)
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn is_ready(_stdin: &io::Stdin, _patience: Duration) -> io::Result<bool> {
    Ok(true)
}
