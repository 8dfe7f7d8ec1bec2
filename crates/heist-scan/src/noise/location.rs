//! Judges the location of a secret: paths of tests and documentation, minified code, tables of
//! numbers. It affects only the confidence of a generic finding.

use std::path::Path;

/// Returns `true` for names of directories that usually contain made-up secrets.
fn is_known_folder(lower: &[u8]) -> bool {
    matches!(
        lower,
        b"test"
            | b"tests"
            | b"testing"
            | b"spec"
            | b"specs"
            | b"__tests__"
            | b"__mocks__"
            | b"fixture"
            | b"fixtures"
            | b"__fixtures__"
            | b"testdata"
            | b"test_data"
            | b"test-data"
            | b"test-fixtures"
            | b"mock"
            | b"mocks"
            | b"example"
            | b"examples"
            | b"doc"
            | b"docs"
            | b"documentation"
            | b"sample"
            | b"samples"
            | b"demo"
            | b"demos"
            | b"e2e"
            | b"benches"
            | b"testsuite"
            | b"unittests"
            | b"vectors"
            | b"testvectors"
            | b"test-vectors"
    )
}

/// Returns `true` for parts of file names that suggest made-up secrets.
fn is_known_part(lower: &[u8]) -> bool {
    matches!(
        lower,
        b"test"
            | b"tests"
            | b"spec"
            | b"mock"
            | b"mocks"
            | b"fixture"
            | b"fixtures"
            | b"example"
            | b"examples"
            | b"sample"
            | b"conftest"
    )
}

/// The length of the longest of these names.
const NAME_MAX: usize = 16;

/// Calls `is_known` with the name in lower case, unless the name is too long to be known.
fn in_lower_case(name: &[u8], is_known: fn(&[u8]) -> bool) -> bool {
    let mut lower = [0; NAME_MAX];
    let Some(lower) = lower.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    is_known(lower)
}

/// File extensions of documentation.
const DOCUMENTS: [&str; 6] = [".md", ".mdx", ".rst", ".adoc", ".asciidoc", ".markdown"];

/// How many bytes of a path the filter reads, counted from its end.
const PATH_BYTES_READ: usize = 1024;

/// Returns why a secret at this path is likely made up.
pub(super) fn made_up_by_path(path: &Path) -> Option<&'static str> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = &bytes[bytes.len().saturating_sub(PATH_BYTES_READ)..];
    let (folders, name) = match bytes.iter().rposition(|&byte| is_separator(byte)) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&bytes[..0], bytes),
    };
    if folders.split(|&byte| is_separator(byte)).any(is_folder_of_tests) || is_name_of_test(name) {
        Some("in a test or an example")
    } else if DOCUMENTS.iter().any(|ending| ends_no_case(name, ending)) {
        Some("in documentation")
    } else {
        None
    }
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || (cfg!(windows) && byte == b'\\')
}

fn is_folder_of_tests(folder: &[u8]) -> bool {
    in_lower_case(folder, is_known_folder)
        || ends_no_case(folder, "-tests")
        || ends_no_case(folder, "_tests")
}

/// Recognises `test_x.py`, `x_test.go`, `x.test.js`, `x.spec.ts`, `XTest.java`, `XTests.cs`,
/// `x-example.yml`, `.env.example`.
fn is_name_of_test(name: &[u8]) -> bool {
    name.split(|byte| matches!(byte, b'.' | b'_' | b'-')).any(|part| {
        in_lower_case(part, is_known_part) || part.ends_with(b"Test") || part.ends_with(b"Tests")
    })
}

fn ends_no_case(name: &[u8], ending: &str) -> bool {
    name.len()
        .checked_sub(ending.len())
        .is_some_and(|at| name[at..].eq_ignore_ascii_case(ending.as_bytes()))
}

/// Shorter lines are not classified.
const LINE_MIN: usize = 160;

/// How many bytes of a line are read to classify it.
const LINE_BYTES_READ: usize = 256;

/// Counters for the characters of a line, each in 16 bits of a word: spaces, signs of code,
/// characters of numbers, commas. Braces and quotes are not counted, because data without spaces
/// has as many of them as code.
const COUNTED: [u64; 256] = {
    let mut counted = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        counted[byte] = match byte as u8 {
            b' ' => 1 | 1 << 32,
            b'(' | b')' | b';' => 1 << 16,
            b'0'..=b'9' | b'x' | b'a'..=b'f' | b'A'..=b'F' => 1 << 32,
            b',' => 1 << 32 | 1 << 48,
            _ => 0,
        };
        byte += 1;
    }
    counted
};

/// Returns why a secret in this line is unlikely.
pub(super) fn unlikely_line(line: &[u8]) -> Option<&'static str> {
    if line.len() < LINE_MIN {
        return None;
    }
    let line = &line[..line.len().min(LINE_BYTES_READ)];
    let counts: u64 = line.iter().map(|&byte| COUNTED[usize::from(byte)]).sum();
    let [spaces, code, numbers, commas] =
        [0, 16, 32, 48].map(|lane| (counts >> lane & 0xFFFF) as usize);
    if spaces * 16 < line.len() && code * 20 >= line.len() {
        Some("in minified code")
    } else if numbers * 20 >= line.len() * 19 && commas * 12 >= line.len() {
        Some("in a table of numbers")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_documents_are_recognised_by_their_paths() {
        for path in [
            "tests/a.rs",
            "src/__tests__/a.js",
            "a/fixtures/k.json",
            "x_test.go",
            "test_x.py",
            "a.spec.ts",
            "src/KeyTest.java",
            ".env.example",
        ] {
            assert_eq!(made_up_by_path(Path::new(path)), Some("in a test or an example"), "{path}");
        }
        for path in ["README.md", "guide/x.rst"] {
            assert_eq!(made_up_by_path(Path::new(path)), Some("in documentation"), "{path}");
        }
        for path in
            ["", "src/main.rs", "contest/latest.py", "attestation/x.go", ".env", "testament.txt"]
        {
            assert_eq!(made_up_by_path(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn minified_code_and_tables_are_recognised() {
        let code = "var a=function(b){return b&&b.c?d(e):f};".repeat(8);
        assert_eq!(unlikely_line(code.as_bytes()), Some("in minified code"));
        let table = "0x1f, 0x22, 34, 128, ".repeat(12);
        assert_eq!(unlikely_line(table.as_bytes()), Some("in a table of numbers"));
        let prose =
            "the token of the service, which is renewed each month, is kept in a vault. ".repeat(4);
        assert_eq!(unlikely_line(prose.as_bytes()), None);
        assert_eq!(unlikely_line(&code.as_bytes()[..80]), None);
    }
}
