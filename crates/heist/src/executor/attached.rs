//! What belongs to a pool beside its workers, such as threads for blocking calls: it is told of the pool's stop and of
//! its end.

use crate::metrics::MetricsSnapshot;

/// Something that lives and ends with a pool.
pub trait Attached: Send + Sync {
    /// The pool was stopped: what waits is to be dropped, and what is still to come. Called once, with no lock held, on
    /// whatever thread stops the pool.
    fn pool_stopped(&self);

    /// Everything of the pool's has ended, and nothing more will come. Called at least once, with no lock held; perhaps
    /// without a stop before it.
    fn pool_done(&self);

    /// Adds its figures to those of the pool.
    fn add_to(&self, snapshot: &mut MetricsSnapshot);
}
