//! Sockets: TCP, UDP and, on Unix, the local ones. Needs the feature `io`.
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
//!             // A task for each connection. A clone is the same socket: one to read from, one to write to.
//!             heist_runtime::spawn(async move { io::copy(stream.clone(), stream).await }).detach();
//!         }
//!         # #[expect(unreachable_code, reason = "it names the type of the errors")]
//!         io::Result::Ok(())
//!     })
//!     .detach();
//!
//!     let mut stream = TcpStream::connect(address).await?;
//!     stream.write_all(b"hello").await?;
//!     stream.close().await?; // no more from us: the server reaches the end, and closes too
//!     let mut echo = Vec::new();
//!     stream.read_to_end(&mut echo).await?;
//!     assert_eq!(echo, b"hello");
//!     io::Result::Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading and writing are the traits [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite)
//! of futures-io; the methods to go with them come from `futures-lite` or `futures-util`. With the adapter of
//! `smol-hyper` the streams carry hyper's HTTP, with `async-compat` whatever wants tokio's traits.
//!
//! # What is guaranteed
//!
//! - **No call blocks its thread.** Names are looked up on another one.
//! - **Silence.** A socket that waits costs no CPU; one thread of the process sleeps for all of them.
//! - **Fairness.** Every operation counts against the budget of its task ([`coop`](heist::coop)): a socket that is
//!   always ready does not keep its worker from the others.
//! - **Dropping cancels, and loses nothing.** An operation that did not return has not read, written or accepted. (Only
//!   what is put together of several, such as `read_exact` and `write_all`, may have come half of the way.)
//! - **Several tasks may wait on one socket**, each by its own clone or its own call, and all of them are woken.
//! - **No runtime is needed.** They work on any executor, also on a plain `block_on`.
//!
//! # Errors
//!
//! Errors of binding, connecting, accepting, sending to an address and looking one up name it: `could not connect to
//! 127.0.0.1:9: Connection refused (os error 111)`. Their [kind](std::io::Error::kind) is the one of the system's
//! error, which is their [source](std::error::Error::source) and has the code. Errors of reading and writing are passed
//! on as they are.
//!
//! # What is not here
//!
//! Racing of addresses ("happy eyeballs"): a name's addresses are tried one after the other. A limit on the number of
//! connections, for which there is [`CountBudget`](heist::CountBudget); one on their time, for which there is
//! [`timeout`](crate::time::timeout()). Files: they are always "ready", so their calls block; use
//! [`spawn_blocking`](crate::spawn_blocking()).

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
