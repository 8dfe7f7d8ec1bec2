//! [`Stdin`]: stdin as an input of the scan.
//!
//! A pipe or a terminal may stay silent, so reads stop when the scan is cancelled or its deadline
//! passes. They return an error then, and not the end of the input: otherwise a scan that was cut
//! short would look complete.

use heist::CancelToken;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a waiting read checks whether the scan has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Reads stdin until it ends or the scan does.
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

    /// Returns a flag that becomes `true` if the scan ends before stdin does.
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
                    "the scan ended before the input did",
                ));
            }
            if is_ready(&self.stdin, LOOK)? {
                return self.stdin.read(buffer).map_err(explained);
            }
        }
    }
}

/// Explains what to do if stdin is a directory.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::IsADirectory => io::Error::other("it is a directory; give it as a PATH"),
        _ => error,
    }
}

/// Returns `true` if heist was started with stdin closed. The standard library opens `/dev/null` in
/// its place, for reading and writing; a caller who means an empty input opens it for reading.
#[cfg(unix)]
pub(crate) fn is_closed() -> bool {
    use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
    let stdin = io::stdin();
    let Ok((flags, input)) = fcntl_getfl(&stdin).and_then(|flags| Ok((flags, fstat(&stdin)?)))
    else {
        return true;
    };
    let is_null = FileType::from_raw_mode(input.st_mode) == FileType::CharacterDevice
        && stat("/dev/null").is_ok_and(|null| null.st_rdev == input.st_rdev);
    is_null && flags & OFlags::RWMODE == OFlags::RDWR
}

#[cfg(not(unix))]
pub(crate) fn is_closed() -> bool {
    false
}

/// Waits up to `patience` until a read would not block; returns whether it is so.
#[cfg(unix)]
fn is_ready(stdin: &io::Stdin, patience: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&patience)) {
        // A read reports any error of the descriptor.
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn is_ready(_stdin: &io::Stdin, _patience: Duration) -> io::Result<bool> {
    Ok(true)
}
