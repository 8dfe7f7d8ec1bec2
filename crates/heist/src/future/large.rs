//! Which futures are boxed where they enter heist.
//!
//! A future is passed by value from the caller's function down to the allocation of its task.
//! Without optimisation, each function on the way has a copy of it, and a future of some 100 KB
//! overflows the stack of a worker. So every public function boxes a large future before it passes
//! it on.

/// The crate async-task boxes futures of this size and more itself, so boxing them earlier is free.
const LARGE: usize = 2048;

/// Returns `true` if a future of this type must be boxed before it is passed on.
///
/// Call this in a `const` block. Then the compiler leaves out the branch that is not taken, even
/// without optimisation, and with it that branch's copy of the future in the stack frame.
pub const fn is_large<F>() -> bool {
    size_of::<F>() >= LARGE
}
