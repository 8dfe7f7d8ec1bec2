//! The connections of a listener, one after the other, as a stream.
//!
//! Not guaranteed: that it is worth going on after an error. A connection that was ended before it was accepted is one;
//! a process that may open no more files gets the same error for every connection, at once, until it closes some.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Readable;
use futures_core::Stream;

use super::source::{Source, uninterrupted};
use crate::coop;

/// Never ends. `A` accepts a connection.
pub(super) struct Incoming<'a, T, A> {
    source: &'a Source<T>,
    accept: A,
    /// Where it waits in the reactor.
    readable: Option<Readable<'a, T>>,
}

impl<'a, T, A> Incoming<'a, T, A> {
    pub(super) fn new(source: &'a Source<T>, accept: A) -> Self {
        Self { source, accept, readable: None }
    }
}

impl<T, A: Unpin, S> Stream for Incoming<'_, T, A>
where
    A: FnMut(&T) -> io::Result<S>,
{
    type Item = io::Result<S>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        ready!(coop::poll_proceed(cx));
        loop {
            match uninterrupted(|| (this.accept)(this.source.get())) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    this.readable = None;
                    return Poll::Ready(Some(result));
                }
            }
            let waiting = this.readable.get_or_insert_with(|| this.source.0.readable());
            let became_ready = ready!(Pin::new(waiting).poll(cx));
            this.readable = None;
            if let Err(error) = became_ready {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}
