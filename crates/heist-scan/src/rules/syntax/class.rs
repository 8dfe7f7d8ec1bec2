//! Translates character classes: parses them as Go does and writes them so that Rust reads the
//! same.
//!
//! Go's classes consist of characters, ranges, `\d` and the like, `[:alpha:]` and the like, and
//! Unicode properties. Everything else is a literal character in Go, even what Rust reads as a set
//! operation.

use super::{SyntaxError, character_code, property};
use std::fmt::Write as _;

/// The names allowed in `[:name:]`; a `^` before the name negates it.
const POSIX_NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// An item of a character class.
enum Item<'t> {
    /// `a` or `a-z`.
    Range(char, char),
    /// `\d`, `\D` and so on.
    Perl(char),
    /// `[:alpha:]`.
    Posix(&'t str),
    /// `\p{Greek}`.
    Property(String),
}

/// Translates the class at the beginning of `text` and returns the text after it.
pub(super) fn translate<'t>(text: &'t str, output: &mut String) -> Result<&'t str, SyntaxError> {
    let mut rest = &text[1..];
    let negated = rest.starts_with('^');
    if negated {
        rest = &rest[1..];
    }
    let mut items = Vec::new();
    while items.is_empty() || !rest.starts_with(']') {
        if rest.is_empty() {
            return Err(SyntaxError("a character class has no closing `]`".to_owned()));
        }
        let (item, after) = item(rest)?;
        items.push(item);
        rest = after;
    }
    write_class(negated, &items, output);
    Ok(&rest[1..])
}

fn item(text: &str) -> Result<(Item<'_>, &str), SyntaxError> {
    if let Some((name, after)) = text.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) {
        if !POSIX_NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(SyntaxError(format!("`[:{name}:]` is not a character class")));
        }
        return Ok((Item::Posix(name), after));
    }
    let mut characters = text.chars();
    if characters.next() == Some('\\') {
        match characters.next() {
            Some(letter @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => {
                return Ok((Item::Perl(letter), &text[2..]));
            }
            Some('p' | 'P') => {
                let (property, after) = property(text);
                return Ok((Item::Property(property), after));
            }
            _ => {}
        }
    }
    let (low, after) = character(text)?;
    let Some(beyond) = after.strip_prefix('-').filter(|beyond| !beyond.starts_with(']')) else {
        return Ok((Item::Range(low, low), after));
    };
    if beyond.is_empty() {
        return Ok((Item::Range(low, low), after));
    }
    let (high, after) = character(beyond)?;
    if high < low {
        return Err(SyntaxError(format!(
            "the range {low:?} to {high:?} of a character class is empty"
        )));
    }
    Ok((Item::Range(low, high), after))
}

/// Reads one character, escaped or not.
fn character(text: &str) -> Result<(char, &str), SyntaxError> {
    let mut characters = text.chars();
    let first = characters
        .next()
        .ok_or_else(|| SyntaxError("a character class has no closing `]`".to_owned()))?;
    if first != '\\' {
        return Ok((first, characters.as_str()));
    }
    if let Some(code) = character_code(text) {
        return Ok(code);
    }
    let character = match characters.next() {
        Some('a') => '\x07',
        Some('f') => '\x0C',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('v') => '\x0B',
        Some(mark) if mark.is_ascii() && !mark.is_ascii_alphanumeric() => mark,
        Some(letter) => {
            return Err(SyntaxError(format!("`\\{letter}` has no meaning in a character class")));
        }
        None => return Err(SyntaxError("the expression ends with a backslash".to_owned())),
    };
    Ok((character, characters.as_str()))
}

fn write_class(negated: bool, items: &[Item<'_>], output: &mut String) {
    let unicode = items.iter().any(|item| match item {
        Item::Range(_, high) => !high.is_ascii(),
        Item::Perl(_) | Item::Posix(_) => false,
        Item::Property(_) => true,
    });
    output.push_str(if unicode { "(?u:[" } else { "[" });
    if negated {
        output.push('^');
    }
    for item in items {
        match item {
            Item::Range(low, high) => {
                push_character(*low, output);
                if high > low {
                    output.push('-');
                    push_character(*high, output);
                }
            }
            // With Unicode on, Rust's `\d` matches the digits of all scripts; Go's never does.
            // Spelled out as ranges instead of a nested class: Go has no nested classes, and
            // translating the result once more must not change it.
            Item::Perl(letter) if unicode => output.push_str(match letter {
                'd' => "0-9",
                'D' => r"\x00-/:-\x{10FFFF}",
                's' => r"\t-\r\x20",
                'S' => r"\x00-\x08\x0E-\x1F!-\x{10FFFF}",
                'w' => "0-9A-Za-z_",
                _ => r"\x00-/:-@\[-\^`\{-\x{10FFFF}",
            }),
            Item::Perl(letter) => {
                output.push('\\');
                output.push(*letter);
            }
            Item::Posix(name) => {
                output.push_str("[:");
                output.push_str(name);
                output.push_str(":]");
            }
            Item::Property(property) => output.push_str(property),
        }
    }
    output.push_str(if unicode { "])" } else { "]" });
}

/// Appends a literal character, escaped if necessary. Works inside and outside of classes.
pub(super) fn push_character(character: char, output: &mut String) {
    match character {
        '\n' => output.push_str("\\n"),
        '\r' => output.push_str("\\r"),
        '\t' => output.push_str("\\t"),
        _ if character.is_ascii_control() => {
            // Writing to a `String` cannot fail.
            let _ = write!(output, "\\x{:02X}", u32::from(character));
        }
        _ => {
            if regex_syntax::is_meta_character(character) {
                output.push('\\');
            }
            output.push(character);
        }
    }
}
