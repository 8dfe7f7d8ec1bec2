//! Searches bytes that arrive in pieces for access keys, and computes a checksum of them.
//!
//! A search can stop after any piece and continue later, on any thread. The result does not depend
//! on where the bytes are cut. The checksum shows whether two contents are the same; it does not
//! withstand deliberate forgery.

/// A key is `AKIA` followed by 16 capitals or digits.
pub(crate) const KEY_PREFIX: &[u8] = b"AKIA";
pub(crate) const KEY_BYTES: usize = 20;

/// FNV-1a, 64 bits.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0100_0000_01b3;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Where the key begins.
    pub(crate) offset: u64,
    pub(crate) key: String,
}

/// The result of searching some content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Searched {
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
    pub(crate) findings: Vec<Finding>,
}

pub(crate) struct Search {
    searched: Searched,
    /// The last bytes, shorter than a key, which may be the beginning of one.
    tail: Vec<u8>,
}

impl Search {
    pub(crate) fn new() -> Self {
        let searched = Searched { bytes: 0, hash: HASH_START, findings: Vec::new() };
        Self { searched, tail: Vec::with_capacity(2 * KEY_BYTES) }
    }

    /// Searches the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        let Searched { bytes, hash, findings } = &mut self.searched;
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(HASH_PRIME);
        *hash = piece.iter().fold(*hash, mix);
        // First find the keys that were cut in two. The tail and the bytes after it are both
        // shorter than a key, so nothing is found twice.
        let before = self.tail.len();
        self.tail.extend_from_slice(&piece[..piece.len().min(KEY_BYTES - 1)]);
        find_keys(&self.tail, *bytes - before as u64, findings);
        find_keys(piece, *bytes, findings);
        *bytes += piece.len() as u64;
        // (A piece shorter than that is already in the tail completely.)
        if piece.len() >= KEY_BYTES - 1 {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - (KEY_BYTES - 1)..]);
        }
        let surplus = self.tail.len().saturating_sub(KEY_BYTES - 1);
        self.tail.drain(..surplus);
    }

    pub(crate) fn finish(self) -> Searched {
        self.searched
    }
}

fn find_keys(bytes: &[u8], offset: u64, findings: &mut Vec<Finding>) {
    let is_of_a_key = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    for (place, window) in bytes.windows(KEY_BYTES).enumerate() {
        if window.starts_with(KEY_PREFIX) && window.iter().all(is_of_a_key) {
            let key = String::from_utf8_lossy(window).into_owned();
            findings.push(Finding { offset: offset + place as u64, key });
        }
    }
}
