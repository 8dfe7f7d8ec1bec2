//! Quotes arguments for a shell, in commands that heist prints for users to copy.
//!
//! Any POSIX shell reads the output of [`quoted`] back unchanged, with one exception: a name with
//! control characters, invisible characters or invalid UTF-8 is written as `$'...'`, which bash,
//! zsh and ksh support, but dash does not. The shells of Windows follow other rules.

use crate::escape::is_unsafe;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// Quotes an argument if it needs quotes. The result is safe to print on a terminal.
pub(crate) fn quoted(argument: &OsStr) -> Cow<'_, str> {
    let bytes = argument.as_encoded_bytes();
    let text = std::str::from_utf8(bytes).ok();
    match text {
        Some(text) if !text.is_empty() && text.bytes().all(is_plain) => Cow::Borrowed(text),
        Some(text) if !text.chars().any(is_unsafe) => {
            Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
        }
        _ => Cow::Owned(with_escapes(bytes)),
    }
}

/// Returns `true` if the byte has no special meaning to any shell, at any position.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,+@".contains(&byte)
}

/// Writes `$'...'` with octal escapes of three digits: unlike hexadecimal escapes, they have a
/// fixed length in every shell.
fn with_escapes(bytes: &[u8]) -> String {
    let mut quoted = String::from("$'");
    let push_octal = |quoted: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(quoted, "\\{byte:03o}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => quoted.extend(['\\', character]),
                '\n' => quoted.push_str("\\n"),
                other if is_unsafe(other) => {
                    push_octal(&mut quoted, other.encode_utf8(&mut [0; 4]).as_bytes());
                }
                plain => quoted.push(plain),
            }
        }
        push_octal(&mut quoted, chunk.invalid());
    }
    quoted.push('\'');
    quoted
}

#[cfg(all(test, unix))]
mod tests {
    use super::quoted;
    use proptest::prelude::*;
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::process::Command;

    #[test]
    fn only_arguments_that_need_quotes_get_them() {
        for (argument, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("*.o", "'*.o'"),
            ("~", "'~'"),
            ("a\nb\x1b'", "$'a\\nb\\033\\''"),
        ] {
            assert_eq!(quoted(OsStr::new(argument)), expected);
        }
        assert_eq!(quoted(OsStr::from_bytes(b"\xff7")), "$'\\3777'");
    }

    fn read_back(shell: &str, quoted: &str) -> Vec<u8> {
        let output = Command::new(shell).args(["-c", &format!("printf %s {quoted}")]).output();
        output.expect("every system has this shell").stdout
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_back_any_text(text in "[ -~äß日]{0,20}") {
            prop_assert_eq!(read_back("sh", &quoted(OsStr::new(&text))), text.as_bytes());
        }

        #[test]
        fn a_shell_reads_back_any_bytes(bytes in proptest::collection::vec(1..=255_u8, 0..20)) {
            let argument = OsString::from_vec(bytes.clone());
            prop_assert_eq!(read_back("bash", &quoted(&argument)), bytes);
        }
    }
}
