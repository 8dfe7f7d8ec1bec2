//! A TCP connection.

use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use async_io::Async;

use super::address::{ToSocketAddrs, first_that};
use super::duplex::{Duplex, stream_of_bytes};
use super::source::{Source, every_socket};
use crate::operation;
use crate::reactor;

/// A TCP connection: read from it and write to it by the traits of futures-io.
///
/// A clone is the same connection. One task may read from one clone while another writes to the other; with two that
/// read at the same time, each byte goes to one of them. The connection is closed when the last clone is dropped.
///
/// ```no_run
/// # heist_runtime::block_on(async {
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// let mut stream = heist_runtime::net::TcpStream::connect("example.com:80").await?;
/// stream.write_all(b"GET / HTTP/1.0\r\nHost: example.com\r\n\r\n").await?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer).await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TcpStream {
    duplex: Duplex<net::TcpStream>,
}

every_socket!(TcpStream, net::TcpStream, duplex.source);
stream_of_bytes!(TcpStream, net::TcpStream);

impl TcpStream {
    /// Connects to an address; to the first that answers if it is several.
    ///
    /// How long the system tries is its own choice, and may be minutes: see [`timeout`](crate::time::timeout()).
    ///
    /// # Errors
    ///
    /// Those of the system, with the address (the last one that was tried): nobody listens there, it cannot be reached,
    /// the name is not known.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first_that("connect to", address, |address| async move {
            reactor::start()?;
            let socket = operation::counted(Async::<net::TcpStream>::connect(address)).await?;
            Ok(Source::from(socket).into())
        })
        .await
    }

    /// Waits for bytes and copies them, without taking them: the next read has them again.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.duplex.source.read(|stream| stream.peek(buffer)).await
    }

    /// Ends one half of the connection, or both, for all clones.
    ///
    /// # Errors
    ///
    /// Those of the system: `NotConnected` if the other side has ended it.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.as_std().shutdown(how)
    }

    /// This side's address.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// The other side's address.
    ///
    /// # Errors
    ///
    /// Those of the system: `NotConnected` if the other side has ended it.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }

    /// Whether small writes are sent at once, without waiting for more (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.as_std().nodelay()
    }

    /// Sends small writes at once, or lets the system wait for more, which is the default.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.as_std().set_nodelay(nodelay)
    }

    /// How many hops a packet may take.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.as_std().ttl()
    }

    /// Sets how many hops a packet may take.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.as_std().set_ttl(hops)
    }
}
