//! The servers: hyper on heist's runtime and on tokio's, each in a process of its own.
//!
//! The process is the hidden subcommand `http-server`. The first line that it prints on stdout is
//! its address. It then answers each line on stdin with the CPU time that it has used so far, in
//! nanoseconds. It exits when stdin ends, so it cannot outlive the process that started it.

use std::any::Any;
use std::convert::Infallible;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use clap::{Args, ValueEnum};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::clock::process_cpu_time;

/// The body of every response.
pub(super) const BODY: &[u8; 13] = b"Hello, world!";

/// The runtime and sockets that hyper uses.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Stack {
    Heist,
    Tokio,
}

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    stack: Stack,
    workers: usize,
}

/// Serves until stdin ends.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    serve_until_stdin_ends(options).map_err(|error| format!("cannot serve: {error}"))
}

fn serve_until_stdin_ends(options: &Options) -> io::Result<()> {
    let listening = Listening::start(options.stack, options.workers)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", listening.address)?;
    for line in io::stdin().lock().lines() {
        line?;
        writeln!(stdout, "{}", process_cpu_time().as_nanos())?;
    }
    Ok(())
}

/// A server inside this process.
struct Listening {
    address: SocketAddr,
    /// The server stops when the runtime is dropped.
    _runtime: Box<dyn Any>,
}

impl Listening {
    fn start(stack: Stack, workers: usize) -> io::Result<Self> {
        match stack {
            Stack::Heist => Self::on_heist(workers),
            Stack::Tokio => Self::on_tokio(workers),
        }
    }

    fn on_heist(workers: usize) -> io::Result<Self> {
        use heist_runtime::net::TcpListener;
        use smol_hyper::rt::FuturesIo;

        let runtime =
            heist_runtime::Runtime::builder().threads(workers).build().map_err(io::Error::other)?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let accepting = async move {
            while let Ok((stream, _client)) = listener.accept().await {
                let connection = http1::Builder::new()
                    .serve_connection(FuturesIo::new(stream), service_fn(answer));
                heist_runtime::spawn(connection).detach();
            }
        };
        runtime.spawn(accepting).detach();
        Ok(Self { address, _runtime: Box::new(runtime) })
    }

    fn on_tokio(workers: usize) -> io::Result<Self> {
        use hyper_util::rt::TokioIo;
        use tokio::net::TcpListener;
        use tokio::runtime::Builder;

        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(async move {
            while let Ok((stream, _client)) = listener.accept().await {
                let connection = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                tokio::spawn(connection);
            }
        });
        Ok(Self { address, _runtime: Box::new(runtime) })
    }
}

async fn answer(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(BODY))))
}

/// A server in a child process, which exits when this value is dropped.
#[derive(Debug)]
pub(super) struct Serving {
    address: SocketAddr,
    process: Child,
    /// `None` only during `drop`.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Serving {
    pub(super) fn start(stack: Stack, workers: usize) -> io::Result<Self> {
        let stack = stack.to_possible_value().expect("no stack is hidden");
        let mut process = Command::new(std::env::current_exe()?)
            .args(["http-server", stack.get_name(), &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut line = String::new();
        answers.read_line(&mut line)?;
        let address = line.trim_end().parse().map_err(|_| io::Error::other("it ended"))?;
        Ok(Self { address, process, questions, answers })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the user and system CPU time that all threads of the server have used so far.
    pub(super) fn cpu_time(&mut self) -> Duration {
        self.ask_for_cpu_time().expect("the server runs until this is dropped")
    }

    fn ask_for_cpu_time(&mut self) -> io::Result<Duration> {
        let questions = self.questions.as_mut().expect("it is not being dropped");
        questions.write_all(b"\n")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        line.trim_end().parse().map(Duration::from_nanos).map_err(io::Error::other)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The server exits when its stdin is closed.
        self.questions = None;
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Connection;
    use super::*;

    #[test]
    fn every_stack_answers_on_every_connection() {
        for &stack in Stack::value_variants() {
            let listening = Listening::start(stack, 2).expect("it starts");
            let open = |_| Connection::open(listening.address).expect("it listens");
            let mut connections: Vec<_> = (0..5).map(open).collect();
            for _ in 0..3 {
                for connection in &mut connections {
                    connection.ask().unwrap_or_else(|error| panic!("{stack:?}: {error}"));
                }
            }
        }
    }
}
