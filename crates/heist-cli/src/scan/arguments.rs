//! The options of `heist scan`, and what its help says about them. `heist baseline` shares most of them.
//!
//! An option that a configuration file can set is optional here, and a flag has an opposite: so that what was given can
//! be told from what was not, and wins.

use crate::color::ColorChoice;
use crate::units::parse_size;
use clap::{Args, ValueEnum};
use heist_scan::Confidence;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// What the help ends with.
const AFTER_HELP: &str = "\
Formats:
  text   for people: each secret once, masked, with every place where it is
  json   one object: the secrets with their places, and what was not scanned
  jsonl  an object for each place, in its own line, written as soon as it is found
  sarif  SARIF 2.1.0, for code scanning services

What is not reported:
  - a secret with `heist:allow`, `gitleaks:allow` or `pragma: allowlist secret` in its line, at
    most 512 bytes from it
  - a secret of a baseline: see --baseline and `heist baseline`
  - a place that a `.gitleaksignore` names, in a PATH or the current directory
  - a finding of less than --confidence; text and json count these

Configuration:
  A heist.toml in the directory of the first PATH or above it, else in the current directory or
  above. Its keys are the long options, without the dashes: `confidence = \"high\"`,
  `exclude = [\"*.lock\"]`, `no-generic = true`. What is on the command line wins; --exclude
  adds to it. Each flag has an opposite: --binary and --no-binary, --no-generic and --generic.

Exit codes:
  0    nothing was found, and everything was scanned
  1    secrets were found, also if not everything was scanned
  2    wrong usage, or nothing was found but not everything was scanned; stderr says what
  130  ended by Ctrl-C; what was known by then was printed

Examples:
  heist scan                              every secret here
  heist scan --confidence high src        only what is hardly anything else
  heist baseline --output known.toml      what is there now is known ...
  heist scan --baseline known.toml        ... and only what is new is reported
  heist scan --format sarif -o out.sarif  for a code scanning service
  git diff | heist scan -                 what is about to be committed
  heist scan --explain src/app.py:12      why line 12 is reported, or why not";

/// Find secrets: keys, tokens and passwords in files
///
/// Reads every file below each PATH on all cores and looks for what should not be there, whatever git ignores. Secrets
/// are masked in all output; names of files are shown as they are. Nothing is sent anywhere: heist does not use the
/// network.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct ScanArguments {
    /// What to scan: directories, files, or `-` for stdin [default: .]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// What to print [default: text]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Write to FILE, which is whole or not there at all, however the scan ends
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Do not report the secrets of this baseline, wherever they are now. `heist baseline` makes one
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Report findings of at least this confidence [default: medium]
    #[arg(short, long, value_name = "LEVEL", value_parser = parse_confidence)]
    pub(crate) confidence: Option<Confidence>,

    /// Explain why each candidate in one line of a file is reported, or is not, step by step. PATHs, if given, are the
    /// roots of the scan that is explained
    #[arg(
        long,
        value_name = "PATH:LINE",
        conflicts_with_all = ["format", "output", "show_secrets", "sorted", "trace", "stats"]
    )]
    pub(crate) explain: Option<OsString>,

    /// Show secrets as they are. A report with them is a secret itself; a FILE is made for its owner's eyes only
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// The same output for any number of threads: `jsonl` waits until the end and sorts. (The others always do.)
    #[arg(long, overrides_with = "no_sorted")]
    pub(crate) sorted: bool,
    #[arg(long, hide = true)]
    pub(crate) no_sorted: bool,

    #[command(flatten)]
    pub(crate) detection: DetectionArguments,

    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,
}

/// What is looked for.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What is looked for")]
pub(crate) struct DetectionArguments {
    /// Use the rules in FILE, written for heist or gitleaks, instead of the built-in ones. May be given several times
    ///
    /// A file with `[extend] useDefault = true` adds to the built-in rules, as in gitleaks.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) rules: Vec<PathBuf>,

