//! Proves that Unix sockets deliver every byte, and that their errors name the path.

use crate::support::watched;
use futures_lite::{AsyncReadExt, AsyncWriteExt, StreamExt};
use heist_runtime::Runtime;
use heist_runtime::net::{UnixListener, UnixStream};
use std::io;
use std::net::Shutdown;
use std::path::PathBuf;

fn on_a_runtime<F: Future<Output = io::Result<()>> + Send + 'static>(body: F) {
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().expect("the runtime starts");
        let ended = runtime.spawn(body);
        runtime.block_on(ended).expect("no panic").expect("no error");
        runtime.join();
    });
}

/// The path of a socket. Dropping it removes the file.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(name: &str) -> Self {
        let file = format!("heist-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(file))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn an_echo_over_a_path_returns_every_byte() {
    on_a_runtime(async {
        let path = SocketPath::new("echo");
        let listener = UnixListener::bind(&path.0)?;
        assert_eq!(listener.local_addr()?.as_pathname(), Some(&*path.0));
        let server = heist_runtime::spawn(async move {
            let mut incoming = listener.incoming().take(5);
            while let Some(stream) = incoming.next().await {
                let stream = stream?;
                futures_lite::io::copy(stream.clone(), stream).await?;
            }
            io::Result::Ok(())
        });
        for number in 0..5_u8 {
            let mut stream = UnixStream::connect(&path.0).await?;
            assert_eq!(stream.peer_addr()?.as_pathname(), Some(&*path.0));
            assert!(stream.local_addr()?.is_unnamed());
            let sent = vec![number; 500_000];
            let mut writer = stream.clone();
            let to_send = sent.clone();
            let writing = heist_runtime::spawn(async move {
                writer.write_all(&to_send).await?;
                writer.close().await
            });
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await?;
            assert!(received == sent, "{} bytes", received.len());
            writing.await.expect("no panic")?;
        }
        server.await.expect("no panic")
    });
}

#[test]
fn a_pair_is_connected() {
    on_a_runtime(async {
        let (mut one, mut other) = UnixStream::pair()?;
        one.write_all(b"hello").await?;
        one.shutdown(Shutdown::Write)?;
        let mut heard = String::new();
        other.read_to_string(&mut heard).await?;
        assert_eq!(heard, "hello");
        let bare = other.into_std()?;
        UnixStream::try_from(bare)?.write_all(b"and back").await?;
        let mut answer = String::new();
        one.read_to_string(&mut answer).await?;
        assert_eq!(answer, "and back");
        Ok(())
    });
}

#[test]
fn errors_name_the_path_and_keep_their_kind() {
    on_a_runtime(async {
        let path = SocketPath::new("errors");
        let error = UnixStream::connect(&path.0).await.expect_err("the path does not exist");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let named = format!("could not connect to {}: ", path.0.display());
        assert!(error.to_string().starts_with(&named), "{error}");

        let listener = UnixListener::bind(&path.0)?;
        let error = UnixListener::bind(&path.0).expect_err("the path exists");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let named = format!("could not listen on {}: ", path.0.display());
        assert!(error.to_string().starts_with(&named), "{error}");

        drop(listener);
        let error = UnixStream::connect(&path.0).await.expect_err("no process listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        Ok(())
    });
}

/// The system does not report when the queue has room again; waiting for it would block, or spin.
#[cfg(target_os = "linux")]
#[test]
fn a_full_listener_refuses_at_once_and_explains_why() {
    on_a_runtime(async {
        let path = SocketPath::new("full");
        let listener = UnixListener::bind(&path.0)?;
        // The queue holds one more than this number.
        rustix::net::listen(&listener, 2)?;
        let mut waiting = Vec::new();
        let error = loop {
            match UnixStream::connect(&path.0).await {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10, "the listener's queue never fills");
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains("too many connections wait"), "{error}");
        listener.accept().await?;
        UnixStream::connect(&path.0).await?;
        Ok(())
    });
}
