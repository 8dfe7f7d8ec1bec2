//! [`Settings`]: what the command line and the configuration file come to. The command line wins.

use super::advice::Advice;
use super::arguments::{
    DetectionArguments, Format, RunArguments, ScanArguments, SelectionArguments,
};
use super::configuration::Configuration;
use crate::color::ColorChoice;
use crate::escape;
use crate::messages::Messages;
use heist_scan::Confidence;
use heist_walk::{Filter, Symlinks};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Git's own copies of everything, compressed: no file in there is text.
const GIT_OBJECTS: &str = "**/.git/objects";

/// Names of rules, and who gave them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) ids: Vec<String>,
    /// For messages: an option, or a configuration file and a key in it.
    pub(crate) given_by: String,
}

/// What is to be done, for `heist scan` and `heist baseline`.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What is scanned; `-` is stdin.
    pub(crate) paths: Vec<PathBuf>,
    /// How many PATHs are left out.
    pub(crate) paths_excluded: u64,
    /// Whether `paths` is what was asked for, or what is scanned if nothing was.
    pub(crate) paths_were_given: bool,
    /// The configuration file that was used.
    pub(crate) configuration: Option<PathBuf>,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) confidence: Confidence,
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) only: Names,
    pub(crate) except: Names,
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

/// How findings are shown, for `heist scan`.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) format: Format,
    pub(crate) output: Option<PathBuf>,
    pub(crate) show_secrets: bool,
    pub(crate) sorted: bool,
    pub(crate) color: ColorChoice,
    pub(crate) advice: Advice,
}

/// What the command line of `heist scan` and the configuration file come to.
///
/// # Errors
/// They make no sense; the text says why.
pub(crate) fn of_scan(
    arguments: &ScanArguments,
    messages: &Messages,
) -> Result<(Settings, Presentation), String> {
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

/// Loads the configuration file in effect, and prints notes about it.
///
/// # Errors
/// There is one, and it cannot be read or is not valid.
pub(crate) fn configuration(
    run: &RunArguments,
    paths: &[PathBuf],
    messages: &Messages,
) -> Result<Configuration, String> {
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
    /// What the options and the configuration file come to.
    ///
    /// # Errors
    /// A glob is not valid, or stdin is asked for twice.
    pub(crate) fn new(
        paths: &[PathBuf],
        confidence: Option<Confidence>,
        baseline: Option<&Path>,
        (detection, selection, run): (&DetectionArguments, &SelectionArguments, &RunArguments),
        configuration: &Configuration,
    ) -> Result<Self, String> {
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err("`-` is given twice; stdin can be read once".into());
        }
        let names = |key: &str, given: &[String], configured: &[String]| {
            if given.is_empty() {
                Names { ids: configured.to_vec(), given_by: configured_by(configuration, key) }
            } else {
                Names { ids: given.to_vec(), given_by: format!("--{key}") }
            }
        };
        let filter = filter(selection, configuration)?;
        let mut roots = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() };
        // As in a directory: of `*`, say, what is excluded is left out.
        let mut paths_excluded = 0;
        for at in (0..roots.len()).rev() {
            let excluded = filter.excludes_root(&roots[at]);
            if excluded.map_err(|error| format!("--exclude: {error}"))? && !is_stdin(&roots[at]) {
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
            only: names("only", &detection.only, &configuration.only),
            except: names("except", &detection.except, &configuration.except),
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

    /// Whether less may be looked for than is by default. (Files of rules need not build upon the built-in ones.)
    pub(crate) fn looks_for_less(&self) -> bool {
        let takes_all =
            self.rules.is_empty() && self.only.ids.is_empty() && self.except.ids.is_empty();
        !(takes_all && self.generic && self.decode)
    }
}

/// Whether a PATH stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A flag, its opposite (of the two the parser keeps the last), and what the configuration says if neither was given.
fn flag(given: bool, opposite: bool, configured: Option<bool>) -> bool {
    given || (!opposite && configured.unwrap_or_default())
}

fn filter(selection: &SelectionArguments, configuration: &Configuration) -> Result<Filter, String> {
    let gitignore = flag(selection.gitignore, selection.no_gitignore, configuration.gitignore);
    let mut filter = Filter::new()
        .skip_hidden(flag(selection.no_hidden, selection.hidden, configuration.no_hidden))
        .ignore_files(gitignore)
        .git_ignore(gitignore)
        .git_exclude(gitignore)
        .git_global(gitignore);
    // The built-in one first: later ones may turn it around.
    let built_in = [GIT_OBJECTS.to_owned()];
    for glob in built_in.iter().chain(&configuration.exclude) {
        filter = filter
            .exclude(glob)
            .map_err(|error| format!("{}: {error}", configured_by(configuration, "exclude")))?;
    }
    for glob in &selection.exclude {
        filter = filter.exclude(glob).map_err(|error| format!("--exclude: {error}"))?;
    }
    Ok(filter)
}

/// A key of the configuration, for messages.
fn configured_by(configuration: &Configuration, key: &str) -> String {
    match &configuration.path {
        Some(path) => {
            format!("the configuration '{}': `{key}`", escape::for_terminal(path.as_os_str()))
        }
        None => format!("`{key}`"),
    }
}
