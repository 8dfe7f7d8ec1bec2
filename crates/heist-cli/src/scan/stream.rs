//! [`Stream`]: batches lines on their way to the output; and [`Flusher`], which bounds how long a
//! line waits.
//!
//! Invariant: each write consists of whole lines. On stdout it has at most [`PIPE_BYTES`] bytes (or
//! one longer line): a pipe accepts that many bytes as a whole or not at all, so even if heist is
//! killed, the reader of the pipe gets only whole lines. A file of `--output` gets its name when it
//! is complete, so its writes may be larger. Not guaranteed: that a file to which stdout was
//! redirected ends with a whole line after a kill; the system may split any write.

use super::collector::Collector;
use super::output::ReportOutput;
use crate::messages::Messages;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The size of a write to a pipe that Linux never splits (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

/// Large enough to keep the number of system calls low.
const FILE_BYTES: usize = 64 * 1024;

/// How long a line may wait to be written.
const PATIENCE: Duration = Duration::from_millis(100);

/// Collects lines and writes several of them at once.
#[derive(Debug)]
pub(super) struct Stream {
    output: ReportOutput,
    /// Whether the output is a terminal, which may show the progress line.
    is_terminal: bool,
    messages: Arc<Messages>,
    lines: Vec<u8>,
    /// The number of bytes that may wait; 0 writes each line immediately.
    bytes_max: usize,
}

impl Stream {
    /// Creates a stream to `output`. `messages` owns the progress line.
    pub(super) fn new(output: ReportOutput, messages: &Arc<Messages>) -> Self {
        let is_terminal = matches!(&output, ReportOutput::Stdout(stdout) if stdout.is_terminal());
        let bytes_max = match &output {
            // A person is watching.
            ReportOutput::Stdout(_) if is_terminal => 0,
            ReportOutput::Stdout(_) => PIPE_BYTES,
            ReportOutput::File(_) => FILE_BYTES,
        };
        let messages = Arc::clone(messages);
        Self { output, is_terminal, messages, lines: Vec::new(), bytes_max }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// This line, or one before it, cannot be written.
    pub(super) fn push(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lines.len() + line.len() > self.bytes_max {
            self.flush()?;
        }
        self.lines.extend_from_slice(line);
        if self.lines.len() >= self.bytes_max { self.flush() } else { Ok(()) }
    }

    /// Writes the waiting lines.
    ///
    /// # Errors
    /// The output cannot be written to.
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

    /// From now on, writes each line immediately.
    pub(super) fn write_through(&mut self) {
        self.bytes_max = 0;
    }

    /// Writes the waiting lines and returns the output.
    ///
    /// # Errors
    /// The output cannot be written to.
    pub(super) fn finish(mut self) -> io::Result<ReportOutput> {
        self.flush().map(|()| self.output)
    }
}

/// Flushes a stream at regular intervals until it is dropped.
#[derive(Debug)]
pub(super) struct Flusher {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts a thread that flushes the stream of this collector. If the thread cannot be started,
    /// the collector writes each line immediately.
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
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
