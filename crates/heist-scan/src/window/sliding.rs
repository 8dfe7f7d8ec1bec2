//! [`Window`]: the part of an object that is in memory. It moves over the object from front to
//! back.
//!
//! - The window *owns* each position of the object (or of the range that this worker scans) exactly
//!   once. At that time it contains at least [`SurroundingBytes::before`] bytes before the position
//!   and [`SurroundingBytes::after`] bytes from it on, or all that the object has.
//! - To advance, the window copies its end, which is the beginning of the next window, to the front
//!   of the buffer. New bytes are read behind it, to a page boundary.
//! - If a read fails, the object ends there for the window, and everything read before can be
//!   owned.

use super::buffer::{AlignedBuffer, PAGE_BYTES};
use super::probe::PROBE_BYTES;
use std::io;

/// The bytes that the window must contain around the positions it owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SurroundingBytes {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// The part of an object that is in memory.
#[derive(Debug)]
pub(crate) struct Window {
    /// Allocated when it is first needed.
    buffer: Option<AlignedBuffer>,
    chunk: usize,
    surroundings: SurroundingBytes,
    /// The place in the buffer to which reads go after the window has advanced.
    front: usize,
    /// The window is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The offset of the window in the object.
    offset: u64,
    /// The first position that was not owned yet.
    owned_from: u64,
    /// Whether the window ends where the object ends.
    ended: bool,
}

impl Window {
    pub(crate) fn new(chunk: usize, surroundings: SurroundingBytes) -> Self {
        // One byte more before: windows begin at even offsets.
        let front = (surroundings.before + 1 + surroundings.after).next_multiple_of(PAGE_BYTES);
        let (buffer, chunk) = (None, chunk.max(1));
        Self {
            buffer,
            chunk,
            surroundings,
            front,
            start: 0,
            end: 0,
            offset: 0,
            owned_from: 0,
            ended: false,
        }
    }

    /// Returns the size of the buffer.
    pub(crate) fn capacity(&self) -> usize {
        let around = self.surroundings.before + 1 + self.surroundings.after;
        (self.front + self.chunk).max(self.first_bytes()).max(around + self.chunk)
    }

    /// Returns the number of bytes in the first window of an object.
    fn first_bytes(&self) -> usize {
        (self.chunk + self.surroundings.after).max(PROBE_BYTES)
    }

    /// Returns where a window begins whose owned positions begin at `from`. The offset is even, so
    /// that it does not cut a unit of UTF-16.
    pub(crate) fn begin_of(&self, from: u64) -> u64 {
        from.saturating_sub(self.surroundings.before as u64) & !1
    }

