//! [`Window`]: a part of an object in memory, which moves over it from the front to the back.
//!
//! - Each position of the object (or of the part that this worker has) is *owned* once. While it is, at least
//!   [`Overlaps::before`] bytes before it and [`Overlaps::after`] bytes from it on are in the window, or all that there
//!   are.
//! - To move on, the end of the window, which is the beginning of the next one, is copied to the front; what is new is
//!   read behind it, to the beginning of a page.
//! - An object that cannot be read any further ends there: what was read before can be owned.

use super::buffer::{AlignedBuffer, PAGE_BYTES};
use super::probe::PROBE_BYTES;
use std::io;

/// How much has to be around what is owned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlaps {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Window {
    /// Made when it is first needed.
    buffer: Option<AlignedBuffer>,
    chunk: usize,
    overlaps: Overlaps,
    /// Where reads go once the window has moved.
    front: usize,
    /// What of the buffer is the window ...
    start: usize,
    end: usize,
    /// ... and where in the object it begins.
    offset: u64,
    /// The first position that was not owned yet.
    owned_from: u64,
    /// Whether there is nothing after it.
    ended: bool,
}

impl Window {
    pub(crate) fn new(chunk: usize, overlaps: Overlaps) -> Self {
        // One more before: windows begin at even offsets.
        let front = (overlaps.before + 1 + overlaps.after).next_multiple_of(PAGE_BYTES);
        let (buffer, chunk) = (None, chunk.max(1));
        Self {
            buffer,
            chunk,
            overlaps,
            front,
            start: 0,
            end: 0,
            offset: 0,
            owned_from: 0,
            ended: false,
        }
    }

    /// How many bytes its buffer has.
    pub(crate) fn capacity(&self) -> usize {
        let around = self.overlaps.before + 1 + self.overlaps.after;
        (self.front + self.chunk).max(self.first_bytes()).max(around + self.chunk)
    }

    /// How many bytes are read first.
    fn first_bytes(&self) -> usize {
        (self.chunk + self.overlaps.after).max(PROBE_BYTES)
    }

    /// Where a window begins whose owned positions begin at `from`. Always even: no unit of UTF-16 is cut.
    pub(crate) fn begin_of(&self, from: u64) -> u64 {
        from.saturating_sub(self.overlaps.before as u64) & !1
    }

    /// Begins anew, with the positions from `from` on.
    pub(crate) fn begin(&mut self, from: u64) {
        (self.start, self.end, self.ended) = (0, 0, false);
        (self.offset, self.owned_from) = (self.begin_of(from), from);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[self.start..self.end])
    }

    /// Where in the object it begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Where in the object it ends.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// The first position that was not owned yet.
    pub(crate) fn owned_from(&self) -> u64 {
        self.owned_from
    }

    /// Whether it ends where the object ends.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Everything before `owned` has been owned. Lets go of nothing.
    pub(crate) fn set_owned(&mut self, owned: u64) {
        self.owned_from = owned;
    }

    /// Reads the object's first bytes. A read that gives less than it was asked for is not the end (files in `/proc`
    /// come a page at a time): that is the one which gives nothing. It is also cheaper than to ask for the size.
    pub(crate) fn fill_first(
        &mut self,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.fill_to(self.first_bytes() as u64, u64::MAX, read)
    }

    /// Reads on, until the next chunk can be owned. Positions from `limit` on are not the object's.
    pub(crate) fn fill(
        &mut self,
        limit: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let wanted = self.owned_from + (self.chunk + self.overlaps.after) as u64;
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
            assert!(asked > 0, "the buffer has room for a chunk and what is around it");
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

    /// What can be owned next: positions up to `to`, and as far as there is enough after them.
    pub(crate) fn next_owned(&self, to: u64) -> std::ops::Range<u64> {
        let end = self.end_offset();
        let sure = if self.ended { end } else { end.saturating_sub(self.overlaps.after as u64) };
        self.owned_from..sure.min(to).max(self.owned_from)
    }

    /// Everything before `owned` has been owned. Lets go of what is no longer needed, but not before `leaving` has seen
    /// it.
    pub(crate) fn advance(&mut self, owned: u64, leaving: impl FnOnce(&[u8])) {
        self.owned_from = owned;
        let begin = self.begin_of(owned).max(self.offset);
        let Some(buffer) = &mut self.buffer else { return };
        let left = usize::try_from(begin - self.offset).unwrap_or(usize::MAX);
        let kept = (self.start + left).min(self.end);
        leaving(&buffer[self.start..kept]);
        let tail = self.end - kept;
        // So that what is read next begins on a page. (At the end nothing is read, and nothing needs to move.)
        if !self.ended && tail <= self.front {
            buffer.copy_within(kept..self.end, self.front - tail);
            (self.start, self.end) = (self.front - tail, self.front);
        } else {
            self.start = kept;
        }
        self.offset = begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every position is owned once, with enough around it, whatever the sizes.
    #[test]
    fn owned_positions_tile_the_object() {
        let object: Vec<u8> =
            (0..20_000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
        for (chunk, before, after) in
            [(1, 0, 0), (7, 3, 30), (64, 100, 5), (4096, 512, 700), (1 << 20, 9, 9)]
        {
            for (from, to) in
                [(0, u64::MAX), (0, 9000), (5, 13_000), (13_000, u64::MAX), (19_999, u64::MAX)]
            {
                let mut window = Window::new(chunk, Overlaps { before, after });
                let mut read = |at: u64, into: &mut [u8]| {
                    let rest = &object[(at as usize).min(object.len())..];
                    // Readers may give less than asked for.
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
                    assert!(owned.end > next, "it moves on");
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
