//! [`PathMasker`]: masks secrets in paths.
//!
//! A baseline is kept with the code and lists the paths of secrets. A file that is named after a
//! secret must not reveal it there. Only secrets that the scan found in a file are masked.

use heist_scan::{Secret, mask};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// Shorter secrets are not masked: they occur in many ordinary names.
const SECRET_BYTES_MIN: usize = 4;

/// Masks secrets in paths.
///
/// The cost grows with the length of the path and the number of different secret lengths, not with
/// the number of secrets.
#[derive(Debug)]
pub(crate) struct PathMasker<'a> {
    secrets: HashSet<&'a [u8]>,
    lengths: BTreeSet<usize>,
}

impl<'a> PathMasker<'a> {
    /// Creates a masker for these secrets.
    pub(crate) fn new(secrets: impl Iterator<Item = &'a Secret>) -> Self {
        let secrets: HashSet<&[u8]> =
            secrets.map(Secret::reveal).filter(|bytes| bytes.len() >= SECRET_BYTES_MIN).collect();
        let lengths = secrets.iter().map(|bytes| bytes.len()).collect();
        Self { secrets, lengths }
    }

    /// Returns the path with every secret in it masked, the longest first.
    pub(crate) fn hide<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let mut masked = Cow::Borrowed(path);
        for &length in self.lengths.iter().rev() {
            let mut at = 0;
            while let Some(part) = masked.get(at..at + length) {
                if !self.secrets.contains(part) {
                    at += 1;
                    continue;
                }
                let shown = mask(part).into_bytes();
                let next = at + shown.len();
                masked.to_mut().splice(at..at + length, shown);
                at = next;
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::PathMasker;
    use heist_scan::Secret;

    #[test]
    fn secrets_are_masked_anywhere_in_a_path() {
        let secrets =
            ["correct horse", "horse", "staple", "abc"].map(|text| Secret::new(text.as_bytes()));
        let mask = PathMasker::new(secrets.iter());
        for (path, expected) in [
            ("a/correct horse/staple", "a/cor******/s******"),
            ("staplestaple.horse", "s******s******.h******"),
            ("src/abc", "src/abc"),
            ("", ""),
            ("stapl", "stapl"),
        ] {
            assert_eq!(mask.hide(path.as_bytes()), expected.as_bytes());
        }
    }
}
