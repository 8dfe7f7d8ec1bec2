//! Object ids: the SHA-1 or SHA-256 hash of an object's header and content.

use sha1::Digest;
use std::fmt;

use crate::object::ObjectKind;

/// The hash function of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashKind {
    /// 20 bytes: what almost every repository uses.
    #[default]
    Sha1,
    /// 32 bytes: `git init --object-format=sha256`.
    Sha256,
}

impl HashKind {
    /// Returns the length of an id in bytes.
    #[must_use]
    pub const fn id_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Returns the id of an object: the hash of `kind`, a space, the length, a NUL and the content.
    ///
    /// SHA-1 is computed without collision detection. An id that is computed here identifies what
    /// was read; it proves nothing about who wrote it.
    #[must_use]
    pub fn hash_object(self, kind: ObjectKind, content: &[u8]) -> ObjectId {
        let header = format!("{kind} {}\0", content.len());
        match self {
            Self::Sha1 => {
                let mut hash = sha1::Sha1::new();
                hash.update(header.as_bytes());
                hash.update(content);
                ObjectId::from_slice(self, &hash.finalize())
            }
            Self::Sha256 => {
                let mut hash = sha2::Sha256::new();
                hash.update(header.as_bytes());
                hash.update(content);
                ObjectId::from_slice(self, &hash.finalize())
            }
        }
    }
}

/// The id of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Padded with zeros.
    bytes: [u8; 32],
    kind: HashKind,
}

impl ObjectId {
    /// Copies an id. What is missing is zero, and what is too much is ignored: callers pass exactly
    /// `kind.id_len()` bytes.
    pub(crate) fn from_slice(kind: HashKind, bytes: &[u8]) -> Self {
        let mut id = Self { bytes: [0; 32], kind };
        let len = kind.id_len().min(bytes.len());
        id.bytes[..len].copy_from_slice(&bytes[..len]);
        id
    }

    /// Returns the id with these 20 (SHA-1) or 32 bytes (SHA-256), or `None` for any other length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let kind = match bytes.len() {
            20 => HashKind::Sha1,
            32 => HashKind::Sha256,
            _ => return None,
        };
        Some(Self::from_slice(kind, bytes))
    }

    /// Parses 40 or 64 hexadecimal digits, of either case.
    ///
    /// ```
    /// use heist_git::ObjectId;
    ///
    /// let empty_blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    /// assert_eq!(ObjectId::from_hex(empty_blob.as_bytes()).unwrap().to_string(), empty_blob);
    /// assert_eq!(ObjectId::from_hex(b"e69de29"), None);
    /// ```
    #[must_use]
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        let len = digits.len() / 2;
        if digits.len() != 2 * len || len > bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Self::from_bytes(&bytes[..len])
    }

    /// Returns the id of zeros.
    pub(crate) const fn null(kind: HashKind) -> Self {
        Self { bytes: [0; 32], kind }
    }

    /// Returns the bytes of the id.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.kind.id_len()]
    }

    /// Returns the hash function of the id.
    #[must_use]
    pub const fn hash_kind(&self) -> HashKind {
        self.kind
    }

    /// Returns `true` for the id of zeros, by which reflogs and hooks say "no object".
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.bytes == [0; 32]
    }
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_blob_has_its_known_ids() {
        let id = HashKind::Sha1.hash_object(ObjectKind::Blob, b"");
        assert_eq!(id.to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        let id = HashKind::Sha256.hash_object(ObjectKind::Blob, b"");
        assert_eq!(
            id.to_string(),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    #[test]
    fn only_whole_ids_are_parsed() {
        assert_eq!(ObjectId::from_hex(&[b'0'; 39]), None);
        assert_eq!(ObjectId::from_hex(&[b'0'; 42]), None);
        assert_eq!(ObjectId::from_hex(&[b'g'; 40]), None);
        assert_eq!(ObjectId::from_hex(&[b'0'; 400]), None);
        assert!(ObjectId::from_hex(&[b'0'; 40]).is_some_and(|id| id.is_null()));
        let id = ObjectId::from_hex(&[b'A'; 64]).unwrap();
        assert_eq!((id.hash_kind(), id.as_bytes()), (HashKind::Sha256, &[0xaa; 32][..]));
    }
}
