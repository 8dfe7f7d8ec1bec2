//! [`ValueFinder`]: finds the assignments around many positions of one text.
//!
//! A position can be in the value of any `=` shortly before it, and a long value contains many such
//! positions. So the finder remembers, from one position to the next, which `=` have no key before
//! them, and where the text without separators ends. It reads each byte a few times, whatever the
//! text.
//!
//! Invariant: [`ValueFinder::find`] returns what [`from_value`](super::assignment::from_value) does
//! for values that begin at most [`BEFORE_MAX`] bytes before the position, and reads at most
//! [`KEY_REACH`] bytes before such a value. So the answer does not depend on the positions that
//! were asked for before.

use super::assignment::{self, Assignment};
use super::operator::{self, Left};
use super::value::{self, Opening, VALUE_LENGTH_MAX, ValueAlphabet};
use super::{ASSIGNMENT_REACH, Window};
use std::ops::Range;

/// How far before the position a value may begin.
pub(crate) const BEFORE_MAX: usize = 96;

/// How far before a value its key is searched for.
const KEY_REACH: usize = 896;

const _: () = assert!(BEFORE_MAX + KEY_REACH <= ASSIGNMENT_REACH.before);

/// A text whose assignments are searched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssignmentText<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) begins_object: bool,
    pub(crate) ends_object: bool,
    /// Where `bytes` begin in the text whose parts are searched one after the other.
    pub(crate) offset: usize,
}

impl AssignmentText<'_> {
    /// Returns `true` if everything around `at` is visible that the finder looks at.
    fn shows_all_around(&self, at: usize) -> bool {
        (self.begins_object || at >= ASSIGNMENT_REACH.before)
            && (self.ends_object || self.bytes.len() - at >= ASSIGNMENT_REACH.after)
    }
}

/// Finds the assignments around positions of one text, which must be asked for in order to be found
/// quickly. What it remembers are positions in the whole text.
#[derive(Debug, Default)]
pub(crate) struct ValueFinder {
    /// No `=` that ends in this range has a key before it.
    keyless: Range<usize>,
    /// The last beginning of a token, and the key before it.
    begun: Option<(usize, Option<Left>)>,
    /// Bytes that may be in a value without quotes. Either the byte at the end of the range is
    /// none, or the search ended there.
    bare: Range<usize>,
}

impl ValueFinder {
    /// Forgets the previous text.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the assignment whose value contains the position `at`.
    pub(crate) fn find(&mut self, text: &AssignmentText<'_>, at: usize) -> Option<Assignment> {
        if at >= text.bytes.len() {
            return None;
        }
        // Near a cut, the text looks different from each position.
        let mut fresh = Self::default();
        let finder = if text.shows_all_around(at) { self } else { &mut fresh };
        finder.find_anew(text, at)
    }

    fn find_anew(&mut self, text: &AssignmentText<'_>, at: usize) -> Option<Assignment> {
        let (bytes, offset) = (text.bytes, text.offset);
        if !value::is_token(bytes[at]) {
            return None;
        }
        let leftmost = at.saturating_sub(BEFORE_MAX);
        let mut begin = at;
        // Whether a value without quotes may contain everything from `begin` to `at`. It ends at
        // the same place wherever it begins.
        let mut is_bare = value::is_bare(bytes[at]);
        let mut end = None;
        let mut keyless_from = Some(at + 1);
        while begin > leftmost && value::is_token(bytes[begin - 1]) {
            if bytes[begin - 1] == b'=' && !self.keyless.contains(&(begin + offset)) {
                if is_bare {
                    let end = *end.get_or_insert_with(|| self.end_of_bare(text, at));
                    is_bare = end.is_some_and(|end| end - begin <= VALUE_LENGTH_MAX);
                }
                if !is_bare {
                    keyless_from = None;
                } else if let Some(left) = key_before(text, begin) {
                    keyless_from = None;
                    let found = assignment_of(text, begin, left);
                    if let Some(found) = found.filter(|found| found.value.contains(&at)) {
                        return Some(found);
                    }
                }
            }
            begin -= 1;
            is_bare &= value::is_bare(bytes[begin]);
            if let Some(from) = &mut keyless_from {
                *from = begin + 1;
            }
        }
        if let Some(from) = keyless_from {
            let (known, from) = (&self.keyless, from + offset);
            let joins = from <= known.end && known.start <= at + offset;
            self.keyless = if joins { known.start.min(from) } else { from }..at + offset + 1;
        }
        let left = match &self.begun {
            Some((known, left)) if *known == begin + offset => left.clone(),
            _ => {
                let left = key_before(text, begin).map(|left| left.moved_from(0, offset));
                self.begun = Some((begin + offset, left.clone()));
                left
            }
        }?;
        let left = left.moved_from(offset, 0);
        if matches!(left.opening, Opening::Bare) && !is_bare {
            return None;
        }
        assignment_of(text, begin, left).filter(|found| found.value.contains(&at))
    }

