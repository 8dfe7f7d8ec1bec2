//! HTTP/1.1 with hyper: server and clients on one runtime, with a thousand connections open at the
//! same time.
//!
//! The test checks every byte of every request and every response, and the server counts its
//! connections. No client sends its second request before every client has the response to its
//! first, so at that moment all connections are open.

use crate::support::sync::Mutex;
use crate::support::watched;
use futures_lite::future::{poll_fn, yield_now};
use heist_runtime::net::{TcpListener, TcpStream};
use heist_runtime::time::timeout;
use heist_runtime::{Runtime, RuntimeHandle};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use smol_hyper::rt::FuturesIo;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

type AnyError = Box<dyn Error + Send + Sync>;

const CONNECTIONS: usize = 1_000;
const REQUESTS_PER_CONNECTION: usize = 4;

/// Shorter than the watchdog of the tests, so that the error tells where the test is stuck.
const DEADLINE: Duration = Duration::from_secs(50);

/// The number of open connections, and its maximum.
#[derive(Default)]
struct Connections {
    open: AtomicUsize,
    most: AtomicUsize,
}

impl Connections {
    fn opened(self: &Arc<Self>) -> OpenConnection {
        let open = self.open.fetch_add(1, Ordering::AcqRel) + 1;
        self.most.fetch_max(open, Ordering::AcqRel);
        OpenConnection(Arc::clone(self))
    }
}

/// An open connection of [`Connections`]. Dropping it counts the connection as closed.
struct OpenConnection(Arc<Connections>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A barrier: tasks wait at it until a number of them have arrived.
struct Meeting {
    missing: Mutex<(usize, Vec<Waker>)>,
}

impl Meeting {
    fn of(tasks: usize) -> Self {
        Self { missing: Mutex::new((tasks, Vec::new())) }
    }

    async fn wait(&self) {
        self.missing.lock().unwrap().0 -= 1;
        poll_fn(|cx| {
            let mut missing = self.missing.lock().unwrap();
            if missing.0 > 0 {
                missing.1.push(cx.waker().clone());
                return Poll::Pending;
            }
            let waiting = std::mem::take(&mut missing.1);
            drop(missing);
            waiting.into_iter().for_each(Waker::wake);
            Poll::Ready(())
        })
        .await;
    }
}

/// Returns the body of a request. Its length and its bytes differ from those of every other
/// request.
fn body_of(client: usize, request: usize) -> Vec<u8> {
    let length = (client * 7 + request * 4_001) % 9_000;
    (0..length).map(|place| (place * 31 + place / 251 + client * 101 + request) as u8).collect()
}

/// Returns the server's response to a body: reversed, with every bit inverted.
fn answer_to(body: &[u8]) -> Vec<u8> {
    body.iter().rev().map(|byte| !byte).collect()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    if request.method() != Method::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(Response::builder()
            .status(status)
            .body(Full::default())
            .expect("a valid message"));
    }
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let answer = Full::new(Bytes::from(answer_to(&body)));
    Ok(Response::builder().header("x-path", path).body(answer).expect("a valid message"))
}

async fn serve(runtime: RuntimeHandle, listener: TcpListener, connections: Arc<Connections>) {
    loop {
        let (stream, _peer) = listener.accept().await.expect("the listener works");
        let open = connections.opened();
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(FuturesIo::new(stream), service_fn(answer));
        runtime
            .spawn(async move {
                let _open = open;
                connection.await.expect("no connection fails");
            })
            .detach();
    }
}

