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

/// A TCP connection. Read from it and write to it with the traits of futures-io.
///
/// A clone is the same connection. One task may read from one clone while another task writes to
/// another; if two tasks read at the same time, each byte goes to one of them. Dropping the last
/// clone closes the connection.
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
    /// Connects to an address; if there are several, to the first that answers.
    ///
    /// The system decides how long it tries, which may be minutes: see
    /// [`timeout`](crate::time::timeout()).
    ///
    /// # Errors
    ///
    /// The system's errors, with the address (the last one tried): no process listens there, it
    /// cannot be reached, the name is unknown.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first_that("connect to", address, |address| async move {
            reactor::start()?;
            let socket = operation::counted(Async::<net::TcpStream>::connect(address)).await?;
            Ok(Source::from(socket).into())
        })
        .await
    }

    /// Waits for bytes and copies them without consuming them: the next read returns them again.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.duplex.source.read(|stream| stream.peek(buffer)).await
    }

    /// Ends one half of the connection, or both, for all clones.
    ///
    /// # Errors
    ///
    /// The system's errors: `NotConnected` if the other side has ended it.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.as_std().shutdown(how)
    }

    /// Returns the address of this side.
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
    /// The system's errors: `NotConnected` if the other side has ended it.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }

    /// Returns `true` if small writes are sent at once, without waiting for more (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.as_std().nodelay()
    }

    /// Sends small writes at once, or lets the system wait for more, which is the default.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.as_std().set_nodelay(nodelay)
    }

    /// Returns how many hops a packet may take.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn ttl(&self) -> io::Result<u32> {
        self.as_std().ttl()
    }

    /// Sets how many hops a packet may take.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.as_std().set_ttl(hops)
    }
}
