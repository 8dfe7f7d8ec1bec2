//! [`HostileInput`]: a short description of a long text that repeats itself.
//!
//! It is written on one line: an optional wrapping (`utf16`, `base64` or `hex`), then pieces. A
//! piece is a text in quotes, random letters (`<b62:24>`, `<hex:40>`, `<b64:30>`, `<digits:6>`), or
//! an example of a rule with a new secret (`<rule:github-personal-token>`); `*9` repeats it nine
//! times. The whole is repeated to the length that is asked for.

use std::fmt::{self, Write as _};

use heist::rng::XorShift64;
use heist_scan::rules::{Pattern, RuleSet, Sampler};

/// The largest number of repetitions of a piece.
pub(super) const TIMES_MAX: u32 = 5000;

/// An alphabet of random letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    Base62,
    Base64,
    Hex,
    Digits,
}

impl Alphabet {
    pub(super) const ALL: [Self; 4] = [Self::Base62, Self::Base64, Self::Hex, Self::Digits];

    fn name(self) -> &'static str {
        match self {
            Self::Base62 => "b62",
            Self::Base64 => "b64",
            Self::Hex => "hex",
            Self::Digits => "digits",
        }
    }

    fn letters(self) -> &'static [u8] {
        const LETTERS: &[u8; 64] =
            b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
        match self {
            Self::Base62 => &LETTERS[..62],
            Self::Base64 => LETTERS,
            Self::Hex => &LETTERS[..16],
            Self::Digits => &LETTERS[..10],
        }
    }
}

/// What a piece consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(Vec<u8>),
    Random(Alphabet, usize),
    /// An example of the rule with this number, with a new secret each time.
    Example(usize),
}

/// A content and how often it is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) content: Content,
    pub(super) times: u32,
}

/// An encoding around the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    Utf16,
    Base64,
    Hex,
}

impl Wrapping {
    pub(super) const ALL: [Self; 3] = [Self::Utf16, Self::Base64, Self::Hex];

    fn name(self) -> &'static str {
        match self {
            Self::Utf16 => "utf16",
            Self::Base64 => "base64",
            Self::Hex => "hex",
        }
    }

    fn wrap(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Utf16 => text.iter().flat_map(|&byte| [byte, 0]).collect(),
            Self::Hex => {
                let digit = |value: u8| Alphabet::Hex.letters()[usize::from(value)];
                text.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
            }
            Self::Base64 => {
                const DIGITS: &[u8; 64] =
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                text.chunks_exact(3)
                    .flat_map(|three| {
                        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
                        [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize])
                    })
                    .collect()
            }
        }
    }
}

/// A description of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostileInput {
    pub(super) wrapping: Option<Wrapping>,
    pub(super) pieces: Vec<Piece>,
}

/// The rules whose examples pieces can contain.
pub(crate) struct Examples {
    pub(super) rules: RuleSet,
    samplers: Vec<Option<Sampler>>,
}

impl Examples {
    pub(crate) fn new() -> Self {
        let rules = RuleSet::builtin();
        let samplers = rules.rules.iter().map(|rule| {
            let is_content = rule.pattern != Pattern::Path && !rule.examples.is_empty();
            is_content.then(|| Sampler::new(rule)).flatten()
        });
        Self { samplers: samplers.collect(), rules }
    }

    fn example(&self, rule: usize, rng: &mut XorShift64) -> Vec<u8> {
        let examples = &self.rules.rules[rule].examples;
        let Some(sampler) = self.samplers[rule].as_ref() else { return Vec::new() };
        let example = &examples[rng.below_usize(examples.len())];
        sampler.expand(example, rng).map_or_else(Vec::new, |expanded| expanded.text.into_bytes())
    }
}

impl HostileInput {
    /// Returns about `length` bytes of the text.
    pub(crate) fn text(&self, length: usize, examples: &Examples) -> Vec<u8> {
        let mut rng = XorShift64::new(1);
        let mut text = Vec::with_capacity(length + 1024);
        let inner = match self.wrapping {
            None => length,
            Some(Wrapping::Base64) => length / 4 * 3,
            Some(Wrapping::Utf16 | Wrapping::Hex) => length / 2,
        };
        while text.len() < inner {
            let before = text.len();
            for piece in &self.pieces {
                for _ in 0..piece.times {
                    match &piece.content {
                        Content::Text(bytes) => text.extend_from_slice(bytes),
                        Content::Random(alphabet, count) => {
                            let letters = alphabet.letters();
                            text.extend(
                                (0..*count).map(|_| letters[rng.below_usize(letters.len())]),
                            );
                        }
                        Content::Example(rule) => text.extend(examples.example(*rule, &mut rng)),
                    }
                    if text.len() >= inner {
                        break;
                    }
                }
            }
            if text.len() == before {
                text.push(b'\n');
            }
        }
        text.truncate(inner);
        match self.wrapping {
            None => text,
            Some(wrapping) => wrapping.wrap(&text),
        }
    }

