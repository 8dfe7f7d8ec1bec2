//! Waiting for connections within this machine, under a name in the file system.

use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use futures_core::Stream;

use super::UnixStream;
use super::error::could_not;
use super::incoming::Incoming;
use super::source::{Source, every_socket};

/// A Unix socket that connections are made to. Clones are the same socket.
///
/// Its file stays behind when it is dropped, as it does with the standard library's, and is in the way of the next one:
/// remove it.
#[derive(Clone, Debug)]
pub struct UnixListener {
    source: Source<net::UnixListener>,
}

every_socket!(UnixListener, net::UnixListener, source);

impl UnixListener {
    /// Listens under this name, which must not be there yet.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path: it exists, it is too long, there is no such directory.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = net::UnixListener::bind(path).and_then(Self::try_from);
        bound.map_err(|error| could_not("listen on", path.display(), error))
    }

    /// Waits for a connection. If several tasks wait, one of them gets it.
    ///
    /// # Errors
    ///
    /// Those of the system, with the path; see [`TcpListener::accept`](super::TcpListener::accept).
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.source.read(accept).await.map_err(|error| self.named(error))
    }

    /// The connections, one after the other: [`Self::accept`] as a stream that never ends.
    pub fn incoming(&self) -> impl Stream<Item = io::Result<UnixStream>> + Send + Unpin + '_ {
        Incoming::new(&self.source, move |listener: &net::UnixListener| match accept(listener) {
            Ok((stream, _peer)) => Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(error) => Err(self.named(error)),
        })
    }

    /// The address: the path.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    fn named(&self, error: io::Error) -> io::Error {
        match self.local_addr() {
            Ok(address) => {
                let path = address.as_pathname().unwrap_or(Path::new("(unnamed)"));
                could_not("accept a connection on", path.display(), error)
            }
            Err(_) => error,
        }
    }

    fn into_source(self) -> Source<net::UnixListener> {
        self.source
    }
}

fn accept(listener: &net::UnixListener) -> io::Result<(UnixStream, SocketAddr)> {
    let (stream, peer) = listener.accept()?;
    Ok((stream.try_into()?, peer))
}

impl From<Source<net::UnixListener>> for UnixListener {
    fn from(source: Source<net::UnixListener>) -> Self {
        Self { source }
    }
}