    /// Use only these rules; `*` stands for any characters. `heist rules list` shows them all
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Leave out these rules
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) except: Vec<String>,

    /// Leave out the rules for secrets without a form of their own: passwords, and random text assigned to a telling
    /// name
    #[arg(long, overrides_with = "generic")]
    pub(crate) no_generic: bool,
    #[arg(long, hide = true)]
    pub(crate) generic: bool,

    /// Take placeholders, examples and test data at their word
    #[arg(long, overrides_with = "noise_filter")]
    pub(crate) no_noise_filter: bool,
    #[arg(long, hide = true)]
    pub(crate) noise_filter: bool,

    /// Do not look into UTF-16, base64, hexadecimal, URL-escaped and JSON-escaped text
    #[arg(long, overrides_with = "decode")]
    pub(crate) no_decode: bool,
    #[arg(long, hide = true)]
    pub(crate) decode: bool,
}

/// What is scanned, and what is left out.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What is scanned")]
pub(crate) struct SelectionArguments {
    /// Leave out files larger than SIZE [default: scan all]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,

    /// Leave out what matches GLOB, with everything in it. May be given several times
    ///
    /// GLOB is written as in a `.gitignore`: `*.o` matches names at any depth, `/build` only at the top, `tmp/` only
    /// directories, and `!GLOB` is not left out after all. `.git/objects` is left out unless `!**/.git/objects` is
    /// given.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Leave out what git ignores, and what `.ignore` files name. Secrets are often just there
    #[arg(long, overrides_with = "no_gitignore")]
    pub(crate) gitignore: bool,
    #[arg(long, hide = true)]
    pub(crate) no_gitignore: bool,

    /// Leave out entries whose names begin with a dot
    #[arg(long, overrides_with = "hidden")]
    pub(crate) no_hidden: bool,
    #[arg(long, hide = true)]
    pub(crate) hidden: bool,

    /// Scan binary files, too
    #[arg(long, overrides_with = "no_binary")]
    pub(crate) binary: bool,
    #[arg(long, hide = true)]
    pub(crate) no_binary: bool,

    /// Follow symbolic links. (Those that are PATHs always are.)
    #[arg(short = 'L', long, overrides_with = "no_follow")]
    pub(crate) follow: bool,
    #[arg(long, hide = true)]
    pub(crate) no_follow: bool,

    /// Stay on the file system of each PATH
    #[arg(short = 'x', long, overrides_with = "no_one_file_system")]
    pub(crate) one_file_system: bool,
    #[arg(long, hide = true)]
    pub(crate) no_one_file_system: bool,
}

/// How it is done, and what is told about it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How it runs")]
pub(crate) struct RunArguments {
    /// Scan with N threads [default: as many as there are cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// End after this time, with what is known by then: 90s, 10m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,

    /// Use this configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,

    /// Use no configuration file
    #[arg(long)]
    pub(crate) no_config: bool,

    /// Use colours [default: auto]. NO_COLOR and CLICOLOR_FORCE are heeded, too
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,

    /// Show no progress line. (There is none unless stderr is a terminal.)
    #[arg(long, overrides_with = "progress")]
    pub(crate) no_progress: bool,
    #[arg(long, hide = true)]
    pub(crate) progress: bool,

    /// Show no progress line and no notes, and do not name what could not be scanned. The exit code is the same
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When done, say on stderr how long it took and what the threads did
    #[arg(long, overrides_with = "no_stats")]
    pub(crate) stats: bool,
    #[arg(long, hide = true)]
    pub(crate) no_stats: bool,

    /// Write what each thread did and when to FILE, for a viewer such as Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One object
    Json,
    /// An object for each place
    Jsonl,
    /// SARIF 2.1.0
    Sarif,
}

/// One of the words of [`Confidence`].
pub(crate) fn parse_confidence(text: &str) -> Result<Confidence, heist_scan::UnknownConfidence> {
    text.parse()
}

fn parse_threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "give a number; it takes at least 1 thread")
}

/// A number and a unit; a number alone is in seconds.
pub(super) fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "not a duration; write a number and a unit: 500ms, 90s, 10m, 1h";
    let digits_end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let number: u64 = digits.parse().map_err(|_| FORM)?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(FORM),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or("longer than anybody waits")
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn durations_have_units() {
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
