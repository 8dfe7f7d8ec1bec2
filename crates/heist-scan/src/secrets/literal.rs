//! [`Literal`]: a text that every match of a rule contains. Each letter matches one case or both.

use super::frequency::{frequency, frequency_after};

/// Longer literals are cut: the first bytes are rare enough.
pub(crate) const LITERAL_BYTES_MAX: usize = 24;

/// How many bytes of a literal the prefilter compares.
pub(crate) const WINDOW_BYTES: usize = 4;

/// A byte of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LiteralByte {
    /// The byte; lower case if both cases match.
    pub(crate) byte: u8,
    /// `true` if this letter matches in both cases.
    pub(crate) either_case: bool,
}

impl LiteralByte {
    pub(crate) fn exactly(byte: u8) -> Self {
        Self { byte, either_case: false }
    }

    pub(crate) fn either_case(byte: u8) -> Self {
        Self { byte: byte.to_ascii_lowercase(), either_case: byte.is_ascii_alphabetic() }
    }

    #[inline]
    pub(crate) fn is(self, byte: u8) -> bool {
        byte == self.byte || self.either_case && byte | 0x20 == self.byte
    }

    /// Returns every byte that matches.
    pub(crate) fn bytes(self) -> impl Iterator<Item = u8> {
        let upper = self.either_case.then(|| self.byte.to_ascii_uppercase());
        std::iter::once(self.byte).chain(upper)
    }

    fn frequency(self) -> f64 {
        self.bytes().map(frequency).sum()
    }
}

/// A text that every match of a rule contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Literal(Vec<LiteralByte>);

impl Literal {
    pub(crate) fn exactly(text: &[u8]) -> Self {
        Self(text.iter().map(|&byte| LiteralByte::exactly(byte)).collect())
    }

    pub(crate) fn either_case(text: &[u8]) -> Self {
        Self(text.iter().map(|&byte| LiteralByte::either_case(byte)).collect())
    }

    pub(crate) fn of(byte: LiteralByte) -> Self {
        Self(vec![byte])
    }

    pub(crate) fn bytes(&self) -> &[LiteralByte] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push_all(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Shortens the literal to [`LITERAL_BYTES_MAX`] bytes.
    pub(crate) fn cut(mut self) -> Self {
        self.0.truncate(LITERAL_BYTES_MAX);
        self
    }

    /// Returns `true` if the literal occurs in `text` at `at`.
    #[inline]
    pub(crate) fn occurs_at(&self, text: &[u8], at: usize) -> bool {
        text.get(at..at + self.0.len())
            .is_some_and(|text| self.0.iter().zip(text).all(|(wanted, &byte)| wanted.is(byte)))
    }

    /// Returns where the rarest window begins, and how often such text occurs.
    pub(crate) fn rarest_window(&self) -> (usize, f64) {
        self.windows().min_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or((0, 1.0))
    }

    /// Returns each window's start, and how often such text occurs.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (usize, f64)> {
        let windows = self.0.len().saturating_sub(WINDOW_BYTES) + 1;
        (0..windows).map(|at| (at, self.window_frequency(at)))
    }

    fn window_frequency(&self, at: usize) -> f64 {
        let bytes = &self.0[at..self.0.len().min(at + WINDOW_BYTES)];
        let Some(first) = bytes.first() else { return 1.0 };
        let after = |pair: &[LiteralByte]| -> f64 {
            // A letter that matches in both cases is mostly a lower case one.
            let either = if pair[1].either_case { 1.1 } else { 1.0 };
            frequency_after(pair[0].byte, pair[1].byte) * either
        };
        first.frequency() * bytes.windows(2).map(after).product::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_occurs_where_its_text_is() {
        let literal = Literal::exactly(b"ghp_");
        assert!(literal.occurs_at(b"x ghp_", 2));
        assert!(!literal.occurs_at(b"x GHP_", 2));
        assert!(!literal.occurs_at(b"x ghp", 2));
        assert!(!literal.occurs_at(b"x", 2));
        let literal = Literal::either_case(b"Api-Key");
        assert!(literal.occurs_at(b"aPI-kEY", 0));
        // 0x0d is '-' without the bit that distinguishes upper from lower case.
        assert!(!literal.occurs_at(b"api\x0dkey", 0));
    }

    #[test]
    fn the_rarest_window_is_chosen() {
        assert_eq!(Literal::exactly(b"the QZXJ").rarest_window().0, 4);
        assert_eq!(Literal::exactly(b"://").rarest_window().0, 0);
    }
}
