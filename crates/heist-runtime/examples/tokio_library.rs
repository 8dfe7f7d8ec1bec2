//! Uses a library that requires tokio on heist's workers.
//!
//! ```text
//! cargo run --release --example tokio_library -- [REQUESTS]
//! ```
//!
//! hyper-util's pooled HTTP client opens tokio's sockets, sleeps on tokio's timers, and resolves
//! names on tokio's blocking threads. Without a tokio runtime it panics. Wrapping a future in
//! `async_compat::Compat` provides one: a single thread for the whole process, which only waits for
//! sockets and timers, while heist's workers poll the futures. The tasks that the library spawns
//! run on heist as well, because the example passes it an executor that does that.
//!
//! The server, and a second client for comparison, use `heist_runtime::net` and need no tokio.
//! docs/TOKIO.md explains what works this way, what does not, and what it costs.

use async_compat::Compat;
use heist_runtime::net::{TcpListener, TcpStream};
use heist_runtime::{Runtime, RuntimeHandle};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioTimer;
use smol_hyper::rt::FuturesIo;
use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

type AnyError = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    let requests = match std::env::args().nth(1) {
        Some(number) => number.parse()?,
        None => 10_000,
    };
    let runtime = Runtime::new()?;
    let handle = runtime.handle();
    let (listener, address) = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        Ok::<_, AnyError>((listener, address))
    })?;
    let server = runtime.spawn(serve(listener));

    // Everything that uses tokio is inside a `Compat`, so that tokio's runtime is there when it is
    // polled or dropped.
    let through_tokio = runtime.spawn(Compat::new(ask_through_tokio(handle, address, requests)));
    let elapsed = runtime.block_on(through_tokio)??;
    report("hyper-util's client, over tokio", requests, elapsed);

    let without_tokio = runtime.spawn(ask_without_tokio(address, requests));
    let elapsed = runtime.block_on(without_tokio)??;
    report("hyper's client, over heist_runtime::net", requests, elapsed);

    server.abort();
    Ok(())
}

fn report(client: &str, requests: u32, elapsed: Duration) {
    println!(
        "{client}: {requests} requests one after the other, {:?} each",
        elapsed / requests.max(1)
    );
}

/// Answers every request. Each connection has its own task.
async fn serve(listener: TcpListener) -> Result<(), AnyError> {
    loop {
        let (stream, _peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = service_fn(async |request: Request<_>| {
            let body = format!("you asked for {}", request.uri().path());
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(body))))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(FuturesIo::new(stream), answer);
        heist_runtime::spawn(connection).detach();
    }
}

/// Spawns hyper-util's tasks (one for each connection) on heist, wrapped in a `Compat`.
#[derive(Clone)]
struct OnHeist(RuntimeHandle);

impl<F> hyper::rt::Executor<F> for OnHeist
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(Compat::new(future)).detach();
    }
}

async fn ask_through_tokio(
    runtime: RuntimeHandle,
    address: SocketAddr,
    requests: u32,
) -> Result<Duration, AnyError> {
    let client: Client<_, Empty<Bytes>> = Client::builder(OnHeist(runtime))
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(10))
        .build_http();
    let began = Instant::now();
    for number in 0..requests {
        // `localhost` is a name, which tokio resolves on one of its own threads.
        let uri = format!("http://localhost:{}/{number}", address.port()).parse()?;
        let response = client.get(uri).await?;
        let body = response.into_body().collect().await?.to_bytes();
        check(number, &body)?;
    }
    Ok(began.elapsed())
}

async fn ask_without_tokio(address: SocketAddr, requests: u32) -> Result<Duration, AnyError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(FuturesIo::new(stream)).await?;
    heist_runtime::spawn(connection).detach();
    let began = Instant::now();
    for number in 0..requests {
        let request = Request::get(format!("/{number}"))
            .header("host", "localhost")
            .body(Empty::<Bytes>::new())?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        check(number, &body)?;
    }
    Ok(began.elapsed())
}

fn check(number: u32, body: &[u8]) -> Result<(), AnyError> {
    let expected = format!("you asked for /{number}");
    if body == expected.as_bytes() {
        return Ok(());
    }
    Err(format!("the answer to request {number} is {:?}", String::from_utf8_lossy(body)).into())
}
