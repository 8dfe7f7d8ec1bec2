//! Reads and stores seeds, the inputs that fuzzing starts from.
//!
//! Seeds are full of text that looks like secrets. They are stored as hexadecimal digits in lines
//! too short for any secret scanner to decode.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The number of bytes per line. 20 digits are fewer than any decoder considers as encoded text.
const LINE_BYTES: usize = 10;

/// The file extension of stored seeds.
pub const EXTENSION: &str = "hex";

/// A seed: one input for a fuzz target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its file.
    pub path: PathBuf,
    /// Its decoded contents.
    pub bytes: Vec<u8>,
}

/// Returns the folder with the stored seeds of a target.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Reads all stored seeds of a target, sorted by name.
///
/// # Errors
///
/// Returns an error if the folder or a file in it cannot be read, or if a file is not a stored
/// seed.
pub fn read(target: &str) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(folder(target))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            let bytes = unpack(&fs::read_to_string(&path)?).ok_or_else(|| {
                let problem = format!(
                    "{} is not a stored seed: expected lines of hex digits",
                    path.display()
                );
                io::Error::new(io::ErrorKind::InvalidData, problem)
            })?;
            seeds.push(Seed { path, bytes });
        }
    }
    seeds.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(seeds)
}

/// Encodes a seed for storing.
#[must_use]
pub fn pack(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect()
    };
    bytes.chunks(LINE_BYTES).map(line).collect()
}

/// Decodes a stored seed. Returns `None` if the text is not a stored seed.
#[must_use]
pub fn unpack(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for line in text.lines() {
        if !line.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for pair in line.as_bytes().chunks(2) {
            let digits = std::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_seeds_round_trip() {
        for length in [0, 1, 9, 10, 11, 300] {
            let bytes: Vec<u8> = (0..length).map(|number| (number * 7) as u8).collect();
            let stored = pack(&bytes);
            assert!(stored.lines().all(|line| line.len() <= 2 * LINE_BYTES));
            assert_eq!(unpack(&stored), Some(bytes));
        }
    }

    #[test]
    fn invalid_seeds_are_rejected() {
        for text in ["0", "0g", "00 00", "+1"] {
            assert_eq!(unpack(text), None, "{text:?}");
        }
    }
}
