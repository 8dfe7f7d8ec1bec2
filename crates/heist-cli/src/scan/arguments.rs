//! The options of `heist scan` and their help texts. `heist baseline` shares most of them.
//!
//! Options that a configuration file can set are optional here, and every such flag has an
//! opposite. So heist knows whether the command line sets an option, in which case it overrides the
//! file.

use crate::color::ColorChoice;
use crate::units::parse_size;
use clap::{Args, ValueEnum};
use heist_scan::Confidence;
use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// The text at the end of the help.
const AFTER_HELP: &str = "\
Formats:
  text   a report for people: each secret once, masked, with all its locations
  json   one object: the secrets with their locations, and what was not scanned
  jsonl  one object per line and finding, written as soon as it is found; the last line is
         {\"end\": ...} with the totals, and a report without it was cut off
  sarif  SARIF 2.1.0, for code scanning services

Findings that are not reported:
  - the line has a comment `heist:allow`, `gitleaks:allow` or `pragma: allowlist secret`, at most
    512 bytes from the secret
  - the baseline contains the secret: see `heist baseline`. heist uses --baseline FILE, or else the
    heist-baseline.toml in the project root (and says so), unless --no-baseline, --no-config or
    --untrusted is given
  - a `.gitleaksignore` in a PATH, above it in the same project, or in the current directory lists
    the location
  - the confidence is below --confidence; text and json count these

Configuration:
  Your own file is the one that --config names, else ~/.config/heist/heist.toml. The scanned tree
  may have one, too: the nearest heist.toml in the first PATH or above it, else in the current
  directory or above it. The keys are the long options without the dashes: `confidence = \"high\"`,
  `exclude = [\"*.lock\"]`, `no-generic = true`. The command line overrides your file, and your
  file overrides the tree's; `exclude` adds up. Every flag that a file can set has an opposite:
  --binary and --no-binary, --no-generic and --generic.

Trust:
  heist does not trust the scanned tree. The tree's heist.toml may change what is searched for and
  left out, and nothing else, and every report counts what the tree hides. A heist.toml above the
  tree counts only if it and its directory are yours or root's and no one else can write to them.
  --untrusted takes nothing from the tree; --fail-on-hidden exits with 1 if the tree hides anything.

Exit codes:
  0    no secrets were found, and everything was scanned
  1    secrets were found, even if not everything was scanned; or, with --fail-on-hidden, the
       scanned tree hides something
  2    the options cannot be used, or no secrets were found but not everything was scanned
  N    not everything was scanned: --exit-code-incomplete N replaces 1 and 2 in this case
  130  Ctrl-C ended the scan; the findings so far were printed
       (after SIGTERM 143, after SIGHUP 129)
  A PATH that is a binary file, a pipe or a device was not scanned, unless --binary scans it or
  --no-binary skips it. Below a directory, such files are skipped and counted.
  --explain exits with 0 if it can explain the line, whether the line is reported or not.

Examples:
  heist scan                              scan the current directory
  heist scan --confidence high src        report only findings that are almost surely secrets
  heist baseline                          record the secrets that exist now ...
  heist scan                              ... and report only new ones
  heist scan --format sarif -o out.sarif  write a report for a code scanning service
  heist scan --staged                     scan what the next commit adds
  git diff | heist scan -                 scan what the changes of the working tree add
  heist scan --explain src/app.py:12      say why line 12 is reported or not";

/// Find secrets in files: keys, tokens and passwords
///
/// heist reads every file below each PATH on all cores, including files that git ignores. It masks
/// secrets in all output, but prints file names as they are. heist never uses the network.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct ScanArguments {
    /// The directories or files to scan, or `-` for stdin [default: .]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Scan what the next commit of the git repository at PATH adds, and nothing else
    ///
    /// heist reads the files as they are staged, and not as they are in the work tree. It reports
    /// only secrets that the versions in HEAD do not have. It never runs git, or anything that a
    /// repository configures. `heist hook install` makes git run this before each commit.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) staged: bool,

    /// The output format [default: text]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ScanFormat>,

    /// Write the report to FILE, or to stdout for `-`; FILE is never half a report
    ///
    /// heist creates FILE anew and then replaces the old one. It refuses to write through a
    /// symbolic link, and to anything but a regular file (except /dev/null and /dev/full).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Do not report the secrets in this baseline, even if they have moved; see `heist baseline`
    #[arg(long, value_name = "FILE", conflicts_with = "no_baseline")]
    pub(crate) baseline: Option<PathBuf>,

    /// Do not use a baseline, not even the heist-baseline.toml in the project root
    #[arg(long)]
    pub(crate) no_baseline: bool,

    /// Report findings of at least this confidence: low, medium, high, certain [default: medium]
    #[arg(short, long, value_name = "LEVEL", value_parser = parse_confidence)]
    pub(crate) confidence: Option<Confidence>,

    /// Explain, step by step, why each candidate on one line of a file is reported or not
    ///
    /// heist scans the file as a scan of the PATHs would, with the same rules and options.
    #[arg(
        long,
        value_name = "PATH:LINE",
        conflicts_with_all = ["format", "output", "show_secrets", "sorted", "trace", "stats"]
    )]
    pub(crate) explain: Option<OsString>,

    /// Show secrets without masking; only you may read an --output FILE then
    ///
    /// A report with unmasked secrets must be kept as safe as the secrets themselves.
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Sort `jsonl` output, which then waits for the end of the scan
    ///
    /// The other formats are always sorted, so the number of threads does not change them.
    #[arg(long, overrides_with = "no_sorted")]
    pub(crate) sorted: bool,
    #[arg(long, hide = true)]
    pub(crate) no_sorted: bool,

    /// Exit with N (2 to 125) if not everything was scanned, even if secrets were found
    ///
    /// Without this option, the code is 1 if secrets were found, and otherwise 2.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=125))]
    pub(crate) exit_code_incomplete: Option<u8>,
    /// Exit with 1 if the scanned tree hides anything, even if no secrets are reported
    #[arg(long, overrides_with = "no_fail_on_hidden")]
    pub(crate) fail_on_hidden: bool,
    #[arg(long, hide = true)]
    pub(crate) no_fail_on_hidden: bool,

    #[command(flatten)]
    pub(crate) detection: DetectionArguments,

    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,
}

