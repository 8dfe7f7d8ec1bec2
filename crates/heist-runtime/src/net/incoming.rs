//! The connections of a listener, one after the other, as a stream.
//!
//! Not guaranteed: that continuing after an error helps. A connection that ended before it was
//! accepted is a harmless error; a process that may not open more files gets the same error at once
//! for every connection, until it closes some.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Readable;
use futures_core::Stream;

use super::source::{Source, uninterrupted};
use heist::__internal::coop;

/// A stream of connections that never ends. `A` accepts one connection.
pub(super) struct Incoming<'a, T, A> {
    source: &'a Source<T>,
    accept: A,
    /// The registration while the stream waits in the reactor.
    readable: Option<Readable<'a, T>>,
}

impl<'a, T, A> Incoming<'a, T, A> {
    pub(super) fn new(source: &'a Source<T>, accept: A) -> Self {
        Self { source, accept, readable: None }
    }
}

impl<T, A, S> Incoming<'_, T, A>
where
    A: FnMut(&T) -> io::Result<S>,
{
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<S>> {
        loop {
            match uninterrupted(|| (self.accept)(self.source.get())) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    self.readable = None;
                    return Poll::Ready(result);
                }
            }
            let waiting = self.readable.get_or_insert_with(|| self.source.0.readable());
            let became_ready = ready!(Pin::new(waiting).poll(cx));
            self.readable = None;
            became_ready?;
        }
    }
}

impl<T, A: Unpin, S> Stream for Incoming<'_, T, A>
where
    A: FnMut(&T) -> io::Result<S>,
{
    type Item = io::Result<S>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        coop::poll_counted(cx, |cx| self.get_mut().poll_accept(cx)).map(Some)
    }
}