    /// Reads a line that `to_line` wrote.
    pub(crate) fn parse(line: &str, examples: &Examples) -> Result<Self, String> {
        let mut input = Self::default();
        let mut rest = line.trim();
        for wrapping in Wrapping::ALL {
            if let Some(after) = rest.strip_prefix(wrapping.name()) {
                input.wrapping = Some(wrapping);
                rest = after.trim_start();
            }
        }
        while !rest.is_empty() {
            let (content, after) = match rest.as_bytes()[0] {
                b'"' => text_of(&rest[1..])?,
                b'<' => named(&rest[1..], examples)?,
                _ => return Err(format!("expected a piece at `{rest}`")),
            };
            rest = after;
            let mut times = 1;
            if let Some(after) = rest.strip_prefix('*') {
                let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                times = after[..digits].parse().map_err(|_| format!("no number at `{rest}`"))?;
                rest = &after[digits..];
            }
            input.pieces.push(Piece { content, times });
            rest = rest.trim_start();
        }
        Ok(input)
    }

    /// Writes the input on one line.
    pub(crate) fn to_line(&self, examples: &Examples) -> String {
        let wrapping = self.wrapping.map(|wrapping| wrapping.name().to_owned());
        let pieces = self.pieces.iter().map(|piece| {
            let content = match &piece.content {
                Content::Text(text) => Quoted(text).to_string(),
                Content::Random(alphabet, count) => format!("<{}:{count}>", alphabet.name()),
                Content::Example(rule) => format!("<rule:{}>", examples.rules.rules[*rule].id),
            };
            match piece.times {
                1 => content,
                times => format!("{content}*{times}"),
            }
        });
        wrapping.into_iter().chain(pieces).collect::<Vec<_>>().join(" ")
    }
}

/// Reads a text up to its closing quote. Also returns what follows.
fn text_of(line: &str) -> Result<(Content, &str), String> {
    let mut text = Vec::new();
    let mut at = 0;
    let bytes = line.as_bytes();
    loop {
        match bytes.get(at) {
            None => return Err(format!("a text without a closing quote: `{line}`")),
            Some(b'"') => return Ok((Content::Text(text), &line[at + 1..])),
            Some(b'\\') => {
                let digits = line.get(at + 2..at + 4).filter(|_| bytes.get(at + 1) == Some(&b'x'));
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                text.push(byte.ok_or_else(|| format!("expected \\xNN at `{}`", &line[at..]))?);
                at += 4;
            }
            Some(&byte) => {
                text.push(byte);
                at += 1;
            }
        }
    }
}

/// Reads the rest of `<b62:24>` or `<rule:name>`. Also returns what follows.
fn named<'l>(line: &'l str, examples: &Examples) -> Result<(Content, &'l str), String> {
    let wrong = || format!("expected <alphabet:count> or <rule:id> at `<{line}`");
    let (inside, rest) = line.split_once('>').ok_or_else(wrong)?;
    let (kind, of) = inside.split_once(':').ok_or_else(wrong)?;
    if kind == "rule" {
        let rule = examples.rules.rules.iter().position(|rule| rule.id == of);
        return Ok((
            Content::Example(rule.ok_or_else(|| format!("no rule is called `{of}`"))?),
            rest,
        ));
    }
    let alphabet = Alphabet::ALL.into_iter().find(|alphabet| alphabet.name() == kind);
    let count = of.parse().map_err(|_| wrong())?;
    Ok((Content::Random(alphabet.ok_or_else(wrong)?, count), rest))
}

/// Writes bytes in quotes; everything but plain ASCII as `\xNN`.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for &byte in self.0 {
            match byte {
                b' '..=b'~' if !matches!(byte, b'"' | b'\\') => f.write_char(char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_read_as_it_was_written() {
        let examples = Examples::new();
        for line in [
            r#""=.key_" "abc"*40 <b62:24>"#,
            r#"utf16 "a\x0a\x22\x5c" <hex:40>*3 <rule:github-personal-token>"#,
            r#"base64 <digits:1>"#,
        ] {
            let input = HostileInput::parse(line, &examples).expect("it is one");
            assert_eq!(input.to_line(&examples), line);
            let text = input.text(10_000, &examples);
            assert!((9_990..=10_000).contains(&text.len()), "{}", text.len());
            assert_eq!(text, input.text(10_000, &examples));
        }
        for wrong in ["\"a", "<b62>", "<rule:none>", "abc", "\"\\q\""] {
            assert!(HostileInput::parse(wrong, &examples).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pieces_are_repeated() {
        let examples = Examples::new();
        let input = HostileInput::parse("\"ab\"*2 \"-\"", &examples).expect("it is one");
        assert_eq!(input.text(12, &examples), b"abab-abab-ab");
    }
}