/// The options about rules.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct DetectionArguments {
    /// Use the rules in FILE instead of the built-in rules; may be given several times
    ///
    /// FILE is written for heist or gitleaks. With `[extend] useDefault = true` its rules are added
    /// to the built-in rules, as in gitleaks.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) rules: Vec<PathBuf>,

    /// Use only these rules; `*` matches any characters; `heist rules list` shows all rules
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Do not use these rules
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) except: Vec<String>,

    /// Do not report passwords and other secrets without a known format
    ///
    /// This disables the generic rules, which find passwords and random text assigned to names such
    /// as `api_key`.
    #[arg(long, overrides_with = "generic")]
    pub(crate) no_generic: bool,
    #[arg(long, hide = true)]
    pub(crate) generic: bool,

    /// Also report values that look like placeholders, examples or test data
    #[arg(long, overrides_with = "noise_filter")]
    pub(crate) no_noise_filter: bool,
    #[arg(long, hide = true)]
    pub(crate) noise_filter: bool,

    /// Do not decode UTF-16, base64, hexadecimal, URL-escaped or JSON-escaped text
    #[arg(long, overrides_with = "decode")]
    pub(crate) no_decode: bool,
    #[arg(long, hide = true)]
    pub(crate) decode: bool,
}

/// The options about which files are scanned.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct SelectionArguments {
    /// Skip files larger than SIZE [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,

    /// Scan a file to its end even if it takes far more work than its size allows
    ///
    /// Without this option, heist stops in a file of many megabytes that consists of nothing but
    /// places that could be secrets. The scan then counts as incomplete.
    #[arg(long)]
    pub(crate) no_work_limit: bool,

    /// Skip files and directories that match GLOB; may be given several times
    ///
    /// GLOB is a line of a `.gitignore`: `*.o` matches at any depth, `/build` only at the top,
    /// `tmp/` only directories, and `!GLOB` includes again what an earlier GLOB excludes.
    /// `.git/objects` is skipped unless you give `!**/.git/objects`.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Skip files that git ignores (note: secrets often live in ignored files)
    ///
    /// This also skips files that match an `.ignore` file.
    #[arg(long, overrides_with = "no_gitignore")]
    pub(crate) gitignore: bool,
    #[arg(long, hide = true)]
    pub(crate) no_gitignore: bool,

    /// Skip hidden files and directories, whose names begin with a dot
    #[arg(long, overrides_with = "hidden")]
    pub(crate) no_hidden: bool,
    #[arg(long, hide = true)]
    pub(crate) hidden: bool,

    /// Also scan binary files
    #[arg(long, overrides_with = "no_binary")]
    pub(crate) binary: bool,
    #[arg(long, hide = true)]
    pub(crate) no_binary: bool,

    /// Scan stdin as plain text, even if it is a diff
    ///
    /// Of a diff, heist scans what it adds, and shows the names and lines of the files in it.
    #[arg(long, overrides_with = "diff")]
    pub(crate) no_diff: bool,
    #[arg(long, hide = true)]
    pub(crate) diff: bool,

    /// Follow symbolic links; a PATH that is a link is always followed
    #[arg(short = 'L', long, overrides_with = "no_follow")]
    pub(crate) follow: bool,
    #[arg(long, hide = true)]
    pub(crate) no_follow: bool,

    /// Do not cross file system boundaries
    #[arg(short = 'x', long, overrides_with = "no_one_file_system")]
    pub(crate) one_file_system: bool,
    #[arg(long, hide = true)]
    pub(crate) no_one_file_system: bool,
}

