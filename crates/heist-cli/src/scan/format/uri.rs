//! URIs of paths for SARIF: relative to a base where possible, percent-encoded, without dot
//! segments.
//!
//! Decoding a URI gives the bytes of the path, even if they are not UTF-8.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// Returns the URI of a path, and whether it is relative to `base`.
pub(super) fn of_path(path: &Path, base: &Path) -> (String, bool) {
    let below = if path.is_absolute() { path.strip_prefix(base).ok() } else { Some(path) };
    let goes_up = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    match below {
        Some(below) if !goes_up(below) => (encoded_relative(below), true),
        _ => {
            let whole = base.join(path);
            // Only the system can resolve `..`, because the path may contain symbolic links.
            let resolved = if goes_up(&whole) { resolved(&whole) } else { whole };
            (of_absolute(&resolved), false)
        }
    }
}

/// Returns the URI of a directory, which ends with a slash.
pub(super) fn of_directory(path: &Path) -> String {
    let mut uri = of_absolute(path);
    if !uri.ends_with('/') {
        uri.push('/');
    }
    uri
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let mut resolved = PathBuf::new();
        for part in path.components() {
            if part == Component::ParentDir {
                resolved.pop();
            } else {
                resolved.push(part);
            }
        }
        resolved
    })
}

fn of_absolute(path: &Path) -> String {
    let encoded = encoded_relative(path);
    format!("file:///{encoded}")
}

/// Encodes the names of a path and joins them with slashes.
fn encoded_relative(path: &Path) -> String {
    let mut uri = String::new();
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        if !uri.is_empty() {
            uri.push('/');
        }
        for &byte in name.as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(all(test, unix))]
mod tests {
    use super::{of_directory, of_path};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    #[test]
    fn paths_are_encoded_and_relative_where_possible() {
        let base = Path::new("/no such/base");
        for (path, expected, is_relative) in [
            (&b"a/b.txt"[..], "a/b.txt", true),
            (b"./a//b", "a/b", true),
            (b"/no such/base/a", "a", true),
            (b"/etc/x y", "file:///etc/x%20y", false),
            (b"../c", "file:///no%20such/c", false),
            (b"a:b%?#\xff\n", "a%3Ab%25%3F%23%FF%0A", true),
            ("é".as_bytes(), "%C3%A9", true),
        ] {
            let found = of_path(Path::new(OsStr::from_bytes(path)), base);
            assert_eq!(found, (expected.to_owned(), is_relative));
        }
        assert_eq!(of_directory(base), "file:///no%20such/base/");
        assert_eq!(of_directory(Path::new("/")), "file:///");
    }
}
