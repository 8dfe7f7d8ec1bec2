//! Amounts of bytes: how they are written on the command line, and how they are shown, both as in GNU `du`.
//!
//! Invariant: whatever is shown is rounded up, never down: what takes any room is never shown as taking none.

use std::fmt;

/// The letters of the powers of 1024 or 1000. With u64 nothing is shown beyond `E`; what is written may be.
const POWERS: &[u8; 8] = b"KMGTPEZY";

/// How amounts are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// In whatever power of the base leaves one to three digits: `1.5K`, `23M`.
    Human {
        /// 1024 or 1000.
        base: u32,
    },
    /// In multiples of a block, with a suffix if the block was given as a letter alone.
    Blocks {
        /// Bytes in a block, at least 1.
        size: u64,
        /// What stands behind each number.
        suffix: String,
    },
}

impl Unit {
    /// In powers of 1024.
    pub(crate) const HUMAN: Self = Self::Human { base: 1024 };

    /// In powers of 1000.
    pub(crate) const HUMAN_SI: Self = Self::Human { base: 1000 };

    /// In blocks of `size` bytes.
    pub(crate) const fn blocks(size: u64) -> Self {
        Self::Blocks { size, suffix: String::new() }
    }

    /// What `--block-size` and the variables of GNU du take: a size, a unit alone (then it is shown with each number),
    /// `human-readable` or `si`.
    ///
    /// # Errors
    /// The text is no size, or 0.
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

    /// `amount` bytes (or things), in this unit.
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
        // As the international system has it: k for a thousand, K for a kelvin.
        (1000, 1) => 'k',
        _ => char::from(POWERS[power - 1]),
    };
    // (Ten times 2^64 does not fit.)
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

/// Why a text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeError {
    /// It is not written as sizes are.
    Invalid,
    /// It is more than 2^64 - 1 bytes.
    TooLarge,
    /// It is 0, where that makes no sense.
    Zero,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => {
                "not a size; write a number and a unit: 512, 10K, 1M (powers of 1024), 10KB, 1MB (of 1000)"
            }
            Self::TooLarge => "larger than any file system",
            Self::Zero => "0 is no size here",
        })
    }
}

impl std::error::Error for SizeError {}

/// A size as GNU du reads it: a number, a unit, or both. `K` and `KiB` are 1024, `KB` is 1000, `b` is 512.
///
/// # Errors
/// The text is no size.
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

/// Which entries are shown, by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// Those of this size or more.
    AtLeast(u64),
    /// Those of this size or less.
    AtMost(u64),
}

impl Threshold {
    /// A size, or a minus and a size: at most that.
    ///
    /// # Errors
    /// The text is no size, or minus 0.
    pub(crate) fn parse(text: &str) -> Result<Self, SizeError> {
        match text.strip_prefix('-') {
            None => parse_size(text).map(Self::AtLeast),
            Some(size) => match parse_size(size)? {
                0 => Err(SizeError::Zero),
                size => Ok(Self::AtMost(size)),
            },
        }
    }

    /// Whether something of this size is shown.
    pub(crate) const fn admits(self, amount: u64) -> bool {
        match self {
            Self::AtLeast(least) => amount >= least,
            Self::AtMost(most) => amount <= most,
        }
    }
}

/// A count with commas between its thousands.
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
    fn sizes_are_read_as_gnu_du_reads_them() {
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
    fn a_unit_alone_is_shown_with_each_number() {
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
    fn thresholds_have_two_directions() {
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
