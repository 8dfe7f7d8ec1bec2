//! Proves that a socket that is always ready leaves its worker to other tasks: a poll does at most
//! 128 operations.

use crate::support::fairness::{check_fair, count_operation};
use crate::support::watched;
use futures_lite::{AsyncReadExt, AsyncWriteExt, StreamExt};
use heist_runtime::net::{TcpListener, TcpStream, UdpSocket};

/// More connections than one poll may accept and, except on Linux, at most as many as the system
/// queues.
const WAITING: u64 = if cfg!(target_os = "linux") { 300 } else { 128 };

#[test]
fn reading_available_bytes() {
    watched(|| {
        check_fair(10_000, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut client = TcpStream::connect(listener.local_addr()?).await?;
            let (mut server, _peer) = listener.accept().await?;
            client.write_all(&[0; 10_000]).await?;
            for _ in 0..10_000 {
                // One byte at a time: the next one is always available.
                server.read_exact(&mut [0]).await?;
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn peeking_repeatedly() {
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
fn sending_to_a_peer_that_does_not_listen() {
    watched(|| {
        check_fair(10_000, async {
            let receiver = UdpSocket::bind("127.0.0.1:0").await?;
            let address = receiver.local_addr()?;
            let sender = UdpSocket::bind("127.0.0.1:0").await?;
            for _ in 0..10_000 {
                // The system discards datagrams that do not fit, so there is always room.
                sender.send_to(&[0; 8], address).await?;
                count_operation();
            }
            Ok(())
        });
    });
}

#[test]
fn accepting_queued_connections() {
    watched(|| {
        check_fair(2 * WAITING, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            for as_stream in [false, true] {
                let mut clients = Vec::new();
                for _ in 0..WAITING {
                    clients.push(TcpStream::connect(listener.local_addr()?).await?);
                }
                let mut incoming = listener.incoming();
                for _ in 0..WAITING {
                    if as_stream {
                        incoming.next().await.expect("the stream never ends")?;
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
