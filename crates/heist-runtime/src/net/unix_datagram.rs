//! Datagrams between processes of this machine: complete, in order, and never lost once sent.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use super::error::could_not;
use super::source::{Source, every_socket};

/// A Unix socket for datagrams. Clones share the socket, and any number of tasks may use it at the
/// same time.
///
/// A datagram that does not fit in the receiving buffer is truncated. Sending waits while the
/// receiver's queue is full. Dropping a bound socket does not remove its file.
///
/// ```
/// # heist_runtime::block_on(async {
/// let (one, other) = heist_runtime::net::UnixDatagram::pair()?;
/// one.send(b"hello").await?;
/// let mut buffer = [0; 100];
/// let length = other.recv(&mut buffer).await?;
/// assert_eq!(&buffer[..length], b"hello");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct UnixDatagram {
    source: Source<net::UnixDatagram>,
}

every_socket!(UnixDatagram, net::UnixDatagram, source);

impl UnixDatagram {
    /// Creates a socket bound to `path`, which must not exist yet.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = net::UnixDatagram::bind(path).and_then(Self::try_from);
        bound.map_err(|error| could_not("bind to", path.display(), error))
    }

    /// Creates a socket without a path: it can send, but its receivers cannot reply.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn unbound() -> io::Result<Self> {
        net::UnixDatagram::unbound()?.try_into()
    }

    /// Creates two sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = net::UnixDatagram::pair()?;
        Ok((one.try_into()?, other.try_into()?))
    }

    /// Sets the peer that [`Self::send`] sends to. From then on, the socket receives only from that
    /// peer.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let connected = self.as_std().connect(path);
        connected.map_err(|error| could_not("connect to", path.display(), error))
    }

    /// Sends a datagram to the socket at `path`.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path.
    pub async fn send_to(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let path = path.as_ref();
        let sent = self.source.write(|socket| socket.send_to(bytes, path)).await;
        sent.map_err(|error| could_not("send to", path.display(), error))
    }

    /// Waits for a datagram. Returns its length and the address of its sender.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.read(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the peer that this socket is connected to.
    ///
    /// # Errors
    ///
    /// The system's errors: the socket is not connected, or its peer was closed.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.source.write(|socket| socket.send(bytes)).await
    }

    /// Waits for a datagram and returns its length.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(|socket| socket.recv(buffer)).await
    }

    /// Shuts down one direction, or both, for all clones.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.as_std().shutdown(how)
    }

    /// Returns the address of this socket.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    ///
    /// The system's errors: `NotConnected` if the socket is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }

    fn into_source(self) -> Source<net::UnixDatagram> {
        self.source
    }
}

impl From<Source<net::UnixDatagram>> for UnixDatagram {
    fn from(source: Source<net::UnixDatagram>) -> Self {
        Self { source }
    }
}
