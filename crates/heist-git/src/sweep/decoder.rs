//! Inflates entries and applies deltas, with the buffers of one worker.

use super::memory::{Memory, Pool, Reserved, SMALL, Short, set_len};
use super::plan::PackPlan;
use crate::delta::{self, DeltaOp, DeltaSizes};
use crate::inflate::{Inflater, can_inflate_to};
use crate::loose;
use crate::problem::ObjectError;

/// Larger entries are read in pieces.
pub(super) const READ_MAX: usize = 1 << 20;

/// More instructions than this are not kept for the next delta.
const OPS_KEPT: usize = 1 << 16;

/// Why there is no content.
#[derive(Debug)]
pub(super) enum Failure {
    Object(ObjectError),
    /// Memory is short; later there may be enough.
    Short,
}

impl From<ObjectError> for Failure {
    fn from(error: ObjectError) -> Self {
        Self::Object(error)
    }
}

impl From<Short> for Failure {
    fn from(_: Short) -> Self {
        Self::Short
    }
}

/// The content of an object, and the permit for its memory.
#[derive(Debug)]
pub(super) struct Content {
    pub bytes: Vec<u8>,
    pub reserved: Reserved,
}

/// Inflates and applies deltas.
#[derive(Debug)]
pub(super) struct Decoder {
    pub inflater: Inflater,
    pub pool: Pool,
    /// Compressed data.
    pub input: Vec<u8>,
    delta: Vec<u8>,
    /// The instructions of the delta that was applied last.
    pub ops: Vec<DeltaOp>,
    object_bytes: u64,
    /// The bytes that were decoded so far.
    pub decoded: u64,
}

impl Decoder {
    pub(super) fn new(object_bytes: u64) -> Self {
        Self {
            inflater: Inflater::new(),
            pool: Pool::default(),
            input: vec![0; loose::PIECE],
            delta: Vec::new(),
            ops: Vec::new(),
            object_bytes,
            decoded: 0,
        }
    }

    /// Inflates an entry that is not a delta.
    pub(super) fn whole(
        &mut self,
        plan: &PackPlan,
        entry: u32,
        memory: &Memory,
    ) -> Result<Content, Failure> {
        let size = self.checked_size(plan, entry, self.object_bytes)?;
        let reserved = memory.reserve(size)?;
        let mut bytes = self.pool.take(size);
        match self.inflate(plan, entry, size, &mut bytes) {
            Ok(()) => {
                self.decoded += size as u64;
                Ok(Content { bytes, reserved })
            }
            Err(error) => {
                self.pool.give(bytes);
                Err(error.into())
            }
        }
    }

    /// Makes an object from its base. Leaves the instructions in `ops`.
    pub(super) fn delta(
        &mut self,
        plan: &PackPlan,
        entry: u32,
        base: &[u8],
        memory: &Memory,
    ) -> Result<Content, Failure> {
        let size = self.checked_size(plan, entry, delta_bytes_max(self.object_bytes))?;
        let delta_reserved = memory.reserve(size)?;
        let mut delta = std::mem::take(&mut self.delta);
        let made = self
            .inflate(plan, entry, size, &mut delta)
            .map_err(Failure::from)
            .and_then(|()| self.apply(&delta, base, memory));
        if delta.capacity() <= SMALL {
            self.delta = delta;
        }
        drop(delta_reserved);
        if self.ops.capacity() > OPS_KEPT && made.is_err() {
            self.ops = Vec::new();
        }
        made
    }

    fn apply(&mut self, delta: &[u8], base: &[u8], memory: &Memory) -> Result<Content, Failure> {
        if self.ops.capacity() > OPS_KEPT {
            self.ops = Vec::new();
        }
        // Before the instructions are parsed, which may be many.
        let sizes = DeltaSizes::parse(delta).ok_or(ObjectError::Corrupt("its delta is invalid"))?;
        if sizes.result > self.object_bytes {
            return Err(ObjectError::TooLarge { size: sizes.result }.into());
        }
        let len = delta::parse(delta, base.len(), self.object_bytes, &mut self.ops)?;
        let reserved = memory.reserve(len)?;
        let mut bytes = self.pool.take(len);
        delta::apply(&self.ops, delta, base, len, &mut bytes)?;
        self.decoded += len as u64;
        Ok(Content { bytes, reserved })
    }

    /// Returns the inflated size of an entry, if it is within the limit and its compressed data can
    /// become as large.
    fn checked_size(&self, plan: &PackPlan, entry: u32, most: u64) -> Result<usize, ObjectError> {
        let size = u64::from(plan.size(entry));
        if size > most || size == u64::from(u32::MAX) {
            return Err(ObjectError::TooLarge { size });
        }
        let extent = plan.extent(entry);
        let available = plan.pack.entries_end().saturating_sub(extent.start);
        if !can_inflate_to(available, size) {
            return Err(ObjectError::Corrupt("its inflated size is not what its header states"));
        }
        Ok(size as usize)
    }

    fn inflate(
        &mut self,
        plan: &PackPlan,
        entry: u32,
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ObjectError> {
        set_len(out, size);
        let extent = plan.extent(entry);
        let len = extent.end - extent.start;
        if len <= READ_MAX as u64 {
            let len = len as usize;
            if self.input.len() < len {
                self.input.resize(len, 0);
            }
            let input = &mut self.input[..len];
            let filled = read_full(plan, extent.start, input)?;
            match self.inflater.whole(&input[..filled], out) {
                Ok(_) => return Ok(()),
                // An index may name a place inside of an entry, so that the entry seems to end
                // there.
                Err(error) if extent.end >= plan.pack.entries_end() => return Err(error),
                Err(_) => {}
            }
        }
        let mut offset = extent.start;
        let read = |buffer: &mut [u8]| {
            let read = plan.pack.read_entry(offset, buffer)?;
            offset += read as u64;
            Ok(read)
        };
        self.inflater.pieces(&mut self.input, read, out).map(|_| ())
    }
}

/// The longest delta for objects of at most `object_bytes`. (Git makes none that is longer than
/// half of its object.)
pub(super) const fn delta_bytes_max(object_bytes: u64) -> u64 {
    object_bytes / 2 + 1024
}

fn read_full(plan: &PackPlan, offset: u64, buffer: &mut [u8]) -> Result<usize, ObjectError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match plan.pack.read_entry(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
