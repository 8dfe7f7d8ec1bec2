//! A connection between processes of this machine.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_io::Async;

use super::duplex::{Duplex, stream_of_bytes};
use super::error::could_not;
use super::source::{Source, every_socket};
use crate::operation;
use crate::reactor;

/// A connection between Unix sockets. Read from it and write to it with the traits of futures-io.
///
/// A clone is the same connection; see [`TcpStream`](super::TcpStream).
///
/// ```
/// # heist_runtime::block_on(async {
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// let (mut one, mut other) = heist_runtime::net::UnixStream::pair()?;
/// one.write_all(b"hello").await?;
/// drop(one);
/// let mut heard = Vec::new();
/// other.read_to_end(&mut heard).await?;
/// assert_eq!(heard, b"hello");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct UnixStream {
    duplex: Duplex<net::UnixStream>,
}

every_socket!(UnixStream, net::UnixStream, duplex.source);
stream_of_bytes!(UnixStream, net::UnixStream);

impl UnixStream {
    /// Connects to the listener at `path`.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path: the file does not exist, or no process listens there.
    /// `WouldBlock` means that the listener's queue of connections is full. The system does not
    /// report when it has room again, so try again later.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let connected = async {
            reactor::start()?;
            Async::<net::UnixStream>::connect(path).await
        };
        match operation::counted(connected).await {
            Ok(socket) => Ok(Source::from(socket).into()),
            Err(error) => Err(could_not("connect to", path.display(), explained(error))),
        }
    }

    /// Creates two streams that are connected to each other.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = net::UnixStream::pair()?;
        Ok((one.try_into()?, other.try_into()?))
    }

    /// Ends one half of the connection, or both, for all clones.
    ///
    /// # Errors
    ///
    /// The system's errors: `NotConnected` if the other side has ended it.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.as_std().shutdown(how)
    }

    /// Returns the address of this side, which is usually unnamed.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// Returns the address of the other side.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }
}

/// Explains `WouldBlock`, which means that the listener's queue of connections is full.
fn explained(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotConnected {
        return error;
    }
    let full = "too many connections wait to be accepted there; try again later";
    io::Error::new(io::ErrorKind::WouldBlock, full)
}
