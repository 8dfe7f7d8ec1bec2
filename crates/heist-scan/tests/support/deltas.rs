//! Random versions of an object: edits, moves, and copies from anywhere.

use heist::rng::XorShift64;

/// A range that was copied: where from, where to, and how many bytes.
pub(crate) type CopiedRange = (usize, usize, usize);

/// Makes a version of `base`, with parts of `new` in it.
struct Maker<'a> {
    rng: XorShift64,
    base: &'a [u8],
    new: &'a [u8],
    version: Vec<u8>,
    copies: Vec<CopiedRange>,
}

/// Single bytes that join, separate or complete what is around them.
const JOINTS: &[u8] = b"\n \"=a0_\\%/+-:\0";

impl Maker<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.rng.below_usize(limit.max(1))
    }

    /// Returns a length: mostly short, sometimes long.
    fn length(&mut self) -> usize {
        let limit = [3, 20, 200, 2000, 30_000][self.below(5)];
        self.below(limit)
    }

    fn copy(&mut self, from: usize, len: usize) {
        let from = from.min(self.base.len());
        let len = len.min(self.base.len() - from);
        self.copies.push((from, self.version.len(), len));
        self.version.extend(&self.base[from..from + len]);
    }

    fn insert(&mut self) {
        let (from, len) = (self.below(self.new.len()), self.length());
        let len = len.min(self.new.len() - from);
        self.version.extend(&self.new[from..from + len]);
    }

    fn insert_joint(&mut self) {
        let at = self.below(JOINTS.len());
        self.version.push(JOINTS[at]);
    }

    /// A few places change, or only seem to: what is inserted there is what was there.
    fn edits(&mut self) {
        let edits = self.below(6);
        let mut places: Vec<usize> = (0..edits).map(|_| self.below(self.base.len())).collect();
        places.sort_unstable();
        let mut from = 0;
        for place in places {
            if place < from {
                continue;
            }
            self.copy(from, place - from);
            let removed = self.length().min(self.base.len() - place);
            from = place + removed;
            match self.below(6) {
                0 => self.version.extend(&self.base[place..from]),
                1 => self.insert(),
                2 => {
                    self.insert_joint();
                    from = place;
                }
                3 => {
                    self.insert_joint();
                    from = (place + 1).min(self.base.len());
                }
                // Two copies meet.
                4 => from = place + removed.min(1),
                _ => {}
            }
        }
        self.copy(from, usize::MAX);
    }

    /// Copies from anywhere, also twice, and new text between some of them.
    fn moves(&mut self) {
        for _ in 0..self.below(8) {
            let (from, len) = (self.below(self.base.len()), self.length());
            self.copy(from, len);
            match self.below(4) {
                0 => self.insert(),
                1 => self.insert_joint(),
                _ => {}
            }
        }
        if self.below(2) == 0 {
            let from = self.below(self.base.len());
            self.copy(from, usize::MAX);
        }
    }
}

/// Returns a version of `base`, with parts of `new` in it, and what was copied.
pub(crate) fn version(base: &[u8], new: &[u8], seed: u64) -> (Vec<u8>, Vec<CopiedRange>) {
    let rng = XorShift64::new(seed);
    let mut maker = Maker { rng, base, new, version: Vec::new(), copies: Vec::new() };
    match maker.below(3) {
        0 => maker.moves(),
        _ => maker.edits(),
    }
    (maker.version, maker.copies)
}
