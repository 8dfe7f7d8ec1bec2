//! The one door to atomics, fences, locks, parking and threads.
//!
//! Nothing else in the crate imports `std::sync` for a protocol. Behind the door stands the standard
//! library; loom with `--cfg heist_loom`; shuttle with `--cfg heist_shuttle`; what ThreadSanitizer understands with
//! `--cfg heist_tsan`; or, with `--cfg heist_sim`, a simulated machine. The protocols above cannot tell the difference,
//! so the code that is checked is the code that ships.
//!
//! Under shuttle and in the simulator threads are simulated, too, and whole executors run on them. A model of loom's
//! starts threads of its own around the worker loop.
//!
//! Statistics ([`crate::metrics`]) use the standard atomics directly: nothing is decided by them, and every
//! modelled atomic multiplies the schedules that a model checker has to visit.
//!
//! # The two fences
//!
//! The idle protocol is a Dekker-style handshake: a pusher *publishes, then looks for sleepers*; a worker
//! *declares itself asleep, then looks for work*. Each side needs a full fence between its two halves.
//! [`light_fence`] is the pusher's (hot: once per push), [`heavy_fence`] the sleeper's (cold: once per park).
//! They have names of their own so that an asymmetric pair can replace them. Today both are `SeqCst` fences,
//! because that measured better: the fence costs nanoseconds, while Linux' `membarrier` costs its caller
//! microseconds as soon as another thread of the process is running, and a worker that is woken would pay that
//! before it may run its task. `cargo run --release -p heist-bench -- costs` has both figures.

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
pub use crossbeam_utils::CachePadded;
pub(crate) use unshared::Unshared;

/// Declares a value that each thread has of its own, or has not: a `Cell<Option<_>>` behind `with`. Where threads are
/// modelled or simulated it is theirs, since there many share one real thread.
macro_rules! per_thread {
    ($(#[$doc:meta])* static $name:ident: $type:ty;) => {
        #[cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]
        std::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = const { std::cell::Cell::new(None) };
        }
        #[cfg(heist_loom)]
        loom::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = std::cell::Cell::new(None);
        }
        #[cfg(heist_shuttle)]
        shuttle::thread_local! {
            $(#[$doc])*
            static $name: std::cell::Cell<Option<$type>> = std::cell::Cell::new(None);
        }
        #[cfg(heist_sim)]
        std::thread_local! {
            $(#[$doc])*
            static $name: crate::sync::PerThread<$type> = const { crate::sync::PerThread::new() };
        }
    };
}
pub(crate) use per_thread;

/// What a waker of ours does after its last use of what it holds, and when it is dropped. Wakers are made of std's
/// `Arc`, which ends in a fence that ThreadSanitizer does not know; here is one that it does. Nothing, in any other
/// build.
#[inline(always)]
pub(crate) fn show_to_sanitizer() {
    #[cfg(heist_tsan)]
    fence(Ordering::SeqCst);
}

/// The pusher's fence: between publishing a task and looking for sleepers. Pairs with [`heavy_fence`].
#[inline]
pub fn light_fence() {
    plant::instead!(NoLightFence);
    fence(Ordering::SeqCst);
}

/// The sleeper's fence: between declaring oneself asleep (or no longer searching) and the last look at the
/// queues. Pairs with [`light_fence`].
#[inline]
pub fn heavy_fence() {
    plant::instead!(NoHeavyFence);
    fence(Ordering::SeqCst);
}
