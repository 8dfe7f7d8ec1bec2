//! A stream of bytes in both directions: the traits of futures-io over a socket, whichever it is.
//!
//! Invariants:
//! - each clone has its own place in the reactor for each direction, so a task that reads and one that writes, or two
//!   that read, do not take each other's wake-ups;
//! - a place is given up as soon as an operation comes through: no stale readiness is left for the next one.

use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_io::{Async, ReadableOwned, WritableOwned};

use super::source::{Source, uninterrupted};
use heist::__internal::coop;

/// A socket, and this clone's places in the reactor.
#[derive(Debug)]
pub(super) struct Duplex<T> {
    pub(super) source: Source<T>,
    /// Where this clone waits to read.
    readable: Option<ReadableOwned<T>>,
    /// Where it waits to write.
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

/// Does `operation`, or waits in `place` until it is worth another try.
fn poll_operation<T, R, W>(
    cx: &mut Context<'_>,
    socket: &Arc<Async<T>>,
    place: &mut Option<W>,
    wait: impl Fn(Arc<Async<T>>) -> W,
    operation: impl FnMut(&T) -> io::Result<R>,
) -> Poll<io::Result<R>>
where
    W: Future<Output = io::Result<()>> + Unpin,
{
    coop::poll_counted(cx, |cx| poll_uncounted(cx, socket, place, wait, operation))
}

fn poll_uncounted<T, R, W>(
    cx: &mut Context<'_>,
    socket: &Arc<Async<T>>,
    place: &mut Option<W>,
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
                *place = None;
                return Poll::Ready(result);
            }
        }
        let waiting = place.get_or_insert_with(|| wait(Arc::clone(socket)));
        let became_ready = ready!(Pin::new(waiting).poll(cx));
        *place = None;
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

/// Nothing more is written. A connection that the other side has ended already is as closed as can be.
pub(super) fn closed(shutdown: io::Result<()>) -> io::Result<()> {
    match shutdown {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        result => result,
    }
}

/// The traits of futures-io, for a socket whose field `duplex` is a [`Duplex`].
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

            /// Nothing is held back, so there is nothing to flush.
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends the writing half, for all clones: the other side reads to the end.
            fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(crate::net::duplex::closed(self.shutdown(std::net::Shutdown::Write)))
            }
        }
    };
}
pub(super) use stream_of_bytes;