async fn connect(
    runtime: &RuntimeHandle,
    address: SocketAddr,
) -> Result<SendRequest<Full<Bytes>>, AnyError> {
    let stream = TcpStream::connect(address).await?;
    let (sender, connection) =
        hyper::client::conn::http1::handshake(FuturesIo::new(stream)).await?;
    // The connection reads and writes until the sender is dropped.
    runtime.spawn(async move { connection.await.expect("no connection fails") }).detach();
    Ok(sender)
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    client: usize,
    number: usize,
) -> Result<(), AnyError> {
    let body = body_of(client, number);
    let path = format!("/{client}/{number}");
    let request = Request::post(&path)
        .header("host", "localhost")
        .body(Full::new(Bytes::from(body.clone())))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["x-path"], path);
    let answer = response.into_body().collect().await?.to_bytes();
    assert!(answer == answer_to(&body), "{path}: {} bytes of {}", answer.len(), body.len());
    Ok(())
}

/// Allows two descriptors for each connection, and as many for the rest of the process, in which
/// other tests have connections too.
fn allow_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let wanted = 4 * CONNECTIONS as u64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        assert!(
            limit.maximum.is_none_or(|most| most >= wanted),
            "this test needs {wanted} open files"
        );
        limit.current = Some(wanted);
        setrlimit(Resource::Nofile, limit).expect("the limit may be raised to its maximum");
    }
}

#[test]
fn a_thousand_connections_at_the_same_time() {
    watched(|| {
        allow_open_files();
        let runtime = Runtime::builder().threads(2).build().expect("the runtime starts");
        let handle = runtime.handle();
        let connections = Arc::new(Connections::default());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let server = runtime.spawn(serve(handle.clone(), listener, Arc::clone(&connections)));

        let all_clients = Arc::new(Meeting::of(CONNECTIONS));
        let answered = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|client| {
                let (all_clients, answered) = (Arc::clone(&all_clients), Arc::clone(&answered));
                let (handle, connections) = (handle.clone(), Arc::clone(&connections));
                runtime.spawn(async move {
                    let mut sender = connect(&handle, address).await?;
                    for number in 0..REQUESTS_PER_CONNECTION {
                        ask(&mut sender, client, number).await?;
                        answered.fetch_add(1, Ordering::Relaxed);
                        if number == 0 {
                            all_clients.wait().await;
                            // A client leaves only after this barrier, so all connections have been
                            // open at once.
                            assert!(connections.most.load(Ordering::Acquire) == CONNECTIONS);
                        }
                    }
                    Ok::<_, AnyError>(())
                })
            })
            .collect();
        let all = timeout(DEADLINE, async {
            for (number, client) in clients.into_iter().enumerate() {
                let ended = client.await.unwrap_or_else(|error| panic!("client {number}: {error}"));
                ended.unwrap_or_else(|error| panic!("client {number}: {error}"));
            }
            // Waits until the server has noticed that the clients are gone.
            while connections.open.load(Ordering::Acquire) > 0 {
                yield_now().await;
            }
        });
        if runtime.block_on(all).is_err() {
            let answered = answered.load(Ordering::Relaxed);
            let most = connections.most.load(Ordering::Acquire);
            panic!("not done after {DEADLINE:?}: {answered} requests answered, {most} connections");
        }
        assert_eq!(answered.load(Ordering::Relaxed), CONNECTIONS * REQUESTS_PER_CONNECTION);
        assert_eq!(connections.most.load(Ordering::Acquire), CONNECTIONS);

        server.abort();
        let metrics = runtime.join();
        assert_eq!(metrics.backstop_rescues, 0, "lost wake-ups: {metrics}");
    });
}

#[test]
fn an_unsupported_method_is_refused_and_the_connection_stays_open() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().expect("the runtime starts");
        let handle = runtime.handle();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let address = listener.local_addr().expect("the listener is bound");
            let server =
                runtime.spawn(serve(handle.clone(), listener, Arc::new(Connections::default())));
            let mut sender = connect(&handle, address).await.expect("the server listens");
            let request = Request::get("/").header("host", "localhost").body(Full::default());
            let response = sender.send_request(request.expect("a valid message")).await;
            let response = response.expect("a response");
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
            response.into_body().collect().await.expect("an empty body");
            ask(&mut sender, 1, 1).await.expect("the next request succeeds");
            server.abort();
        });
    });
}
