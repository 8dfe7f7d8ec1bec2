//! Proves that waiting timers and sockets use no CPU: no thread of the process makes a context
//! switch. The test needs a process of its own, because it observes the whole process.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
#![cfg(all(feature = "io", not(heist_tsan)))]
#![cfg(target_os = "linux")]

mod support;

use futures_lite::AsyncReadExt;
use heist_runtime::Runtime;
use heist_runtime::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use heist_runtime::time::{interval, sleep, timeout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::silence::check_process_silent_for;
use support::{threads_named, wait_until, watched};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_process_that_waits_for_timers_and_sockets_is_silent() {
    watched(|| {
        let runtime = Runtime::builder().threads(3).build().expect("the runtime starts");
        let waiting = Arc::new(AtomicUsize::new(0));
        let about_to_wait = || {
            let waiting = Arc::clone(&waiting);
            move || waiting.fetch_add(1, Ordering::Release)
        };
        for _ in 0..1_000 {
            let waits = about_to_wait();
            runtime
                .spawn(async move {
                    waits();
                    sleep(HOUR).await;
                })
                .detach();
        }
        // Deadlines up to the limits of the clock: one that overflows would fire at once, again and
        // again.
        for power in 12..64 {
            let waits = about_to_wait();
            runtime
                .spawn(async move {
                    waits();
                    sleep(Duration::from_secs(1 << power)).await;
                })
                .detach();
        }
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let waits = about_to_wait();
        let mut accepted = runtime.spawn(async move {
            waits();
            listener.accept().await.map(|(stream, _peer)| (listener, stream))
        });
        let client = runtime.block_on(TcpStream::connect(address)).expect("the listener accepts");
        let (_listener, mut server) = runtime.block_on(&mut accepted).unwrap().unwrap();
        let waits = about_to_wait();
        let reading = runtime.spawn(async move {
            waits();
            timeout(HOUR, server.read(&mut [0; 10])).await
        });
        let waits = about_to_wait();
        runtime
            .spawn(async move {
                let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port is free");
                let (mut one, _other) = UnixStream::pair().expect("a descriptor is free");
                let mut ticks = interval(HOUR);
                ticks.tick().await;
                waits();
                let (mut datagram, mut byte) = ([0; 10], [0; 1]);
                let ticking = async {
                    ticks.tick().await;
                };
                let receiving = async { drop(socket.recv(&mut datagram).await) };
                let hearing = async { drop(one.read(&mut byte).await) };
                futures_lite::future::or(ticking, futures_lite::future::or(receiving, hearing))
                    .await;
            })
            .detach();
        // A library that needs tokio brings one of tokio's threads along.
        let waits = about_to_wait();
        let tokio = async move {
            let listener =
                tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            waits();
            drop(listener.accept().await);
        };
        runtime.spawn(async_compat::Compat::new(tokio)).detach();
        wait_until("every task waits", || waiting.load(Ordering::Acquire) == 1_000 + 52 + 4);

        let threads = check_process_silent_for(Duration::from_secs(2));
        assert_eq!(threads_named("async-io").len(), 1, "the reactor's thread");
        assert_eq!(threads_named("async-compat").len(), 1, "tokio's thread");
        assert!(
            threads >= 5,
            "only {threads} threads were observed; expected three workers and these two"
        );

        // The sleeping process reacts at once.
        let began = Instant::now();
        std::io::Write::write_all(&mut client.as_std(), b"awake").expect("the stream is connected");
        let read =
            runtime.block_on(reading).expect("no panic").expect("in time").expect("no error");
        assert_eq!(read, 5);
        assert!(began.elapsed() < Duration::from_secs(2));
    });
}
