//! [`Settings`]: the command line and the configuration file, combined. The command line wins.

use super::advice::Advice;
use super::arguments::{
    DetectionArguments, RunArguments, ScanArguments, ScanFormat, SelectionArguments,
};
use super::configuration::Configuration;
use crate::color::ColorChoice;
use crate::error::CliError;
use crate::escape;
use crate::messages::Messages;
use heist_scan::Confidence;
use heist_walk::{Filter, Symlinks};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Git's object store. Its files are compressed, so there is no text to scan.
const GIT_OBJECTS: &str = "**/.git/objects";

/// Where a setting comes from, for error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// An option of the command line.
    Option(&'static str),
    /// A key of a configuration file.
    Configuration { path: Option<PathBuf>, key: &'static str },
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(option) => f.write_str(option),
            Self::Configuration { path: Some(path), key } => {
                let path = escape::for_terminal(path.as_os_str());
                write!(f, "the configuration '{path}': `{key}`")
            }
            Self::Configuration { path: None, key } => write!(f, "`{key}`"),
        }
    }
}

/// The value of `--only` or `--except`: rule ids, which may contain `*`.
#[derive(Debug)]
pub(crate) struct RuleSelector {
    pub(crate) ids: Vec<String>,
    pub(crate) origin: SettingOrigin,
}

/// What to scan and how, for `heist scan` and `heist baseline`.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The paths to scan; `-` is stdin.
    pub(crate) paths: Vec<PathBuf>,
    /// The number of PATHs that the filter excludes.
    pub(crate) paths_excluded: u64,
    /// Whether the user gave any PATH; otherwise `paths` is the current directory.
    pub(crate) paths_were_given: bool,
    /// The configuration file in use.
    pub(crate) configuration: Option<PathBuf>,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) confidence: Confidence,
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) only: RuleSelector,
    pub(crate) except: RuleSelector,
    pub(crate) generic: bool,
    pub(crate) noise_filter: bool,
    pub(crate) decode: bool,
    pub(crate) max_size: Option<u64>,
    pub(crate) filter: Filter,
    pub(crate) binary: bool,
    pub(crate) symlinks: Symlinks,
    pub(crate) one_file_system: bool,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) progress: bool,
    pub(crate) quiet: bool,
    pub(crate) stats: bool,
    pub(crate) trace: Option<PathBuf>,
}

/// How `heist scan` shows findings.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) format: ScanFormat,
    pub(crate) output: Option<PathBuf>,
    pub(crate) show_secrets: bool,
    pub(crate) sorted: bool,
    pub(crate) color: ColorChoice,
    pub(crate) advice: Advice,
}

/// Combines the command line of `heist scan` with the configuration file.
///
/// # Errors
/// A setting cannot be used, or the configuration file is not valid.
pub(crate) fn of_scan(
    arguments: &ScanArguments,
    messages: &Messages,
) -> Result<(Settings, Presentation), CliError> {
    let configuration = configuration(&arguments.run, &arguments.paths, messages)?;
    let settings = Settings::new(
        &arguments.paths,
        arguments.confidence,
        arguments.baseline.as_deref(),
        (&arguments.detection, &arguments.selection, &arguments.run),
        &configuration,
    )?;
    let presentation = Presentation {
        format: arguments.format.or(configuration.format).unwrap_or_default(),
        output: arguments.output.clone(),
        show_secrets: arguments.show_secrets,
        sorted: flag(arguments.sorted, arguments.no_sorted, configuration.sorted),
        color: arguments.run.color.or(configuration.color).unwrap_or_default(),
        advice: Advice::new(arguments, settings.baseline.as_deref()),
    };
    Ok((settings, presentation))
}

/// Loads the configuration file in effect and prints notes about it.
///
/// # Errors
/// The file cannot be read or is not valid.
pub(crate) fn configuration(
    run: &RunArguments,
    paths: &[PathBuf],
    messages: &Messages,
) -> Result<Configuration, CliError> {
    let configuration = match &run.config {
        _ if run.no_config => Configuration::default(),
        Some(file) => Configuration::load(file)?,
        None => Configuration::find(paths)?,
    };
    for note in configuration.notes.iter().filter(|_| !run.quiet) {
        messages.say(&format!("note: {note}"));
    }
    Ok(configuration)
}

