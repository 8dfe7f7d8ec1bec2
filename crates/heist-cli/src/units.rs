//! Sizes: parses them from the command line and formats them, both as GNU `du` does.
//!
//! Invariant: sizes are rounded up, never down, so only a size of 0 is shown as 0.

use std::fmt;

/// The letters of the powers of 1024 or 1000. A `u64` never needs more than `E` when it is shown,
/// but users may type `Z` and `Y`.
const POWERS: &[u8; 8] = b"KMGTPEZY";

/// The unit that sizes are shown in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The power of the base that leaves one to three digits: `1.5K`, `23M`.
    Human {
        /// 1024 or 1000.
        base: u32,
    },
    /// Multiples of a block, with a suffix if the block was given as a unit without a number.
    Blocks {
        /// The number of bytes in a block, at least 1.
        size: u64,
        /// The text after each number.
        suffix: String,
    },
}

impl Unit {
    /// Powers of 1024.
    pub(crate) const HUMAN: Self = Self::Human { base: 1024 };

    /// Powers of 1000.
    pub(crate) const HUMAN_SI: Self = Self::Human { base: 1000 };

    /// Returns a unit of blocks of `size` bytes.
    pub(crate) const fn blocks(size: u64) -> Self {
        Self::Blocks { size, suffix: String::new() }
    }

    /// Parses a value of `--block-size` or of GNU du's variables: a size, a unit without a number
    /// (which is then shown after each number), `human-readable` or `si`.
    ///
    /// # Errors
    /// The text is not a size, or it is 0.
    pub(crate) fn parse(text: &str) -> Result<Self, SizeError> {
        match text {
            "human-readable" => return Ok(Self::HUMAN),
            "si" => return Ok(Self::HUMAN_SI),
            _ => {}
        }
        let size = parse_size(text)?;
        if size == 0 {
            return Err(SizeError::Zero);
        }
        let suffix = match text.bytes().next() {
            Some(letter) if !letter.is_ascii_digit() => {
                let thousands = text.len() == 2 && text.ends_with('B');
                let letter = letter.to_ascii_uppercase();
                let letter = if thousands && letter == b'K' { b'k' } else { letter };
                let rest = if thousands { "B" } else { text.get(1..).unwrap_or_default() };
                format!("{}{rest}", char::from(letter))
            }
            _ => String::new(),
        };
        Ok(Self::Blocks { size, suffix })
    }

    /// Formats a number of bytes (or of entries) in this unit.
    pub(crate) fn show(&self, amount: u64) -> String {
        match self {
            Self::Human { base } => human(amount, u64::from(*base)),
            Self::Blocks { size, suffix } => format!("{}{suffix}", amount.div_ceil(*size)),
        }
    }
}

fn human(amount: u64, base: u64) -> String {
    let (mut power, mut unit) = (0, 1);
    while amount / unit >= base {
        power += 1;
        unit *= base;
    }
    if power == 0 {
        return amount.to_string();
    }
    let letter = |power: usize| match (base, power) {
        // In SI, `k` is a thousand and `K` is kelvin.
        (1000, 1) => 'k',
        _ => char::from(POWERS[power - 1]),
    };
    // Ten times the amount may exceed a u64.
    let tenths = (u128::from(amount) * 10).div_ceil(u128::from(unit));
    if tenths < 100 {
        return format!("{}.{}{}", tenths / 10, tenths % 10, letter(power));
    }
    let whole = amount.div_ceil(unit);
    if whole == base {
        return format!("1.0{}", letter(power + 1));
    }
    format!("{whole}{}", letter(power))
}

/// Why a text is not a valid size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeError {
    /// It does not have the form of a size.
    Invalid,
    /// It is more than 2^64 - 1 bytes.
    TooLarge,
    /// It is 0, which is not allowed here.
    Zero,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => {
                "not a size; write a number and a unit: 512, 10K, 1M (powers of 1024), 10KB, 1MB (of 1000)"
            }
            Self::TooLarge => "the size must be less than 16 EiB",
            Self::Zero => "the size must not be 0",
        })
    }
}

impl std::error::Error for SizeError {}

/// Parses a size as GNU du does: a number, a unit, or both. `K` and `KiB` are 1024, `KB` is 1000,
/// `b` is 512.
///
/// # Errors
/// The text is not a size.
pub(crate) fn parse_size(text: &str) -> Result<u64, SizeError> {
    let digits_end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    if digits.is_empty() && unit.is_empty() {
        return Err(SizeError::Invalid);
    }
    let number = if digits.is_empty() {
        1
    } else {
        digits.parse::<u64>().map_err(|_| SizeError::TooLarge)?
    };
    let factor = match unit {
        "" | "B" if !digits.is_empty() => 1,
        "b" if !digits.is_empty() => 512,
        _ => power_of(unit)?,
    };
    number.checked_mul(factor).ok_or(SizeError::TooLarge)
}

