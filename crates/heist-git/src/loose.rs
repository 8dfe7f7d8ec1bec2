//! Loose objects: one compressed file each, with a header of its kind and size.

use crate::access::{Access, Trust};
use crate::id::{HashKind, ObjectId};
use crate::inflate::{Inflater, can_inflate_to};
use crate::object::ObjectKind;
use crate::problem::{FileError, FileProblem, ObjectError};
use crate::source_file::SourceFile;
use std::fs;
use std::io;
use std::path::Path;

/// `commit`, a space, 20 digits and a NUL are 28 bytes.
const HEADER_MAX: usize = 32;

/// How many bytes of a file are read at a time.
pub(crate) const PIECE: usize = 64 << 10;

/// The header of a loose object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LooseHeader {
    pub kind: ObjectKind,
    pub size: u64,
    /// The length of the header itself, with its NUL.
    len: usize,
}

impl LooseHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memchr(0, bytes)?;
        let (kind, digits) = crate::bytes::split_once(&bytes[..end], b' ')?;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some(Self { kind: ObjectKind::from_name(kind)?, size, len: end + 1 })
    }
}

/// Opens the file of a loose object. Returns `None` if there is none.
pub(crate) fn open(
    objects: &Path,
    id: &ObjectId,
    access: &Access,
) -> Result<Option<SourceFile>, ObjectError> {
    let hex = id.to_string();
    let folder = objects.join(&hex[..2]);
    // The objects' directory is resolved, so only these two parts can be links.
    match fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) if access.trust() == Trust::Everything => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    match Access::open_entry(&folder, Path::new(&hex[2..])) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(match error.problem() {
            FileProblem::Io(kind) => ObjectError::Io(*kind),
            _ => ObjectError::Corrupt("its file is not a regular one"),
        }),
    }
}

/// A loose object whose header was read.
#[derive(Debug)]
pub(crate) struct LooseObject {
    file: SourceFile,
    pub header: LooseHeader,
    /// How many bytes of the file are in the buffer.
    filled: usize,
}

impl LooseObject {
    /// Reads the header. `piece` is a buffer of [`PIECE`] bytes.
    pub(crate) fn new(
        file: SourceFile,
        inflater: &mut Inflater,
        piece: &mut [u8],
    ) -> Result<Self, ObjectError> {
        let filled = file.read_at(0, piece)?;
        let mut bytes = [0; HEADER_MAX];
        let inflated = inflater.beginning(&piece[..filled], &mut bytes)?;
        let header = LooseHeader::parse(&bytes[..inflated])
            .ok_or(ObjectError::Corrupt("it has no header of a loose object"))?;
        Ok(Self { file, header, filled })
    }

    /// Reads the content into `out`. `piece` is as [`LooseObject::new`] has left it. An object of
    /// more than `size_max` bytes is an error.
    pub(crate) fn read(
        &self,
        inflater: &mut Inflater,
        piece: &mut [u8],
        size_max: u64,
        out: &mut Vec<u8>,
    ) -> Result<ObjectKind, ObjectError> {
        let LooseHeader { kind, size, len } = self.header;
        if size > size_max {
            return Err(ObjectError::TooLarge { size });
        }
        let all = size + len as u64;
        if !can_inflate_to(self.file.len(), all) {
            return Err(ObjectError::Corrupt("its inflated size is not what its header states"));
        }
        let all = usize::try_from(all).map_err(|_| ObjectError::TooLarge { size })?;
        out.clear();
        out.resize(all, 0);
        if (self.filled as u64) < self.file.len() {
            let mut offset = 0;
            let read = |buffer: &mut [u8]| {
                let read = self.file.read_at(offset, buffer)?;
                offset += read as u64;
                Ok(read)
            };
            inflater.pieces(piece, read, out)?;
        } else {
            inflater.whole(&piece[..self.filled], out)?;
        }
        out.drain(..len);
        Ok(kind)
    }
}

/// The loose objects of an object directory.
#[derive(Debug, Default)]
pub(crate) struct LooseIds {
    /// Sorted.
    pub ids: Vec<ObjectId>,
    pub problems: Vec<FileError>,
}

impl LooseIds {
    /// Lists the loose objects of an object directory, at most `most` in each of its 256 parts.
    /// `objects` is resolved.
    pub(crate) fn list(objects: &Path, hash: HashKind, access: &Access, most: usize) -> Self {
        let mut found = Self::default();
        let parts = match Access::list_resolved(objects, most) {
            Ok(parts) => parts,
            Err(error) => {
                found.problems.push(error);
                return found;
            }
        };
        for part in parts {
            if part.name().len() != 2 || !part.name().iter().all(is_lower_digit) {
                continue;
            }
            let entries = match part.is_dir {
                true => Access::list_resolved(&part.path, most),
                // A link.
                false => access.list(&part.path, most),
            };
            let entries = match entries {
                Ok(entries) => entries,
                Err(error) => {
                    found.problems.push(error);
                    continue;
                }
            };
            for entry in entries {
                let hex = [part.name(), entry.name()].concat();
                // Names such as `tmp_obj_x` are files that git did not finish.
                let id = ObjectId::from_hex(&hex).filter(|id| id.hash_kind() == hash);
                found.ids.extend(id.filter(|_| hex.iter().all(is_lower_digit)));
            }
        }
        found
    }
}

fn is_lower_digit(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_known_kind_and_a_number() {
        let parse = |bytes| LooseHeader::parse(bytes).map(|header| (header.kind, header.size));
        assert_eq!(parse(b"blob 12\0abc"), Some((ObjectKind::Blob, 12)));
        for bytes in
            [&b"blob 12"[..], b"blob\0", b"blob +1\0", b"blob \0", b"none 1\0", b"", b"blob 1 \0"]
        {
            assert_eq!(parse(bytes), None);
        }
        assert_eq!(parse(b"blob 99999999999999999999\0"), None);
    }
}
