//! Reads `core.hooksPath` from a configuration file of git, as text. Includes are not followed.

use heist_scan::read_small_file;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Longer configuration files are not read.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// Returns the value of `core.hooksPath`, or `None` if the file does not set it or does not exist.
///
/// # Errors
/// The file cannot be read.
pub(super) fn hooks_path(file: &Path) -> io::Result<Option<String>> {
    match read_small_file(file, CONFIG_BYTES_MAX) {
        Ok(content) => Ok(parse(&String::from_utf8_lossy(&content))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the last value of the key.
fn parse(text: &str) -> Option<String> {
    let (mut is_core, mut path) = (false, None);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            is_core = section.trim().eq_ignore_ascii_case("core");
            line = rest.trim();
        }
        if let Some((key, value)) = line.split_once('=').filter(|_| is_core)
            && key.trim().eq_ignore_ascii_case("hookspath")
        {
            path = Some(unquoted(value.trim()));
        }
    }
    path.filter(|path| !path.is_empty())
}

/// Resolves the quotes and escapes of a value, and leaves out a comment behind it.
fn unquoted(value: &str) -> String {
    let (mut out, mut is_quoted) = (String::new(), false);
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match characters.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    if is_quoted || value.ends_with('"') { out } else { out.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_last_value_of_the_section_counts() {
        for (text, expected) in [
            ("[core]\n\thooksPath = .githooks\n", Some(".githooks")),
            ("[Core] HOOKSPATH=a b ; comment\n", Some("a b")),
            ("[core]\nhooksPath = \"with # sign\"\n", Some("with # sign")),
            ("[core]\nhooksPath = c:\\\\hooks\n", Some("c:\\hooks")),
            ("[core]\nhooksPath = a\n[other]\nhooksPath = b\n", Some("a")),
            ("[core]\nhooksPath = a\n[core]\nhooksPath = b\n", Some("b")),
            ("[core \"x\"]\nhooksPath = a\n", None),
            ("[core]\n# hooksPath = a\nhooksPath\nhooksPath =\n", None),
        ] {
            assert_eq!(parse(text).as_deref(), expected, "{text}");
        }
    }
}
