//! A socket that is always ready leaves its worker to the others: at most 128 operations in a poll.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use futures_lite::{AsyncReadExt, AsyncWriteExt, StreamExt};
use heist::Runtime;
use heist::net::{TcpListener, TcpStream, UdpSocket};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::watched;

/// What the documentation says.
const OPERATIONS_PER_POLL_MAX: u64 = 128;

thread_local! {
    /// Operations of the task that runs on this thread, since it was last polled.
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count_operation() {
    OPERATIONS.set(OPERATIONS.get() + 1);
}

/// Runs `busy` on a runtime with one worker beside a task that only counts how often it gets its turn. Requires that no
/// poll of `busy` does more operations than allowed, and that the other one comes in between.
#[track_caller]
fn check_fair(operations: u64, busy: impl Future<Output = io::Result<()>> + Send + 'static) {
    let turns = Arc::new(AtomicU64::new(0));
    let runtime = Runtime::builder().workers(1).build().expect("the runtime starts");
    let counting = Arc::clone(&turns);
    let mut other = runtime.spawn(async move {
        loop {
            counting.fetch_add(1, Ordering::Relaxed);
            heist::yield_now().await;
        }
    });
    let busy = runtime.spawn(async move {
        let mut busy = pin!(busy);
        let mut most = 0;
        poll_fn(|cx| {
            OPERATIONS.set(0);
            let polled = busy.as_mut().poll(cx);
            most = most.max(OPERATIONS.get());
            polled
        })
        .await
        .map(|()| most)
    });
    let most = runtime.block_on(busy).expect("it does not panic").expect("no error");
    other.abort();
    let turns = turns.load(Ordering::Relaxed);
    assert!(most <= OPERATIONS_PER_POLL_MAX, "{most} operations in one poll");
    assert!(
        most > OPERATIONS_PER_POLL_MAX / 2,
        "{most}: it was not always ready, and proves nothing"
    );
    let turns_min = operations / OPERATIONS_PER_POLL_MAX;
    assert!(turns >= turns_min, "the other task had {turns} turns; {turns_min} are fair");
}

#[test]
fn reading_what_is_there() {
    watched(|| {
        check_fair(10_000, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut client = TcpStream::connect(listener.local_addr()?).await?;
            let (mut server, _peer) = listener.accept().await?;
            client.write_all(&[0; 10_000]).await?;
            for _ in 0..10_000 {
                // Byte by byte: the next one is always there.
                server.read_exact(&mut [0]).await?;
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn peeking_again_and_again() {
    watched(|| {
        check_fair(10_000, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut client = TcpStream::connect(listener.local_addr()?).await?;
            let (server, _peer) = listener.accept().await?;
            client.write_all(&[0]).await?;
            for _ in 0..10_000 {
                server.peek(&mut [0]).await?;
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn sending_to_somebody_who_does_not_listen() {
    watched(|| {
        check_fair(10_000, async {
            let receiver = UdpSocket::bind("127.0.0.1:0").await?;
            let address = receiver.local_addr()?;
            let sender = UdpSocket::bind("127.0.0.1:0").await?;
            for _ in 0..10_000 {
                // What does not fit is lost; there is always room.
                sender.send_to(&[0; 8], address).await?;
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn accepting_those_who_are_there() {
    watched(|| {
        check_fair(600, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            for as_stream in [false, true] {
                let mut clients = Vec::new();
                for _ in 0..300 {
                    clients.push(TcpStream::connect(listener.local_addr()?).await?);
                }
                let mut incoming = listener.incoming();
                OPERATIONS.set(0);
                for _ in 0..300 {
                    if as_stream {
                        incoming.next().await.expect("it never ends")?;
                    } else {
                        listener.accept().await?;
                    }
                    count_operation();
                }
            }
            Ok(())
        });
    });
}
