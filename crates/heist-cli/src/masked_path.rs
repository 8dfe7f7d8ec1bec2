//! [`PathMask`]: paths without the secrets that were found. A baseline is kept with the code, and says where secrets
//! were; a file that is named after a secret must not tell it there.
//!
//! Not guaranteed: that a secret is hidden which was not found in any file.

use heist_scan::{Secret, mask};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// Shorter ones are parts of many names, and no secrets.
const SECRET_BYTES_MIN: usize = 4;

/// Masks secrets in paths. What it costs grows with the path and with how many lengths secrets have, not with how many
/// secrets there are.
#[derive(Debug)]
pub(crate) struct PathMask<'a> {
    secrets: HashSet<&'a [u8]>,
    lengths: BTreeSet<usize>,
}

impl<'a> PathMask<'a> {
    /// For these secrets.
    pub(crate) fn new(secrets: impl Iterator<Item = &'a Secret>) -> Self {
        let secrets: HashSet<&[u8]> =
            secrets.map(Secret::reveal).filter(|bytes| bytes.len() >= SECRET_BYTES_MIN).collect();
        let lengths = secrets.iter().map(|bytes| bytes.len()).collect();
        Self { secrets, lengths }
    }

    /// A path with every secret in it masked, the longest first.
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
    use super::PathMask;
    use heist_scan::Secret;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let secrets =
            ["correct horse", "horse", "staple", "abc"].map(|text| Secret::new(text.as_bytes()));
        let mask = PathMask::new(secrets.iter());
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
