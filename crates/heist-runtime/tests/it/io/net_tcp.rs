//! Proves that TCP streams deliver every byte, that errors name their address, and that a cancelled
//! operation loses nothing.

use crate::support::{wait_until, watched};
use futures_lite::future;
use futures_lite::{AsyncReadExt, AsyncWriteExt, StreamExt};
use heist::JoinHandle;
use heist_runtime::Runtime;
use heist_runtime::net::{TcpListener, TcpStream};
use heist_runtime::time::{sleep, timeout};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// Long enough to show that something does not happen, short enough to wait for.
const A_WHILE: Duration = Duration::from_millis(20);

fn on_a_runtime<F: Future<Output = io::Result<()>> + Send + 'static>(body: F) {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().expect("the runtime starts");
        // On a worker, where most code runs.
        let ended = runtime.spawn(body);
        runtime.block_on(ended).expect("no panic").expect("no error");
        runtime.join();
    });
}

/// Creates both ends of a connection.
async fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, peer) = listener.accept().await?;
    assert_eq!(peer, client.local_addr()?);
    Ok((client, server))
}

/// Returns the bytes of stream `number`, without a period that could hide an error at a buffer's
/// end.
fn bytes(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|place| ((place * 31 + place / 251 + number * 101) % 256) as u8).collect()
}

#[test]
fn an_echo_returns_every_byte() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = heist_runtime::spawn(async move {
            for _ in 0..20 {
                let (stream, _peer) = listener.accept().await?;
                // Reads until the client ends its half.
                heist_runtime::spawn(async move {
                    futures_lite::io::copy(stream.clone(), stream).await
                })
                .detach();
            }
            io::Result::Ok(())
        });
        let clients: Vec<JoinHandle<io::Result<()>>> = (0..20)
            .map(|number| {
                heist_runtime::spawn(async move {
                    let sent = bytes(number, number * number * 2_000);
                    let mut reader = TcpStream::connect(address).await?;
                    let mut writer = reader.clone();
                    let to_send = sent.clone();
                    // More than the system buffers: the client must write and read at the same
                    // time.
                    let writing = heist_runtime::spawn(async move {
                        writer.write_all(&to_send).await?;
                        writer.close().await
                    });
                    let mut received = Vec::new();
                    reader.read_to_end(&mut received).await?;
                    writing.await.expect("no panic")?;
                    assert!(received == sent, "stream {number}: {} bytes", received.len());
                    Ok(())
                })
            })
            .collect();
        for client in clients {
            client.await.expect("no panic")?;
        }
        server.await.expect("no panic")
    });
}

#[test]
fn several_buffers_are_written_in_one_call() {
    on_a_runtime(async {
        let (mut client, mut server) = connected().await?;
        let sent = [io::IoSlice::new(b"one, "), io::IoSlice::new(b"two")];
        assert_eq!(client.write_vectored(&sent).await?, 8);
        let (mut first, mut second) = ([0; 3], [0; 10]);
        let mut buffers = [io::IoSliceMut::new(&mut first), io::IoSliceMut::new(&mut second)];
        assert_eq!(server.read_vectored(&mut buffers).await?, 8);
        assert_eq!((&first, &second[..5]), (b"one", &b", two"[..]));
        Ok(())
    });
}

#[test]
fn a_name_works_like_an_address() {
    on_a_runtime(async {
        let listener = TcpListener::bind(("localhost", 0)).await?;
        let port = listener.local_addr()?.port();
        for _ in 0..10 {
            let client = TcpStream::connect(("localhost", port)).await?;
            assert_eq!(client.peer_addr()?.port(), port);
        }
        TcpStream::connect(format!("localhost:{port}")).await?;
        Ok(())
    });
}

#[test]
fn names_are_looked_up_on_the_threads_for_blocking_calls() {
    watched(|| {
        let runtime = Runtime::builder().threads(1).build().expect("the runtime starts");
        let looking_up = runtime.spawn(heist_runtime::net::resolve("localhost:80"));
        let addresses = runtime.block_on(looking_up).expect("no panic").expect("the name is known");
        assert!(!addresses.is_empty());
        // The future, and the call that it awaited.
        wait_until("both have ended", || runtime.metrics().futures_ended == 2);
        let addresses =
            runtime.block_on(heist_runtime::net::resolve("127.0.0.1:80")).expect("an address");
        assert_eq!(addresses.len(), 1);
        assert_eq!(runtime.metrics().futures_ended, 2, "an address is not looked up");

        // If the runtime accepts no calls, the lookup uses a separate thread.
        runtime.handle().shutdown();
        runtime
            .block_on(heist_runtime::net::resolve("localhost:80"))
            .expect("the name is still known");
    });
}

