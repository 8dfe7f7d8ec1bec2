//! Sockets: TCP, UDP and, on Unix, local sockets. Needs the feature `io`.
//!
//! An echo server and its client:
//!
//! ```
//! use futures_lite::{AsyncReadExt, AsyncWriteExt, io};
//! use heist_runtime::net::{TcpListener, TcpStream};
//!
//! let runtime = heist_runtime::Runtime::new()?;
//! runtime.block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     heist_runtime::spawn(async move {
//!         loop {
//!             let (stream, _peer) = listener.accept().await?;
//!             // Each connection has a task. Clones share the socket: one reads, one writes.
//!             let echo = async move { io::copy(stream.clone(), stream).await };
//!             heist_runtime::spawn(echo).detach();
//!         }
//!         # #[expect(unreachable_code, reason = "it names the type of the errors")]
//!         io::Result::Ok(())
//!     })
//!     .detach();
//!
//!     let mut stream = TcpStream::connect(address).await?;
//!     stream.write_all(b"hello").await?;
//!     stream.close().await?; // end of our data: the server closes its side as well
//!     let mut echo = Vec::new();
//!     stream.read_to_end(&mut echo).await?;
//!     assert_eq!(echo, b"hello");
//!     io::Result::Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Streams implement the traits [`AsyncRead`](futures_io::AsyncRead) and
//! [`AsyncWrite`](futures_io::AsyncWrite) of futures-io; `futures-lite` and `futures-util` have the
//! methods for them. The adapter of `smol-hyper` connects the streams to hyper, and `async-compat`
//! to code that needs tokio's traits.
//!
//! # Guarantees
//!
//! - **No call blocks its thread.** Names are looked up on another thread.
//! - **Silence.** A waiting socket uses no CPU; one thread of the process sleeps for all of them.
//! - **Fairness.** Every operation counts against the budget of its task ([`coop`](heist::coop)),
//!   so a socket that is always ready does not monopolise its worker.
//! - **Dropping cancels, and loses nothing.** An operation that has not returned has not read,
//!   written or accepted anything. (Only combinations of several operations, such as `read_exact`
//!   and `write_all`, may be half done.)
//! - **Several tasks may wait on one socket**, each with its own clone or its own call, and all of
//!   them are woken.
//! - **No runtime is needed.** Sockets work on any executor, and on a plain `block_on`.
//!
//! # Errors
//!
//! Errors of binding, connecting, accepting, sending to an address and looking up a name contain
//! the address: `could not connect to 127.0.0.1:9: Connection refused (os error 111)`. Their
//! [kind](std::io::Error::kind) is that of the system's error, which is their
//! [source](std::error::Error::source) and has the code. Errors of reading and writing are returned
//! unchanged.
//!
//! # What is not included
//!
//! Racing of addresses ("happy eyeballs"): the addresses of a name are tried one after the other. A
//! limit on the number of connections: use a [`CountBudget`](heist::CountBudget). A limit on their
//! time: use [`timeout`](crate::time::timeout()). Files: they are always "ready", so their calls
//! block; use [`spawn_blocking`](crate::spawn_blocking()).

mod address;
mod duplex;
mod error;
mod incoming;
mod lookup;
mod source;
mod tcp_listener;
mod tcp_stream;
mod udp;
#[cfg(unix)]
mod unix_datagram;
#[cfg(unix)]
mod unix_listener;
#[cfg(unix)]
mod unix_stream;

pub use address::{ToSocketAddrs, resolve};
pub use tcp_listener::TcpListener;
pub use tcp_stream::TcpStream;
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix_datagram::UnixDatagram;
#[cfg(unix)]
pub use unix_listener::UnixListener;
#[cfg(unix)]
pub use unix_stream::UnixStream;