    /// Returns where a value without quotes that contains `at` ends, or `None` if there is none
    /// that ends near enough.
    fn end_of_bare(&mut self, text: &AssignmentText<'_>, at: usize) -> Option<usize> {
        let (bytes, offset) = (text.bytes, text.offset);
        let limit = bytes.len().min(at + VALUE_LENGTH_MAX + 1);
        if !self.bare.contains(&(at + offset)) {
            self.bare = at + offset..at + offset;
        }
        if self.bare.end < limit + offset {
            let rest = bytes[self.bare.end - offset..limit].iter();
            self.bare.end += rest.take_while(|&&byte| value::is_bare(byte)).count();
        }
        let end = self.bare.end - offset;
        (end - at <= VALUE_LENGTH_MAX && value::may_end_bare(&window(text, at, 0), end - at))
            .then_some(end)
    }
}

impl Left {
    /// Turns positions in a text that begins at `offset` into positions in one that begins at `to`
    /// bytes further left.
    fn moved_from(self, offset: usize, to: usize) -> Self {
        let Self { key, opening } = self;
        Self { key: key.start + to - offset..key.end + to - offset, opening }
    }
}

/// Returns the window that begins `before` bytes before `at`.
fn window<'a>(text: &AssignmentText<'a>, at: usize, before: usize) -> Window<'a> {
    let from = at.saturating_sub(before);
    Window {
        text: &text.bytes[from..],
        at: at - from,
        begins_object: from == 0 && text.begins_object,
        ends_object: text.ends_object,
    }
}

/// Returns the key before the value that begins at `begin`.
fn key_before(text: &AssignmentText<'_>, begin: usize) -> Option<Left> {
    let window = window(text, begin, KEY_REACH);
    let from = begin - window.at;
    operator::key_before(&window, window.at).map(|left| left.moved_from(0, from))
}

/// Returns the assignment whose value begins at `begin`, with the key on its left.
fn assignment_of(text: &AssignmentText<'_>, begin: usize, left: Left) -> Option<Assignment> {
    let window = window(text, 0, 0);
    assignment::value_of(&window, begin, left, ValueAlphabet::Token, VALUE_LENGTH_MAX).ok()
}

#[cfg(test)]
mod tests {
    use super::super::assignment::from_value;
    use super::*;
    use proptest::prelude::*;

    /// What the finder finds, slowly: it forgets everything after each position.
    fn slowly(text: &AssignmentText<'_>, at: usize) -> Option<Assignment> {
        let bytes = text.bytes;
        if !value::is_token(bytes[at]) {
            return None;
        }
        let leftmost = at.saturating_sub(BEFORE_MAX);
        let mut begin = at;
        let found = |begin: usize| {
            let left = key_before(text, begin)?;
            assignment_of(text, begin, left).filter(|found| found.value.contains(&at))
        };
        while begin > leftmost && value::is_token(bytes[begin - 1]) {
            if bytes[begin - 1] == b'='
                && let Some(found) = found(begin)
            {
                return Some(found);
            }
            begin -= 1;
        }
        found(begin)
    }

    /// Text that is full of assignments, or nearly so.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop_oneof![
            4 => "[a-z0-9]{1,14}",
            4 => "[=:., ;(&]",
            2 => "key|token = |\"|'|--opt |%3D|==|=\\.|\\\\|<a>|</a>|\n|Bearer |env ",
            1 => "[a-z0-9=._]{100,700}",
        ];
        let text = prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat());
        let repeated = (text.clone(), 1..60_usize)
            .prop_map(|(text, times)| text[..text.len().min(40)].repeat(times));
        prop_oneof![text, repeated].prop_map(String::into_bytes)
    }

    proptest! {
        #[test]
        fn remembering_changes_nothing(text in texts(), step in 1..20_usize, cut in any::<bool>()) {
            let whole = AssignmentText {
                bytes: &text, begins_object: !cut, ends_object: !cut, offset: 0,
            };
            let mut finder = ValueFinder::default();
            for at in (0..text.len()).step_by(step) {
                let expected = slowly(&whole, at);
                prop_assert_eq!(&finder.find(&whole, at), &expected, "at {}", at);
                let window = Window { text: &text, at, begins_object: true, ends_object: true };
                if let Some(expected) = expected.filter(|_| !cut) {
                    prop_assert_eq!(from_value(&window), Some(expected), "at {}", at);
                }
            }
            // A part of the text is as good as the whole.
            let mut finder = ValueFinder::default();
            for at in (0..text.len()).step_by(step) {
                let from = at.saturating_sub(ASSIGNMENT_REACH.before + 30);
                let to = text.len().min(at + ASSIGNMENT_REACH.after + 30);
                let part = AssignmentText {
                    bytes: &text[from..to],
                    begins_object: !cut && from == 0,
                    ends_object: !cut && to == text.len(),
                    offset: from,
                };
                let shift = |range: Range<usize>| range.start + from..range.end + from;
                let found = finder.find(&part, at - from).map(|found| Assignment {
                    key: shift(found.key), value: shift(found.value), quoted: found.quoted,
                });
                prop_assert_eq!(found, slowly(&whole, at), "at {} in a part", at);
            }
        }
    }
}