#[test]
fn incoming_is_a_stream_of_connections() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let clients = heist_runtime::spawn(async move {
            for number in 0..10_u8 {
                TcpStream::connect(address).await?.write_all(&[number]).await?;
                sleep(Duration::from_millis(1)).await;
            }
            io::Result::Ok(())
        });
        let mut incoming = listener.incoming().take(10);
        let mut heard = Vec::new();
        while let Some(stream) = incoming.next().await {
            stream?.read_to_end(&mut heard).await?;
        }
        assert_eq!(heard, (0..10).collect::<Vec<_>>());
        clients.await.expect("no panic")
    });
}

#[test]
fn errors_name_the_address_and_keep_their_kind() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;

        let error = TcpListener::bind(address).await.expect_err("the address is in use");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(
            error.to_string().starts_with(&format!("could not listen on {address}: ")),
            "{error}"
        );

        drop(listener);
        let error = TcpStream::connect(address).await.expect_err("no process listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(
            error.to_string().starts_with(&format!("could not connect to {address}: ")),
            "{error}"
        );

        let error =
            TcpStream::connect("missing.invalid:80").await.expect_err("the name does not exist");
        assert!(error.to_string().starts_with("could not look up missing.invalid:80: "), "{error}");

        let error = TcpStream::connect("127.0.0.1").await.expect_err("the port is missing");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "`127.0.0.1` is not an address: it has no `:port`");
        Ok(())
    });
}

#[test]
fn peeking_does_not_consume_bytes() {
    on_a_runtime(async {
        let (mut client, mut server) = connected().await?;
        client.write_all(b"once").await?;
        let mut buffer = [0; 10];
        for _ in 0..3 {
            assert_eq!(server.peek(&mut buffer).await?, 4);
        }
        assert_eq!(server.read(&mut buffer).await?, 4);
        assert_eq!(&buffer[..4], b"once");
        assert!(timeout(A_WHILE, server.peek(&mut buffer)).await.is_err());
        Ok(())
    });
}

#[test]
fn readable_and_writable_wait_for_readiness() {
    on_a_runtime(async {
        let (client, server) = connected().await?;
        client.writable().await?;
        assert!(timeout(A_WHILE, server.readable()).await.is_err(), "nothing was sent");
        client.as_std().write_all(b"now")?;
        server.readable().await?;
        assert_eq!(server.as_std().read(&mut [0; 10])?, 3);
        Ok(())
    });
}

#[test]
fn clones_share_the_socket_options() {
    on_a_runtime(async {
        let (client, server) = connected().await?;
        assert_eq!(client.peer_addr()?, server.local_addr()?);
        assert!(!client.nodelay()?);
        client.set_nodelay(true)?;
        assert!(client.clone().nodelay()?, "a clone is the same socket");
        client.set_ttl(17)?;
        assert_eq!(client.ttl()?, 17);
        Ok(())
    });
}

#[test]
fn a_closed_half_ends_the_stream_and_closing_twice_succeeds() {
    on_a_runtime(async {
        let (mut client, mut server) = connected().await?;
        client.close().await?;
        client.close().await?;
        assert_eq!(server.read(&mut [0; 10]).await?, 0);
        server.write_all(b"still there").await?;
        server.shutdown(Shutdown::Both)?;
        let mut rest = String::new();
        client.read_to_string(&mut rest).await?;
        assert_eq!(rest, "still there");
        client.close().await
    });
}

#[test]
fn writing_to_a_closed_connection_is_an_error() {
    on_a_runtime(async {
        let (mut client, server) = connected().await?;
        drop(server);
        let written = async {
            loop {
                client.write_all(b"hello?").await?;
                sleep(Duration::from_millis(1)).await;
            }
        };
        let error: io::Result<()> = written.await;
        let kind = error.expect_err("the other side is closed").kind();
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(gone.contains(&kind), "{kind}");
        Ok(())
    });
}

