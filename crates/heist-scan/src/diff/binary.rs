//! The lines of binary patches, which are compressed and so have no text to search.
//!
//! Only lines that git could have written count, so that other text cannot pass as one of them.

/// Returns `true` for the line that says that two files differ.
pub(super) fn is_difference(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && line.ends_with(b" differ")
}

/// Returns `true` for the first line of a patch.
pub(super) fn is_patch(line: &[u8]) -> bool {
    line == b"GIT binary patch"
}

/// Returns `true` for a line in a patch: the size of a part, a line of its data, or the empty line
/// at its end.
pub(super) fn is_in_patch(line: &[u8]) -> bool {
    let size = line.strip_prefix(b"literal ").or_else(|| line.strip_prefix(b"delta "));
    match (size, line) {
        (Some(size), _) => (1..=20).contains(&size.len()) && size.iter().all(u8::is_ascii_digit),
        (None, []) => true,
        (None, [len, data @ ..]) => {
            let bytes = match len {
                b'A'..=b'Z' => usize::from(len - b'A') + 1,
                b'a'..=b'z' => usize::from(len - b'a') + 27,
                _ => return false,
            };
            data.len() == bytes.div_ceil(4) * 5 && data.iter().copied().all(is_base85)
        }
    }
}

fn is_base85(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_data_has_the_length_that_it_says() {
        // The whole patch of an empty file, as git writes it.
        for line in ["literal 0", "HcmV?d00001", "", "delta 12"] {
            assert!(is_in_patch(line.as_bytes()), "{line}");
        }
        for line in
            ["HcmV?d0000", "HcmV?d00001x", "literal", "literal x", "token = \"x\"", "1abcde"]
        {
            assert!(!is_in_patch(line.as_bytes()), "{line}");
        }
        assert!(is_difference(b"Binary files a/x and b/x differ"));
        assert!(is_patch(b"GIT binary patch") && !is_patch(b"GIT binary patch "));
    }
}
