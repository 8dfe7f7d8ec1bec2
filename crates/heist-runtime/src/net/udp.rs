//! UDP: single datagrams, which may be lost, duplicated or reordered.

use std::future::ready;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::address::{ToSocketAddrs, first_that};
use super::source::{Source, every_socket};
use crate::operation;

/// A UDP socket. Clones share the socket, and any number of tasks may use it at the same time.
///
/// A datagram that does not fit in the receiving buffer is truncated.
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
    /// Creates a socket bound to an address; if there are several, to the first that works. Port 0
    /// selects any free port.
    ///
    /// # Errors
    ///
    /// The system's errors, with the address.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let bound = first_that("bind to", address, |address| {
            ready(net::UdpSocket::bind(address).and_then(Self::try_from))
        });
        operation::counted(bound).await
    }

    /// Sets the peer that [`Self::send`] sends to. From then on, the socket receives only from that
    /// peer.
    ///
    /// # Errors
    ///
    /// The system's errors, with the address.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let connected =
            first_that("connect to", address, |address| ready(self.as_std().connect(address)));
        operation::counted(connected).await
    }

    /// Sends a datagram to an address; if there are several, to the first that accepts it. Returns
    /// the number of bytes sent.
    ///
    /// # Errors
    ///
    /// The system's errors, with the address: the datagram is too long, the address cannot be
    /// reached, or an earlier datagram was rejected.
    pub async fn send_to(&self, bytes: &[u8], address: impl ToSocketAddrs) -> io::Result<usize> {
        first_that("send to", address, |address| async move {
            self.source.write(|socket| socket.send_to(bytes, address)).await
        })
        .await
    }

    /// Waits for a datagram. Returns its length and the address of its sender.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.read(|socket| socket.recv_from(buffer)).await
    }

    /// Does the same as [`Self::recv_from`], but leaves the datagram for the next receiver.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.read(|socket| socket.peek_from(buffer)).await
    }

    /// Sends a datagram to the peer that this socket is connected to.
    ///
    /// # Errors
    ///
    /// The system's errors: the socket is not connected, or an earlier datagram was rejected
    /// (`ConnectionRefused`).
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

    /// Does the same as [`Self::recv`], but leaves the datagram for the next receiver.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(|socket| socket.peek(buffer)).await
    }

    /// Returns the address of this socket, with the port that the system selected.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().local_addr()
    }

    /// Returns the peer that this socket is connected to.
    ///
    /// # Errors
    ///
    /// The system's errors: `NotConnected` if the socket is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_std().peer_addr()
    }

    /// Sets whether the socket may send to broadcast addresses.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.as_std().set_broadcast(broadcast)
    }

    /// Joins a multicast group on the interface with this address. If the address is unspecified,
    /// the system selects an interface.
    ///
    /// # Errors
    ///
    /// The system's errors.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.as_std().join_multicast_v4(&group, &interface)
    }

    /// Joins a multicast group on the interface with this index. With 0, the system selects an
    /// interface.
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
