//! The shipping exchange: one atomic instruction for values of a pointer's size.

use crossbeam_utils::atomic::AtomicCell;

/// A cell whose content is exchanged in one step.
pub(super) struct ExchangeCell<T>(AtomicCell<Option<T>>);

impl<T> std::fmt::Debug for ExchangeCell<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExchangeCell")
    }
}

impl<T> ExchangeCell<T> {
    /// Creates an empty cell.
    pub(super) fn new() -> Self {
        Self(AtomicCell::new(None))
    }

    /// Puts `content` in and returns the previous content. Acquires and releases.
    #[inline]
    pub(super) fn exchange(&self, content: Option<T>) -> Option<T> {
        self.0.swap(content)
    }
}
