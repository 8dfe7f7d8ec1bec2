//! A future as it is spawned: counted from its spawn to its end, its panics contained.
//!
//! Invariants: its end is counted once, after the caller's future is gone, wherever that happens; a panic of the
//! caller's future, in a poll or in its drop, goes no further than this, and is reported.

use super::live::LivePlace;
use crate::executor::futures::Pool;
use crate::executor::task::contain;
use crate::sync::plant::{self, Plant, planted};
use pin_project_lite::pin_project;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What became of a future: its output, or what it panicked with. If nobody takes it, a panic of its drop is contained.
pub struct Ended<T>(Option<Result<T, Box<dyn Any + Send>>>);

impl<T> Ended<T> {
    /// Takes it out.
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
    pub(crate) struct Counted<F, P: Pool> {
        // `None` once it has ended.
        #[pin]
        future: Option<F>,
        pool: P,
        place: Option<LivePlace>,
    }

    impl<F, P: Pool> PinnedDrop for Counted<F, P> {
        fn drop(this: Pin<&mut Self>) {
            if this.future.is_some() && !planted(Plant::FutureDropUncounted) {
                this.end();
            }
        }
    }
}

impl<F, P: Pool> Counted<F, P> {
    /// A future that `pool` has counted as spawned.
    pub(crate) fn new(future: F, pool: P) -> Self {
        Self { future: Some(future), pool, place: None }
    }

    /// Drops the caller's future and counts its end.
    fn end(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Unwind safety: it is gone then, too.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
            this.pool.future_panicked(&*payload);
            // Its own `drop` may panic in turn.
            std::mem::forget(payload);
        }
        if let Some(place) = this.place.take() {
            this.pool.leave_live_set(place);
        }
        this.pool.future_ended();
    }
}

impl<F: Future, P: Pool> Future for Counted<F, P> {
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
