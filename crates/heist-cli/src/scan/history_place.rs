//! [`ReportedPlace`]: where in a git history a finding is, as reports show it.
//!
//! Everything in a commit comes from the repository, even the names of its branches. So secrets are
//! masked when it is created; what prints it escapes the texts.

use super::text_masker::TextMasker;
use heist_scan::{CommitInfo, Finding, HistoryFate, HistoryPlace, HistoryText};
use std::path::Path;
use std::sync::Arc;

/// Seconds from the year 1970 to the year 10000.
const YEAR_10000: i64 = 253_402_300_800;

/// A place in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedPlace {
    pub(crate) repository: Arc<Path>,
    /// The path in the repository.
    pub(crate) path: Arc<[u8]>,
    pub(crate) text: HistoryText,
    /// The id of the blob, commit or tag.
    pub(crate) object: Box<str>,
    pub(crate) commit: Option<ReportedCommit>,
    pub(crate) may_be_older: bool,
    pub(crate) fate: ReportedFate,
    pub(crate) refs: Vec<String>,
    pub(crate) ref_count: Option<u64>,
}

/// What became of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReportedFate {
    InHead,
    Removed(ReportedCommit),
    NotInHead,
    Unreachable,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedCommit {
    pub(crate) id: Box<str>,
    pub(crate) seconds: i64,
    pub(crate) author: String,
    pub(crate) email: String,
    pub(crate) subject: String,
}

impl ReportedPlace {
    /// Creates it from a finding of the library. Without a masker, secrets are shown.
    pub(super) fn new(
        place: &HistoryPlace,
        finding: &Finding,
        masker: Option<&TextMasker>,
    ) -> Self {
        let masked = |text: &String| match masker {
            Some(masker) => masker.mask(text, finding.secret.reveal()),
            None => text.clone(),
        };
        let commit = |commit: &Arc<CommitInfo>| ReportedCommit {
            id: commit.id.clone(),
            seconds: commit.seconds,
            author: masked(&commit.author),
            email: masked(&commit.email),
            subject: masked(&commit.subject),
        };
        Self {
            repository: Arc::clone(&place.repository),
            path: Arc::clone(&place.path),
            text: place.text,
            object: place.object.clone(),
            commit: place.introduced.as_ref().map(commit),
            may_be_older: place.may_be_older,
            fate: match &place.fate {
                HistoryFate::InHead => ReportedFate::InHead,
                HistoryFate::Removed(by) => ReportedFate::Removed(commit(by)),
                HistoryFate::Unreachable => ReportedFate::Unreachable,
                _ => ReportedFate::NotInHead,
            },
            refs: place.refs.iter().map(masked).collect(),
            ref_count: place.ref_count,
        }
    }

    /// Returns about how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        let of_commit = |commit: &ReportedCommit| {
            commit.id.len() + commit.author.len() + commit.email.len() + commit.subject.len()
        };
        let refs: usize = self.refs.iter().map(|name| size_of::<String>() + name.len()).sum();
        let removed = match &self.fate {
            ReportedFate::Removed(by) => of_commit(by),
            _ => 0,
        };
        let commit = self.commit.as_ref().map_or(0, of_commit);
        size_of::<Self>() + self.path.len() + self.object.len() + commit + removed + refs
    }
}

impl ReportedCommit {
    /// Returns the day of the commit (UTC), or `None` if no calendar has it.
    pub(crate) fn day(&self) -> Option<String> {
        let (year, month, day) = civil(self.seconds)?;
        Some(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// Returns the time of the commit in UTC, as ISO 8601 writes it.
    pub(crate) fn time(&self) -> Option<String> {
        let day = self.day()?;
        let second = self.seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Some(format!("{day}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

/// Returns the year, month and day (UTC) of a time in the years 1970 to 9999.
fn civil(seconds: i64) -> Option<(i64, i64, i64)> {
    if !(0..YEAR_10000).contains(&seconds) {
        return None;
    }
    // Counted from 0000-03-01, so that a leap day is the last day of its year.
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    Some((era * 400 + year_of_era + i64::from(month <= 2), month, day))
}

#[cfg(test)]
mod tests {
    use super::ReportedCommit;

    #[test]
    fn times_are_shown_in_utc_if_a_calendar_has_them() {
        let time = |seconds| {
            let (author, email, subject) = (String::new(), String::new(), String::new());
            ReportedCommit { id: "x".into(), seconds, author, email, subject }.time()
        };
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_870_061, "2026-11-16T23:01:01Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(time(seconds).as_deref(), Some(text));
        }
        assert!([-1, i64::MIN, i64::MAX, 253_402_300_800].into_iter().all(|at| time(at).is_none()));
    }
}
