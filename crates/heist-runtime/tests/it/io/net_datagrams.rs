//! Proves that datagrams over UDP and Unix sockets arrive whole and with their sender's address,
//! and that errors name their address.

use crate::support::watched;
use heist_runtime::Runtime;
use heist_runtime::net::UdpSocket;
use heist_runtime::time::timeout;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Long enough to show that something does not happen, short enough to wait for.
const A_WHILE: Duration = Duration::from_millis(20);

fn on_a_runtime<F: Future<Output = io::Result<()>> + Send + 'static>(body: F) {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().expect("the runtime starts");
        let ended = runtime.spawn(body);
        runtime.block_on(ended).expect("no panic").expect("no error");
        runtime.join();
    });
}

#[test]
fn datagrams_are_sent_and_answered() {
    on_a_runtime(async {
        let server = UdpSocket::bind("127.0.0.1:0").await?;
        let address = server.local_addr()?;
        let answering = heist_runtime::spawn(async move {
            let mut buffer = [0; 1_000];
            for _ in 0..50 {
                let (length, from) = server.recv_from(&mut buffer).await?;
                server.send_to(&buffer[..length], from).await?;
            }
            io::Result::Ok(())
        });
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        client.connect(address).await?;
        assert_eq!(client.peer_addr()?, address);
        let mut buffer = [0; 1_000];
        // One at a time: the receiver's buffer could overflow, and datagrams would be lost.
        for number in 0..50_u8 {
            let sent = vec![number; usize::from(number) * 20];
            assert_eq!(client.send(&sent).await?, sent.len());
            let length = client.recv(&mut buffer).await?;
            assert_eq!(&buffer[..length], sent);
        }
        answering.await.expect("no panic")
    });
}

#[test]
fn a_peeked_datagram_is_still_there() {
    on_a_runtime(async {
        let (one, other) =
            (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
        let mut buffer = [0; 10];
        assert!(timeout(A_WHILE, other.peek(&mut buffer)).await.is_err());
        one.send_to(b"twice", other.local_addr()?).await?;
        assert_eq!(other.peek_from(&mut buffer).await?, (5, one.local_addr()?));
        assert_eq!(other.peek(&mut buffer).await?, 5);
        assert_eq!(other.recv_from(&mut buffer).await?, (5, one.local_addr()?));
        assert_eq!(&buffer[..5], b"twice");
        assert!(timeout(A_WHILE, other.recv(&mut buffer)).await.is_err());
        Ok(())
    });
}

#[test]
fn a_datagram_that_is_too_long_is_refused_with_its_address() {
    on_a_runtime(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let error =
            socket.send_to(&vec![0; 100_000], address).await.expect_err("the datagram is too long");
        assert!(
            error.to_string().starts_with(&format!("could not send to {address}: ")),
            "{error}"
        );
        let error = UdpSocket::bind(address).await.expect_err("the address is in use");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(
            error.to_string().starts_with(&format!("could not bind to {address}: ")),
            "{error}"
        );
        Ok(())
    });
}

#[test]
fn many_tasks_may_use_one_socket() {
    on_a_runtime(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let receiving: Vec<_> = (0..10)
            .map(|_| {
                let socket = socket.clone();
                heist_runtime::spawn(async move {
                    let mut byte = [0];
                    socket.recv(&mut byte).await.map(|_one| byte[0])
                })
            })
            .collect();
        for number in 0..10 {
            socket.send_to(&[number], address).await?;
        }
        let mut heard = Vec::new();
        for receiver in receiving {
            heard.push(receiver.await.expect("no panic")?);
        }
        heard.sort_unstable();
        assert_eq!(heard, (0..10).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn a_socket_joins_a_group_and_converts_to_and_from_std() {
    on_a_runtime(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        socket.set_broadcast(true)?;
        assert!(socket.as_std().broadcast()?);
        // The machine may not have a suitable interface, so only check that the call is made.
        let _ = socket.join_multicast_v4(Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::LOCALHOST);
        let address = socket.local_addr()?;
        let bare = socket.into_std()?;
        assert_eq!(UdpSocket::try_from(bare)?.local_addr()?, address);
        Ok(())
    });
}

#[cfg(unix)]
mod unix {
    use super::*;
    use heist_runtime::net::UnixDatagram;
    use std::path::PathBuf;

    /// A temporary directory that is removed when it is dropped.
    struct TemporaryDirectory(PathBuf);

    impl TemporaryDirectory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("heist-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory for the sockets");
            Self(path)
        }
    }

    impl Drop for TemporaryDirectory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn datagrams_are_sent_to_paths() {
        on_a_runtime(async {
            let directory = TemporaryDirectory::new("datagrams");
            let (server_path, client_path) =
                (directory.0.join("server"), directory.0.join("client"));
            let server = UnixDatagram::bind(&server_path)?;
            let client = UnixDatagram::bind(&client_path)?;
            client.send_to(b"hello", &server_path).await?;
            let mut buffer = [0; 10];
            let (length, from) = server.recv_from(&mut buffer).await?;
            assert_eq!(
                (&buffer[..length], from.as_pathname()),
                (&b"hello"[..], Some(&*client_path))
            );

            client.connect(&server_path)?;
            assert_eq!(client.peer_addr()?.as_pathname(), Some(&*server_path));
            client.send(b"again").await?;
            assert_eq!(server.recv(&mut buffer).await?, 5);

            let nameless = UnixDatagram::unbound()?;
            nameless.send_to(b"who?", &server_path).await?;
            let (_length, from) = server.recv_from(&mut buffer).await?;
            assert!(from.is_unnamed());
            Ok(())
        });
    }

    #[test]
    fn a_sender_waits_for_a_slow_receiver_and_nothing_is_lost() {
        on_a_runtime(async {
            let (one, other) = UnixDatagram::pair()?;
            let sending = heist_runtime::spawn(async move {
                for number in 0..2_000_u32 {
                    one.send(&number.to_le_bytes()).await?;
                }
                io::Result::Ok(())
            });
            // By now, more datagrams were sent than any queue holds.
            heist_runtime::time::sleep(A_WHILE).await;
            assert!(!sending.is_finished(), "all datagrams were sent at once");
            let mut buffer = [0; 10];
            for number in 0..2_000_u32 {
                assert_eq!(other.recv(&mut buffer).await?, 4);
                assert_eq!(buffer[..4], number.to_le_bytes());
            }
            sending.await.expect("no panic")
        });
    }

    #[test]
    fn errors_name_the_path() {
        on_a_runtime(async {
            let directory = TemporaryDirectory::new("no-datagrams");
            let missing = directory.0.join("missing");
            let socket = UnixDatagram::unbound()?;
            let named = |what: &str| format!("could not {what} {}: ", missing.display());
            let error = socket.send_to(b"?", &missing).await.expect_err("the path does not exist");
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(error.to_string().starts_with(&named("send to")), "{error}");
            let error = socket.connect(&missing).expect_err("the path does not exist");
            assert!(error.to_string().starts_with(&named("connect to")), "{error}");
            std::fs::write(&missing, "now it is")?;
            let error = UnixDatagram::bind(&missing).expect_err("the path exists");
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            assert!(error.to_string().starts_with(&named("bind to")), "{error}");
            Ok(())
        });
    }

    #[test]
    fn sending_to_a_closed_peer_is_an_error() {
        on_a_runtime(async {
            let (one, other) = UnixDatagram::pair()?;
            drop(other.into_std()?);
            let error = one.send(b"hello?").await.expect_err("the peer is closed");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
            Ok(())
        });
    }
}