#[test]
fn sockets_convert_to_and_from_the_standard_library() {
    on_a_runtime(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let listener = TcpListener::try_from(listener)?;
        let client = std::net::TcpStream::connect(listener.local_addr()?)?;
        let mut client = TcpStream::try_from(client)?;
        let (mut server, _peer) = listener.accept().await?;
        client.write_all(b"in").await?;
        let mut buffer = [0; 2];
        server.read_exact(&mut buffer).await?;

        // If the socket has clones, this returns a duplicate; otherwise the socket itself.
        let kept = client.clone();
        let address = kept.local_addr()?;
        assert_eq!(client.into_std()?.local_addr()?, address);
        let mut bare = kept.into_std()?;
        assert_eq!(bare.local_addr()?, address);
        assert_eq!(bare.read(&mut [0; 1]).expect_err("empty").kind(), io::ErrorKind::WouldBlock);
        bare.write_all(b"out")?;
        drop(bare);
        let mut rest = String::new();
        server.read_to_string(&mut rest).await?;
        assert_eq!(rest, "out", "the stream ended, so no duplicate is open");
        Ok(())
    });
}

#[test]
fn a_cancelled_operation_loses_nothing() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        assert!(timeout(A_WHILE, listener.accept()).await.is_err(), "no client connects");
        let mut client = TcpStream::connect(listener.local_addr()?).await?;
        let (mut server, _peer) = listener.accept().await?;

        let sent = bytes(1, 300_000);
        let expected = sent.clone();
        let writing = heist_runtime::spawn(async move {
            for piece in sent.chunks(1_000) {
                client.write_all(piece).await?;
                // Slows the writer down, so that the reader mostly finds nothing.
                heist::yield_now().await;
            }
            client.close().await
        });
        let (mut received, mut cancelled) = (Vec::new(), 0);
        let mut buffer = vec![0; 700];
        loop {
            // Polls each read once and often drops it.
            match future::poll_once(server.read(&mut buffer)).await {
                Some(read) => match read? {
                    0 => break,
                    length => received.extend_from_slice(&buffer[..length]),
                },
                None => {
                    cancelled += 1;
                    server.readable().await?;
                }
            }
        }
        assert!(received == expected, "{} bytes", received.len());
        assert!(cancelled > 0, "nothing was cancelled");
        writing.await.expect("no panic")
    });
}

/// On Linux, a connection attempt is not answered while the listener's queue is full.
#[cfg(target_os = "linux")]
#[test]
fn a_timeout_ends_a_connection_attempt_to_a_silent_host() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        rustix::net::listen(&listener, 0)?;
        let mut waiting = Vec::new();
        let given_up = loop {
            match timeout(A_WHILE, TcpStream::connect(address)).await {
                Ok(stream) => waiting.push(stream?),
                Err(elapsed) => break io::Error::from(elapsed),
            }
            assert!(waiting.len() < 10, "the listener's queue never fills");
        };
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        for stream in waiting {
            assert_eq!(listener.accept().await?.1, stream.local_addr()?);
        }
        Ok(())
    });
}

#[test]
fn all_tasks_that_wait_on_one_socket_are_woken() {
    on_a_runtime(async {
        let (mut client, server) = connected().await?;
        let readers: Vec<JoinHandle<io::Result<u8>>> = (0..10)
            .map(|_| {
                let mut server = server.clone();
                heist_runtime::spawn(async move {
                    let mut byte = [0];
                    server.read_exact(&mut byte).await?;
                    Ok(byte[0])
                })
            })
            .collect();
        sleep(A_WHILE).await;
        let mut heard = Vec::new();
        for byte in 0..10 {
            client.write_all(&[byte]).await?;
            sleep(Duration::from_millis(1)).await;
        }
        for reader in readers {
            heard.push(reader.await.expect("no panic")?);
        }
        heard.sort_unstable();
        assert_eq!(heard, (0..10).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn several_tasks_accept_from_one_listener() {
    on_a_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let accepting: Vec<_> = (0..4)
            .map(|_| {
                let listener = listener.clone();
                heist_runtime::spawn(
                    async move { listener.accept().await.map(|(_stream, peer)| peer) },
                )
            })
            .collect();
        sleep(A_WHILE).await;
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(TcpStream::connect(listener.local_addr()?).await?);
        }
        for accepted in accepting {
            let peer = accepted.await.expect("no panic")?;
            assert!(clients.iter().any(|client| client.local_addr().is_ok_and(|own| own == peer)));
        }
        Ok(())
    });
}

/// A socket's futures must be `Send` to run on a worker, and dropping one in the middle must close
/// the socket.
#[test]
fn an_aborted_task_closes_its_socket() {
    on_a_runtime(async {
        let (mut client, mut server) = connected().await?;
        let reading = heist_runtime::spawn(async move { server.read(&mut [0; 10]).await });
        sleep(Duration::from_millis(5)).await;
        reading.abort();
        assert!(reading.await.is_err());
        assert_eq!(client.read(&mut [0; 10]).await?, 0, "the aborted task closed its socket");
        Ok(())
    });
}
