//! CPU time that an HTTP server needs per request, and requests that it answers per second.
//!
//! Each server is a separate process ([`server`]), so that its CPU time does not include that of
//! the load. This process makes the load: one thread per connection, with a blocking socket of the
//! standard library, sends the next request as soon as it has the response to the last
//! ([`client`]). With one connection the server is idle between requests, so the figure shows how
//! cheaply it falls asleep and wakes up; with 32 there is usually another request waiting.
//!
//! Load and server share the CPUs. That affects requests per second, but hardly affects requests
//! per second of the server's CPU time.

mod client;
pub(crate) mod server;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::client::Connection;
use self::server::{Serving, Stack};
use crate::clock::now_ns;
use crate::contender::{Contender, Sampling, measure_rows};
use crate::race::start_together;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{HEIST, TOKIO};

/// The load on each server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Http {
    pub(crate) connections: usize,
    /// The length of a sample.
    pub(crate) window: Duration,
}

impl Http {
    /// Measures both servers in turns.
    ///
    /// # Errors
    /// Fails if a server cannot be started or reached.
    pub(crate) fn measure(
        self,
        workers: usize,
        sampling: &Sampling,
    ) -> Result<Vec<Measurement>, String> {
        let contender = |name, stack| {
            let mut server = LoadedServer::start(stack, workers, self.connections)
                .map_err(|error| format!("cannot serve HTTP on {name}: {error}"))?;
            Ok::<_, String>(Contender::new(name, move || server.sample(self.window)))
        };
        let contenders = vec![contender(HEIST, Stack::Heist)?, contender(TOKIO, Stack::Tokio)?];
        let row = |quantity: &str, unit| {
            (format!("http_{}_{quantity}-{workers}", self.connections), unit)
        };
        let rows = [row("cpu", Unit::RequestsPerCpuSecond), row("rate", Unit::RequestsPerSecond)];
        Ok(measure_rows(rows, sampling, contenders))
    }
}

/// A server and the connections to it, which stay open for all samples.
struct LoadedServer {
    serving: Serving,
    connections: Vec<Mutex<Connection>>,
}

impl LoadedServer {
    fn start(stack: Stack, workers: usize, connections: usize) -> io::Result<Self> {
        let serving = Serving::start(stack, workers)?;
        let connections = (0..connections)
            .map(|_| Connection::open(serving.address()).map(Mutex::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { serving, connections })
    }

    /// Returns requests per second of the server's CPU time, and requests per second of elapsed
    /// time.
    fn sample(&mut self, window: Duration) -> [f64; 2] {
        let answers = AtomicU64::new(0);
        let cpu_before = self.serving.cpu_time();
        let start_ns = start_together(self.connections.len(), |number| {
            let mut connection =
                self.connections[number].lock().unwrap_or_else(PoisonError::into_inner);
            let (started, mut own) = (Instant::now(), 0);
            while started.elapsed() < window {
                connection.ask().expect("the server answers every request");
                own += 1;
            }
            answers.fetch_add(own, Ordering::Relaxed);
        });
        let seconds = (now_ns() - start_ns) as f64 / 1e9;
        let cpu_seconds = (self.serving.cpu_time() - cpu_before).as_secs_f64();
        let answers = answers.into_inner() as f64;
        [answers / cpu_seconds, answers / seconds]
    }
}
