//! Accepts connections from processes of this machine, at a path in the file system.

use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use futures_core::Stream;

use super::UnixStream;
use super::error::could_not;
use super::incoming::Incoming;
use super::source::{Source, every_socket};

/// A Unix socket that accepts connections. Clones share the socket.
///
/// As with the standard library's listener, dropping it does not remove its file. Remove the file
/// before you bind to the same path again.
#[derive(Clone, Debug)]
pub struct UnixListener {
    source: Source<net::UnixListener>,
}

every_socket!(UnixListener, net::UnixListener, source);

impl UnixListener {
    /// Listens at `path`, which must not exist yet.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path: it exists, it is too long, its directory does not exist.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = net::UnixListener::bind(path).and_then(Self::try_from);
        bound.map_err(|error| could_not("listen on", path.display(), error))
    }

    /// Waits for a connection. If several tasks wait, one of them gets it.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path; see [`TcpListener::accept`](super::TcpListener::accept).
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.source.read(accept).await.map_err(|error| self.named(error))
    }

    /// Returns the connections, one after the other: [`Self::accept`] as a stream that never ends.
    pub fn incoming(&self) -> impl Stream<Item = io::Result<UnixStream>> + Send + Unpin + '_ {
        Incoming::new(&self.source, move |listener: &net::UnixListener| match accept(listener) {
            Ok((stream, _peer)) => Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(error) => Err(self.named(error)),
        })
    }

    /// Returns the address, which is the path.
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
