//! A stream of bytes in both directions: implements the traits of futures-io for any socket.
//!
//! Invariants:
//! - each clone waits in the reactor separately for each direction. So two tasks that read, or one
//!   that reads and one that writes, do not take each other's wake-ups;
//! - a clone stops waiting as soon as its operation succeeds, so the next operation never sees
//!   stale readiness.

use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_io::{Async, ReadableOwned, WritableOwned};

use super::source::{Source, uninterrupted};
use heist::__internal::coop;

/// A socket, with the reactor registrations of this clone.
#[derive(Debug)]
pub(super) struct Duplex<T> {
    pub(super) source: Source<T>,
    /// The registration while this clone waits to read.
    readable: Option<ReadableOwned<T>>,
    /// The registration while this clone waits to write.
    writable: Option<WritableOwned<T>>,
}

impl<T> Clone for Duplex<T> {
    fn clone(&self) -> Self {
        Self::from(self.source.clone())
    }
}

impl<T> From<Source<T>> for Duplex<T> {
    fn from(source: Source<T>) -> Self {
        Self { source, readable: None, writable: None }
    }
}

impl<T> Duplex<T> {
    fn poll_reading<R>(
        &mut self,
        cx: &mut Context<'_>,
        operation: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        poll_operation(cx, &self.source.0, &mut self.readable, Async::readable_owned, operation)
    }

    fn poll_writing<R>(
        &mut self,
        cx: &mut Context<'_>,
        operation: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        poll_operation(cx, &self.source.0, &mut self.writable, Async::writable_owned, operation)
    }
}

/// Tries `operation`. If it would block, waits in `registration` until the socket may be ready.
fn poll_operation<T, R, W>(
    cx: &mut Context<'_>,
    socket: &Arc<Async<T>>,
    registration: &mut Option<W>,
    wait: impl Fn(Arc<Async<T>>) -> W,
    operation: impl FnMut(&T) -> io::Result<R>,
) -> Poll<io::Result<R>>
where
    W: Future<Output = io::Result<()>> + Unpin,
{
    coop::poll_counted(cx, |cx| poll_uncounted(cx, socket, registration, wait, operation))
}

fn poll_uncounted<T, R, W>(
    cx: &mut Context<'_>,
    socket: &Arc<Async<T>>,
    registration: &mut Option<W>,
    wait: impl Fn(Arc<Async<T>>) -> W,
    mut operation: impl FnMut(&T) -> io::Result<R>,
) -> Poll<io::Result<R>>
where
    W: Future<Output = io::Result<()>> + Unpin,
{
    loop {
        match uninterrupted(|| operation(socket.get_ref())) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => {
                *registration = None;
                return Poll::Ready(result);
            }
        }
        let waiting = registration.get_or_insert_with(|| wait(Arc::clone(socket)));
        let became_ready = ready!(Pin::new(waiting).poll(cx));
        *registration = None;
        became_ready?;
    }
}

impl<T> Duplex<T>
where
    for<'a> &'a T: Read + Write,
{
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_reading(cx, |mut socket| socket.read(buffer))
    }

    pub(super) fn poll_read_vectored(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_reading(cx, |mut socket| socket.read_vectored(buffers))
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |mut socket| socket.write(bytes))
    }

    pub(super) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |mut socket| socket.write_vectored(buffers))
    }
}

/// Ends the writing half. If the other side has already ended the connection, that is not an error.
pub(super) fn closed(shutdown: io::Result<()>) -> io::Result<()> {
    match shutdown {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        result => result,
    }
}

/// Implements the traits of futures-io for a socket whose field `duplex` is a [`Duplex`].
macro_rules! stream_of_bytes {
    ($socket:ident, $std:ty) => {
        impl From<crate::net::source::Source<$std>> for $socket {
            fn from(source: crate::net::source::Source<$std>) -> Self {
                Self { duplex: source.into() }
            }
        }

        impl $socket {
            fn into_source(self) -> crate::net::source::Source<$std> {
                self.duplex.source
            }
        }

        impl futures_io::AsyncRead for $socket {
            fn poll_read(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.duplex.poll_read(cx, buffer)
            }

            fn poll_read_vectored(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &mut [io::IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.duplex.poll_read_vectored(cx, buffers)
            }
        }

        impl futures_io::AsyncWrite for $socket {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.duplex.poll_write(cx, bytes)
            }

            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.duplex.poll_write_vectored(cx, buffers)
            }

            /// Does nothing, because writes are not buffered.
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends the writing half for all clones: the other side sees the end of the stream.
            fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(crate::net::duplex::closed(self.shutdown(std::net::Shutdown::Write)))
            }
        }
    };
}
pub(super) use stream_of_bytes;
