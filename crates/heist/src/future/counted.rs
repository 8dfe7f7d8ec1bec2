//! A future as it is spawned: counted from its spawn to its end, its panics contained.
//!
//! Invariants:
//! - The end is counted once, after the caller's future is gone, on whichever thread that happens.
//! - A panic of the caller's future, in a poll or in its drop, is caught here and reported.

use super::live::LivePlace;
use crate::executor::futures::FuturePool;
use crate::executor::task::contain;
use crate::sync::plant::{self, Plant, planted};
use pin_project_lite::pin_project;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The end of a future: its output, or the payload of its panic. If it is not taken, it is dropped,
/// and a panic of that drop is contained.
pub struct Ended<T>(Option<Result<T, Box<dyn Any + Send>>>);

impl<T> Ended<T> {
    /// Returns the output, or the payload of the panic.
    pub(crate) fn into_result(mut self) -> Result<T, Box<dyn Any + Send>> {
        self.0.take().expect("only this takes it")
    }
}

impl<T> std::fmt::Debug for Ended<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ended").finish_non_exhaustive()
    }
}

impl<T> Drop for Ended<T> {
    fn drop(&mut self) {
        if let Some(untaken) = self.0.take() {
            contain(|| drop(untaken));
        }
    }
}

pin_project! {
    /// See the module.
    pub(crate) struct Counted<F, P: FuturePool> {
        // `None` once it has ended.
        #[pin]
        future: Option<F>,
        pool: P,
        place: Option<LivePlace>,
    }

    impl<F, P: FuturePool> PinnedDrop for Counted<F, P> {
        fn drop(this: Pin<&mut Self>) {
            if this.future.is_some() && !planted(Plant::FutureDropUncounted) {
                this.end();
            }
        }
    }
}

impl<F, P: FuturePool> Counted<F, P> {
    /// Wraps a future that `pool` has counted as spawned.
    pub(crate) fn new(future: F, pool: P) -> Self {
        Self { future: Some(future), pool, place: None }
    }

    /// Drops the caller's future and counts its end.
    fn end(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Unwind safety: after a panic the future is gone as well.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
            this.pool.future_panicked(&*payload);
            // Its `drop` may panic as well.
            std::mem::forget(payload);
        }
        if let Some(place) = this.place.take() {
            this.pool.leave_live_set(place);
        }
        this.pool.future_ended();
    }
}

impl<F: Future, P: FuturePool> Future for Counted<F, P> {
    type Output = Ended<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        let future = this.future.as_pin_mut().expect("it is not polled after its end");
        // Unwind safety: after a panic the future is not polled again, only dropped.
        let ended = match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(Poll::Pending) => {
                match this.place {
                    None => *this.place = this.pool.enter_live_set(cx),
                    Some(_) => this.pool.goes_on_waiting(cx),
                }
                return Poll::Pending;
            }
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => {
                this.pool.future_panicked(&*payload);
                Err(payload)
            }
        };
        plant::pick!(
            FutureEndUncounted => self.project().future.set(None),
            _ => self.end(),
        );
        Poll::Ready(Ended(Some(ended)))
    }
}
