//! [`Placement`]: where the findings in an object belong, if the object is only a part or a view of
//! a file.

use crate::finding::Finding;

/// Moves the findings in a stream to where they belong, or declines them.
///
/// A source uses it if the bytes of its objects are not those of a file: the object of a
/// [`DiffSource`](crate::diff::DiffSource) is the new side of a patch, and its findings belong to
/// lines of the patched file. The findings of an object arrive in the order of their offsets, from
/// one thread.
pub trait Placement: Send + Sync {
    /// Moves a finding to where it belongs. Returns `false` to decline it: then the sink gets it
    /// through [`Sink::declined`](crate::Sink::declined), and it counts nowhere else.
    fn place(&self, finding: &mut Finding) -> bool;

    /// Does the same for a finding that follows from the path alone.
    fn place_path(&self, finding: &mut Finding) -> bool {
        let _ = finding;
        true
    }
}
