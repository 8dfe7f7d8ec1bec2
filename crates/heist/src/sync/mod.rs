//! The only module through which the protocols reach atomics, fences, locks, parking and threads.
//!
//! No other module of the crate imports `std::sync` for a protocol. A *backend* provides the names:
//!
//! | build | backend |
//! |---|---|
//! | shipping | the standard library |
//! | `--cfg heist_loom` | loom's models |
//! | `--cfg heist_shuttle` | shuttle's scheduled threads |
//! | `--cfg heist_tsan` | locks and fences that ThreadSanitizer understands |
//! | `--cfg heist_sim` | a simulated machine |
//!
//! The protocols use the same code with every backend, so the code that is checked is the code that
//! ships. Shuttle and the simulator also simulate threads, and run whole executors on them. A loom
//! model starts its own threads around the worker loop.
//!
//! Statistics ([`crate::metrics`]) use the standard atomics directly: no protocol decides anything
//! by them, and every modelled atomic multiplies the schedules that a model checker has to explore.
//!
//! # The two fences
//!
//! The idle protocol is a Dekker-style handshake: a pusher *publishes, then looks for parked
//! workers*; a worker *sets its parked bit, then looks for work*. Each side needs a full fence
//! between its two halves. [`light_fence`] is for the pusher (hot: once per push), [`heavy_fence`]
//! for the worker (cold: once per park). They have separate names so that an asymmetric pair can
//! replace them. Today both are `SeqCst` fences, because they measured better: the fence costs
//! nanoseconds, while Linux's `membarrier` costs its caller microseconds as soon as another thread
//! of the process runs, and a woken worker would pay that before it can run its task. `cargo run
//! --release -p heist-bench -- costs` prints both figures.

pub mod plant;
mod unshared;

#[cfg(heist_sim)]
pub mod machine;

#[cfg(not(any(heist_loom, heist_shuttle, heist_tsan, heist_sim)))]
#[path = "backend_std.rs"]
mod backend;
#[cfg(heist_loom)]
#[path = "backend_loom.rs"]
mod backend;
#[cfg(heist_shuttle)]
#[path = "backend_shuttle.rs"]
mod backend;
#[cfg(heist_tsan)]
#[path = "backend_tsan.rs"]
mod backend;
#[cfg(heist_sim)]
#[path = "backend_sim.rs"]
mod backend;

#[cfg(heist_sim)]
pub use backend::PerThread;
pub use backend::{
    Arc, AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Clock, Mutex, MutexGuard, Ordering, Parker,
    Unparker, Weak, fence, mpsc, spin_loop, thread,
};
pub(crate) use crossbeam_utils::CachePadded;
pub(crate) use unshared::Unshared;

/// Declares a thread-local `Cell<Option<_>>`, reached by `with`. Where threads are modelled or
/// simulated, each of those has its own value, although many of them share one real thread.
#[doc(hidden)]
#[macro_export]
macro_rules! __per_thread {
    ($(#[$doc:meta])* static $name:ident: $type:ty;) => {
        #[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
        std::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = const { std::cell::Cell::new(None) };
        }
        #[cfg(heist_loom)]
        $crate::__internal::sync::loom::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = std::cell::Cell::new(None);
        }
        #[cfg(heist_shuttle)]
        $crate::__internal::sync::shuttle::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = std::cell::Cell::new(None);
        }
        #[cfg(heist_sim)]
        std::thread_local! {
            $(#[$doc])*
            static $name: $crate::__internal::sync::PerThread<$type> =
                const { $crate::__internal::sync::PerThread::new() };
        }
    };
}
pub use __per_thread as per_thread;
#[cfg(heist_loom)]
pub use loom;
#[cfg(heist_shuttle)]
pub use shuttle;

/// Executes a fence that ThreadSanitizer understands, in its build; does nothing in any other.
/// heist's wakers call it after their last use of what they hold, and when they are dropped: they
/// are built on std's `Arc`, whose own fence ThreadSanitizer does not know.
#[inline(always)]
pub fn show_to_sanitizer() {
    #[cfg(heist_tsan)]
    fence(Ordering::SeqCst);
}

/// The pusher's fence, between publishing a task and looking for parked workers. Pairs with
/// [`heavy_fence`].
#[inline]
pub(crate) fn light_fence() {
    plant::instead!(NoLightFence);
    fence(Ordering::SeqCst);
}

/// The worker's fence, between setting its parked bit (or leaving the searcher count) and its last
/// look at the queues. Pairs with [`light_fence`].
#[inline]
pub(crate) fn heavy_fence() {
    plant::instead!(NoHeavyFence);
    fence(Ordering::SeqCst);
}
