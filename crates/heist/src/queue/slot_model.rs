//! The modelled exchange. Each content has a number, and the number is exchanged as the shipping
//! cell exchanges the content itself: by one AcqRel read-modify-write. A lock would order what that
//! leaves unordered.

use crate::sync::plant::{self, Plant};
use crate::sync::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// The number that stands for no content.
const EMPTY: usize = 0;

/// A cell whose content is exchanged in one step.
#[derive(Debug)]
pub(super) struct ExchangeCell<T> {
    number: AtomicUsize,
    /// Content number `n` is at index `n - 1`. No index is used twice: models are short.
    contents: Mutex<Vec<Option<T>>>,
}

impl<T> ExchangeCell<T> {
    /// Creates an empty cell.
    pub(super) fn new() -> Self {
        Self { number: AtomicUsize::new(EMPTY), contents: Mutex::new(Vec::new()) }
    }

    /// Puts `content` in and returns the previous content. Acquires and releases.
    pub(super) fn exchange(&self, content: Option<T>) -> Option<T> {
        let number = content.map_or(EMPTY, |content| {
            let mut contents = self.contents.lock().expect("no panic while it is held");
            contents.push(Some(content));
            contents.len()
        });
        let order = plant::order(Plant::SlotExchangeRelaxed, Ordering::AcqRel);
        let before = self.number.swap(number, order);
        let index = before.checked_sub(1)?;
        let mut contents = self.contents.lock().expect("no panic while it is held");
        Some(contents[index].take().expect("the thread that got the number owns the content"))
    }
}
