//! Generates a random text from a parsed regular expression.
//!
//! Assertions such as `\b` and `$` are ignored, so the text may not match. The caller has to check,
//! and try again if it does not.

use heist::rng::XorShift64;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How far an unbounded repetition may exceed its minimum.
const UNBOUNDED_EXTRA: u32 = 16;

/// How far any repetition may exceed its minimum. Very long repetitions would not test more.
const EXTRA_MAX: u32 = 256;

/// A part of an expression, prepared so that only the random choices are left.
#[derive(Debug)]
pub(super) enum Part {
    Literal(Box<[u8]>),
    /// One of these bytes, all equally likely.
    OneOf(Vec<u8>),
    /// A character from one of these ranges. Only used for classes without ASCII characters.
    Character(Vec<(char, char)>),
    Repeated {
        least: u32,
        extra_max: u32,
        part: Box<Part>,
    },
    Each(Vec<Part>),
    Either(Vec<Part>),
    /// Matches nothing, or only bytes that are not text.
    Impossible,
}

impl Part {
    /// Converts a parsed expression. The recursion is as deep as the groups nest, which parsing
    /// limits.
    pub(super) fn new(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::Each(Vec::new()),
            HirKind::Literal(literal) => Self::Literal(literal.0.clone()),
            HirKind::Class(class) => Self::of_class(class),
            HirKind::Repetition(repetition) => Self::Repeated {
                least: repetition.min,
                extra_max: match repetition.max {
                    Some(max) => max.saturating_sub(repetition.min).min(EXTRA_MAX),
                    None => UNBOUNDED_EXTRA,
                },
                part: Box::new(Self::new(&repetition.sub)),
            },
            HirKind::Capture(capture) => Self::new(&capture.sub),
            HirKind::Concat(parts) => Self::Each(parts.iter().map(Self::new).collect()),
            HirKind::Alternation(parts) => Self::Either(parts.iter().map(Self::new).collect()),
        }
    }

    fn of_class(class: &Class) -> Self {
        let choices = choices(class);
        if !choices.is_empty() {
            return Self::OneOf(choices);
        }
        // The class contains no ASCII characters.
        match class {
            Class::Unicode(class) if !class.ranges().is_empty() => {
                Self::Character(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            Class::Unicode(_) | Class::Bytes(_) => Self::Impossible,
        }
    }

    /// Generates a text of at most `length_max` bytes. Returns `None` if it gets longer or the
    /// expression matches nothing.
    pub(super) fn generate(&self, length_max: usize, rng: &mut XorShift64) -> Option<Vec<u8>> {
        // The limit on steps stops repetitions of the empty text, which never reach `length_max`.
        let mut draft = Draft { text: Vec::new(), length_max, steps: 4 * length_max + 1024, rng };
        draft.add(self)?;
        Some(draft.text)
    }
}

/// A text under construction.
struct Draft<'r> {
    text: Vec<u8>,
    length_max: usize,
    /// The number of expression parts that may still be visited.
    steps: usize,
    rng: &'r mut XorShift64,
}

impl Draft<'_> {
    fn add(&mut self, part: &Part) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        match part {
            Part::Literal(literal) => self.text.extend_from_slice(literal),
            Part::OneOf(choices) => self.text.push(choices[self.rng.below_usize(choices.len())]),
            Part::Character(ranges) => {
                let (first, last) = ranges[self.rng.below_usize(ranges.len())];
                let code =
                    u32::from(first) + self.rng.below(u32::from(last) - u32::from(first) + 1);
                // A range can span code points that are not characters (surrogates).
                let character = char::from_u32(code).unwrap_or(first);
                self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Part::Repeated { least, extra_max, part } => {
                let count = least.saturating_add(self.rng.below(extra_max + 1));
                for _ in 0..count {
                    self.add(part)?;
                }
            }
            Part::Each(parts) => {
                for part in parts {
                    self.add(part)?;
                }
            }
            Part::Either(parts) => {
                let choice = self.rng.below_usize(parts.len());
                self.add(parts.get(choice)?)?;
            }
            Part::Impossible => return None,
        }
        (self.text.len() <= self.length_max).then_some(())
    }
}

/// Returns the ASCII characters of a class that the generator uses: letters and digits if the class
/// accepts nearly everything; otherwise visible characters; otherwise blanks; otherwise all.
fn choices(class: &Class) -> Vec<u8> {
    let mut ascii = Vec::with_capacity(128);
    let mut add = |first: u32, last: u32| {
        // `last` is at most 127, so the code fits into a byte.
        ascii.extend((first..=last.min(127)).map(|code| code as u8));
    };
    match class {
        Class::Unicode(class) => {
            class.iter().for_each(|range| add(range.start().into(), range.end().into()));
        }
        Class::Bytes(class) => {
            class.iter().for_each(|range| add(range.start().into(), range.end().into()));
        }
    }
    // A class with quotes and letters is not an alphabet; it means "anything up to the end".
    let anything = ascii.contains(&b'"') && ascii.contains(&b'x') && ascii.contains(&b'X');
    let kinds: [fn(&u8) -> bool; 3] = [
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_graphic(),
        |byte| b" \t\n\r".contains(byte),
    ];
    for kind in kinds.iter().skip(usize::from(!anything)) {
        let chosen: Vec<u8> = ascii.iter().copied().filter(kind).collect();
        if !chosen.is_empty() {
            return chosen;
        }
    }
    ascii
}
