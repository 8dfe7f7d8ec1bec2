//! The Chrome trace writer.

use super::name::take_name;
use super::{TraceHooks, Tracer};
use crate::policy::Source;
use crate::sync::{Arc, Mutex, MutexGuard};
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A worker hands its events over when it has this much text: large enough that the shared lock does not
/// disturb what is measured, small enough that a long run holds little in memory.
const HAND_OVER_BYTES: usize = 64 * 1024;

/// Writes a run in the Chrome trace format: a row per worker, slices for tasks, for polls and for the time parked,
/// marks for steals and wake-ups.
///
/// The category of a slice (`cat`) is `task`, `poll` or `parked`. Its name is what the task or poll has called itself
/// ([`name_slice`](super::name_slice)), or else its category; what was stolen or injected has that behind its name.
///
/// Cloning gives another handle to the same trace. Call [`ChromeTrace::finish`] after `join`: it closes the
/// JSON array and reports the first write error, if any. (Viewers also accept an array that was not closed,
/// so the trace of a process that died can still be read.)
///
/// ```
/// use heist::{Executor, trace::ChromeTrace};
///
/// let trace = ChromeTrace::new(Vec::new());
/// let executor = Executor::builder()
///     .workers(2)
///     .trace(trace.clone())
///     .build(|_worker| (), |_task: u32, _ctx| {})?;
/// executor.spawn_batch(0..100)?;
/// executor.join();
/// let json = trace.finish()?;
/// assert!(json.starts_with(b"["));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChromeTrace<W> {
    shared: Arc<Shared<W>>,
}

#[derive(Debug)]
struct Shared<W> {
    started: Instant,
    out: Mutex<Output<W>>,
}

#[derive(Debug)]
struct Output<W> {
    /// `None` once the trace was finished; events that come later are dropped.
    writer: Option<W>,
    any_event: bool,
    error: Option<io::Error>,
}

impl<W> Clone for ChromeTrace<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<W> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, Output<W>> {
        self.out.lock()
    }
}

impl<W: Write + Send + 'static> ChromeTrace<W> {
    /// A trace that is written to `writer`, in pieces of about 64 KiB. The clock of its events starts now.
    pub fn new(writer: W) -> Self {
        let output = Output { writer: Some(writer), any_event: false, error: None };
        Self { shared: Arc::new(Shared { started: Instant::now(), out: Mutex::new(output) }) }
    }

    /// Ends the trace and gives the writer back.
    ///
    /// # Errors
    /// The first error that writing met; or one of kind `Other` if the trace was finished before.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.shared.lock();
        let mut writer =
            out.writer.take().ok_or_else(|| io::Error::other("the trace was finished before"))?;
        if let Some(error) = out.error.take() {
            return Err(error);
        }
        writer.write_all(if out.any_event { b"\n]\n" } else { b"[]\n" })?;
        writer.flush()?;
        Ok(writer)
    }
}

impl<W: Write> Output<W> {
    fn append(&mut self, events: &str) {
        let Some(writer) = &mut self.writer else { return };
        if self.error.is_some() || events.is_empty() {
            return;
        }
        let before = if self.any_event { ",\n" } else { "[\n" };
        self.any_event = true;
        // The writer is the caller's and may panic. That must not pass for a task's panic, or for the engine's.
        let written = catch_unwind(AssertUnwindSafe(|| {
            writer.write_all(before.as_bytes())?;
            writer.write_all(events.as_bytes())
        }));
        self.error = written.unwrap_or_else(|_| Err(io::Error::other("the writer panicked"))).err();
    }
}

impl<W: Write + Send + 'static> Tracer for ChromeTrace<W> {
    type Hooks = ChromeWorker<W>;

    fn worker(&self, worker: usize) -> ChromeWorker<W> {
        let mut hooks = ChromeWorker {
            shared: Arc::clone(&self.shared),
            worker,
            events: String::new(),
            running: None,
            parked_at: None,
        };
        hooks.event(format_args!(
            r#""name":"thread_name","ph":"M","args":{{"name":"worker {worker}"}}"#
        ));
        hooks
    }
}

/// One worker's row.
#[derive(Debug)]
pub struct ChromeWorker<W: Write> {
    shared: Arc<Shared<W>>,
    worker: usize,
    events: String,
    /// The task or poll that runs.
    running: Option<(Source, Micros)>,
    parked_at: Option<Micros>,
}

/// Microseconds since the trace started, the format's unit, with a nanosecond's resolution.
type Micros = f64;

/// A text inside a JSON string.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

impl<W: Write> ChromeWorker<W> {
    fn now(&self) -> Micros {
        self.shared.started.elapsed().as_nanos() as f64 / 1_000.0
    }

    fn event(&mut self, fields: fmt::Arguments<'_>) {
        if !self.events.is_empty() {
            self.events.push_str(",\n");
        }
        // Writing to a `String` cannot fail.
        let _ = write!(self.events, r#"{{"pid":1,"tid":{},{fields}}}"#, self.worker);
        if self.events.len() >= HAND_OVER_BYTES {
            self.hand_over();
        }
    }

    fn mark(&mut self, name: fmt::Arguments<'_>) {
        let now = self.now();
        self.event(format_args!(r#""name":"{name}","ph":"i","s":"t","ts":{now:.3}"#));
    }

    /// Writes what ended now. `origin` follows its name.
    fn slice(&mut self, category: &str, name: &str, origin: &str, start: Micros) {
        let duration = self.now() - start;
        let name = Escaped(name);
        self.event(format_args!(
            r#""name":"{name}{origin}","cat":"{category}","ph":"X","ts":{start:.3},"dur":{duration:.3}"#
        ));
    }

    fn start_work(&mut self, source: Source) {
        // Left by code that ran between two tasks.
        take_name();
        self.running = Some((source, self.now()));
    }

    fn end_work(&mut self, category: &str) {
        let Some((source, start)) = self.running.take() else { return };
        let origin = match source {
            Source::Local => "",
            Source::Injector => " (injected)",
            Source::Steal => " (stolen)",
        };
        self.slice(category, take_name().unwrap_or(category), origin, start);
    }

    fn hand_over(&mut self) {
        self.shared.lock().append(&self.events);
        self.events.clear();
    }
}

impl<W: Write> TraceHooks for ChromeWorker<W> {
    fn task_start(&mut self, source: Source) {
        self.start_work(source);
    }

    fn task_end(&mut self) {
        self.end_work("task");
    }

    fn poll_start(&mut self, source: Source) {
        self.start_work(source);
    }

    fn poll_end(&mut self) {
        self.end_work("poll");
    }

    fn steal(&mut self, victim: usize) {
        self.mark(format_args!("steal from {victim}"));
    }

    fn park(&mut self) {
        self.parked_at = Some(self.now());
    }

    fn unpark(&mut self, woken: bool) {
        if let Some(start) = self.parked_at.take() {
            self.slice("parked", "parked", "", start);
        }
        if woken {
            self.mark(format_args!("wake"));
        }
    }
}

impl<W: Write> Drop for ChromeWorker<W> {
    fn drop(&mut self) {
        self.hand_over();
    }
}
