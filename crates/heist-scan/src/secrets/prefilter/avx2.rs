//! [`Avx2`]: checks 64 positions at a time.
//!
//! For each of a window's four bytes, two shuffles look up which buckets contain a literal with
//! such a byte: one by the byte's low half, one by its high half. A position where a bucket remains
//! after all four bytes is looked up in the table. The same halves classify each byte as a letter,
//! a digit or neither; shifting these bits over each other finds the runs.

use super::buckets::{self, Halves};
use super::{Candidates, Prefilter, RUN_BYTES_MIN, RUN_BYTES_SEEN, Tables, has_digit};
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_srli_epi16,
};
use std::ops::Range;
use std::sync::Arc;

/// Bytes per vector.
const VECTOR: usize = 32;

/// Bytes per step.
const STEP: usize = 2 * VECTOR;

/// Buckets per group: one for each bit of a byte.
const GROUPS: usize = 3;

/// How many bytes a step may read: its positions, and the rest of the last one's window.
const STEP_READS: usize = STEP + 3;

/// A table of sixteen bytes, stored twice, because a shuffle works on each half of a vector
/// separately.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Shuffle([u8; VECTOR]);

impl Shuffle {
    fn new(of_half: impl Fn(usize) -> u8) -> Self {
        Self(std::array::from_fn(|at| of_half(at % 16)))
    }
}

/// The buckets by low and by high half, for one byte of a window.
#[derive(Clone, Copy, Debug)]
struct ByHalves {
    low: Shuffle,
    high: Shuffle,
}

#[derive(Debug)]
pub(crate) struct Avx2 {
    tables: Arc<Tables>,
    groups: [[ByHalves; 4]; GROUPS],
    class: ByHalves,
}

/// Bits of a byte's class.
const DIGIT: u8 = 1;
const LETTER_LOW: u8 = 2;
const LETTER_HIGH: u8 = 4;

