//! [`Stream`]: lines on their way to the output, several in one write; and [`Flusher`], which sees to it that none
//! waits for long.
//!
//! Invariant: a write has whole lines only. On stdout it has at most [`PIPE_BYTES`] of them (or one line that is
//! longer): so much a pipe takes in one piece or not at all, so whoever reads a pipe whose writer was killed has read
//! whole lines. A file under `--output` gets its name when it is whole, and takes more at once. Not guaranteed: that a
//! file which stdout was redirected to ends with a whole line after a kill; the system may cut any write.

use super::collector::Collector;
use super::output::Output;
use crate::messages::Messages;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What every Linux takes in one piece (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

/// Enough that writing costs few system calls.
const FILE_BYTES: usize = 64 * 1024;

/// How long a line may wait for others.
const PATIENCE: Duration = Duration::from_millis(100);

/// Lines on their way to the output.
#[derive(Debug)]
pub(super) struct Stream {
    output: Output,
    /// Whether the output is a terminal, which the progress line may be on.
    is_terminal: bool,
    messages: Arc<Messages>,
    lines: Vec<u8>,
    /// How many bytes may wait; 0 if each line is written at once.
    bytes_max: usize,
}

impl Stream {
    /// A stream to `output`. `messages` has the progress line.
    pub(super) fn new(output: Output, messages: &Arc<Messages>) -> Self {
        let is_terminal = matches!(&output, Output::Stdout(stdout) if stdout.is_terminal());
        let bytes_max = match &output {
            // People want to see it now.
            Output::Stdout(_) if is_terminal => 0,
            Output::Stdout(_) => PIPE_BYTES,
            Output::File(_) => FILE_BYTES,
        };
        let messages = Arc::clone(messages);
        Self { output, is_terminal, messages, lines: Vec::new(), bytes_max }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// Those of writing it, or lines before it.
    pub(super) fn push(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lines.len() + line.len() > self.bytes_max {
            self.flush()?;
        }
        self.lines.extend_from_slice(line);
        if self.lines.len() >= self.bytes_max { self.flush() } else { Ok(()) }
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let (output, lines) = (&mut self.output, &self.lines);
        let written = if self.is_terminal {
            self.messages.without_progress_line(|| output.write_all(lines))
        } else {
            output.write_all(lines)
        };
        self.lines.clear();
        written
    }

    /// From now on each line is written at once.
    pub(super) fn write_through(&mut self) {
        self.bytes_max = 0;
    }

    /// Writes what waits, and gives the output back.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn finish(mut self) -> io::Result<Output> {
        self.flush().map(|()| self.output)
    }
}

/// Writes what waits, again and again, until it is dropped.
#[derive(Debug)]
pub(super) struct Flusher {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// For the lines of this collector. Where there can be no thread, no line waits.
    pub(super) fn start(collector: &Arc<Collector>) -> Self {
        let (stop, stopped) = channel();
        let flushed = Arc::clone(collector);
        let run = move || {
            while stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                flushed.flush();
            }
        };
        let thread = std::thread::Builder::new().name("heist-flush".into()).spawn(run).ok();
        if thread.is_none() {
            collector.write_through();
        }
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // (It does not panic.)
            let _ = thread.join();
        }
    }
}
