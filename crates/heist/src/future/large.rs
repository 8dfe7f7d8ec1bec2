//! Large futures, which are boxed where they come in.
//!
//! A future is passed by value from the caller's function down to the allocation of its task. Without optimisation each
//! function on the way has a copy of it, and a future of some 100 KB overflows the stack of a worker. So every entrance
//! boxes a large one before it passes it on.

/// From this size on the crate async-task boxes a future itself, so boxing it earlier costs nothing more.
const LARGE: usize = 2048;

/// Returns `true` if a future of this type is to be boxed before it is passed on. To be asked in a `const` block: then
/// the branch that is not taken is not compiled, also without optimisation, and has no copy of the future in the frame.
pub const fn is_large<F>() -> bool {
    size_of::<F>() >= LARGE
}
