//! Translates the regular expressions of rule files from the syntax of Go (RE2) to Rust's.
//!
//! The two languages are nearly the same. These are the differences and their translations:
//!
//! | in the file | here |
//! |---|---|
//! | `\Q...\E` | the text with its special characters escaped |
//! | `\C`, any byte | `(?s-u:.)` |
//! | `\<`, `\_`, `\/` and any other escaped punctuation: itself | itself, escaped only if that is needed |
//! | `\123`, `\0`: octal | `\x53`, `\x00` |
//! | `\x80` to `\xFF`: a character | `\x{80}` to `\x{FF}`; without Unicode, Rust's `\xFF` is a byte |
//! | `\pN`, `\p{Greek}`, `\p{^Greek}` | `(?u:\pN)` and so on, since Unicode is off otherwise |
//! | a character that is not ASCII | `(?u:é)`, so that `(?i)` holds for it |
//! | `{` where no repetition is: `{{`, `{,5}`, `{05}` | `\{` |
//! | `(?P<1st>...)` | `(?P<_1st>...)`: Rust's names begin with a letter |
//! | `[\w-.]`, `[a[b]`, `[a&&b]`: plain characters | `[\w\-.]`, `[a\[b]`, `[a\&\&b]` |
//!
//! Invariant: whatever means the same in both languages is copied unchanged, and translating a
//! translated expression again does not change its meaning.
//!
//! Not guaranteed:
//! - that characters count as in Go: `.` and `[^x]` match one byte in heist and one character in
//!   Go, and `\s` includes the vertical tab in heist but not in Go;
//! - that Rust-only syntax works: rules cannot use set operations in classes, `\<` for the start of
//!   a word, or `(?x)`;
//! - that [`translate`] finds the errors in an expression: [`parse`] finds most of them.

mod class;

use regex_automata::meta::Regex;
use regex_syntax::hir::Hir;
use std::borrow::Cow;
use std::fmt;

/// Explains why an expression is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxError(pub String);

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SyntaxError {}

/// How deep groups may nest, which bounds the recursion of the parser and of everything after it.
const NEST_LIMIT: u32 = 200;

/// Parses an expression in Rust's syntax with the settings that all rules use: it matches bytes,
/// and Unicode is off.
///
/// # Errors
///
/// Returns an error if the expression is not valid.
pub fn parse(pattern: &str) -> Result<Hir, SyntaxError> {
    let mut parser = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(NEST_LIMIT)
        .build();
    parser.parse(pattern).map_err(|error| SyntaxError(one_line(&error)))
}

/// The size limit of a compiled expression, in bytes. An ordinary rule needs a hundredth of it.
pub(crate) const COMPILED_BYTES_MAX: usize = 4 << 20;

/// Compiles an expression that [`parse`] returned.
///
/// # Errors
///
/// Returns an error if the compiled expression exceeds the size limit.
pub fn compile(hir: &Hir) -> Result<Regex, SyntaxError> {
    let config = Regex::config().utf8_empty(false).nfa_size_limit(Some(COMPILED_BYTES_MAX));
    let regex = Regex::builder().configure(config).build_from_hir(hir);
    regex.map_err(|error| {
        let problem = error.size_limit().map_or_else(
            || error.to_string(),
            |limit| {
                format!(
                    "it becomes larger than {limit} bytes when compiled; reduce its repetitions"
                )
            },
        );
        SyntaxError(problem)
    })
}

/// Formats an error on one line, without regex-syntax's picture of the expression, which can be as
/// long as the expression itself.
fn one_line(error: &regex_syntax::Error) -> String {
    let (kind, at) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        other => return other.to_string(),
    };
    format!("{kind} (at byte {at} of the expression)")
}

/// Translates an expression from Go's syntax to Rust's.
///
/// # Errors
///
/// Returns an error if a character class, or an escape in one, is invalid. All other errors are
/// left for [`parse`] to report.
pub fn translate(pattern: &str) -> Result<Cow<'_, str>, SyntaxError> {
    if !needs_translation(pattern) {
        return Ok(Cow::Borrowed(pattern));
    }
    let mut output = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        match first {
            '\\' => rest = escape(rest, &mut output),
            '[' => rest = class::translate(rest, &mut output)?,
            '{' => {
                let length = repetition(rest);
                if length == 0 {
                    output.push_str("\\{");
                    rest = &rest[1..];
                } else {
                    output.push_str(&rest[..length]);
                    rest = &rest[length..];
                }
            }
            '(' => rest = group(rest, &mut output),
            _ if first.is_ascii() => {
                output.push(first);
                rest = &rest[1..];
            }
            _ => {
                let after = &rest[first.len_utf8()..];
                output.push_str("(?u:");
                output.push(first);
                output.push(')');
                rest = after;
            }
        }
    }
    Ok(Cow::Owned(output))
}

