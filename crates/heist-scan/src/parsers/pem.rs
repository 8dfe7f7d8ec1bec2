//! Blocks between `-----BEGIN` and `-----END` in every notation: plain, indented, with `\n` for
//! line ends, as one string per line with operators between them, in comments, or on one line.
//!
//! The reader skips bytes that are not base64, so a body is only certain once it is decoded and
//! parsed.

use super::der;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;

pub(super) const BEGIN: &[u8] = b"-----BEGIN ";
pub(super) const DASHES: &[u8] = b"-----";
const END: &[u8] = b"-----END ";

pub(super) const OPENPGP: &[u8] = b"PGP PRIVATE KEY BLOCK";

/// A shorter run of base64 counts as a line only at the end.
const LINE_LENGTH_MIN: usize = 24;

/// The greatest distance between two lines: line ends, indentation, quotes, operators.
const GAP_MAX: usize = 24;

/// The length of the longest label.
const LABEL_LENGTH_MAX: usize = 48;

const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the label between `-----BEGIN ` and the dashes after it.
pub(crate) fn label(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(BEGIN)?;
    let length = rest
        .iter()
        .take(LABEL_LENGTH_MAX)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
        .count();
    rest[length..].starts_with(DASHES).then_some(&rest[..length])
}

/// Returns where the body that begins at `begin` ends, and where the whole block ends. The latter
/// is `None` if the end line is missing or belongs to another block.
pub(super) fn end(text: &[u8], begin: usize, label: &[u8]) -> (usize, Option<usize>) {
    let rest = &text[begin..];
    let Some(body) = memmem::find(rest, DASHES) else { return (text.len(), None) };
    let after = rest[body..].strip_prefix(END).and_then(|after| after.strip_prefix(label));
    let closed = after.is_some_and(|after| after.starts_with(DASHES));
    (begin + body, closed.then_some(begin + body + END.len() + label.len() + DASHES.len()))
}

/// Returns the bytes that a private key's block in PEM encodes (DER, or the format of OpenSSH or
/// OpenPGP), however the block is written: with LF or CRLF, indented, with `\n` for its line ends,
/// or on one line. Two blocks with the same bytes hold the same key.
///
/// Returns `None` if the text is not such a block from `-----BEGIN` to `-----END`, or if its
/// content does not decode. The decoded bytes are not checked, and the headers of an encrypted
/// block (`DEK-Info`) are not part of them.
///
/// ```
/// use heist_scan::parsers::canonical_key;
///
/// let block = |line_end: &str| {
///     let label = ["PRIVATE", "KEY"].join(" ");
///     let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
///     [&begin, "aGVp", "c3Q=", &end].join(line_end)
/// };
/// for line_end in ["\n", "\r\n", "\n    ", "\\n", " "] {
///     assert_eq!(canonical_key(block(line_end).as_bytes()).as_deref(), Some(&b"heist"[..]));
/// }
/// ```
#[must_use]
pub fn canonical_key(block: &[u8]) -> Option<Vec<u8>> {
    let label = label(block)?;
    if !is_private(label) {
        return None;
    }
    let begin = BEGIN.len() + label.len() + DASHES.len();
    let (body_end, end) = end(block, begin, label);
    end?;
    Body::read(&block[begin..body_end]).decoded().filter(|bytes| !bytes.is_empty())
}

/// Returns `true` if a block with this label is a private key.
pub(super) fn is_private(label: &[u8]) -> bool {
    label.ends_with(b"PRIVATE KEY") || label == OPENPGP
}

/// The base64 of a body, without line ends and other separators.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    /// The digits, without padding.
    pub(super) base64: Vec<u8>,
    /// The four characters after a single `=`: OpenPGP's checksum.
    checksum: Option<[u8; 4]>,
    /// `true` if a header says that the key is encrypted.
    pub(super) is_encrypted: bool,
    /// How many digits are in long runs, like the lines of a block, rather than in words of other
    /// text.
    in_lines: usize,
    /// The end of the last consecutive line from the beginning.
    pub(super) end: usize,
}

