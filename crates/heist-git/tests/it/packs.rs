//! Packs and indexes that are made by hand, as git would never make them.

use heist_git::{HashKind, ObjectId, ObjectKind};
use sirocco::Format;
use sirocco::deflate::Level;

/// Writes a pack entry by entry.
pub(crate) struct PackWriter {
    bytes: Vec<u8>,
    entries: Vec<(ObjectId, u64)>,
}

impl PackWriter {
    pub(crate) fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), entries: Vec::new() }
    }

    /// Returns where the next entry begins.
    pub(crate) fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds an entry that states `size`.
    fn entry(&mut self, id: ObjectId, kind: u8, size: u64, base: &[u8], content: &[u8]) {
        self.entries.push((id, self.offset()));
        let mut first = kind << 4 | (size & 15) as u8;
        let mut rest = size >> 4;
        while rest > 0 {
            self.bytes.push(first | 0x80);
            first = (rest & 0x7f) as u8;
            rest >>= 7;
        }
        self.bytes.push(first);
        self.bytes.extend_from_slice(base);
        let stream = sirocco::compress(Format::Zlib, Level::DEFAULT, content);
        self.bytes.extend_from_slice(&stream);
    }

    /// Adds a blob, and returns its id.
    pub(crate) fn blob(&mut self, content: &[u8]) -> ObjectId {
        let id = HashKind::Sha1.hash_object(ObjectKind::Blob, content);
        self.entry(id, 3, content.len() as u64, &[], content);
        id
    }

    /// Adds a blob whose header states another size.
    pub(crate) fn lying_blob(&mut self, id: ObjectId, size: u64, content: &[u8]) {
        self.entry(id, 3, size, &[], content);
    }

    /// Adds a delta against the entry at `base`.
    pub(crate) fn ofs_delta(&mut self, id: ObjectId, base: u64, delta: &[u8]) {
        let mut distance = self.offset() - base;
        let mut encoded = vec![(distance & 0x7f) as u8];
        while distance >> 7 > 0 {
            distance = (distance >> 7) - 1;
            encoded.insert(0, (distance & 0x7f) as u8 | 0x80);
        }
        self.entry(id, 6, delta.len() as u64, &encoded, delta);
    }

    /// Adds a delta against an object.
    pub(crate) fn ref_delta(&mut self, id: ObjectId, base: ObjectId, delta: &[u8]) {
        self.entry(id, 7, delta.len() as u64, base.as_bytes(), delta);
    }

    /// Returns the pack and its index.
    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        let count = (self.entries.len() as u32).to_be_bytes();
        self.bytes[8..12].copy_from_slice(&count);
        self.bytes.extend_from_slice(&[0; 20]);
        self.entries.sort();
        (self.bytes, index(&self.entries))
    }
}

/// Writes an index of version 2 with these ids and offsets, in this order.
pub(crate) fn index(entries: &[(ObjectId, u64)]) -> Vec<u8> {
    let mut bytes = b"\xfftOc\0\0\0\x02".to_vec();
    for byte in 0..=u8::MAX {
        let up_to = |(id, _): &&(ObjectId, u64)| id.as_bytes()[0] <= byte;
        let count = entries.iter().filter(up_to).count() as u32;
        bytes.extend_from_slice(&count.to_be_bytes());
    }
    entries.iter().for_each(|(id, _)| bytes.extend_from_slice(id.as_bytes()));
    entries.iter().for_each(|_| bytes.extend_from_slice(&[0; 4]));
    let mut large = Vec::new();
    for (_, offset) in entries {
        if *offset < 1 << 31 {
            bytes.extend_from_slice(&(*offset as u32).to_be_bytes());
        } else {
            bytes.extend_from_slice(&((1 << 31) | (large.len() as u32 / 8)).to_be_bytes());
            large.extend_from_slice(&offset.to_be_bytes());
        }
    }
    bytes.extend_from_slice(&large);
    bytes.extend_from_slice(&[0; 40]);
    bytes
}

/// A number as deltas write sizes.
pub(crate) fn delta_size(mut size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while size >= 0x80 {
        bytes.push(size as u8 | 0x80);
        size >>= 7;
    }
    bytes.push(size as u8);
    bytes
}

/// A delta that copies the beginning of its base `times` times, `len` bytes each.
pub(crate) fn repeating_delta(base_len: u64, len: u32, times: u64) -> Vec<u8> {
    let mut delta = [delta_size(base_len), delta_size(u64::from(len) * times)].concat();
    for _ in 0..times {
        delta.push(0xf0);
        delta.extend_from_slice(&len.to_le_bytes()[..3]);
    }
    delta
}

/// An id that no object has.
pub(crate) fn made_up(number: u32) -> ObjectId {
    HashKind::Sha1.hash_object(ObjectKind::Tag, &number.to_be_bytes())
}