/// The options about threads, configuration and messages.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct RunArguments {
    /// Use N threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Stop after this time and report the findings so far: 90s, 10m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,

    /// Trust this configuration file, and use no other
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,

    /// Do not use a configuration file, neither yours nor the tree's
    ///
    /// `heist scan` then does not use the heist-baseline.toml in the project root, either.
    #[arg(long)]
    pub(crate) no_config: bool,

    /// Obey this policy of your organisation, which no option and no configuration can weaken
    ///
    /// The policy that the variable HEIST_POLICY names applies as well. An option that is weaker
    /// than a policy is an error; a weaker key in a configuration has no effect, and every report
    /// names it.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,

    /// Take nothing from the scanned tree: no configuration, baseline, ignore file or comment
    ///
    /// heist then ignores heist.toml, .gitleaksignore and comments such as `heist:allow`, and
    /// `heist scan` does not use the heist-baseline.toml in the project root. Your own
    /// configuration and the files that you name still apply. Without this option, heist counts
    /// what the tree hides.
    #[arg(long, overrides_with = "no_untrusted")]
    pub(crate) untrusted: bool,
    #[arg(long, hide = true)]
    pub(crate) no_untrusted: bool,

    /// When to use colours; NO_COLOR and CLICOLOR_FORCE also apply [default: auto]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,

    /// Do not show a progress line on the terminal
    #[arg(long, overrides_with = "progress")]
    pub(crate) no_progress: bool,
    #[arg(long, hide = true)]
    pub(crate) progress: bool,

    /// Do not show progress, notes or the files that could not be scanned
    ///
    /// The exit code is unchanged.
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// At the end, print timings and counters of the threads to stderr
    #[arg(long, overrides_with = "no_stats")]
    pub(crate) stats: bool,
    #[arg(long, hide = true)]
    pub(crate) no_stats: bool,

    /// Write a trace of all threads to FILE, for a viewer such as ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanFormat {
    /// A report for people
    #[default]
    Text,
    /// One JSON object
    Json,
    /// One JSON object per line and finding
    Jsonl,
    /// SARIF 2.1.0
    Sarif,
}

/// Parses a level of confidence.
///
/// # Errors
/// The text is not the name of a level.
pub(crate) fn parse_confidence(text: &str) -> Result<Confidence, heist_scan::UnknownConfidence> {
    text.parse()
}

/// A number of threads that is not a positive number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidThreads;

impl fmt::Display for InvalidThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a number of threads; give at least 1")
    }
}

impl std::error::Error for InvalidThreads {}

/// Parses a number of threads.
///
/// # Errors
/// The text is not a positive number.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroUsize, InvalidThreads> {
    text.parse().map_err(|_| InvalidThreads)
}

/// Why a text is not a valid duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DurationError {
    /// It does not have the form of a duration.
    Invalid,
    /// It does not fit into a `u64` of milliseconds.
    TooLong,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "not a duration; write a number and a unit: 500ms, 90s, 10m, 1h",
            Self::TooLong => "the duration is too long",
        })
    }
}

impl std::error::Error for DurationError {}

/// Parses a number and a unit. A number without a unit is in seconds.
///
/// # Errors
/// The text is not a duration.
pub(super) fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let digits_end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let number: u64 = digits.parse().map_err(|_| DurationError::Invalid)?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(DurationError::Invalid),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or(DurationError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn durations_are_parsed_with_their_units() {
        for (text, ms) in
            [("500ms", 500), ("2", 2_000), ("90s", 90_000), ("10m", 600_000), ("1h", 3_600_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in
            ["", "s", "-1s", "1.5s", "1 s", "1d", "18446744073709551615h", "99999999999999999999"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
