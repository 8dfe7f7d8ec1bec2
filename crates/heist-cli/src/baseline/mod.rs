//! `heist baseline`: the list of known secrets that scans do not report.
//!
//! | file | purpose |
//! |---|---|
//! | `record` | scans, and records the secrets that exist now |
//! | `coverage` | what a scan looked for and at, to decide which entries are obsolete |
//! | `edit` | adds, removes and lists single entries |
//! | `import` | reads a report of gitleaks |
//!
//! Invariants: the file is replaced as a whole. It contains no secret, not even as part of a path.

mod coverage;
mod edit;
mod import;
mod record;

use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::output_file::{OutputFile, say_leftovers};
use crate::scan::arguments::{
    DetectionArguments, HistoryArguments, RunArguments, SelectionArguments, parse_confidence,
};
use crate::scan::found_baseline;
use crate::scan::settings;
use clap::{Args, Subcommand};
use heist_scan::suppress::{Baseline, Date};
use heist_scan::{AtomicFile, Confidence, Fingerprint};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What messages call the file.
const WHAT: &str = "the baseline";

/// The text at the end of the help.
const AFTER_HELP: &str = "\
FILE is heist-baseline.toml in the project root unless --output names another: the nearest
directory with a .git or a heist.toml, or else the first PATH. `heist scan` uses that file by
itself.

For each secret the baseline has a hash, the rule and the places, but never the secret itself:
the hash uses a random key of the file, and secrets in file names are masked. An entry applies
even if the secret moves. Keep the file with the code.

--prune removes an entry only if this run used its rule, did not find its secret, and scanned
the files where it was (or they no longer exist). An incomplete scan removes nothing.

Accept one finding, by the fingerprint in its report, until a day:
  heist baseline add FINGERPRINT --reason 'test account' --until 2027-01-31

Exit codes:
  0    everything was scanned, and the baseline was written
  1    the baseline could not be written, or not every entry could be imported
  2    the options cannot be used, or not everything was scanned; then the baseline has the
       secrets that were found
  130  Ctrl-C ended the scan; the baseline is unchanged
       (after SIGTERM 143, after SIGHUP 129)";

/// Record the secrets that exist now, so that scans report only new ones
///
/// heist scans like `heist scan` and writes the findings to a baseline. If the file exists, new
/// secrets are added and all other entries stay.
#[derive(Debug, Args)]
#[command(
    after_long_help = AFTER_HELP,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct BaselineArguments {
    #[command(subcommand)]
    command: Option<BaselineCommand>,

    /// The directories or files to scan, or `-` for stdin [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    file: BaselineFile,

    /// Remove entries whose secrets no longer exist
    #[arg(long)]
    prune: bool,

    /// Record findings of at least this confidence: low, medium, high, certain [default: medium]
    #[arg(short, long, value_name = "LEVEL", value_parser = parse_confidence)]
    confidence: Option<Confidence>,

    #[command(flatten)]
    history: HistoryArguments,

    #[command(flatten)]
    detection: DetectionArguments,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    run: RunArguments,
}

impl BaselineArguments {
    /// Returns `true` if the command scans, and does not only work on the file.
    pub(crate) fn scans(&self) -> bool {
        self.command.is_none()
    }
}

/// The baseline to work on.
#[derive(Debug, Args)]
struct BaselineFile {
    /// The baseline to create or change [default: heist-baseline.toml in the project root]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl BaselineFile {
    /// Returns the file: the given one, or that of the project of `paths`.
    ///
    /// # Errors
    /// The user gave `-`.
    fn path(&self, paths: &[PathBuf]) -> Result<PathBuf, CliError> {
        match &self.output {
            Some(path) if settings::is_stdin(path) => {
                Err(CliError::NeedsFile { option: "--output", what: "a baseline" })
            }
            Some(path) => Ok(path.clone()),
            None => Ok(found_baseline::default_path(paths)),
        }
    }
}

/// What to do with a baseline besides recording a scan.
#[derive(Debug, Subcommand)]
enum BaselineCommand {
    /// Accept one finding, by the fingerprint that its report shows
    ///
    /// If the baseline already has the secret, its reason and its date change.
    Add {
        /// The fingerprint: 32 hexadecimal digits
        #[arg(value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
        fingerprint: Fingerprint,
        /// Why the finding is accepted
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// The last day on which it is accepted, as YYYY-MM-DD in UTC; then it is reported again
        #[arg(long, value_name = "DATE", value_parser = parse_until)]
        until: Option<Date>,
        #[command(flatten)]
        file: BaselineFile,
    },
    /// Report a finding again, by its fingerprint in reports or in the baseline
    Remove {
        /// The fingerprint: 32 hexadecimal digits
        #[arg(value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
        fingerprint: Fingerprint,
        #[command(flatten)]
        file: BaselineFile,
    },
    /// List the entries: fingerprint in the baseline, rule, places, reason and date
    List {
        #[command(flatten)]
        file: BaselineFile,
    },
    /// Accept the findings in a JSON report of gitleaks
    ///
    /// A report that was made with --redact does not contain the secrets, so it cannot be imported.
    Import {
        /// The report: gitleaks ... --report-format json --report-path REPORT
        #[arg(value_name = "REPORT")]
        report: PathBuf,
        #[command(flatten)]
        file: BaselineFile,
    },
}

