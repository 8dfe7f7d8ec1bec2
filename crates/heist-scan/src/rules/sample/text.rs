//! A random text that a regular expression matches, from its parsed form.
//!
//! Look-arounds are passed over: whoever asks has to try whether the text is a match, and ask again.

use heist::rng::XorShift64;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many more than it has to, an unbounded repetition repeats at most.
const UNBOUNDED_EXTRA: u32 = 16;

/// How many more than it has to, any repetition repeats at most. Lengths far apart are not what is tested.
const EXTRA_MAX: u32 = 256;

/// One part of an expression, with everything found out that does not depend on chance.
#[derive(Debug)]
pub(super) enum Part {
    Literal(Box<[u8]>),
    /// One of these bytes, each as likely as the other.
    OneOf(Vec<u8>),
    /// One character of one of these ranges, if there is no other choice.
    Character(Vec<(char, char)>),
    Repeated {
        least: u32,
        extra_max: u32,
        part: Box<Part>,
    },
    Each(Vec<Part>),
    Either(Vec<Part>),
    /// Nothing matches, or nothing that could be part of a text.
    Impossible,
}

impl Part {
    /// Recurses as deep as groups stand in each other, which parsing bounds.
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
        // Nothing of ASCII in it.
        match class {
            Class::Unicode(class) if !class.ranges().is_empty() => {
                Self::Character(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            Class::Unicode(_) | Class::Bytes(_) => Self::Impossible,
        }
    }

    /// A text of at most `length_max` bytes. `None`: it became longer, or nothing matches.
    pub(super) fn generate(&self, length_max: usize, rng: &mut XorShift64) -> Option<Vec<u8>> {
        // Repetitions of nothing take steps, too.
        let mut draft = Draft { text: Vec::new(), length_max, steps: 4 * length_max + 1024, rng };
        draft.add(self)?;
        Some(draft.text)
    }
}

/// A text that is being made.
struct Draft<'r> {
    text: Vec<u8>,
    length_max: usize,
    /// How many parts of the expression may still be gone through.
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
                // Between the ends of a range there can be codes that are no characters.
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

/// The characters of a class that are taken: letters and digits if it takes whatever there is, else what can be seen,
/// else blanks, else what else there is in ASCII.
fn choices(class: &Class) -> Vec<u8> {
    let mut ascii = Vec::with_capacity(128);
    let mut add = |first: u32, last: u32| {
        // Below 128, so it fits.
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
    // What takes both quotes and letters is no alphabet, but "anything up to the end".
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
