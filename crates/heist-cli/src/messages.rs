//! [`Messages`]: everything on stderr; and [`ProgressLine`], which shares stderr with it.
//!
//! Invariant: messages, and findings that go to the same terminal, never mix with the progress
//! line: the line is erased before either is written, and at the end. Nothing here fails or panics:
//! if stderr cannot be written to, there is no way left to report it.

use crate::error::{CliError, reason};
use crate::escape;
use crate::terminal;
use crate::units::{Unit, grouped};
use heist_walk::{Progress, WalkError};
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the progress line is redrawn: often enough to look alive, rarely enough to cost
/// nothing.
const REDRAW: Duration = Duration::from_millis(100);

/// Moves the cursor to the beginning of the line and erases the line.
const ERASE: &str = "\r\x1b[2K";

/// Writes messages to stderr.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Whether the progress line is on the screen.
    line_is_shown: Mutex<bool>,
}

impl Messages {
    /// Prints `heist: {text}` on its own line. `text` must be safe to print.
    pub(crate) fn say(&self, text: &str) {
        self.write(&format!("heist: {text}\n"), false);
    }

    /// Prints an error and, on a second line, what the user can do about it.
    pub(crate) fn say_error(&self, error: &CliError) {
        match error.help() {
            Some(help) => self.say(&format!("{error}\n  help: {help}")),
            None => self.say(&error.to_string()),
        }
    }

    /// Prints an entry that a walk could not read.
    pub(crate) fn say_walk_error(&self, error: &WalkError) {
        let path = escape::for_terminal(error.path.as_os_str());
        self.say(&format!("{} '{path}': {}", error.operation, reason(&error.source)));
    }

    /// Prints complete lines. `text` must be safe to print.
    pub(crate) fn write_lines(&self, text: &str) {
        self.write(text, false);
    }

    /// Erases the progress line, if it is shown.
    pub(crate) fn erase(&self) {
        self.write("", false);
    }

    /// Erases the progress line, unless another thread is writing to the terminal: that thread may
    /// be blocked there, and the caller is about to end the process.
    pub(crate) fn erase_without_waiting(&self) {
        if let Ok(mut shown) = self.line_is_shown.try_lock()
            && std::mem::take(&mut *shown)
        {
            let _ = io::stderr().write_all(ERASE.as_bytes());
        }
    }

    /// Runs `write`, which prints complete lines on the terminal of the progress line. The line is
    /// erased first and not drawn while `write` runs; the next redraw restores it.
    pub(crate) fn without_progress_line<R>(&self, write: impl FnOnce() -> R) -> R {
        let mut shown = self.line_is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *shown) {
            let _ = io::stderr().write_all(ERASE.as_bytes());
        }
        write()
    }

    fn write(&self, text: &str, is_line: bool) {
        let mut shown = self.line_is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that the output of other processes cannot come in between.
        let erase = if *shown { ERASE } else { "" };
        if !(erase.is_empty() && text.is_empty()) {
            let _ = io::stderr().write_all(format!("{erase}{text}").as_bytes());
        }
        *shown = is_line;
    }
}

/// Shows the progress of a walk or scan on stderr until it is dropped.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    messages: Arc<Messages>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Starts to show the `progress` of a walk. A short walk ends before the first line is drawn.
    /// Returns `None` if stderr is not a terminal that can erase a line.
    pub(crate) fn start(messages: &Arc<Messages>, progress: Progress) -> Option<Self> {
        Self::start_with(messages, move |elapsed| line(&progress, elapsed))
    }

    /// Does the same with a text from the caller, which gets the time since the start.
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
                // The user may have resized the window.
                let Some(columns) = terminal::columns(&io::stderr()) else { return };
                let line = line(started.elapsed());
                // A line that fills the width would wrap, and `ERASE` erases only one line.
                let line = escape::shortened(&line, columns.saturating_sub(1).max(1));
                shared.write(&line, true);
            }
        };
        // If the thread cannot be started, there is no progress line, but the command still works.
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
    use super::line;
    use heist_walk::Walk;
    use std::time::Duration;

    #[test]
    fn a_walk_that_has_not_started_shows_zeros() {
        let progress = Walk::new(".").progress();
        assert_eq!(line(&progress, Duration::ZERO), "0 entries  0  0/s");
    }
}