fn power_of(unit: &str) -> Result<u64, SizeError> {
    let (letter, rest) = unit.as_bytes().split_first().ok_or(SizeError::Invalid)?;
    let letter = letter.to_ascii_uppercase();
    let power = POWERS.iter().position(|&known| known == letter).ok_or(SizeError::Invalid)?;
    let base: u64 = match rest {
        b"" | b"iB" => 1024,
        b"B" => 1000,
        _ => return Err(SizeError::Invalid),
    };
    base.checked_pow(u32::try_from(power + 1).expect("there are few letters"))
        .ok_or(SizeError::TooLarge)
}

/// A limit on the sizes of the entries that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// Entries of at least this size.
    AtLeast(u64),
    /// Entries of at most this size.
    AtMost(u64),
}

impl Threshold {
    /// Parses a size (at least this much), or a minus sign and a size (at most this much).
    ///
    /// # Errors
    /// The text is not a size, or it is minus 0.
    pub(crate) fn parse(text: &str) -> Result<Self, SizeError> {
        match text.strip_prefix('-') {
            None => parse_size(text).map(Self::AtLeast),
            Some(size) => match parse_size(size)? {
                0 => Err(SizeError::Zero),
                size => Ok(Self::AtMost(size)),
            },
        }
    }

    /// Returns `true` if an entry of this size is shown.
    pub(crate) const fn admits(self, amount: u64) -> bool {
        match self {
            Self::AtLeast(least) => amount >= least,
            Self::AtMost(most) => amount <= most,
        }
    }
}

/// Formats a count with commas between groups of three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SizeError, Threshold, Unit, grouped, parse_size};

    #[test]
    fn sizes_are_parsed_as_gnu_du_parses_them() {
        for (text, expected) in [
            ("0", 0),
            ("1", 1),
            ("512", 512),
            ("7B", 7),
            ("2b", 1024),
            ("K", 1024),
            ("10K", 10_240),
            ("10k", 10_240),
            ("3KiB", 3_072),
            ("3KB", 3_000),
            ("1M", 1 << 20),
            ("2GB", 2_000_000_000),
            ("1E", 1 << 60),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1X", "-1", "1.5K", "1 K", "KBB", "1iB", "b", "B", "é"] {
            assert_eq!(parse_size(text), Err(SizeError::Invalid), "{text}");
        }
        for text in ["18446744073709551616", "16E", "1Z", "1YB"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge), "{text}");
        }
    }

    #[test]
    fn human_amounts_are_rounded_up() {
        for (amount, expected) in [
            (0, "0"),
            (1, "1"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10_137, "9.9K"),
            (10_138, "10K"),
            (10_240, "10K"),
            (10_241, "11K"),
            (1_047_552, "1023K"),
            (1_047_553, "1.0M"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(Unit::HUMAN.show(amount), expected, "{amount}");
        }
        assert_eq!(Unit::HUMAN_SI.show(1_000), "1.0k");
        assert_eq!(Unit::HUMAN_SI.show(999_001), "1.0M");
        assert_eq!(Unit::HUMAN_SI.show(u64::MAX), "19E");
    }

    #[test]
    fn a_unit_without_a_number_is_shown_after_each_number() {
        for (unit, expected) in [
            ("1M", "2"),
            ("M", "2M"),
            ("m", "2M"),
            ("MB", "2MB"),
            ("MiB", "2MiB"),
            ("KB", "1049kB"),
        ] {
            assert_eq!(Unit::parse(unit).expect("a unit").show((1 << 20) + 1), expected, "{unit}");
        }
        assert_eq!(Unit::parse("si"), Ok(Unit::HUMAN_SI));
        assert_eq!(Unit::parse("0"), Err(SizeError::Zero));
    }

    #[test]
    fn a_threshold_is_a_lower_or_an_upper_limit() {
        let at_least = Threshold::parse("1K").expect("a size");
        assert!(at_least.admits(1024) && !at_least.admits(1023));
        let at_most = Threshold::parse("-1K").expect("a size");
        assert!(at_most.admits(1024) && !at_most.admits(1025));
        assert_eq!(Threshold::parse("-0"), Err(SizeError::Zero));
    }

    #[test]
    fn thousands_are_grouped() {
        for (count, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(count), expected);
        }
    }
}
