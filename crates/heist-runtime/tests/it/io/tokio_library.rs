//! Runs libraries that need tokio on heist, and checks the claims of docs/TOKIO.md about them.
//!
//! Wrapping a future in `Compat` makes a tokio runtime current while the future is polled and
//! dropped. That runtime's only thread waits for tokio's sockets and timers; heist's workers poll
//! the future.

use crate::support::fairness::{check_fair, count_operation};
use crate::support::{SILENT, silence_panics, watched};
use async_compat::{Compat, CompatExt};
use heist::JoinError;
use heist_runtime::Runtime;
use heist_runtime::net::{TcpListener, TcpStream};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const WORKER: &str = "compat";
const TOKIO_THREAD: &str = "async-compat/tokio-1";

fn runtime() -> Runtime {
    Runtime::builder().threads(2).thread_name(WORKER).build().expect("the runtime starts")
}

/// Runs a future that needs tokio on one of heist's workers.
#[track_caller]
fn on_a_worker<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = runtime();
    let output = runtime.spawn(Compat::new(future));
    let output = runtime.block_on(output).expect("no panic");
    runtime.join();
    output
}

fn thread_name() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

fn is_worker() -> bool {
    thread_name().starts_with(WORKER)
}

#[test]
fn without_the_adapter_tokio_reports_the_missing_runtime() {
    watched(|| {
        silence_panics();
        let runtime = Runtime::builder().threads(1).thread_name(SILENT).build().unwrap();
        let refused = runtime.spawn(async { tokio::time::sleep(Duration::ZERO).await });
        match runtime.block_on(refused) {
            Err(JoinError::Panicked(_)) => {}
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn tokios_sockets_and_timers_work_on_heists_workers() {
    watched(|| {
        on_a_worker(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let echo = heist_runtime::spawn(Compat::new(async move {
                let (mut stream, _peer) = listener.accept().await?;
                assert!(is_worker(), "{}", thread_name());
                let (mut reader, mut writer) = stream.split();
                tokio::io::copy(&mut reader, &mut writer).await
            }));
            let mut stream = tokio::net::TcpStream::connect(address).await?;
            for number in 0..100_u32 {
                stream.write_all(&number.to_le_bytes()).await?;
                assert_eq!(stream.read_u32_le().await?, number);
                assert!(is_worker(), "{}", thread_name());
            }
            drop(stream);
            assert_eq!(echo.await.expect("no panic")?, 400);

            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(began.elapsed() >= Duration::from_millis(10));
            assert!(is_worker(), "{}", thread_name());
            let never = std::future::pending::<()>();
            assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
            io::Result::Ok(())
        })
        .expect("no error");
    });
}

#[test]
fn tokio_runs_the_tasks_that_it_spawns() {
    watched(|| {
        on_a_worker(async {
            assert_eq!(tokio::spawn(async { thread_name() }).await.unwrap(), TOKIO_THREAD);
            let blocking = tokio::task::spawn_blocking(|| (thread_name(), is_worker()));
            let (name, on_worker) = blocking.await.unwrap();
            assert!(!on_worker && name != TOKIO_THREAD, "{name}");

            let path = std::env::temp_dir().join(format!("heist-tokio-{}", std::process::id()));
            tokio::fs::write(&path, "written by tokio").await.unwrap();
            assert_eq!(tokio::fs::read_to_string(&path).await.unwrap(), "written by tokio");
            tokio::fs::remove_file(&path).await.unwrap();
        });
    });
}

/// On tokio's own workers, these calls move the worker's other tasks to another thread. Here they
/// block the worker.
#[test]
fn block_in_place_blocks_the_worker() {
    watched(|| {
        on_a_worker(async {
            let worker = std::thread::current().id();
            let in_place = tokio::task::block_in_place(|| std::thread::current().id());
            assert_eq!(in_place, worker);
            let slept = tokio::runtime::Handle::current().block_on(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                std::thread::current().id()
            });
            assert_eq!(slept, worker);
        });
    });
}

#[test]
fn an_aborted_future_is_dropped_inside_the_tokio_runtime() {
    struct NeedsTokio;
    impl Drop for NeedsTokio {
        fn drop(&mut self) {
            tokio::runtime::Handle::current();
        }
    }
    watched(|| {
        let runtime = runtime();
        let stuck = runtime.spawn(Compat::new(async {
            let _needs_tokio = NeedsTokio;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }));
        runtime.block_on(heist_runtime::time::sleep(Duration::from_millis(5)));
        stuck.abort();
        match runtime.block_on(stuck) {
            Err(JoinError::Aborted) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(runtime.join().panics, 0);
    });
}

/// Tokio's operations count against tokio's budget, which exists only in tokio's own tasks.
#[test]
fn a_busy_tokio_socket_yields_if_its_task_consumes_heists_budget() {
    watched(|| {
        check_fair(
            10_000,
            Compat::new(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                let mut client = tokio::net::TcpStream::connect(listener.local_addr()?).await?;
                let (mut server, _peer) = listener.accept().await?;
                client.write_all(&[0; 10_000]).await?;
                for _ in 0..10_000 {
                    heist::coop::consume_budget().await;
                    server.read_u8().await?;
                    count_operation();
                }
                Ok(())
            }),
        );
    });
}

/// Futures that are not `Send` stay on the thread that blocks on them.
#[test]
fn futures_that_are_not_send_work_in_block_on() {
    watched(|| {
        let runtime = runtime();
        let here = std::thread::current().id();
        let there = runtime.block_on(Compat::new(tokio::task::LocalSet::new().run_until(async {
            let local = std::rc::Rc::new(());
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(local);
                std::thread::current().id()
            })
            .await
        })));
        assert_eq!(there.expect("no panic"), here);
    });
}

/// A heist stream used through tokio's traits.
#[test]
fn heists_sockets_work_with_tokios_traits() {
    watched(|| {
        on_a_worker(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut client = TcpStream::connect(listener.local_addr()?).await?.compat();
            let (server, _peer) = listener.accept().await?;
            let mut server = server.compat();
            client.write_u64_le(0x5eed).await?;
            assert_eq!(server.read_u64_le().await?, 0x5eed);
            io::Result::Ok(())
        })
        .expect("no error");
    });
}

/// A pooled client built on tokio (its sockets, its timers, its threads for name lookups) and a
/// server built on heist.
#[test]
fn a_tokio_http_client_talks_to_a_heist_server() {
    watched(|| {
        on_a_worker(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let port = listener.local_addr().expect("the listener is bound").port();
            let server = heist_runtime::spawn(async move {
                loop {
                    let (stream, _peer) = listener.accept().await.expect("the listener accepts");
                    let answer = service_fn(async |request: Request<_>| {
                        let body = format!("you asked for {}", request.uri().path());
                        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(body))))
                    });
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream.compat()), answer);
                    heist_runtime::spawn(connection).detach();
                }
            });
            let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(1))
                .build_http();
            for number in 0..20 {
                let uri = format!("http://localhost:{port}/{number}").parse().expect("a valid URI");
                let response = client.get(uri).await.expect("a response");
                let body = response.into_body().collect().await.expect("the whole body").to_bytes();
                assert_eq!(body, format!("you asked for /{number}"));
            }
            server.abort();
        });
    });
}
