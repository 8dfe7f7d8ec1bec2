//! [`CliError`]: everything that can stop a command, as data.
//!
//! This file decides how every error reads and which exit code it has. Code elsewhere constructs
//! errors and passes them on; it never looks at their text. An error has a message (what failed, on
//! which file, why) and, where the user can act on it, a `help` line with the next step.

use crate::du::DuError;
use crate::escape;
use crate::exit::Exit;
use crate::hook::HookError;
use crate::scan::configuration_error::ConfigurationError;
use crate::scan::explain::ExplainError;
use crate::scan::origin::SettingName;
use crate::scan::policy::Demand;
use crate::scan::policy_file::PolicyError;
use crate::scan::staged::StagedError;
use crate::shell;
use heist_scan::rules::{RuleError, RuleErrorKind, RulePlace};
use heist_scan::suppress::BaselineError;
use heist_scan::{Fingerprint, OutputPathError, ScanError};
use heist_walk::{FilterError, WalkStartError};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command stopped, or could not write part of its output.
#[derive(Debug)]
pub(crate) enum CliError {
    /// A file that the command needs cannot be read.
    ReadFile { what: &'static str, path: PathBuf, source: io::Error },
    /// A file that the command writes cannot be created.
    CreateOutput { what: &'static str, path: PathBuf, source: OutputPathError },
    /// A file that the command has begun to write cannot be completed.
    WriteFile { what: &'static str, path: PathBuf, source: io::Error },
    /// Stdout cannot be written to.
    WriteStdout(io::Error),
    /// The manual pages cannot be written to this directory.
    WriteManual { directory: PathBuf, source: io::Error },
    /// `-` was given for an option that needs a file.
    NeedsFile { option: &'static str, what: &'static str },
    /// The option would overwrite a scanned file that heist did not write.
    OverwritesScannedFile { option: &'static str, path: PathBuf },
    /// The option would overwrite `what`, which the same run reads or writes.
    OverwritesOwnFile { option: &'static str, path: PathBuf, what: &'static str },
    /// The configuration file is not valid.
    Configuration { path: PathBuf, source: ConfigurationError },
    /// A rule file is in the place of a configuration file. `table` shows that it contains rules.
    RulesAsConfiguration {
        path: PathBuf,
        table: &'static str,
        /// Whether `--config` named the file; otherwise heist found it by its name.
        was_named: bool,
    },
    /// A rule file cannot be used, or a rule id is unknown.
    Rules(Box<RuleError>),
    /// A rule id in a setting is unknown.
    RuleSelection { setting: SettingName, source: Box<RuleError> },
    /// `--only` and `--except` leave no rule.
    NoRuleLeft,
    /// A baseline cannot be read or written.
    Baseline(BaselineError),
    /// The baseline has no entry with this fingerprint.
    NotInBaseline { path: PathBuf, fingerprint: Fingerprint },
    /// A file is not a report of gitleaks.
    GitleaksReport { path: PathBuf, reason: String },
    /// The system has no random numbers for the key of a new baseline.
    BaselineKey(io::Error),
    /// A glob is not valid.
    Glob { setting: SettingName, source: FilterError },
    /// A policy is not valid.
    Policy { path: PathBuf, source: PolicyError },
    /// The command line asks for less than a policy demands. `what` is an option with its dashes,
    /// or a command.
    AgainstPolicy { what: String, demand: Demand },
    /// This setting obeys ignore files of the tree, but nothing is to be taken from the tree.
    UntrustedIgnoreFiles { setting: SettingName },
    /// There are more globs than a matcher can hold.
    TooManyGlobs(io::Error),
    /// `-` is given as a PATH more than once.
    StdinTwice,
    /// `-` is given as a PATH, but heist was started without stdin.
    StdinClosed,
    /// The scan cannot be started.
    StartScan(ScanError),
    /// The walk cannot be started.
    StartWalk(WalkStartError),
    /// There is no git repository at, below or above a PATH.
    NoRepository { path: PathBuf },
    /// The revisions stand for no commits. `repository` is the one where they were looked for.
    Revision { repository: Option<PathBuf>, reason: String },
    /// A line cannot be explained.
    Explain(ExplainError),
    /// The staged files cannot be scanned.
    Staged(StagedError),
    /// A hook cannot be changed.
    Hook(HookError),
    /// `heist du` cannot do what its options ask for.
    Du(DuError),
}

impl CliError {
    /// Returns the exit code of a command that this error stops.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::WriteFile { .. }
            | Self::WriteStdout(_)
            | Self::WriteManual { .. }
            | Self::Baseline(BaselineError::Write { .. }) => Exit::Incomplete,
            Self::StartWalk(WalkStartError::SpawnThread { .. }) => Exit::Incomplete,
            _ => Exit::Usage,
        }
    }

    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> Option<String> {
        let text = match self {
            Self::WriteFile { .. } => "free some space, or give another FILE",
            Self::WriteStdout(_) => "free some space, or redirect the output elsewhere",
            Self::WriteManual { .. } => "give an existing directory that you may write to",
            Self::CreateOutput { what, source, .. } => output_help(what, source),
            Self::NeedsFile { .. } => "give a FILE",
            Self::OverwritesScannedFile { .. } => "give another FILE, or remove this one first",
            Self::OverwritesOwnFile { .. } => "give another FILE",
            Self::Configuration { source, .. } => return Some(source.help()),
            Self::RulesAsConfiguration { path, was_named, .. } => {
                // Without `--no-config` heist would find the same file again.
                let options = if *was_named { "--rules" } else { "--no-config --rules" };
                let path = shell::quoted(path.as_os_str());
                return Some(format!("to use its rules: heist scan {options} {path}"));
            }
            Self::Rules(error) | Self::RuleSelection { source: error, .. } => {
                return rule_help(error);
            }
            Self::NoRuleLeft => "change --only and --except, or give a file that has rules",
            Self::Baseline(error) => return baseline_help(error),
            Self::NotInBaseline { .. } => {
                "give the fingerprint of a report, or one that `heist baseline list` prints"
            }
            Self::GitleaksReport { .. } => "give a file that `gitleaks --report-format json` wrote",
            Self::Glob { .. } => "write the GLOB like a line of a `.gitignore`",
            Self::Policy { source, .. } => return Some(source.help()),
            Self::AgainstPolicy { .. } => "do without it, or ask the owner of the policy",
            Self::UntrustedIgnoreFiles { .. } => "remove one of the two; --exclude skips files",
            Self::TooManyGlobs(_) => "give fewer globs",
            Self::NoRepository { .. } => "give a directory that git has a history of",
            Self::Revision { .. } => {
                "give branches, tags, ids or beginnings of ids, with ~N or ^ to go back"
            }
            Self::StdinTwice => "give `-` once",
            Self::StdinClosed => "pipe the text into heist, or give a PATH",
            Self::StartScan(_) | Self::StartWalk(_) => "use fewer threads, with -j",
            Self::Explain(error) => return error.help(),
            Self::Staged(error) => error.help(),
            Self::Hook(error) => return Some(error.help()),
            Self::Du(error) => return error.help(),
            Self::ReadFile { .. } => "give a FILE that exists and that you may read",
            Self::BaselineKey(_) => return None,
        };
        Some(text.to_owned())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadFile { what, path, source } => {
                write!(f, "cannot read {what} '{}': {}", shown(path), reason(source))
            }
            Self::CreateOutput { what, path, source, .. } => {
                write!(f, "cannot create {what} '{}': ", shown(path))?;
                match source {
                    OutputPathError::Io(source) => f.write_str(&reason(source)),
                    OutputPathError::LinkInUntrusted { link } => {
                        write!(f, "its directory '{}' is a symbolic link", shown(link))
                    }
                    other => f.write_str(&one_line(&other.to_string())),
                }
            }
            Self::WriteFile { what, path, source } => {
                write!(f, "cannot write {what} '{}': {}", shown(path), reason(source))
            }
            Self::WriteStdout(source) => write!(f, "cannot write to stdout: {}", reason(source)),
            Self::WriteManual { directory, source } => write!(
                f,
                "cannot write the manual pages to '{}': {}",
                shown(directory),
                reason(source)
            ),
            Self::NeedsFile { option, what } => {
                write!(f, "{option} '-': {what} goes to a file, not to stdout")
            }
            Self::OverwritesScannedFile { option, path } => write!(
                f,
                "{option} '{}' would overwrite a file that is to be scanned, and that heist did not write",
                shown(path)
            ),
            Self::OverwritesOwnFile { option, path, what } => {
                write!(f, "{option} '{}' would overwrite {what}", shown(path))
            }
            Self::Configuration { path, source } => {
                write!(f, "the configuration '{}' is not valid: {source}", shown(path))
            }
            Self::RulesAsConfiguration { path, table, .. } => write!(
                f,
                "'{}' is a rule file, not a configuration: it contains `{table}`",
                shown(path)
            ),
            Self::Rules(error) => write_rule_error(error, f),
            Self::RuleSelection { setting, source } => {
                write!(f, "{setting}: ")?;
                write_rule_error(source, f)
            }
            Self::NoRuleLeft => f.write_str("no rule is left to scan with"),
            Self::NoRepository { path } => {
                let path = escape::for_terminal(path.as_os_str());
                write!(f, "there is no git repository at, below or above '{path}'")
            }
            Self::Revision { repository: None, reason } => f.write_str(&escape::visible(reason)),
            Self::Revision { repository: Some(path), reason } => {
                let path = escape::for_terminal(path.as_os_str());
                write!(f, "in '{path}', {}", escape::visible(reason))
            }
            Self::Baseline(error) => write_baseline_error(error, f),
            Self::NotInBaseline { path, fingerprint } => {
                write!(f, "the baseline '{}' has no entry {fingerprint}", shown(path))
            }
            Self::GitleaksReport { path, reason } => {
                write!(f, "'{}' is not a report of gitleaks: {}", shown(path), one_line(reason))
            }
            Self::BaselineKey(source) => write!(
                f,
                "cannot make a key for the baseline: the system gives no random numbers: {}",
                reason(source)
            ),
            Self::Glob { setting, source } => {
                write!(f, "{setting}: {}", escape::visible(&source.to_string()))
            }
            Self::Policy { path, source } => {
                write!(f, "the policy '{}' is not valid: {source}", shown(path))
            }
            Self::AgainstPolicy { what, demand } => {
                write!(f, "{what} is weaker than {demand} allows")
            }
            Self::UntrustedIgnoreFiles { setting } => write!(
                f,
                "{setting} obeys ignore files of the tree, but `untrusted` takes nothing from the tree"
            ),
            Self::TooManyGlobs(source) => write!(f, "--exclude: {}", reason(source)),
            Self::StdinTwice => f.write_str("`-` is given twice, but stdin can be read only once"),
            Self::StdinClosed => f.write_str("cannot read stdin: it is closed"),
            Self::StartScan(error) => write!(f, "{}", escape::visible(&error.to_string())),
            Self::StartWalk(error) => {
                write!(f, "cannot start the walk: {}", escape::visible(&error.to_string()))
            }
            Self::Explain(error) => error.fmt(f),
            Self::Staged(error) => error.fmt(f),
            Self::Hook(error) => error.fmt(f),
            Self::Du(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CliError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::ReadFile { source, .. }
            | Self::WriteFile { source, .. }
            | Self::WriteManual { source, .. }
            | Self::WriteStdout(source)
            | Self::BaselineKey(source)
            | Self::TooManyGlobs(source) => Some(source),
            Self::CreateOutput { source, .. } => Some(source),
            Self::Configuration { source, .. } => Some(source),
            Self::Rules(source) | Self::RuleSelection { source, .. } => Some(&**source),
            Self::Baseline(source) => Some(source),
            Self::Policy { source, .. } => Some(source),
            Self::Glob { source, .. } => Some(source),
            Self::StartScan(source) => Some(source),
            Self::StartWalk(source) => Some(source),
            Self::Explain(source) => Some(source),
            Self::Staged(source) => Some(source),
            Self::Hook(source) => Some(source),
            Self::Du(source) => Some(source),
            Self::NeedsFile { .. }
            | Self::OverwritesScannedFile { .. }
            | Self::OverwritesOwnFile { .. }
            | Self::RulesAsConfiguration { .. }
            | Self::NotInBaseline { .. }
            | Self::GitleaksReport { .. }
            | Self::UntrustedIgnoreFiles { .. }
            | Self::AgainstPolicy { .. }
            | Self::NoRuleLeft
            | Self::NoRepository { .. }
            | Self::Revision { .. }
            | Self::StdinTwice
            | Self::StdinClosed => None,
        }
    }
}

impl From<ExplainError> for CliError {
    fn from(error: ExplainError) -> Self {
        Self::Explain(error)
    }
}

impl From<DuError> for CliError {
    fn from(error: DuError) -> Self {
        Self::Du(error)
    }
}

impl From<RuleError> for CliError {
    fn from(error: RuleError) -> Self {
        Self::Rules(Box::new(error))
    }
}

impl From<BaselineError> for CliError {
    fn from(error: BaselineError) -> Self {
        Self::Baseline(error)
    }
}

/// Returns why a call failed, in the words of the system and without its error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        // The standard library appends the number; other tools leave it out.
        Some(code) => text.trim_end_matches(&format!(" (os error {code})")).to_owned(),
        None => escape::for_terminal(text.as_ref()).into_owned(),
    }
}

