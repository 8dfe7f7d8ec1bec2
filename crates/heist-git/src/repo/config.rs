//! The few settings of a repository that say how to read it.
//!
//! Everything else in a configuration file is ignored, in particular what git would run or include.

use crate::bytes::{lines, split_once};
use crate::id::HashKind;

/// What the configuration says about the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub hash: HashKind,
    /// An object format that this crate does not know.
    pub is_unknown_hash: bool,
    /// Refs are in reftable files.
    pub is_reftable: bool,
    /// Objects may be missing, because they were never fetched.
    pub is_partial: bool,
}

/// Longer configuration files are not read.
pub(crate) const CONFIG_BYTES_MAX: u64 = 4 << 20;

impl Config {
    /// Parses `.git/config`. Lines that are not understood are passed over, as any line that does
    /// not matter here is.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut config = Self::default();
        let mut section = Vec::new();
        for line in lines(text) {
            let mut line = line.trim_ascii();
            if let Some(rest) = line.strip_prefix(b"[") {
                let Some((name, rest)) = split_once(rest, b']') else { continue };
                // Of `[remote "origin"]`, the first word.
                let end = name.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'.' | b'"'));
                section = name[..end.unwrap_or(name.len())].to_ascii_lowercase();
                line = rest.trim_ascii();
            }
            let (key, value) = split_once(line, b'=').unwrap_or((line, b"true"));
            let key = key.trim_ascii().to_ascii_lowercase();
            config.set(&section, &key, value.trim_ascii().trim_matches_quotes());
        }
        config
    }

    fn set(&mut self, section: &[u8], key: &[u8], value: &[u8]) {
        match (section, key) {
            (b"extensions", b"objectformat") => match value {
                b"sha1" => self.hash = HashKind::Sha1,
                b"sha256" => self.hash = HashKind::Sha256,
                _ => self.is_unknown_hash = true,
            },
            (b"extensions", b"refstorage") => self.is_reftable = value == b"reftable",
            (b"extensions", b"partialclone") => self.is_partial = true,
            (b"remote", b"promisor") => {
                self.is_partial |= matches!(value, b"true" | b"yes" | b"on" | b"1");
            }
            _ => {}
        }
    }
}

trait TrimQuotes {
    fn trim_matches_quotes(&self) -> &[u8];
}

impl TrimQuotes for [u8] {
    fn trim_matches_quotes(&self) -> &[u8] {
        self.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_how_to_read_is_read() {
        let text = b"[core]\n\tfsmonitor = evil\n[Extensions]\n objectFormat = sha256\n\
            refstorage=\"reftable\"\n[remote \"origin\"]\n\tpromisor\n[include] path = /etc/x\n";
        let expected = Config {
            hash: HashKind::Sha256,
            is_unknown_hash: false,
            is_reftable: true,
            is_partial: true,
        };
        assert_eq!(Config::parse(text), expected);
        assert_eq!(Config::parse(b"[remote \"x\"]\npromisor = false\n[[]]=\0"), Config::default());
        assert!(Config::parse(b"[extensions]objectformat = md5").is_unknown_hash);
    }
}
