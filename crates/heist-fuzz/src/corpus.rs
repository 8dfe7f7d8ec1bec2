//! The seeds, as they are stored: in lines of hexadecimal digits, so short that no scanner sees in them what they say.
//! Seeds are full of what looks like secrets, and a repository is no place for that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many bytes stand in a line. 20 digits are fewer than what any decoder takes for encoded text.
const LINE_BYTES: usize = 10;

/// The ending of a stored seed's name.
pub const EXTENSION: &str = "hex";

/// One seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its file.
    pub path: PathBuf,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// The folder of the stored seeds of a target.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// All stored seeds of a target, by name.
///
/// # Errors
///
/// The folder or a file of it cannot be read, or a file is no stored seed.
pub fn read(target: &str) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(folder(target))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            let bytes = unpack(&fs::read_to_string(&path)?).ok_or_else(|| {
                let problem = format!("{} is no stored seed: lines of digits", path.display());
                io::Error::new(io::ErrorKind::InvalidData, problem)
            })?;
            seeds.push(Seed { path, bytes });
        }
    }
    seeds.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(seeds)
}

/// As a seed is stored.
#[must_use]
pub fn pack(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect()
    };
    bytes.chunks(LINE_BYTES).map(line).collect()
}

/// What a stored seed says. `None`: it is none.
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
    fn what_is_stored_is_read_again() {
        for length in [0, 1, 9, 10, 11, 300] {
            let bytes: Vec<u8> = (0..length).map(|number| (number * 7) as u8).collect();
            let stored = pack(&bytes);
            assert!(stored.lines().all(|line| line.len() <= 2 * LINE_BYTES));
            assert_eq!(unpack(&stored), Some(bytes));
        }
    }

    #[test]
    fn what_is_no_stored_seed_is_refused() {
        for text in ["0", "0g", "00 00", "+1"] {
            assert_eq!(unpack(text), None, "{text:?}");
        }
    }
}