impl Settings {
    /// Combines the options with the configuration file.
    ///
    /// # Errors
    /// A glob is not valid, or `-` is given twice.
    pub(crate) fn new(
        paths: &[PathBuf],
        confidence: Option<Confidence>,
        baseline: Option<&Path>,
        (detection, selection, run): (&DetectionArguments, &SelectionArguments, &RunArguments),
        configuration: &Configuration,
    ) -> Result<Self, CliError> {
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(CliError::StdinTwice);
        }
        let selector = |option, key, given: &[String], configured: &[String]| {
            if given.is_empty() {
                RuleSelector { ids: configured.to_vec(), origin: configured_by(configuration, key) }
            } else {
                RuleSelector { ids: given.to_vec(), origin: SettingOrigin::Option(option) }
            }
        };
        let filter = filter(selection, configuration)?;
        let mut roots = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() };
        // The shell may have expanded a pattern such as `*` to the PATHs, so excludes apply to
        // them.
        let mut paths_excluded = 0;
        for at in (0..roots.len()).rev() {
            let excluded = filter.excludes_root(&roots[at]);
            if excluded.map_err(CliError::TooManyGlobs)? && !is_stdin(&roots[at]) {
                roots.remove(at);
                paths_excluded += 1;
            }
        }
        let follow = flag(selection.follow, selection.no_follow, configuration.follow);
        Ok(Self {
            paths: roots,
            paths_excluded,
            paths_were_given: !paths.is_empty(),
            configuration: configuration.path.clone(),
            baseline: baseline.map(Path::to_owned).or_else(|| configuration.baseline.clone()),
            confidence: confidence.or(configuration.confidence).unwrap_or(Confidence::Medium),
            rules: if detection.rules.is_empty() {
                configuration.rules.clone()
            } else {
                detection.rules.clone()
            },
            only: selector("--only", "only", &detection.only, &configuration.only),
            except: selector("--except", "except", &detection.except, &configuration.except),
            generic: !flag(detection.no_generic, detection.generic, configuration.no_generic),
            noise_filter: !flag(
                detection.no_noise_filter,
                detection.noise_filter,
                configuration.no_noise_filter,
            ),
            decode: !flag(detection.no_decode, detection.decode, configuration.no_decode),
            max_size: selection.max_size.or(configuration.max_size),
            filter,
            binary: flag(selection.binary, selection.no_binary, configuration.binary),
            symlinks: if follow { Symlinks::Always } else { Symlinks::Roots },
            one_file_system: flag(
                selection.one_file_system,
                selection.no_one_file_system,
                configuration.one_file_system,
            ),
            threads: run.threads.or(configuration.threads),
            timeout: run.timeout.or(configuration.timeout),
            progress: !run.quiet && !flag(run.no_progress, run.progress, configuration.no_progress),
            quiet: run.quiet,
            stats: flag(run.stats, run.no_stats, configuration.stats),
            trace: run.trace.clone(),
        })
    }

    /// Returns `true` if the settings may search for fewer secrets than the defaults do. Rule files
    /// count, because they need not extend the built-in rules.
    pub(crate) fn restricts_rules(&self) -> bool {
        let takes_all =
            self.rules.is_empty() && self.only.ids.is_empty() && self.except.ids.is_empty();
        !(takes_all && self.generic && self.decode)
    }
}

/// Returns `true` if a PATH stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the value of a flag: from the command line if it has the flag or its opposite (the
/// parser keeps the later of the two), else from the configuration.
fn flag(given: bool, opposite: bool, configured: Option<bool>) -> bool {
    given || (!opposite && configured.unwrap_or_default())
}

fn filter(
    selection: &SelectionArguments,
    configuration: &Configuration,
) -> Result<Filter, CliError> {
    let gitignore = flag(selection.gitignore, selection.no_gitignore, configuration.gitignore);
    let mut filter = Filter::new()
        .skip_hidden(flag(selection.no_hidden, selection.hidden, configuration.no_hidden))
        .ignore_files(gitignore)
        .git_ignore(gitignore)
        .git_exclude(gitignore)
        .git_global(gitignore);
    // The built-in glob comes first, so that later globs can override it.
    let built_in = [GIT_OBJECTS.to_owned()];
    for glob in built_in.iter().chain(&configuration.exclude) {
        filter = filter.exclude(glob).map_err(|source| CliError::Glob {
            origin: configured_by(configuration, "exclude"),
            source,
        })?;
    }
    for glob in &selection.exclude {
        filter = filter.exclude(glob).map_err(|source| CliError::Glob {
            origin: SettingOrigin::Option("--exclude"),
            source,
        })?;
    }
    Ok(filter)
}

fn configured_by(configuration: &Configuration, key: &'static str) -> SettingOrigin {
    SettingOrigin::Configuration { path: configuration.path.clone(), key }
}