impl Avx2 {
    /// Returns `None` if this machine does not have the instructions.
    pub(crate) fn new(tables: &Arc<Tables>) -> Option<Self> {
        // (Every processor with the first feature also has the others, but the compiler does not
        // know that.)
        if !(is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt"))
        {
            return None;
        }
        let buckets = buckets::assign(&tables.anywhere, GROUPS * 8);
        let bits = |group: usize, byte: usize, has: &dyn Fn(Halves) -> bool| -> u8 {
            (0..8).map(|bit| u8::from(has(buckets[group * 8 + bit][byte])) << bit).sum()
        };
        let groups = std::array::from_fn(|group| {
            std::array::from_fn(|byte| ByHalves {
                low: Shuffle::new(|half| bits(group, byte, &|halves| halves.low >> half & 1 == 1)),
                high: Shuffle::new(|half| {
                    bits(group, byte, &|halves| halves.high >> half & 1 == 1)
                }),
            })
        });
        // ASCII: digits are 0x30 to 0x39, letters 0x41 to 0x4f and 0x50 to 0x5a, and the same from
        // 0x61.
        let class = ByHalves {
            low: Shuffle::new(|half| {
                let digit = if half <= 9 { DIGIT } else { 0 };
                let letter_low = if half >= 1 { LETTER_LOW } else { 0 };
                let letter_high = if half <= 10 { LETTER_HIGH } else { 0 };
                digit | letter_low | letter_high
            }),
            high: Shuffle::new(|half| match half {
                3 => DIGIT,
                4 | 6 => LETTER_LOW,
                5 | 7 => LETTER_HIGH,
                _ => 0,
            }),
        };
        Some(Self { tables: Arc::clone(tables), groups, class })
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn sweep_vectors(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        // A literal's window begins up to this far after the literal, and a run is complete at its
        // twelfth byte.
        let windows_end = (owned.end + self.tables.anywhere.window_at_max()).min(text.len());
        let runs_end = owned.end + self.tables.gate_max + RUN_BYTES_MIN - 1;
        let end = windows_end.max(runs_end.min(text.len()));
        let mut runs = Runs::before(text, owned.start);
        let mut waiting = Waiting::default();
        let mut at = owned.start;
        while at < end {
            let padded;
            let step: &[u8; STEP_READS] = match text[at..].first_chunk() {
                Some(step) => step,
                None => {
                    padded = pad(&text[at..]);
                    &padded
                }
            };
            let (windows, class) = self.classify(step);
            waiting.push(windows, at);
            if waiting.is_full() {
                self.look_up_all(&mut waiting, text, windows_end, &owned, found);
            }
            let mut reached = runs.step(class);
            while reached != 0 {
                let twelfth = at + reached.trailing_zeros() as usize;
                reached &= reached - 1;
                let begin = twelfth + 1 - RUN_BYTES_MIN;
                self.tables.look_up_at_run(text, begin, &owned, found);
                if owned.contains(&begin) {
                    found.add_run(text, begin, self.has_digit(text, begin));
                }
            }
            at += STEP;
        }
        self.look_up_all(&mut waiting, text, windows_end, &owned, found);
    }

    /// Looks up the pending windows.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn look_up_all(
        &self,
        waiting: &mut Waiting,
        text: &[u8],
        end: usize,
        owned: &Range<usize>,
        found: &mut Candidates,
    ) {
        for &window in waiting.take() {
            if window < end {
                self.tables.anywhere.look_up(text, window, owned, found);
            }
        }
    }

    /// Returns the positions where a bucket remains, and which bytes are letters or digits.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn classify(&self, step: &[u8; STEP_READS]) -> (u64, u64) {
        let zero = _mm256_setzero_si256();
        // Process both vectors together, so that each table is loaded once.
        let mut left = [[zero; 2]; GROUPS];
        let mut class = [zero; 2];
        for byte in 0..4 {
            let halves = [halves(load(step, byte)), halves(load(step, VECTOR + byte))];
            if byte == 0 {
                class = look_up(&self.class, halves);
            }
            for (left, group) in left.iter_mut().zip(&self.groups) {
                let buckets = look_up(&group[byte], halves);
                for (left, buckets) in left.iter_mut().zip(buckets) {
                    *left = if byte == 0 { buckets } else { _mm256_and_si256(*left, buckets) };
                }
            }
        }
        let any = left.into_iter().reduce(|all, more| {
            [_mm256_or_si256(all[0], more[0]), _mm256_or_si256(all[1], more[1])]
        });
        (is_not_zero(any.unwrap_or([zero; 2])), is_not_zero(class))
    }

    /// Returns `true` if the run that begins at `begin` has a digit among its first bytes.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn has_digit(&self, text: &[u8], begin: usize) -> bool {
        let Some(Ok(bytes)) =
            text.get(begin..begin + STEP_READS).map(<&[u8; STEP_READS]>::try_from)
        else {
            return has_digit(text, begin);
        };
        const { assert!(RUN_BYTES_SEEN == STEP) };
        let class = look_up(&self.class, [halves(load(bytes, 0)), halves(load(bytes, VECTOR))]);
        let digit = _mm256_set1_epi8(DIGIT as i8);
        let digits = is_not_zero(class.map(|class| _mm256_and_si256(class, digit)));
        // Keep the lowest consecutive ones.
        let len = is_not_zero(class).trailing_ones();
        let in_run = if len == 64 { u64::MAX } else { (1 << len) - 1 };
        digits & in_run != 0
    }
}

