//! [`AlignedBuffer`]: memory for reads that begins on a page.
//!
//! A plain `Vec` of this size begins 16 bytes into a page, and some processors copy to such an address at a fifth of
//! the speed. Without `unsafe` a vector cannot be told where to begin, so it gets a page more than needed, and what
//! comes before the first whole page is left unused.

use std::ops::{Deref, DerefMut};

/// A page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    memory: Vec<u8>,
    begin: usize,
    len: usize,
}

impl AlignedBuffer {
    /// `len` zeros. The system gives the pages when they are first written to.
    pub(crate) fn new(len: usize) -> Self {
        let memory = vec![0; len + PAGE_BYTES];
        let begin = memory.as_ptr().align_offset(PAGE_BYTES);
        // The standard library may say that it does not know. Then it is as slow as it is, but right.
        Self { begin: if begin < PAGE_BYTES { begin } else { 0 }, memory, len }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_on_a_page_and_is_as_long_as_asked() {
        for len in [1, 4096, 256 << 10, 300_001] {
            let buffer = AlignedBuffer::new(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().addr() % PAGE_BYTES, 0);
        }
    }
}
