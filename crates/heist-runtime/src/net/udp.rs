//! UDP: single datagrams, which may be lost, doubled and reordered.

use std::future::ready;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::address::{ToSocketAddrs, first_that};
use super::source::{Source, every_socket};
use crate::operation;

/// A UDP socket. Clones are the same socket, and any number of tasks may use it at the same time.
///
/// A datagram that is longer than the buffer it is received into is cut off.
///
/// ```
/// # heist_runtime::block_on(async {
/// use heist_runtime::net::UdpSocket;
///
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.send_to(b"what time is it?", server.local_addr()?).await?;
///
/// let mut buffer = [0; 100];
/// let (length, from) = server.recv_from(&mut buffer).await?;
/// assert_eq!(&buffer[..length], b"what time is it?");
/// assert_eq!(from, client.local_addr()?);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct UdpSocket {
    source: Source<net::UdpSocket>,
}

every_socket!(UdpSocket, net::UdpSocket, source);

impl UdpSocket {
    /// Makes a socket with this address; with the first that will do if it is several. Port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// Those of the system, with the address.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let bound = first_that("bind to", address, |address| {
            ready(net::UdpSocket::bind(address).and_then(Self::try_from))
        });
        operation::counted(bound).await
    }

    /// Sets the peer that [`Self::send`] sends to. From then on the socket receives from that peer only.
    ///
    /// # Errors
    ///
    /// Those of the system, with the address.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let connected =
            first_that("connect to", address, |address| ready(self.as_std().connect(address)));
        operation::counted(connected).await
    }

    /// Sends a datagram to an address; to the first that it can be sent to if it is several.
    ///
    /// # Errors
    ///
    /// Those of the system, with the address: it is too long, it cannot be reached, or an earlier one came back.
    pub async fn send_to(&self, bytes: &[u8], address: impl ToSocketAddrs) -> io::Result<usize> {
        first_that("send to", address, |address| async move {
            self.source.write(|socket| socket.send_to(bytes, address)).await
        })
        .await
    }

    /// Waits for a datagram: its length, and where it is from.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.read(|socket| socket.recv_from(buffer)).await
    }

    /// [`Self::recv_from`], but the datagram is there for the next one as well.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.read(|socket| socket.peek_from(buffer)).await
    }

    /// Sends a datagram to the one this socket is connected to.
    ///
    /// # Errors
    ///
    /// The system's errors: not connected, or an earlier datagram came back (`ConnectionRefused`).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.source.write(|socket| socket.send(bytes)).await
    }

    /// Waits for a datagram: its length.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(|socket| socket.recv(buffer)).await
    }

    /// [`Self::recv`], but the datagram is there for the next one as well.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(|socket| socket.peek(buffer)).await
    }

    /// This socket's address, with the port that was chosen.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// Whom it is connected to.
    ///
    /// # Errors
    ///
    /// The system's errors: `NotConnected` if it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }

    /// Allows sending to all of a network at once.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.as_std().set_broadcast(broadcast)
    }

    /// Receives what is sent to this group, too, at the interface with this address (unspecified: any).
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.as_std().join_multicast_v4(&group, &interface)
    }

    /// Receives what is sent to this group, too, at the interface with this number (0: any).
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn join_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.as_std().join_multicast_v6(&group, interface)
    }

    fn into_source(self) -> Source<net::UdpSocket> {
        self.source
    }
}

impl From<Source<net::UdpSocket>> for UdpSocket {
    fn from(source: Source<net::UdpSocket>) -> Self {
        Self { source }
    }
}