impl Body {
    pub(super) fn read(text: &[u8]) -> Self {
        let mut body =
            Self { is_encrypted: memmem::find(text, b"4,ENCRYPTED").is_some(), ..Self::default() };
        let mut at = after_headers(text);
        while at < text.len() {
            if text[at] == b'\\' {
                // A line end in a string, or an escaped slash, which belongs to the base64.
                at += 1;
                at += usize::from(matches!(text.get(at), Some(b'n' | b'r' | b't')));
                continue;
            }
            let length = text[at..].iter().take_while(|byte| is_base64(**byte)).count();
            let run = &text[at..at + length];
            match run {
                [] => {
                    if text[at] == b'=' && body.push_padding(text, at) {
                        at += 4;
                    }
                    at += 1;
                    continue;
                }
                // Operators between strings, and the beginning of a comment.
                b"+" | b"//" | b"/" if !is_inside(text, at, length) => {}
                _ => {
                    body.base64.extend_from_slice(run);
                    if length >= LINE_LENGTH_MIN {
                        body.in_lines += length;
                    }
                    let follows = body.end == 0 || at - body.end <= GAP_MAX;
                    if follows && length >= LINE_LENGTH_MIN {
                        body.end = at + length;
                    }
                }
            }
            at += length;
        }
        body
    }

    /// Takes the checksum after a `=` at the beginning of a line. Returns `true` if there was one.
    fn push_padding(&mut self, text: &[u8], at: usize) -> bool {
        let begins_line = at > 0 && matches!(text[at - 1], b'\n' | b'n' | b' ' | b'"' | b'\'');
        let Some(sum) =
            text[at + 1..].first_chunk::<4>().filter(|sum| sum.iter().all(|byte| is_base64(*byte)))
        else {
            return false;
        };
        if begins_line {
            self.checksum = Some(*sum);
        }
        begins_line
    }

    /// Returns `true` if the body looks like lines of base64 rather than a program or prose.
    pub(super) fn is_block(&self) -> bool {
        self.in_lines * 10 >= self.base64.len() * 8
    }

    /// Returns the decoded bytes.
    pub(super) fn decoded(&self) -> Option<Vec<u8>> {
        FORGIVING.decode(&self.base64).ok()
    }

    /// Returns `true` if OpenPGP's optional checksum is missing or correct.
    pub(super) fn checksum_holds(&self, bytes: &[u8]) -> bool {
        self.checksum.is_none_or(|sum| {
            let expected = FORGIVING.decode(sum).unwrap_or_default();
            expected[..] == der::crc24(bytes).to_be_bytes()[1..]
        })
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Returns `true` if the bytes at `at` are part of a line of base64, rather than separate.
fn is_inside(text: &[u8], at: usize, length: usize) -> bool {
    let alone = |byte: Option<&u8>| {
        byte.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
    };
    !(alone(at.checked_sub(1).and_then(|at| text.get(at))) && alone(text.get(at + length)))
}

/// Returns where the body begins after its headers (`Name: value` lines up to an empty line).
fn after_headers(text: &[u8]) -> usize {
    let head = &text[..text.len().min(512)];
    if !head.contains(&b':') {
        return 0;
    }
    // The line ends may be plain or escaped.
    [&b"\n\n"[..], b"\n\r\n", b"\\n\\n", b"\\r\\n\\r\\n"]
        .iter()
        .filter_map(|blank| memmem::find(text, blank).map(|at| at + blank.len()))
        .min()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let body = Body::read(text.as_bytes());
        assert_eq!(String::from_utf8(body.base64).unwrap(), expected, "{text}");
    }

    #[test]
    fn bodies() {
        check("\nABCD\nEFGH==\n", "ABCDEFGH");
        check("\r\n  ABCD\r\n  EFGH\r\n", "ABCDEFGH");
        check("\\nABCD\\nEFGH\\n", "ABCDEFGH");
        check("\\r\\nABCD\\r\\nEFGH\\r\\n", "ABCDEFGH");
        check("\\n\" +\n  \"ABCD\\n\" +\n  \"EF+/\\n\"", "ABCDEF+/");
        check("\n// ABCD\n// EFGH\n", "ABCDEFGH");
        check(" ABCD EFGH ", "ABCDEFGH");
        check("\\nAB\\/D\\n", "AB/D");
        check("\nVersion: 1\nComment: x\n\nABCD\n=abcd\n", "ABCD");
    }

    #[test]
    fn labels_and_ends() {
        assert_eq!(label(b"-----BEGIN A KEY-----x"), Some(&b"A KEY"[..]));
        assert_eq!(label(b"-----BEGIN a KEY-----x"), None);
        assert_eq!(label(b"-----BEGIN A KEY----"), None);
        assert_eq!(end(b"xyz-----END A-----", 0, b"A"), (3, Some(18)));
        assert_eq!(end(b"xyz-----END B-----", 0, b"A"), (3, None));
        assert_eq!(end(b"xyz-----BEGIN A-----", 0, b"A"), (3, None));
        assert_eq!(end(b"xyz", 0, b"A"), (3, None));
    }
}
