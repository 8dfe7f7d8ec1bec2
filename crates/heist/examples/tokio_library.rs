//! A library that insists on tokio, on heist's workers.
//!
//! ```sh
//! cargo run --release --example tokio_library -- [REQUESTS]
//! ```
//!
//! hyper-util's pooled HTTP client opens tokio's sockets, sleeps by tokio's timers and looks names up on tokio's
//! blocking threads; without a tokio runtime it panics. `async_compat::Compat` around the future lends it one: a single
//! thread of the process, which only waits for sockets and timers, while the futures are polled by heist's workers.
//! What the library spawns goes where its executor puts it: here onto heist, too.
//!
//! The server, and for comparison a second client, use `heist::net` and need no tokio. docs/TOKIO.md says what works in
//! this way, what does not, and what it costs.

use async_compat::Compat;
use heist::net::{TcpListener, TcpStream};
use heist::{Runtime, RuntimeHandle};
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

    // Everything that touches tokio is inside of a `Compat`: polls and drops happen with its runtime at hand.
    let through_tokio = runtime.spawn(Compat::new(ask_through_tokio(handle, address, requests)));
    let elapsed = runtime.block_on(through_tokio)??;
    report("hyper-util's client, over tokio", requests, elapsed);

    let without_tokio = runtime.spawn(ask_without_tokio(address, requests));
    let elapsed = runtime.block_on(without_tokio)??;
    report("hyper's client, over heist::net", requests, elapsed);

    server.abort();
    Ok(())
}

fn report(who: &str, requests: u32, elapsed: Duration) {
    println!(
        "{who}: {requests} requests one after the other, {:?} each",
        elapsed / requests.max(1)
    );
}

/// Answers every request, each connection in a task of its own.
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
        heist::spawn(connection).detach();
    }
}

/// Puts what hyper-util spawns (a task for each connection) onto heist, with tokio around it.
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
        // A name: tokio looks it up on a thread of its own.
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
    heist::spawn(connection).detach();
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
