//! Pack files: the header, and the headers of entries.

pub(crate) mod commit_graph;
pub(crate) mod index;
pub(crate) mod midx;
pub(crate) mod window;

use crate::access::Access;
use crate::bytes::u32_at;
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::problem::{FileError, FileProblem, ObjectError};
use crate::source_file::SourceFile;
use std::io;
use std::path::Path;

/// The length of the header of a pack.
pub(crate) const PACK_HEADER: u64 = 12;

/// The most bytes that the header of an entry has: ten for the size, 32 for a base.
pub(crate) const ENTRY_HEADER_MAX: usize = 10 + 32;

/// What an entry of a pack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Whole(ObjectKind),
    /// A delta against the entry at this offset of the same pack.
    OfsDelta(u64),
    /// A delta against this object.
    RefDelta(ObjectId),
}

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader {
    pub kind: EntryKind,
    /// The inflated size: of a delta, that of its instructions.
    pub size: u64,
    /// The length of the header; the zlib stream follows.
    pub len: usize,
}

impl EntryHeader {
    /// Parses the header of the entry at `offset`, whose first bytes are `bytes`.
    pub(crate) fn parse(bytes: &[u8], offset: u64, hash: HashKind) -> Result<Self, ObjectError> {
        const CUT: ObjectError = ObjectError::Corrupt("its header is cut");
        let mut at = 1;
        let first = *bytes.first().ok_or(CUT)?;
        let mut size = u64::from(first & 15);
        let mut more = first & 0x80 != 0;
        let mut shift = 4;
        while more {
            let byte = *bytes.get(at).ok_or(CUT)?;
            at += 1;
            if shift > 57 {
                return Err(ObjectError::Corrupt("its header states an impossible size"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        let kind = match first >> 4 & 7 {
            1 => EntryKind::Whole(ObjectKind::Commit),
            2 => EntryKind::Whole(ObjectKind::Tree),
            3 => EntryKind::Whole(ObjectKind::Blob),
            4 => EntryKind::Whole(ObjectKind::Tag),
            6 => {
                let distance = base_distance(bytes, &mut at).ok_or(CUT)?;
                let base = offset.checked_sub(distance).filter(|_| distance > 0);
                let base = base.filter(|base| *base >= PACK_HEADER);
                EntryKind::OfsDelta(base.ok_or(ObjectError::MissingBase(None))?)
            }
            7 => {
                let id = bytes.get(at..at + hash.id_len()).ok_or(CUT)?;
                at += hash.id_len();
                EntryKind::RefDelta(ObjectId::from_slice(hash, id))
            }
            _ => return Err(ObjectError::Corrupt("its header states an unknown kind")),
        };
        Ok(Self { kind, size, len: at })
    }
}

/// Reads how far before the entry its base is: seven bits per byte, the highest first, plus one for
/// each further byte.
fn base_distance(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut distance = 0_u64;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        distance = distance.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(distance);
        }
        distance = distance.checked_add(1)?;
        if distance >> 57 != 0 {
            return None;
        }
        distance <<= 7;
    }
}

/// An open pack.
#[derive(Debug)]
pub(crate) struct PackFile {
    pub file: SourceFile,
    pub hash: HashKind,
    /// How many entries the header states.
    pub count: u32,
}

impl PackFile {
    /// Opens a pack and checks its header.
    pub(crate) fn open(access: &Access, path: &Path, hash: HashKind) -> Result<Self, FileError> {
        let failed = |problem| FileError::new(path, problem);
        let file = access.open(path)?;
        let mut header = [0; PACK_HEADER as usize];
        file.read_exact_at(0, &mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => failed(FileProblem::Malformed("it has no header")),
            _ => FileError::new(path, error),
        })?;
        if &header[..4] != b"PACK" {
            return Err(failed(FileProblem::Malformed("it does not begin like a pack")));
        }
        if !matches!(u32_at(&header, 4), Some(2 | 3)) {
            return Err(failed(FileProblem::Unsupported("this version of packs")));
        }
        let count = u32_at(&header, 8).unwrap_or_default();
        Ok(Self { file, hash, count })
    }

    /// Returns where the entries end: at the checksum.
    pub(crate) fn entries_end(&self) -> u64 {
        self.file.len().saturating_sub(self.hash.id_len() as u64)
    }

    /// Reads the header of the entry at `offset`.
    pub(crate) fn header_at(&self, offset: u64) -> Result<EntryHeader, ObjectError> {
        let mut bytes = [0; ENTRY_HEADER_MAX];
        let filled = self.read_entry(offset, &mut bytes)?;
        EntryHeader::parse(&bytes[..filled], offset, self.hash)
    }

    /// Reads at `offset`, and not beyond the end of the entries.
    pub(crate) fn read_entry(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.entries_end().saturating_sub(offset);
        let len = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        self.file.read_at(offset, &mut buffer[..len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<EntryHeader, ObjectError> {
        EntryHeader::parse(bytes, 1000, HashKind::Sha1)
    }

    #[test]
    fn headers_of_entries() {
        let blob = parse(&[0xb5, 0x02]).unwrap();
        assert_eq!(blob.kind, EntryKind::Whole(ObjectKind::Blob));
        assert_eq!((blob.size, blob.len), (0x25, 2));
        assert_eq!(parse(&[0x61, 0x05]).unwrap().kind, EntryKind::OfsDelta(995));
        // 0x80 0x00 is 128: one is added for the second byte.
        assert_eq!(parse(&[0x61, 0x80, 0x00]).unwrap().kind, EntryKind::OfsDelta(872));
        let mut reference = [7; 21];
        reference[0] = 0x70;
        assert_eq!(parse(&reference).unwrap().len, 21);
    }

    #[test]
    fn impossible_headers_are_errors() {
        let cases: [&[u8]; 10] = [
            &[],
            &[0x80],
            &[0x00],
            &[0x50],
            &[0x61, 0x00],
            &[0x61, 0x87, 0x7f],
            &[0x61, 0xff],
            &[0x61, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0xb0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0x70; 20],
        ];
        for case in cases {
            assert!(parse(case).is_err(), "{case:x?}");
        }
    }
}
