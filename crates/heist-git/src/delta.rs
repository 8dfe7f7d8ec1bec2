//! Deltas: an object as copies from its base and insertions.

use crate::problem::ObjectError;

/// One instruction of a delta. The instructions in order make the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaOp {
    /// The next `len` bytes are those at `offset` of the base.
    Copy {
        /// Where the bytes are in the base.
        offset: u32,
        /// How many; at least 1.
        len: u32,
    },
    /// The next `len` bytes are new.
    Insert {
        /// Where the bytes are in the delta.
        at: u32,
        /// How many: 1 to 127.
        len: u32,
    },
}

impl DeltaOp {
    /// Returns the number of bytes that it makes.
    #[must_use]
    pub const fn len(&self) -> u32 {
        match *self {
            Self::Copy { len, .. } | Self::Insert { len, .. } => len,
        }
    }

    /// Returns `true` if it makes nothing, which no instruction of a valid delta does.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sizes that a delta begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeltaSizes {
    pub base: u64,
    pub result: u64,
    /// Where the instructions begin.
    pub ops_at: usize,
}

impl DeltaSizes {
    /// Parses the beginning of a delta.
    pub(crate) fn parse(delta: &[u8]) -> Option<Self> {
        let mut at = 0;
        let base = size(delta, &mut at)?;
        let result = size(delta, &mut at)?;
        Some(Self { base, result, ops_at: at })
    }
}

/// Reads seven bits per byte, the lowest first.
pub(crate) fn size(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// More instructions than this would take more memory than the objects that they make. (Git's own
/// deltas copy at least 16 bytes at a time.)
const OPS_MAX: usize = 1 << 21;

const CORRUPT: ObjectError = ObjectError::Corrupt("its delta is invalid");

/// Parses a delta against a base of `base_len` bytes into `ops`, and checks all of it: every copy
/// lies in the base, and the instructions make exactly the stated size, which is returned and is at
/// most `size_max`. Adjacent copies of adjacent bytes become one.
pub(crate) fn parse(
    delta: &[u8],
    base_len: usize,
    size_max: u64,
    ops: &mut Vec<DeltaOp>,
) -> Result<usize, ObjectError> {
    ops.clear();
    let sizes = DeltaSizes::parse(delta).ok_or(CORRUPT)?;
    if sizes.base != base_len as u64 {
        return Err(ObjectError::Corrupt("its delta is for a base of another size"));
    }
    if sizes.result > size_max {
        return Err(ObjectError::TooLarge { size: sizes.result });
    }
    let base_len = u32::try_from(base_len).map_err(|_| CORRUPT)?;
    let mut at = sizes.ops_at;
    let mut made = 0_u64;
    while let Some(&code) = delta.get(at) {
        at += 1;
        if ops.len() == OPS_MAX {
            return Err(ObjectError::TooLarge { size: sizes.result });
        }
        let len = if code & 0x80 != 0 {
            let mut field = |bits: std::ops::Range<u32>| {
                let mut value = 0_u32;
                for (place, bit) in bits.enumerate() {
                    if code & 1 << bit != 0 {
                        value |= u32::from(*delta.get(at)?) << (8 * place);
                        at += 1;
                    }
                }
                Some(value)
            };
            let offset = field(0..4).ok_or(CORRUPT)?;
            let len = match field(4..7).ok_or(CORRUPT)? {
                0 => 0x1_0000,
                len => len,
            };
            if offset.checked_add(len).is_none_or(|end| end > base_len) {
                return Err(ObjectError::Corrupt("its delta copies from beyond its base"));
            }
            match ops.last_mut() {
                Some(DeltaOp::Copy { offset: before, len: length })
                    if *before + *length == offset =>
                {
                    *length += len;
                }
                _ => ops.push(DeltaOp::Copy { offset, len }),
            }
            len
        } else {
            let len = u32::from(code);
            let from = u32::try_from(at).map_err(|_| CORRUPT)?;
            at += len as usize;
            // Code 0 is reserved.
            if len == 0 || at > delta.len() {
                return Err(CORRUPT);
            }
            ops.push(DeltaOp::Insert { at: from, len });
            len
        };
        made += u64::from(len);
        if made > sizes.result {
            return Err(ObjectError::Corrupt("its delta makes more than it states"));
        }
    }
    if made != sizes.result {
        return Err(ObjectError::Corrupt("its delta makes less than it states"));
    }
    usize::try_from(made).map_err(|_| CORRUPT)
}

/// Applies instructions that [`parse`] has checked against the same delta and base.
pub(crate) fn apply(
    ops: &[DeltaOp],
    delta: &[u8],
    base: &[u8],
    result_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), ObjectError> {
    out.clear();
    out.reserve_exact(result_len);
    for op in ops {
        let (from, start, len) = match *op {
            DeltaOp::Copy { offset, len } => (base, offset as usize, len as usize),
            DeltaOp::Insert { at, len } => (delta, at as usize, len as usize),
        };
        out.extend_from_slice(from.get(start..start + len).ok_or(CORRUPT)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(delta: &[u8], base_len: usize) -> Result<(usize, Vec<DeltaOp>), ObjectError> {
        let mut ops = Vec::new();
        parse(delta, base_len, 1 << 20, &mut ops).map(|len| (len, ops))
    }

    #[test]
    fn copies_and_insertions_make_the_object() {
        let base = b"0123456789";
        // Copies 2..5 and 5..7, which are one; inserts "ab"; copies 0..1.
        let delta = [10, 8, 0x91, 2, 3, 0x91, 5, 2, 2, b'a', b'b', 0x90, 1];
        let (len, ops) = parsed(&delta, 10).unwrap();
        assert_eq!(ops.len(), 3);
        let mut out = Vec::new();
        apply(&ops, &delta, base, len, &mut out).unwrap();
        assert_eq!(out, b"23456ab0");
    }

    #[test]
    fn damage_is_found_before_anything_is_made() {
        let cases: [(&[u8], usize); 9] = [
            (&[], 0),
            (&[10], 10),
            (&[10, 3, 0x90, 3], 9),
            (&[10, 3, 0x91, 8, 3], 10),
            (&[10, 3, 0x91, 8], 10),
            (&[10, 3, 0], 10),
            (&[10, 3, 3, b'a'], 10),
            (&[10, 3, 2, b'a', b'b'], 10),
            (&[10, 1, 2, b'a', b'b'], 10),
        ];
        for (delta, base_len) in cases {
            assert!(parsed(delta, base_len).is_err(), "{delta:?}");
        }
        let endless = [0x80; 20];
        assert!(parsed(&endless, 0).is_err());
        assert_eq!(
            parsed(&[10, 0x81, 0x80, 0x80, 1, 0x90, 1], 10),
            Err(ObjectError::TooLarge { size: 1 << 21 | 1 })
        );
    }

    #[test]
    fn a_copy_of_length_zero_is_64_kib() {
        let (len, ops) = parsed(&[0x80, 0x80, 4, 0x80, 0x80, 4, 0x80], 1 << 16).unwrap();
        assert_eq!((len, ops), (1 << 16, vec![DeltaOp::Copy { offset: 0, len: 1 << 16 }]));
    }
}
