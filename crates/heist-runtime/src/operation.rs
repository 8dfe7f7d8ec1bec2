//! One operation of a leaf future that is itself a future.

use heist::__internal::coop::poll_counted;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    // Not an `async fn`: that would hold its argument twice.
    pub(crate) struct Operation<F> {
        #[pin]
        future: F,
    }
}

/// One operation that is itself a future, polled by [`poll_counted`].
pub(crate) fn counted<F: Future>(future: F) -> Operation<F> {
    Operation { future }
}

impl<F: Future> Future for Operation<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        poll_counted(cx, |cx| self.project().future.poll(cx))
    }
}
