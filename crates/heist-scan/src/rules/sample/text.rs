//! A random text that a regular expression matches, from its parsed form.
//!
//! Look-arounds are passed over: whoever asks has to try whether the text is a match, and ask again.

use heist::XorShift64;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many more than it has to, an unbounded repetition repeats at most.
const UNBOUNDED_EXTRA: u32 = 16;

/// How many more than it has to, any repetition repeats at most. Lengths far apart are not what is tested.
const EXTRA_MAX: u32 = 256;

/// A text of at most `length_max` bytes. `None`: it became longer, or nothing matches.
pub(super) fn generate(hir: &Hir, length_max: usize, rng: &mut XorShift64) -> Option<Vec<u8>> {
    // Repetitions of nothing take steps, too.
    let mut generator =
        Generator { text: Vec::new(), length_max, steps: 4 * length_max + 1024, rng };
    generator.add(hir)?;
    Some(generator.text)
}

struct Generator<'r> {
    text: Vec<u8>,
    length_max: usize,
    /// How many parts of the expression may still be gone through.
    steps: usize,
    rng: &'r mut XorShift64,
}

impl Generator<'_> {
    /// Recurses as deep as groups stand in each other, which parsing bounds.
    fn add(&mut self, hir: &Hir) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.extend_from_slice(&literal.0),
            HirKind::Class(class) => self.add_one_of(class)?,
            HirKind::Repetition(repetition) => {
                let extra_max = match repetition.max {
                    Some(max) => max.saturating_sub(repetition.min).min(EXTRA_MAX),
                    None => UNBOUNDED_EXTRA,
                };
                let count = repetition.min.saturating_add(self.rng.below(extra_max + 1));
                for _ in 0..count {
                    self.add(&repetition.sub)?;
                }
            }
            HirKind::Capture(capture) => self.add(&capture.sub)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.add(part)?;
                }
            }
            HirKind::Alternation(choices) => {
                let choice = self.rng.below_usize(choices.len());
                self.add(choices.get(choice)?)?;
            }
        }
        (self.text.len() <= self.length_max).then_some(())
    }

    fn add_one_of(&mut self, class: &Class) -> Option<()> {
        let choices = choices(class);
        if !choices.is_empty() {
            self.text.push(choices[self.rng.below_usize(choices.len())]);
            return Some(());
        }
        // Nothing of ASCII in it.
        match class {
            Class::Bytes(_) => None,
            Class::Unicode(class) => {
                let range = class.ranges().get(self.rng.below_usize(class.ranges().len()))?;
                let (first, last) = (u32::from(range.start()), u32::from(range.end()));
                let character = char::from_u32(first + self.rng.below(last - first + 1));
                let character = character.unwrap_or(range.start());
                self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                Some(())
            }
        }
    }
}

/// The characters of a class that are taken, all equally likely: letters and digits if it takes whatever there is, else
/// what can be seen, else blanks, else what else there is in ASCII.
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
