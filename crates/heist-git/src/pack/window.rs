//! Bytes of an index: in memory, or read when they are needed.

use crate::problem::{FileError, FileProblem};
use crate::source_file::SourceFile;
use std::io;
use std::path::Path;

/// The source of an index.
#[derive(Debug)]
pub(crate) enum IndexBytes {
    File(SourceFile),
    Memory(Vec<u8>),
}

impl IndexBytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.len(),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Fills `buffer` from `offset` on.
    pub(crate) fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(offset, buffer),
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).ok();
                let found = start.and_then(|at| bytes.get(at..at.checked_add(buffer.len())?));
                buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    pub(crate) fn u32_at(&self, offset: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read_exact_at(offset, &mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    pub(crate) fn u64_at(&self, offset: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read_exact_at(offset, &mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }
}

/// A table of 256 numbers: how many ids begin with at most this byte.
#[derive(Debug)]
pub(crate) struct FanOut(Box<[u32; 256]>);

impl FanOut {
    pub(crate) const LEN: u64 = 4 * 256;

    /// Reads the table, and checks that it never falls.
    pub(crate) fn read(bytes: &IndexBytes, offset: u64, path: &Path) -> Result<Self, FileError> {
        let mut table = [0; Self::LEN as usize];
        bytes.read_exact_at(offset, &mut table).map_err(|error| {
            FileError::new(
                path,
                match error.kind() {
                    io::ErrorKind::UnexpectedEof => FileProblem::Malformed("it is cut"),
                    kind => FileProblem::Io(kind),
                },
            )
        })?;
        let mut counts = Box::new([0; 256]);
        for (count, four) in counts.iter_mut().zip(table.chunks_exact(4)) {
            *count = u32::from_be_bytes([four[0], four[1], four[2], four[3]]);
        }
        if !counts.is_sorted() {
            return Err(FileError::new(path, FileProblem::Malformed("its fan-out table falls")));
        }
        Ok(Self(counts))
    }

    /// Returns the number of all ids.
    pub(crate) fn count(&self) -> u32 {
        self.0[255]
    }

    /// Returns the positions of the ids that begin with `byte`.
    pub(crate) fn range(&self, byte: u8) -> std::ops::Range<u32> {
        let start = byte.checked_sub(1).map_or(0, |before| self.0[usize::from(before)]);
        start..self.0[usize::from(byte)]
    }
}

/// How many bytes of a table are read at a time.
const WINDOW: usize = 4096;

/// Finds `wanted` in a sorted table of ids, each followed by the rest of a record. Returns its
/// position.
///
/// Ids are hashes, so the first guess is where `wanted` lies if they are spread evenly: one read in
/// most cases. If it is not there, the range is halved, so that a hostile table costs no more than
/// 32 reads.
pub(crate) fn find_id(
    bytes: &IndexBytes,
    fan_out: &FanOut,
    layout: IdTable,
    wanted: &[u8],
) -> io::Result<Option<u32>> {
    let Some((&first, rest)) = wanted.split_first() else { return Ok(None) };
    let mut range = fan_out.range(first);
    let mut window = [0; WINDOW];
    let per_window = u32::try_from(WINDOW / layout.record).unwrap_or(1).max(1);
    let mut guess = Some(u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]));
    while !range.is_empty() {
        let len = range.end - range.start;
        let middle = match guess.take() {
            Some(share) => ((u64::from(len) * u64::from(share)) >> 32) as u32,
            None => len / 2,
        };
        let count = len.min(per_window);
        let start = range.start + middle.saturating_sub(count / 2).min(len - count);
        let window = &mut window[..count as usize * layout.record];
        bytes.read_exact_at(layout.at + u64::from(start) * layout.record as u64, window)?;
        let id = |at: u32| {
            let at = at as usize * layout.record + layout.id_at;
            &window[at..at + wanted.len()]
        };
        if wanted < id(0) {
            range.end = start;
        } else if wanted > id(count - 1) {
            range.start = start + count;
        } else {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low + (high - low) / 2;
                match id(middle).cmp(wanted) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Greater => high = middle,
                    std::cmp::Ordering::Equal => return Ok(Some(start + middle)),
                }
            }
            return Ok(None);
        }
    }
    Ok(None)
}

/// Where a table of ids is, and what its records look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdTable {
    /// Where the first record is in the file.
    pub at: u64,
    /// The length of a record.
    pub record: usize,
    /// Where the id is in a record.
    pub id_at: usize,
}