/// Returns `true` if anything in the expression might mean something else in Rust. This is rare.
fn needs_translation(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    let mut in_class = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                match bytes.get(at + 1) {
                    Some(b'A' | b'b' | b'B' | b'z' | b'd' | b'D' | b's' | b'S' | b'w' | b'W') => {
                        // After `\w` and the like in a class, Rust does not accept a hyphen.
                        if in_class && bytes.get(at + 2) == Some(&b'-') {
                            return true;
                        }
                    }
                    Some(b'n' | b'r' | b't' | b'f' | b'v' | b'a') => {}
                    Some(&next) if regex_syntax::is_meta_character(char::from(next)) => {}
                    _ => return true,
                }
                at += 2;
                continue;
            }
            b'[' if in_class => return true,
            b'[' => {
                in_class = true;
                // A `]` at the beginning of a class is a literal character.
                at += 1;
                if bytes.get(at) == Some(&b'^') {
                    at += 1;
                }
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                    // In Rust, a range cannot start with it.
                    if bytes.get(at) == Some(&b'-') {
                        return true;
                    }
                }
                continue;
            }
            b']' if in_class => in_class = false,
            byte @ (b'-' | b'&' | b'~') if in_class && bytes.get(at + 1) == Some(&byte) => {
                return true;
            }
            b'{' if !in_class => match repetition(&pattern[at..]) {
                0 => return true,
                length => {
                    at += length;
                    continue;
                }
            },
            b'(' if !in_class && bytes[at..].starts_with(b"(?P<") => return true,
            b'(' if !in_class && bytes[at..].starts_with(b"(?<") => return true,
            byte if !byte.is_ascii() => return true,
            _ => {}
        }
        at += 1;
    }
    // An unclosed class is an error, and `translate` explains it better than `parse`.
    in_class
}

/// Returns the length of the repetition at the beginning of `text` (`{n}`, `{n,}` or `{n,m}`
/// without leading zeros), or 0 if there is none.
fn repetition(text: &str) -> usize {
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 1 && text.starts_with('0') { 0 } else { digits }
    };
    let mut length = 1 + number(&text[1..]);
    if length == 1 {
        return 0;
    }
    if text[length..].starts_with(',') {
        length += 1;
        let digits = number(&text[length..]);
        length += digits;
    }
    if text[length..].starts_with('}') { length + 1 } else { 0 }
}

/// Translates the opening of a group. A name that begins with a digit gets an underscore in front.
fn group<'t>(text: &'t str, output: &mut String) -> &'t str {
    let opening = if text.starts_with("(?P<") {
        4
    } else if text.starts_with("(?<") {
        3
    } else {
        1
    };
    output.push_str(&text[..opening]);
    if opening > 1 && text[opening..].starts_with(|first: char| first.is_ascii_digit()) {
        output.push('_');
    }
    &text[opening..]
}

/// Translates an escape outside of classes and returns the text after it.
fn escape<'t>(text: &'t str, output: &mut String) -> &'t str {
    let Some(second) = text[1..].chars().next() else {
        // `parse` reports the backslash at the end as an error.
        output.push('\\');
        return "";
    };
    let after = &text[1 + second.len_utf8()..];
    match second {
        'Q' => {
            let (literal, rest) = after.split_once("\\E").unwrap_or((after, ""));
            for character in literal.chars() {
                push_literal(character, output);
            }
            rest
        }
        'C' => {
            output.push_str("(?s-u:.)");
            after
        }
        'p' | 'P' => {
            let (property, rest) = property(text);
            output.push_str("(?u:");
            output.push_str(&property);
            output.push(')');
            rest
        }
        _ => {
            if let Some((character, rest)) = character_code(text) {
                push_literal(character, output);
                return rest;
            }
            if second.is_ascii() && !second.is_ascii_alphanumeric() {
                push_literal(second, output);
            } else {
                output.push('\\');
                output.push(second);
            }
            after
        }
    }
}

/// Translates `\p{...}` or `\pN` at the beginning of `text`. Also returns the text after it.
fn property(text: &str) -> (String, &str) {
    let negated = text[1..].starts_with('P');
    let after = &text[2..];
    let Some(braced) = after.strip_prefix('{') else {
        // A single letter. Anything else is an error, which `parse` reports.
        let length = after.chars().next().map_or(0, char::len_utf8);
        return (text[..2 + length].to_owned(), &after[length..]);
    };
    let Some((name, rest)) = braced.split_once('}') else {
        return (text.to_owned(), "");
    };
    match name.strip_prefix('^') {
        Some(name) => (format!("\\{}{{{name}}}", if negated { 'p' } else { 'P' }), rest),
        None => (text[..text.len() - rest.len()].to_owned(), rest),
    }
}

/// Reads an octal or hexadecimal escape at the beginning of `text`. Also returns the text after it.
fn character_code(text: &str) -> Option<(char, &str)> {
    let after = text.strip_prefix('\\')?;
    if let Some(hexadecimal) = after.strip_prefix('x') {
        let (digits, rest) = match hexadecimal.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => hexadecimal.split_at_checked(2)?,
        };
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        return Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest));
    }
    let octal = after.bytes().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
    // A single digit other than 0 would be a backreference, which neither language has.
    if octal == 0 || octal == 1 && !after.starts_with('0') {
        return None;
    }
    let code = u32::from_str_radix(&after[..octal], 8).ok()?;
    Some((char::from_u32(code)?, &after[octal..]))
}

/// Appends a literal character outside of classes.
fn push_literal(character: char, output: &mut String) {
    if character.is_ascii() {
        class::push_character(character, output);
    } else {
        output.push_str("(?u:");
        output.push(character);
        output.push(')');
    }
}

#[cfg(test)]
mod tests;
