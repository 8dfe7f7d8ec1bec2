//! [`Input`]: from a fuzzer's bytes to a text. The first bytes choose, the rest is the text; what is chosen is what a
//! fuzzer would hardly find by itself: long texts, and where they are cut.

/// How many bytes choose.
pub(crate) const CHOICES: usize = 8;

/// What a text is made longer with: what goes on and on in real files, and what decoders have to go through.
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

/// What a fuzzer's bytes say.
pub(crate) struct Input<'a> {
    choices: [u8; CHOICES],
    /// The text as it is.
    pub(crate) text: &'a [u8],
}

impl<'a> Input<'a> {
    /// `None` if there are too few bytes to choose.
    pub(crate) fn new(data: &'a [u8]) -> Option<Self> {
        let (choices, text) = data.split_first_chunk()?;
        Some(Self { choices: *choices, text })
    }

    /// One of the bytes that choose.
    pub(crate) fn choice(&self, which: usize) -> u8 {
        self.choices[which]
    }

    /// The text with something before and after it, and where it begins in that. The first byte chooses what, the next
    /// two how much: nothing in one half of all cases, so that most inputs stay short; up to 16 KiB before and 32 KiB
    /// after in the other.
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
