//! [`Messages`]: what goes to stderr, and [`ProgressLine`], which shares it.
//!
//! Invariants: neither a message nor a finding that goes to the same terminal mixes with the progress line; the line is
//! erased before either is written, and at the end. Nothing here fails or panics: if stderr cannot be written to, there
//! is no way left to report it.

use crate::escape;
use crate::terminal;
use crate::units::{Unit, grouped};
use heist_walk::{Progress, WalkError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Often enough to look alive, seldom enough to cost nothing.
const REDRAW: Duration = Duration::from_millis(100);

/// To the line's beginning, and erase all of it.
const ERASE: &str = "\r\x1b[2K";

/// Where messages go.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Whether the progress line is on the screen.
    line_is_shown: Mutex<bool>,
}

impl Messages {
    /// `heist: {text}`, on a line of its own. `text` must be fit to be shown.
    pub(crate) fn say(&self, text: &str) {
        self.write(&format!("heist: {text}\n"), false);
    }

    /// What could not be read.
    pub(crate) fn say_error(&self, error: &WalkError) {
        let path = escape::for_terminal(error.path.as_os_str());
        self.say(&format!("{} '{path}': {}", error.operation, reason(&error.source)));
    }

    /// Text as it is. `text` must be fit to be shown.
    pub(crate) fn write_lines(&self, text: &str) {
        self.write(text, false);
    }

    /// Erases the progress line, if it is shown.
    pub(crate) fn erase(&self) {
        self.write("", false);
    }

    /// Erases the progress line, unless another thread is writing to the terminal: that thread may be stuck there, and
    /// this one is about to end the process.
    pub(crate) fn erase_without_waiting(&self) {
        if let Ok(mut shown) = self.line_is_shown.try_lock()
            && std::mem::take(&mut *shown)
        {
            let _ = io::stderr().write_all(ERASE.as_bytes());
        }
    }

    /// Runs `write`, which prints whole lines on the terminal that the progress line is on. The line is erased first,
    /// and not drawn while `write` runs; the next redraw brings it back.
    pub(crate) fn without_progress_line<R>(&self, write: impl FnOnce() -> R) -> R {
        let mut shown = self.line_is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *shown) {
            let _ = io::stderr().write_all(ERASE.as_bytes());
        }
        write()
    }

    fn write(&self, text: &str, is_line: bool) {
        let mut shown = self.line_is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece, so that what other processes write does not come between.
        let erase = if *shown { ERASE } else { "" };
        if !(erase.is_empty() && text.is_empty()) {
            let _ = io::stderr().write_all(format!("{erase}{text}").as_bytes());
        }
        *shown = is_line;
    }
}

/// Why a call failed, as other tools say it: without the number behind it.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(code) => text.trim_end_matches(&format!(" (os error {code})")).to_owned(),
        None => escape::for_terminal(text.as_ref()).into_owned(),
    }
}

/// What is said when output cannot be written: to a file, or to stdout.
pub(crate) fn cannot_write(file: Option<&Path>, error: &io::Error) -> String {
    let reason = reason(error);
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) => format!(
            "cannot write the output '{}': {reason}; make room, or give another FILE",
            escape::for_terminal(path.as_os_str())
        ),
        None => format!("cannot write to stdout: {reason}; make room, or write to somewhere else"),
    }
}

/// Shows on stderr how far something has come, until it is dropped.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    messages: Arc<Messages>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Starts to show the `progress` of a walk. Nothing is shown of one that is over at once. `None` without a terminal
    /// that can erase a line.
    pub(crate) fn start(messages: &Arc<Messages>, progress: Progress) -> Option<Self> {
        Self::start_with(messages, move |elapsed| line(&progress, elapsed))
    }

    /// The same, with a line of the caller's for the time since the start.
    pub(crate) fn start_with(
        messages: &Arc<Messages>,
        line: impl Fn(Duration) -> String + Send + 'static,
    ) -> Option<Self> {
        terminal::columns(&io::stderr())?;
        if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return None;
        }
        let (stop, stopped) = channel::<()>();
        let shared = Arc::clone(messages);
        let draw = move || {
            let started = Instant::now();
            while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                // Asked each time: windows change.
                let Some(columns) = terminal::columns(&io::stderr()) else { return };
                let line = line(started.elapsed());
                // A full line would wrap, and a wrapped one is not erased.
                let line = escape::shortened(&line, columns.saturating_sub(1).max(1));
                shared.write(&line, true);
            }
        };
        // Without the thread there is no line, which is no reason to fail.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(draw).ok()?;
        Some(Self { messages: Arc::clone(messages), stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.messages.erase();
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let totals = progress.totals();
    let entries = totals.entries();
    let rate = (entries as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let errors = match totals.errors {
        0 => String::new(),
        1 => "  1 error".to_owned(),
        errors => format!("  {} errors", grouped(errors)),
    };
    format!(
        "{} entries  {}{errors}  {}/s",
        grouped(entries),
        Unit::HUMAN.show(totals.allocated),
        grouped(rate)
    )
}

#[cfg(test)]
mod tests {
    use super::{line, reason};
    use heist_walk::Walk;
    use std::io;
    use std::time::Duration;

    #[test]
    fn reasons_have_no_numbers() {
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(reason(&denied), "Permission denied");
        assert_eq!(reason(&io::Error::other("a \x1b reason")), "a \\x1b reason");
    }

    #[test]
    fn a_walk_that_has_not_begun_shows_nothing_done() {
        let progress = Walk::new(".").progress();
        assert_eq!(line(&progress, Duration::ZERO), "0 entries  0  0/s");
    }
}