    /// Starts over with an empty window, to own the positions from `from` on.
    pub(crate) fn begin(&mut self, from: u64) {
        (self.start, self.end, self.ended) = (0, 0, false);
        (self.offset, self.owned_from) = (self.begin_of(from), from);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[self.start..self.end])
    }

    /// Returns the offset in the object at which the window begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the offset in the object at which the window ends.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// Returns the first position that was not owned yet.
    pub(crate) fn owned_from(&self) -> u64 {
        self.owned_from
    }

    /// Returns `true` if the window ends where the object ends.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Marks everything before `owned` as owned, and keeps all bytes.
    pub(crate) fn set_owned(&mut self, owned: u64) {
        self.owned_from = owned;
    }

    /// Reads the first bytes of the object. Only a read that returns nothing marks the end of the
    /// object: a short read does not, because files in `/proc` arrive one page at a time. One more
    /// read is also cheaper than asking for the size.
    pub(crate) fn fill_first(
        &mut self,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.fill_to(self.first_bytes() as u64, u64::MAX, read)
    }

    /// Reads until the next chunk can be owned. The object ends at `limit` at the latest.
    pub(crate) fn fill(
        &mut self,
        limit: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let wanted = self.owned_from + (self.chunk + self.surroundings.after) as u64;
        self.fill_to(wanted, limit, read)
    }

    fn fill_to(
        &mut self,
        wanted: u64,
        limit: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let capacity = self.capacity();
        let buffer = self.buffer.get_or_insert_with(|| AlignedBuffer::new(capacity));
        while !self.ended {
            let at = self.offset + (self.end - self.start) as u64;
            if at >= limit {
                self.ended = true;
                break;
            }
            let missing = wanted.min(limit).saturating_sub(at);
            if missing == 0 {
                break;
            }
            let missing = usize::try_from(missing).unwrap_or(usize::MAX);
            let room = &mut buffer[self.end..(self.end.saturating_add(missing)).min(capacity)];
            let asked = room.len();
            assert!(asked > 0, "the buffer has room for a chunk and its surroundings");
            match read(at, room) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count.min(asked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Returns the positions that can be owned next: up to `to`, and as far as the window contains
    /// enough bytes after them.
    pub(crate) fn next_owned(&self, to: u64) -> std::ops::Range<u64> {
        let end = self.end_offset();
        let sure =
            if self.ended { end } else { end.saturating_sub(self.surroundings.after as u64) };
        self.owned_from..sure.min(to).max(self.owned_from)
    }

    /// Marks everything before `owned` as owned, and drops the bytes that are no longer needed
    /// after showing them to `leaving`.
    pub(crate) fn advance(&mut self, owned: u64, leaving: impl FnOnce(&[u8])) {
        self.owned_from = owned;
        let begin = self.begin_of(owned).max(self.offset);
        let Some(buffer) = &mut self.buffer else { return };
        let left = usize::try_from(begin - self.offset).unwrap_or(usize::MAX);
        let tail_start = (self.start + left).min(self.end);
        leaving(&buffer[self.start..tail_start]);
        let tail = self.end - tail_start;
        // The next read then begins on a page. (At the end of the object nothing more is read.)
        if !self.ended && tail <= self.front {
            buffer.copy_within(tail_start..self.end, self.front - tail);
            (self.start, self.end) = (self.front - tail, self.front);
        } else if self.ended {
            self.start = tail_start;
        } else {
            // Less than a chunk was owned. There must be room behind the tail for the next chunk.
            buffer.copy_within(tail_start..self.end, 0);
            (self.start, self.end) = (0, tail);
        }
        self.offset = begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_owned_once_with_its_surroundings() {
        let object: Vec<u8> =
            (0..20_000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
        for (chunk, before, after) in
            [(1, 0, 0), (7, 3, 30), (64, 100, 5), (4096, 512, 700), (1 << 20, 9, 9)]
        {
            for (from, to) in
                [(0, u64::MAX), (0, 9000), (5, 13_000), (13_000, u64::MAX), (19_999, u64::MAX)]
            {
                let mut window = Window::new(chunk, SurroundingBytes { before, after });
                let mut read = |at: u64, into: &mut [u8]| {
                    let rest = &object[(at as usize).min(object.len())..];
                    // A reader may return less than was asked for.
                    let count = rest.len().min(into.len()).min(3000);
                    into[..count].copy_from_slice(&rest[..count]);
                    Ok(count)
                };
                window.begin(from);
                let mut next = from;
                loop {
                    if next == 0 {
                        window.fill_first(&mut read).unwrap();
                    }
                    window.fill(object.len() as u64, &mut read).unwrap();
                    let owned = window.next_owned(to);
                    assert_eq!(owned.start, next);
                    assert!(owned.end > next, "the window advances");
                    let bytes = window.bytes();
                    let offset = window.offset() as usize;
                    assert_eq!(bytes, &object[offset..offset + bytes.len()]);
                    assert!(offset <= (owned.start as usize).saturating_sub(before));
                    assert!(offset + bytes.len() >= (owned.end as usize + after).min(object.len()));
                    assert_eq!(window.is_ended(), offset + bytes.len() == object.len());
                    next = owned.end;
                    if next >= to || (window.is_ended() && next == window.end_offset()) {
                        break;
                    }
                    window.advance(next, |_| {});
                }
                assert_eq!(next, to.min(object.len() as u64));
            }
        }
    }
}
