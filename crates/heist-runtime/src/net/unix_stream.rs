//! A connection within this machine.

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

/// A connection of Unix sockets: read from it and write to it by the traits of futures-io.
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
    /// Connects to the listener of this name.
    ///
    /// # Errors
    ///
    /// The system's errors, with the path: there is no such file, no process listens. `WouldBlock` if too many
    /// connections wait to be accepted there: the system does not tell when there is room again, so try again later.
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

    /// Two that are connected with each other.
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

    /// This side's address, which mostly has no name.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// The other side's address.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }
}

/// A connection that was begun and is none afterwards was never begun: the listener's queue is full.
fn explained(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotConnected {
        return error;
    }
    let full = "too many connections wait to be accepted there; try again later";
    io::Error::new(io::ErrorKind::WouldBlock, full)
}
