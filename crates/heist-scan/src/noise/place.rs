//! Where a secret stands: paths of tests and documentation, minified code, tables of numbers. This alone decides
//! nothing but how sure a generic finding is.

use std::path::Path;

/// Folders in which secrets are made up.
const FOLDERS: [&str; 32] = [
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "__tests__",
    "__mocks__",
    "fixture",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test_data",
    "test-data",
    "test-fixtures",
    "mock",
    "mocks",
    "example",
    "examples",
    "doc",
    "docs",
    "documentation",
    "sample",
    "samples",
    "demo",
    "demos",
    "e2e",
    "benches",
    "testsuite",
    "unittests",
    "vectors",
    "testvectors",
    "test-vectors",
];

/// Endings of documentation.
const DOCUMENTS: [&str; 6] = [".md", ".mdx", ".rst", ".adoc", ".asciidoc", ".markdown"];

/// As much of a path is looked at, from its end.
const PATH_LOOKED_AT: usize = 1024;

/// Why a secret at this path is likely made up.
pub(super) fn made_up_by_path(path: &Path) -> Option<&'static str> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = &bytes[bytes.len().saturating_sub(PATH_LOOKED_AT)..];
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
    // Most folders are told apart by their first letter.
    let Some(first) = folder.first().map(u8::to_ascii_lowercase) else { return false };
    matches!(first, b't' | b's' | b'_' | b'f' | b'm' | b'e' | b'd' | b'b' | b'u' | b'v')
        && (FOLDERS.iter().any(|known| folder.eq_ignore_ascii_case(known.as_bytes()))
            || ends_no_case(folder, "-tests")
            || ends_no_case(folder, "_tests"))
}

/// `test_x.py`, `x_test.go`, `x.test.js`, `x.spec.ts`, `XTest.java`, `XTests.cs`, `x-example.yml`, `.env.example`.
fn is_name_of_test(name: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        [
            "test", "tests", "spec", "mock", "mocks", "fixture", "fixtures", "example", "examples",
            "sample", "conftest",
        ]
        .iter()
        .any(|known| part.eq_ignore_ascii_case(known.as_bytes()))
    };
    let mut parts = name.split(|byte| matches!(byte, b'.' | b'_' | b'-'));
    parts.clone().any(is_part)
        || parts.any(|part| part.ends_with(b"Test") || part.ends_with(b"Tests"))
}

fn ends_no_case(name: &[u8], ending: &str) -> bool {
    name.len()
        .checked_sub(ending.len())
        .is_some_and(|at| name[at..].eq_ignore_ascii_case(ending.as_bytes()))
}

/// A shorter line says nothing about its kind.
const LINE_MIN: usize = 160;

/// As much of a line is looked at.
const LINE_LOOKED_AT: usize = 512;

/// What kind of line makes a secret in it unlikely.
pub(super) fn unlikely_line(line: &[u8]) -> Option<&'static str> {
    if line.len() < LINE_MIN {
        return None;
    }
    let line = &line[..line.len().min(LINE_LOOKED_AT)];
    // Braces and quotes are not counted: data without spaces has as many of them as code.
    let (mut spaces, mut code, mut numbers, mut commas) = (0_usize, 0_usize, 0_usize, 0_usize);
    for &byte in line {
        spaces += usize::from(byte == b' ');
        code += usize::from(matches!(byte, b'(' | b')' | b'{' | b'}' | b';' | b'?' | b'&' | b'|'));
        commas += usize::from(byte == b',');
        numbers += usize::from(
            matches!(byte, b'0'..=b'9' | b',' | b' ' | b'x' | b'a'..=b'f' | b'A'..=b'F'),
        );
    }
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
    fn tests_and_documents_are_known_by_their_paths() {
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
    fn minified_code_and_tables_are_known() {
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
