//! [`AlignedBuffer`]: memory for reads that begins on a page boundary.
//!
//! A plain `Vec` of this size begins 16 bytes into a page, and some processors copy to such an
//! address at a fifth of the speed. Without `unsafe`, a `Vec` cannot be aligned. So the buffer
//! allocates one page more than it needs and leaves the bytes before the first page boundary
//! unused.

use std::ops::{Deref, DerefMut};

/// The size of a page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Memory for reads that begins on a page boundary.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    memory: Vec<u8>,
    begin: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Creates a buffer of `len` zeros. The system provides the pages when they are first written.
    pub(crate) fn new(len: usize) -> Self {
        let memory = vec![0; len + PAGE_BYTES];
        let begin = memory.as_ptr().align_offset(PAGE_BYTES);
        // `align_offset` may fail. Then the buffer is not aligned: slower, but correct.
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
    fn a_buffer_begins_on_a_page_and_has_the_requested_length() {
        for len in [1, 4096, 256 << 10, 300_001] {
            let buffer = AlignedBuffer::new(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().addr() % PAGE_BYTES, 0);
        }
    }
}
