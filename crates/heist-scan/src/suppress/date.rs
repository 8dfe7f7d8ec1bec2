//! [`Date`]: a day of the calendar, to say until when something is accepted.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day of the Gregorian calendar, in the years 1 to 9999.
///
/// # Examples
/// ```
/// use heist_scan::suppress::Date;
///
/// let date = Date::parse("2027-02-28").expect("a day");
/// assert!(date < Date::parse("2027-03-01").expect("a day"));
/// assert_eq!(date.to_string(), "2027-02-28");
/// assert_eq!(Date::parse("2027-02-29"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Parses `YYYY-MM-DD`. Returns `None` for any other text, and for days that do not exist.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |range: std::ops::Range<usize>| {
            let digits = text.get(range)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u16>().ok())?
        };
        let is_date = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
        if !is_date {
            return None;
        }
        let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
        let exists = year > 0 && (1..=12).contains(&month) && day > 0;
        let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        (exists && day <= days_of_month(year, month)).then_some(Self { year, month, day })
    }

    /// Returns the current day in UTC, according to the clock of the system.
    #[must_use]
    pub fn today() -> Self {
        // A clock before 1970 is not set; then nothing has expired.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::of_days(since.as_secs() / (24 * 60 * 60))
    }

    /// Returns when the day begins in UTC, in seconds since 1970; negative before.
    #[must_use]
    pub fn seconds(self) -> i64 {
        let years = i64::from(self.year) - 1;
        let of_years = 365 * years + years / 4 - years / 100 + years / 400;
        let of_months: i64 =
            (1..self.month).map(|month| i64::from(days_of_month(self.year, month))).sum();
        // 719,162 days from 0001-01-01 to 1970-01-01.
        (of_years + of_months + i64::from(self.day) - 1 - 719_162) * 86_400
    }

    /// Returns the day that is `days` after 1970-01-01, or the last day of the year 9999.
    fn of_days(mut days: u64) -> Self {
        for year in 1970..=9999 {
            for month in 1..=12 {
                let length = u64::from(days_of_month(year, month));
                if days < length {
                    // Less than 31.
                    let day = 1 + days as u8;
                    return Self { year, month, day };
                }
                days -= length;
            }
        }
        Self { year: 9999, month: 12, day: 31 }
    }
}

fn days_of_month(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Writes `YYYY-MM-DD`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn only_days_that_exist_are_dates() {
        for text in ["1970-01-01", "2000-02-29", "2024-02-29", "2026-12-31", "9999-12-31"] {
            assert_eq!(Date::parse(text).expect("a day").to_string(), text);
        }
        for text in [
            "",
            "2026",
            "2026-1-01",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "2026-04-31",
            "1900-02-29",
            "2025-02-29",
            "0000-01-01",
            "2026/01/01",
            "2026-01-01 ",
            "+026-01-01",
            "20é6-01-01",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_counted_from_1970() {
        for (days, text) in [
            (0, "1970-01-01"),
            (31, "1970-02-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (10_957, "2000-01-01"),
            (11_016, "2000-02-29"),
            (20_774, "2026-11-17"),
            (u64::MAX, "9999-12-31"),
        ] {
            assert_eq!(Date::of_days(days).to_string(), text);
            if days < u64::MAX {
                assert_eq!(Date::of_days(days).seconds(), days as i64 * 86_400);
            }
        }
        assert!(Date::today() > Date::parse("2025-01-01").expect("a day"));
    }
}