/// Runs `heist baseline`.
///
/// # Errors
/// The options or their values cannot be used, the scan cannot be started, or the baseline cannot
/// be read or written.
pub(crate) fn run(
    arguments: &BaselineArguments,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Exit, CliError> {
    match &arguments.command {
        None => record::run(arguments, interrupt, messages),
        Some(BaselineCommand::Add { fingerprint, reason, until, file }) => {
            edit::add(&file.path(&[])?, *fingerprint, reason.as_deref(), *until, messages)
        }
        Some(BaselineCommand::Remove { fingerprint, file }) => {
            edit::remove(&file.path(&[])?, *fingerprint, messages)
        }
        Some(BaselineCommand::List { file }) => edit::list(&file.path(&[])?),
        Some(BaselineCommand::Import { report, file }) => {
            import::run(report, &file.path(&[])?, messages)
        }
    }
}

/// Loads a baseline, or creates an empty one if the file does not exist.
///
/// # Errors
/// The file cannot be read or is not a baseline, or the system gives no random numbers.
fn load_or_create(path: &Path) -> Result<Baseline, CliError> {
    // A device has no entries to update.
    if path.is_file() {
        Ok(Baseline::load(path)?)
    } else {
        Baseline::new().map_err(CliError::BaselineKey)
    }
}

/// Writes a baseline. No PATH was named, so the project that the user is in is untrusted.
///
/// # Errors
/// The file cannot be written, or a link in the project is in the way.
fn save(baseline: &Baseline, path: &Path, messages: &Messages) -> Result<(), CliError> {
    let output = create(path, &[found_baseline::project(&[])])?;
    let leftovers: Vec<_> = output.leftovers().collect();
    say_leftovers(&leftovers, messages);
    write(baseline, output, path)
}

/// Creates the file of a baseline. `roots` are untrusted.
///
/// # Errors
/// The path cannot be used.
fn create(path: &Path, roots: &[PathBuf]) -> Result<AtomicFile, CliError> {
    let looks_ours = |start: &[u8]| start.starts_with(b"# Known secrets.");
    // Loading refuses a file that is not a baseline, with a better reason.
    let (option, what, replaces_any) = ("--output", WHAT, true);
    OutputFile { option, what, path, roots, looks_ours, replaces_any }.create(false)
}

/// Writes a baseline to the file that was created for `path`.
///
/// # Errors
/// The file cannot be written.
fn write(baseline: &Baseline, mut file: AtomicFile, path: &Path) -> Result<(), CliError> {
    file.write_all(baseline.to_text().as_bytes())
        .and_then(|()| file.commit())
        .map_err(|source| CliError::WriteFile { what: WHAT, path: path.to_owned(), source })
}

/// A text that is not a fingerprint.
#[derive(Clone, Copy, Debug)]
struct InvalidFingerprint;

impl fmt::Display for InvalidFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fingerprint; give the 32 hexadecimal digits that a report shows")
    }
}

impl std::error::Error for InvalidFingerprint {}

fn parse_fingerprint(text: &str) -> Result<Fingerprint, InvalidFingerprint> {
    Fingerprint::parse(text).ok_or(InvalidFingerprint)
}

/// Why a text is not a day on which something can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InvalidUntil {
    NoDate,
    IsOver,
}

impl fmt::Display for InvalidUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoDate => "not a date; write it as YYYY-MM-DD",
            Self::IsOver => "this day is over; give today or a later day",
        })
    }
}

impl std::error::Error for InvalidUntil {}

fn parse_until(text: &str) -> Result<Date, InvalidUntil> {
    let date = Date::parse(text).ok_or(InvalidUntil::NoDate)?;
    if date < Date::today() { Err(InvalidUntil::IsOver) } else { Ok(date) }
}

#[cfg(test)]
mod tests {
    use super::{InvalidUntil, parse_until};

    #[test]
    fn a_date_must_not_be_over() {
        assert_eq!(parse_until("soon"), Err(InvalidUntil::NoDate));
        assert_eq!(parse_until("2020-01-01"), Err(InvalidUntil::IsOver));
        assert!(parse_until("9999-12-31").is_ok());
        let today = heist_scan::suppress::Date::today();
        assert_eq!(parse_until(&today.to_string()), Ok(today));
    }
}
