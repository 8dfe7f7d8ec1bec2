//! Writes traces in the Chrome trace format.

use super::name::take_name;
use super::{TraceHooks, Tracer};
use crate::policy::Source;
use crate::sync::{Arc, Mutex, MutexGuard};
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A worker writes its events out when it has collected this much text. This is large enough that
/// the shared lock does not disturb the measurement, and small enough that a long run needs little
/// memory.
const HAND_OVER_BYTES: usize = 64 * 1024;

/// Writes a run in the Chrome trace format: a row for each worker; slices for tasks, for polls and
/// for parked time; marks for steals and wake-ups.
///
/// The category of a slice (`cat`) is `task`, `poll` or `parked`. Its name is the name that the
/// task or poll has given itself with [`name_slice`](super::name_slice), or else its category,
/// followed by `(stolen)` or `(injected)` where that applies.
///
/// Cloning a `ChromeTrace` gives another handle to the same trace. Call [`ChromeTrace::finish`]
/// after `join`: it closes the JSON array and returns the first write error, if any. (Viewers also
/// accept an array that is not closed, so you can still open the trace of a process that died.)
///
/// ```
/// use heist::Executor;
/// use heist::trace::ChromeTrace;
///
/// let trace = ChromeTrace::new(Vec::new());
/// let executor = Executor::builder()
///     .threads(2)
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
    shared: Arc<SharedTrace<W>>,
}

#[derive(Debug)]
struct SharedTrace<W> {
    started: Instant,
    out: Mutex<TraceOutput<W>>,
}

#[derive(Debug)]
struct TraceOutput<W> {
    /// `None` once the trace is finished. Later events are dropped.
    writer: Option<W>,
    any_event: bool,
    error: Option<io::Error>,
}

impl<W> Clone for ChromeTrace<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<W> SharedTrace<W> {
    fn lock(&self) -> MutexGuard<'_, TraceOutput<W>> {
        self.out.lock()
    }
}

impl<W: Write + Send + 'static> ChromeTrace<W> {
    /// Creates a trace that is written to `writer` in pieces of about 64 KiB. The timestamps of its
    /// events count from now.
    pub fn new(writer: W) -> Self {
        let output = TraceOutput { writer: Some(writer), any_event: false, error: None };
        Self { shared: Arc::new(SharedTrace { started: Instant::now(), out: Mutex::new(output) }) }
    }

    /// Ends the trace and returns the writer.
    ///
    /// # Errors
    /// Returns the first write error, or an error of kind `Other` if the trace was already
    /// finished.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.shared.lock();
        let mut writer =
            out.writer.take().ok_or_else(|| io::Error::other("the trace is already finished"))?;
        if let Some(error) = out.error.take() {
            return Err(error);
        }
        writer.write_all(if out.any_event { b"\n]\n" } else { b"[]\n" })?;
        writer.flush()?;
        Ok(writer)
    }
}

impl<W: Write> TraceOutput<W> {
    fn append(&mut self, events: &str) {
        let Some(writer) = &mut self.writer else { return };
        if self.error.is_some() || events.is_empty() {
            return;
        }
        let before = if self.any_event { ",\n" } else { "[\n" };
        self.any_event = true;
        // The caller's writer may panic. That must not look like a panic of a task or of heist.
        let written = catch_unwind(AssertUnwindSafe(|| {
            writer.write_all(before.as_bytes())?;
            writer.write_all(events.as_bytes())
        }));
        self.error =
            written.unwrap_or_else(|_| Err(io::Error::other("the trace's writer panicked"))).err();
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

/// The row of one worker.
#[derive(Debug)]
pub struct ChromeWorker<W: Write> {
    shared: Arc<SharedTrace<W>>,
    worker: usize,
    events: String,
    /// Where the running task or poll came from, and when it started.
    running: Option<(Source, Micros)>,
    parked_at: Option<Micros>,
}

/// Microseconds since the trace started, which is the unit of the format, with nanosecond
/// resolution.
type Micros = f64;

/// A text, escaped for a JSON string.
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

    /// Writes a slice that ends now. `origin` follows its name.
    fn slice(&mut self, category: &str, name: &str, origin: &str, start: Micros) {
        let duration = self.now() - start;
        let name = Escaped(name);
        self.event(format_args!(
            r#""name":"{name}{origin}","cat":"{category}","ph":"X","ts":{start:.3},"dur":{duration:.3}"#
        ));
    }

    fn start_work(&mut self, source: Source) {
        // Discard a name that was set by code between two tasks.
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
