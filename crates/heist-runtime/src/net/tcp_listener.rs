//! Waiting for TCP connections.

use std::io;
use std::net::{self, SocketAddr};

use futures_core::Stream;

use super::TcpStream;
use super::address::{ToSocketAddrs, first_that};
use super::error::could_not;
use super::incoming::Incoming;
use super::source::{Source, every_socket};
use crate::operation;

/// A socket that accepts TCP connections. Clones are the same socket.
///
/// ```
/// # heist_runtime::block_on(async {
/// use heist_runtime::net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?; // any port that is free
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// assert_eq!(server.local_addr()?, client.peer_addr()?);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TcpListener {
    source: Source<net::TcpListener>,
}

every_socket!(TcpListener, net::TcpListener, source);

impl TcpListener {
    /// Listens on an address; if there are several, on the first that works. Port 0 selects any
    /// free port.
    ///
    /// On Unix, a port whose last connections have just ended is available at once
    /// (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// The system's errors, with the address: it is in use, it does not belong to this machine, it
    /// is not allowed.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let bound = first_that("listen on", address, |address| async move {
            let listener = net::TcpListener::bind(address)?;
            // The standard library lets 128 connections wait to be accepted. The system drops
            // further ones, and their clients retry a second later: too long for a burst.
            #[cfg(target_os = "linux")]
            rustix::net::listen(&listener, AS_MANY_AS_THE_SYSTEM_ALLOWS)?;
            Self::try_from(listener)
        });
        operation::counted(bound).await
    }

    /// Waits for a connection. If several tasks wait, one of them gets it.
    ///
    /// # Errors
    ///
    /// The system's errors, with the address. Most concern a single connection, and the caller
    /// should continue. If the process may not open more files, it must close some first.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.source.read(accept).await.map_err(|error| self.named(error))
    }

    /// Returns the connections, one after the other: [`Self::accept`] as a stream that never ends.
    pub fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + Unpin + '_ {
        Incoming::new(&self.source, move |listener: &net::TcpListener| match accept(listener) {
            Ok((stream, _peer)) => Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(error) => Err(self.named(error)),
        })
    }

    /// Returns the address, with the port that was chosen.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    fn named(&self, error: io::Error) -> io::Error {
        match self.local_addr() {
            Ok(address) => could_not("accept a connection on", address, error),
            Err(_) => error,
        }
    }

    fn into_source(self) -> Source<net::TcpListener> {
        self.source
    }
}

/// The system reduces this to its own limit: `net.core.somaxconn`.
#[cfg(target_os = "linux")]
const AS_MANY_AS_THE_SYSTEM_ALLOWS: i32 = i32::MAX;

fn accept(listener: &net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, peer) = listener.accept()?;
    Ok((stream.try_into()?, peer))
}

impl From<Source<net::TcpListener>> for TcpListener {
    fn from(source: Source<net::TcpListener>) -> Self {
        Self { source }
    }
}
