//! What belongs to a pool beside its workers, such as the threads for blocking calls. The pool
//! notifies it when it stops and when it ends.

use crate::metrics::MetricsSnapshot;

/// Something that lives and ends with a pool.
pub trait Attached: Send + Sync {
    /// The pool was stopped: work that waits, or that still comes in, must be dropped. The thread
    /// that stops the pool calls this once, without holding a lock.
    fn pool_stopped(&self);

    /// All of the pool's work has ended, and no more will come. Called at least once, without a
    /// lock held, and perhaps without a stop before it.
    fn pool_done(&self);

    /// Adds its own metrics to those of the pool.
    fn add_to(&self, snapshot: &mut MetricsSnapshot);
}
