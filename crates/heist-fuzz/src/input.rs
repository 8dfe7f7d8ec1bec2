//! [`Input`] turns a fuzzer's bytes into a text. The first bytes are choices, the rest is the text.
//! The choices cover what a fuzzer would hardly find by itself: long texts, and where to cut them.

/// The number of choice bytes.
pub(crate) const CHOICES: usize = 8;

/// The patterns that make a text longer: repetitive parts of real files, and long input for the
/// decoders.
const FILLERS: [&[u8]; 16] = [
    b" ",
    b"\n",
    b"A",
    b"a",
    b"4a",
    b"%41",
    b"%2e",
    b"\\",
    b"\\u0061",
    b"QUJD",
    b"x\0",
    b"\0",
    b"key = value\n",
    b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2\n",
    b"\xFF",
    b"\"",
];

/// A fuzzer's bytes, split into choices and text.
pub(crate) struct Input<'a> {
    choices: [u8; CHOICES],
    /// The text, without padding.
    pub(crate) text: &'a [u8],
}

impl<'a> Input<'a> {
    /// Splits the bytes. Returns `None` if there are too few of them for the choices.
    pub(crate) fn new(data: &'a [u8]) -> Option<Self> {
        let (choices, text) = data.split_first_chunk()?;
        Some(Self { choices: *choices, text })
    }

    /// Returns a choice byte.
    pub(crate) fn choice(&self, which: usize) -> u8 {
        self.choices[which]
    }

    /// Returns the text with padding before and after it, and the position of the text in the
    /// result.
    ///
    /// The first choice selects the pattern, the next two the lengths: up to 16 KiB before and 32
    /// KiB after the text. Half of the values mean no padding, so that most inputs stay short.
    pub(crate) fn padded(&self) -> (Vec<u8>, usize) {
        let filler = FILLERS[usize::from(self.choices[0]) % FILLERS.len()];
        let before = 128 * usize::from(self.choices[1].saturating_sub(128));
        let after = 256 * usize::from(self.choices[2].saturating_sub(128));
        let fill = |length: usize| filler.iter().copied().cycle().take(length);
        let mut padded = Vec::with_capacity(before + self.text.len() + after);
        padded.extend(fill(before));
        padded.extend_from_slice(self.text);
        padded.extend(fill(after));
        (padded, before)
    }
}