impl Prefilter for Avx2 {
    fn sweep(&self, text: &[u8], owned: Range<usize>, found: &mut Candidates) {
        // SAFETY: `Avx2::new` creates a value only if the machine has the instructions.
        unsafe { self.sweep_vectors(text, owned, found) }
    }
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn load(step: &[u8; STEP_READS], from: usize) -> __m256i {
    let bytes = &step[from..from + VECTOR];
    // SAFETY: the slice has the 32 bytes that are read; the load does not need alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Returns the last bytes of a text, padded with zeros, which do not occur in literals or runs.
#[cold]
fn pad(rest: &[u8]) -> [u8; STEP_READS] {
    let mut padded = [0; STEP_READS];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// Splits each byte into its low and its high half.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn halves(bytes: __m256i) -> (__m256i, __m256i) {
    let mask = _mm256_set1_epi8(15);
    (_mm256_and_si256(bytes, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask))
}

/// Looks up the low and the high half of each byte, and combines the two results.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn look_up(tables: &ByHalves, halves: [(__m256i, __m256i); 2]) -> [__m256i; 2] {
    // SAFETY: a `Shuffle` has exactly the 32 bytes that are read.
    let table = |shuffle: &Shuffle| unsafe { _mm256_loadu_si256(shuffle.0.as_ptr().cast()) };
    let (by_low, by_high) = (table(&tables.low), table(&tables.high));
    halves.map(|(low, high)| {
        _mm256_and_si256(_mm256_shuffle_epi8(by_low, low), _mm256_shuffle_epi8(by_high, high))
    })
}

/// Returns a set bit for each byte that is not zero.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn is_not_zero(bytes: [__m256i; 2]) -> u64 {
    let zeros = bytes
        .map(|bytes| _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())) as u32);
    !(u64::from(zeros[0]) | u64::from(zeros[1]) << VECTOR)
}

/// Windows that wait to be looked up. Looking up many at a time avoids a branch on how many each
/// step adds, which the processor could not predict.
#[derive(Debug)]
struct Waiting {
    windows: [usize; WAITING_MAX],
    len: usize,
}

const WAITING_MAX: usize = 256;

/// How many entries each step writes, even if it uses fewer.
const WRITTEN_ALWAYS: usize = 4;

impl Default for Waiting {
    fn default() -> Self {
        Self { windows: [0; WAITING_MAX], len: 0 }
    }
}

impl Waiting {
    /// Adds `at` plus the index of each set bit.
    #[inline(always)]
    fn push(&mut self, mut bits: u64, at: usize) {
        let count = bits.count_ones() as usize;
        let free = &mut self.windows[self.len..][..STEP];
        let mut write = |slot: &mut usize| {
            *slot = at + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        };
        free[..WRITTEN_ALWAYS].iter_mut().for_each(&mut write);
        if count > WRITTEN_ALWAYS {
            free[WRITTEN_ALWAYS..count].iter_mut().for_each(write);
        }
        self.len += count;
    }

    /// Returns `true` if another step may not fit.
    fn is_full(&self) -> bool {
        self.len > WAITING_MAX - STEP
    }

    fn take(&mut self) -> &[usize] {
        &self.windows[..std::mem::take(&mut self.len)]
    }
}

/// Tracks runs across steps: for each position, whether it, or it and the 1, 3 or 11 before it, are
/// letters or digits.
#[derive(Debug, Default)]
struct Runs {
    of_1: u64,
    of_2: u64,
    of_4: u64,
    of_12: u64,
}

impl Runs {
    /// Creates the state that stepping over the bytes before `at` would produce.
    fn before(text: &[u8], at: usize) -> Self {
        let mut bits = 0;
        for back in 1..=at.min(STEP) {
            bits |= u64::from(text[at - back].is_ascii_alphanumeric()) << (STEP - back);
        }
        let mut runs = Self::default();
        runs.step(bits);
        runs
    }

    /// Returns the positions where a run reaches the minimum length.
    #[inline(always)]
    fn step(&mut self, of_1: u64) -> u64 {
        const { assert!(RUN_BYTES_MIN == 12) };
        let of_2 = of_1 & (of_1 << 1 | self.of_1 >> 63);
        let of_4 = of_2 & (of_2 << 2 | self.of_2 >> 62);
        let of_8 = of_4 & (of_4 << 4 | self.of_4 >> 60);
        let of_12 = of_8 & (of_4 << 8 | self.of_4 >> 56);
        let reached = of_12 & !(of_12 << 1 | self.of_12 >> 63);
        *self = Self { of_1, of_2, of_4, of_12 };
        reached
    }
}