fn shown(path: &Path) -> Cow<'_, str> {
    escape::for_terminal(path.as_os_str())
}

/// Fits text from a file into a message of one line.
pub(crate) fn one_line(text: &str) -> String {
    escape::visible(&text.replace('\n', " ")).into_owned()
}

fn write_rule_error(error: &RuleError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let RulePlace { origin, rule, line, .. } = &error.place;
    let path = origin.as_deref().map(shown);
    if let (RuleErrorKind::Read(source), Some(path)) = (&error.kind, &path) {
        return write!(f, "cannot read the rules '{path}': {}", reason(source));
    }
    match (path, line) {
        (Some(path), Some(line)) => write!(f, "{path}:{line}: ")?,
        (Some(path), None) => write!(f, "'{path}': ")?,
        (None, _) => {}
    }
    if let Some(rule) = rule {
        write!(f, "rule {}: ", escape::visible(&format!("{rule:?}")))?;
    }
    f.write_str(&one_line(&error.kind.to_string()))
}

/// Returns what to do about an output path.
fn output_help(what: &str, error: &OutputPathError) -> &'static str {
    match error {
        OutputPathError::Link => {
            "heist never writes through a link: give the FILE that it leads to, or remove it"
        }
        OutputPathError::LinkInUntrusted { .. } => {
            "heist never writes through a link of a scanned directory: give a FILE elsewhere"
        }
        OutputPathError::SeveralNames => "give another FILE, or remove this one first",
        OutputPathError::NotRegular { kind: "a directory" } => "give a FILE in it",
        // Only a report can go to stdout.
        OutputPathError::NotRegular { .. } if what == "the output" => {
            "give a FILE; for a pipe, leave the option out and redirect stdout"
        }
        _ => "give a FILE in an existing directory that you may write to",
    }
}

fn rule_help(error: &RuleError) -> Option<String> {
    match (&error.kind, &error.place.origin) {
        (RuleErrorKind::Read(_), _) => {
            Some("give a rule file, written for heist or gitleaks".to_owned())
        }
        (RuleErrorKind::UnknownRule { .. }, None) => {
            Some("`heist rules list` shows all rules".to_owned())
        }
        (_, Some(file)) => {
            let file = shell::quoted(file.as_os_str());
            Some(format!("correct the file, then check it with: heist rules test {file}"))
        }
        (_, None) => None,
    }
}

fn write_baseline_error(error: &BaselineError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        BaselineError::Read { path, source } => {
            write!(f, "cannot read the baseline '{}': {}", shown(path), reason(source))
        }
        BaselineError::Write { path, source } => {
            write!(f, "cannot write the baseline '{}': {}", shown(path), reason(source))
        }
        BaselineError::Invalid { path, reason } => {
            write!(f, "'{}' is not a heist baseline: {}", shown(path), one_line(reason))
        }
        other => f.write_str(&one_line(&other.to_string())),
    }
}

fn baseline_help(error: &BaselineError) -> Option<String> {
    match error {
        BaselineError::Read { path, .. } => Some(format!(
            "to create one: heist baseline --output {}",
            shell::quoted(path.as_os_str())
        )),
        BaselineError::Invalid { .. } => Some(
            "give another FILE, or move this one away and create it again with `heist baseline`"
                .to_owned(),
        ),
        BaselineError::Write { .. } => {
            Some("give a FILE in a directory that you may write to".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CliError, reason};
    use crate::exit::Exit;
    use std::io;

    #[test]
    fn reasons_have_no_error_numbers() {
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(reason(&denied), "Permission denied");
        assert_eq!(reason(&io::Error::other("a \x1b reason")), "a \\x1b reason");
    }

    #[test]
    fn paths_in_messages_are_escaped() {
        let error = CliError::ReadFile {
            what: "the configuration",
            path: "a\x1b[31m".into(),
            source: io::Error::from_raw_os_error(2),
        };
        let expected = "cannot read the configuration 'a\\x1b[31m': No such file or directory";
        assert_eq!((error.to_string().as_str(), error.exit()), (expected, Exit::Usage));
    }
}
