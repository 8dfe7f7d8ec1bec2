//! [`Settings`]: the command line and the configuration files, combined.
//!
//! Invariant: of several sources of a setting the most trusted one wins: the command line, then the
//! user's file, then the file of the scanned tree. `exclude` adds up, with the same precedence. The
//! types let a tree set only what [`Tuning`] has.

use super::advice::Advice;
use super::arguments::{
    DetectionArguments, RunArguments, ScanArguments, ScanFormat, SelectionArguments,
};
use super::configuration::{Configuration, Privileged, Tuning};
use super::configuration_files::{ConfigurationFiles, TreeConfiguration};
use super::found_baseline;
use super::hidden::{HidingRules, HidingSetting};
use super::obedience::{forbid, reset};
use super::origin::{NamedFile, Origin, Setting, SettingName};
use super::policy::{Overruled, Policies};
use super::staged::StagedPlace;
use super::stdin;
use super::suppression::Suppression;
use crate::color::ColorChoice;
use crate::error::CliError;
use crate::messages::Messages;
use heist_scan::Confidence;
use heist_walk::{Filter, Symlinks};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Git's object store. Its files are compressed, so there is no text to scan.
const GIT_OBJECTS: &str = "**/.git/objects";

/// Which named files the command line asks to skip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedSkips {
    /// Binary files, by `--no-binary`.
    pub(crate) binary: bool,
    /// Files above `--max-size`.
    pub(crate) large: bool,
}

/// What to scan and how, for `heist scan` and `heist baseline`.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The paths to scan; `-` is stdin.
    pub(crate) paths: Vec<PathBuf>,
    /// The repository whose staged files are scanned, and nothing else.
    pub(crate) staged: Option<StagedPlace>,
    /// The number of PATHs that the filter excludes.
    pub(crate) paths_excluded: u64,
    /// The number of those that only the scanned tree excludes.
    pub(crate) paths_excluded_by_tree: u64,
    /// Whether the user gave any PATH; otherwise `paths` is the current directory.
    pub(crate) paths_were_given: bool,
    /// The configuration files in use: the user's, then the tree's.
    pub(crate) configurations: Vec<ConfigurationInUse>,
    pub(crate) baseline: Option<Setting<NamedFile>>,
    /// Whether heist found the baseline by itself, in the scanned project.
    pub(crate) baseline_is_found: bool,
    pub(crate) confidence: Setting<Confidence>,
    pub(crate) rules: Setting<Vec<NamedFile>>,
    /// The rule ids of `--only` and `--except`, which may contain `*`.
    pub(crate) only: Setting<Vec<String>>,
    pub(crate) except: Setting<Vec<String>>,
    pub(crate) generic: Setting<bool>,
    pub(crate) noise_filter: bool,
    pub(crate) decode: Setting<bool>,
    pub(crate) max_size: Option<Setting<u64>>,
    /// Whether a file may take any amount of work.
    pub(crate) no_work_limit: bool,
    pub(crate) skips: NamedSkips,
    /// Whether any setting leaves out files that heist scans by default.
    pub(crate) restricts_files: bool,
    pub(crate) filter: Filter,
    pub(crate) gitignore: Setting<bool>,
    pub(crate) no_hidden: Setting<bool>,
    /// Whether to take nothing from the scanned tree.
    pub(crate) untrusted: bool,
    pub(crate) policies: Policies,
    /// What the policies overrule.
    pub(crate) overruled: Vec<Overruled>,
    pub(crate) binary: bool,
    /// Whether a diff on stdin is read as one.
    pub(crate) diff: bool,
    pub(crate) symlinks: Symlinks,
    pub(crate) one_file_system: bool,
    pub(crate) threads: Option<NonZeroUsize>,
    /// When `--timeout` ends the run. A time too far in the future is the same as none.
    pub(crate) deadline: Option<Instant>,
    pub(crate) progress: bool,
    pub(crate) quiet: bool,
    pub(crate) stats: bool,
    pub(crate) trace: Option<PathBuf>,
}

/// A configuration file in use, as reports name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigurationInUse {
    pub(crate) path: PathBuf,
    /// Whether it is that of the scanned tree.
    pub(crate) is_of_tree: bool,
    /// The keys that have no effect, because a tree may not set them so.
    pub(crate) refused: Vec<String>,
}

/// How `heist scan` shows findings.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) format: ScanFormat,
    /// The file of the report; `None` for stdout.
    pub(crate) output: Option<PathBuf>,
    pub(crate) show_secrets: bool,
    pub(crate) sorted: bool,
    /// The exit code of an incomplete scan, if it is not the usual one.
    pub(crate) exit_code_incomplete: Option<u8>,
    pub(crate) color: ColorChoice,
    pub(crate) advice: Advice,
    /// Whether the exit code is 1 if the scanned tree hides anything.
    pub(crate) fail_on_hidden: bool,
}

/// Combines the command line of `heist scan` with the configuration files.
///
/// # Errors
/// A setting cannot be used, or a configuration file is not valid.
pub(crate) fn of_scan(
    arguments: &ScanArguments,
    messages: &Messages,
) -> Result<(Settings, Presentation), CliError> {
    let staged = arguments.staged.then(|| StagedPlace::find(&arguments.paths)).transpose();
    let staged = staged.map_err(CliError::Staged)?;
    // What counts for the root of a work tree counts for its staged files.
    let root = staged.as_ref().map(StagedPlace::root);
    let paths: Vec<PathBuf> = match root {
        Some(root) if root == Path::new(".") => Vec::new(),
        Some(root) => vec![root.to_owned()],
        None => arguments.paths.clone(),
    };
    let files = configuration_files(&arguments.run, &paths, messages)?;
    let mut settings = Settings::new(
        &paths,
        arguments.confidence,
        arguments.baseline.as_deref(),
        (&arguments.detection, &arguments.selection, &arguments.run),
        &files,
    )?;
    if arguments.no_baseline {
        settings.baseline = None;
    } else if settings.baseline.is_none() && !arguments.run.no_config && !settings.untrusted {
        settings.use_found_baseline(found_baseline::find(&paths));
    }
    settings.staged = staged;
    let fail_on_hidden = given(arguments.fail_on_hidden, arguments.no_fail_on_hidden);
    let must_fail = files.policies.fail_on_hidden();
    if let (Some(demand), Some(false)) = (&must_fail, fail_on_hidden) {
        let (what, demand) = ("--no-fail-on-hidden".to_owned(), demand.clone());
        return Err(CliError::AgainstPolicy { what, demand });
    }
    let sources = Sources::new(&files);
    let sorted = given(arguments.sorted, arguments.no_sorted);
    let baseline = settings.baseline.as_ref().map(|baseline| baseline.value.path());
    let presentation = Presentation {
        format: sources.trusted(arguments.format, |file| file.format).unwrap_or_default(),
        output: arguments.output.clone().filter(|path| !is_stdout(path)),
        show_secrets: arguments.show_secrets,
        sorted: sources.trusted(sorted, |file| file.sorted).unwrap_or_default(),
        exit_code_incomplete: arguments.exit_code_incomplete,
        color: sources.trusted(arguments.run.color, |file| file.color).unwrap_or_default(),
        advice: Advice::new(arguments, baseline),
        fail_on_hidden: must_fail.is_some()
            || sources.trusted(fail_on_hidden, |file| file.fail_on_hidden).unwrap_or_default(),
    };
    Ok((settings, presentation))
}

/// Loads the configuration files in effect and prints notes about them.
///
/// # Errors
/// A file cannot be read or is not valid.
pub(crate) fn configuration_files(
    run: &RunArguments,
    paths: &[PathBuf],
    messages: &Messages,
) -> Result<ConfigurationFiles, CliError> {
    let policies = Policies::load(run.policy.as_deref())?;
    let mut untrusted = given(run.untrusted, run.no_untrusted);
    if let Some(demand) = policies.untrusted() {
        if untrusted == Some(false) {
            let what = "--no-untrusted".to_owned();
            return Err(CliError::AgainstPolicy { what, demand });
        }
        untrusted = Some(true);
    }
    let mut files = match &run.config {
        _ if run.no_config => ConfigurationFiles::default(),
        Some(file) => ConfigurationFiles::named(file)?,
        None => ConfigurationFiles::find(paths, untrusted, &policies)?,
    };
    files.policies = policies;
    for note in files.notes.iter().filter(|_| !run.quiet) {
        messages.say(&format!("note: {note}"));
    }
    Ok(files)
}

/// The configuration files as sources of settings.
#[derive(Clone, Copy, Debug)]
struct Sources<'a> {
    policies: &'a Policies,
    user: Option<&'a Configuration>,
    tree: Option<&'a TreeConfiguration>,
}

impl<'a> Sources<'a> {
    fn new(files: &'a ConfigurationFiles) -> Self {
        let ConfigurationFiles { user, tree, policies, .. } = files;
        Self { policies, user: user.as_ref(), tree: tree.as_ref() }
    }

    /// Returns a setting that every source may have: from the most trusted one that has it.
    fn any<T>(
        &self,
        given: Option<T>,
        of_user: impl Fn(&Configuration) -> Option<T>,
        of_tree: impl Fn(&TreeConfiguration) -> Option<T>,
    ) -> Option<Setting<T>> {
        let given = given.map(|value| Setting::new(value, Origin::CommandLine));
        let of_user = || {
            let user = self.user?;
            Some(Setting::new(of_user(user)?, Origin::UserFile(user.path.clone())))
        };
        let of_tree = || {
            let tree = self.tree?;
            Some(Setting::new(of_tree(tree)?, Origin::Tree(tree.path.clone())))
        };
        given.or_else(of_user).or_else(of_tree)
    }

    /// Returns a setting that a tree may tune.
    fn tuned<T>(&self, given: Option<T>, of: impl Fn(&Tuning) -> Option<T>) -> Option<Setting<T>> {
        self.any(given, |user| of(&user.tuning), |tree| of(&tree.tuning))
    }

    /// Returns a list that a tree may tune. An empty list counts as not set.
    fn tuned_list(
        &self,
        given: &[String],
        of: impl Fn(&Tuning) -> &[String],
    ) -> Setting<Vec<String>> {
        let not_empty = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        self.tuned(not_empty(given), |tuning| not_empty(of(tuning))).unwrap_or_default()
    }

    /// Returns a setting that a tree may not set.
    fn trusted<T>(&self, given: Option<T>, of: impl Fn(&Privileged) -> Option<T>) -> Option<T> {
        given.or_else(|| of(&self.user?.privileged))
    }

    fn in_use(&self) -> Vec<ConfigurationInUse> {
        let user = self.user.map(|user| ConfigurationInUse {
            path: user.path.to_path_buf(),
            is_of_tree: false,
            refused: Vec::new(),
        });
        let tree = self.tree.map(|tree| ConfigurationInUse {
            path: tree.path.to_path_buf(),
            is_of_tree: true,
            refused: tree.refused.clone(),
        });
        user.into_iter().chain(tree).collect()
    }
}

impl Settings {
    /// Combines the options with the configuration files.
    ///
    /// # Errors
    /// A glob is not valid, or `-` is given twice.
    pub(crate) fn new(
        paths: &[PathBuf],
        confidence: Option<Confidence>,
        baseline: Option<&Path>,
        (detection, selection, run): (&DetectionArguments, &SelectionArguments, &RunArguments),
        files: &ConfigurationFiles,
    ) -> Result<Self, CliError> {
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(CliError::StdinTwice);
        }
        if paths.iter().any(|path| is_stdin(path)) && stdin::is_closed() {
            return Err(CliError::StdinClosed);
        }
        let sources = Sources::new(files);
        let untrusted =
            sources.trusted(given(run.untrusted, run.no_untrusted), |file| file.untrusted);
        let policies = &files.policies;
        let mut overruled = files.overruled.clone();
        let untrusted = policies.untrusted().is_some() || untrusted.unwrap_or_default();
        let gitignore = given(selection.gitignore, selection.no_gitignore);
        let mut gitignore = sources.tuned(gitignore, |tuning| tuning.gitignore).unwrap_or_default();
        reset(policies, "gitignore", &mut gitignore, &mut overruled)?;
        if untrusted && gitignore.value {
            let setting = SettingName { origin: gitignore.origin, key: "gitignore" };
            return Err(CliError::UntrustedIgnoreFiles { setting });
        }
        let no_hidden = given(selection.no_hidden, selection.hidden);
        let mut no_hidden = sources.tuned(no_hidden, |tuning| tuning.no_hidden).unwrap_or_default();
        reset(policies, "no-hidden", &mut no_hidden, &mut overruled)?;
        let base = Filter::new()
            .skip_hidden(no_hidden.value)
            .ignore_files(gitignore.value)
            .git_ignore(gitignore.value)
            .git_exclude(gitignore.value)
            .git_global(gitignore.value);
        let mut roots = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() };
        let of_user = Sources { tree: None, ..sources };
        let trusted_filter = filter(base.clone(), selection, &of_user, &roots, &mut Vec::new())?;
        let filter = filter(base, selection, &sources, &roots, &mut overruled)?;
        // The shell may have expanded a pattern such as `*` to the PATHs, so excludes apply to
        // them.
        let (mut paths_excluded, mut paths_excluded_by_tree) = (0, 0);
        for at in (0..roots.len()).rev() {
            let excluded = filter.excludes_root(&roots[at]);
            if excluded.map_err(CliError::TooManyGlobs)? && !is_stdin(&roots[at]) {
                let by_user = trusted_filter.excludes_root(&roots[at]);
                paths_excluded += 1;
                paths_excluded_by_tree += u64::from(!by_user.map_err(CliError::TooManyGlobs)?);
                roots.remove(at);
            }
        }
        // Whether a rule or noise is searched for: the options name the opposite.
        let on = |given, of: fn(&Tuning) -> Option<bool>| {
            let off = sources.tuned(given, of).unwrap_or_default();
            off.map(|is_off| !is_off)
        };
        let follow = given(selection.follow, selection.no_follow);
        let follow = sources.trusted(follow, |file| file.follow).unwrap_or_default();
        let one_file_system = given(selection.one_file_system, selection.no_one_file_system);
        let no_progress = given(run.no_progress, run.progress);
        let no_progress = sources.trusted(no_progress, |file| file.no_progress);
        let binary = given(selection.binary, selection.no_binary);
        let stats = given(run.stats, run.no_stats);
        let confidence = sources.tuned(confidence, |tuning| tuning.confidence);
        let max_size = sources.tuned(selection.max_size, |tuning| tuning.max_size);
        let of_user = |user: &Configuration| user.privileged.one_file_system;
        let one_file_system = sources.any(one_file_system, of_user, |_| None);
        let mut one_file_system = one_file_system.unwrap_or_default();
        reset(policies, "one-file-system", &mut one_file_system, &mut overruled)?;
        let one_file_system = one_file_system.value;
        let restricts_files =
            max_size.is_some() || one_file_system || leaves_out_entries(selection, &sources);
        let timeout = sources.trusted(run.timeout, |file| file.timeout);
        let mut settings = Self {
            paths: roots,
            staged: None,
            paths_excluded,
            paths_excluded_by_tree,
            paths_were_given: !paths.is_empty(),
            configurations: sources.in_use(),
            baseline: sources.any(
                baseline.map(|path| NamedFile::trusted(path.to_owned())),
                |user| user.tuning.baseline.as_ref().map(|path| beside(user, path)),
                |tree| tree.baseline.clone(),
            ),
            baseline_is_found: false,
            confidence: confidence.unwrap_or(Setting::new(Confidence::Medium, Origin::Default)),
            rules: rule_files(detection, &sources),
            only: sources.tuned_list(&detection.only, |tuning| &tuning.only),
            except: sources.tuned_list(&detection.except, |tuning| &tuning.except),
            generic: on(given(detection.no_generic, detection.generic), |tuning| tuning.no_generic),
            noise_filter: on(given(detection.no_noise_filter, detection.noise_filter), |tuning| {
                tuning.no_noise_filter
            })
            .value,
            decode: on(given(detection.no_decode, detection.decode), |tuning| tuning.no_decode),
            max_size,
            no_work_limit: selection.no_work_limit,
            restricts_files,
            skips: NamedSkips { binary: selection.no_binary, large: selection.max_size.is_some() },
            filter,
            gitignore,
            no_hidden,
            untrusted,
            policies: policies.clone(),
            overruled,
            binary: sources.tuned(binary, |tuning| tuning.binary).unwrap_or_default().value,
            diff: !selection.no_diff,
            symlinks: if follow { Symlinks::Always } else { Symlinks::Roots },
            one_file_system,
            threads: sources.trusted(run.threads, |file| file.threads),
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            progress: !run.quiet && !no_progress.unwrap_or_default(),
            quiet: run.quiet,
            stats: sources.trusted(stats, |file| file.stats).unwrap_or_default(),
            trace: run.trace.clone(),
        };
        settings.obey()?;
        Ok(settings)
    }

    /// Adds what the policies overrule in the rules and the ignore files, and prints notes about
    /// all that they overrule.
    pub(crate) fn add_overruled(&mut self, more: [Vec<Overruled>; 2], messages: &Messages) {
        for overruled in more.into_iter().flatten() {
            if !self.overruled.contains(&overruled) {
                self.overruled.push(overruled);
            }
        }
        for overruled in self.overruled.iter().filter(|_| !self.quiet) {
            messages.say(&format!("note: {overruled}"));
        }
    }

    /// Returns the configuration file of the scanned tree, if there is one.
    pub(crate) fn tree_file(&self) -> Option<&Path> {
        let file = self.configurations.iter().find(|file| file.is_of_tree)?;
        Some(&file.path)
    }

    /// Tells the suppression about the file of the baseline, in which no findings are reported.
    pub(crate) fn add_baseline_to(&self, suppression: &mut Suppression) {
        match &self.baseline {
            // Like every other file of the tree, a baseline that heist found is scanned.
            Some(_) if self.baseline_is_found => {}
            Some(baseline) if baseline.is_of_tree() => {
                suppression.add_tree_baseline(baseline.value.path());
            }
            Some(baseline) => suppression.add_own(baseline.value.path()),
            None => {}
        }
    }

    /// Returns what of the scanned tree may hide findings, where `off` are the rules that it
    /// switches off.
    pub(crate) fn hiding(&self, off: HashMap<String, HidingSetting>) -> HidingRules {
        let confidence = match self.confidence.is_of_tree() {
            true => Confidence::Medium,
            false => self.confidence.value,
        };
        let of_tree = self.baseline.as_ref().filter(|baseline| baseline.is_of_tree());
        let setting = match self.baseline_is_found {
            true => HidingSetting::FoundBaseline,
            false => HidingSetting::Baseline,
        };
        let baseline =
            of_tree.and_then(Setting::tree_file).map(|file| (setting, file.to_path_buf()));
        HidingRules { off, file: self.tree_file().map(Path::to_owned), confidence, baseline }
    }

    /// Returns `true` if the settings may search for fewer secrets than the defaults do. Rule files
    /// count, because they need not extend the built-in rules.
    pub(crate) fn restricts_rules(&self) -> bool {
        let takes_all = self.rules.value.is_empty()
            && self.only.value.is_empty()
            && self.except.value.is_empty();
        !(takes_all && self.generic.value && self.decode.value)
    }
}

/// Returns a file that the user's configuration names.
fn beside(user: &Configuration, path: &Path) -> NamedFile {
    NamedFile::trusted(user.path.parent().unwrap_or(Path::new("")).join(path))
}

/// Returns the rule files of the most trusted source that has any.
fn rule_files(detection: &DetectionArguments, sources: &Sources<'_>) -> Setting<Vec<NamedFile>> {
    let not_empty = |files: Vec<NamedFile>| Some(files).filter(|files| !files.is_empty());
    let given = detection.rules.iter().cloned().map(NamedFile::trusted).collect();
    let of_user = |user: &Configuration| {
        not_empty(user.tuning.rules.iter().map(|path| beside(user, path)).collect())
    };
    let of_tree = |tree: &TreeConfiguration| not_empty(tree.rules.clone());
    sources.any(not_empty(given), of_user, of_tree).unwrap_or_default()
}

/// Returns `true` if a PATH stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns `true` if the path of `--output` stands for stdout.
fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || path.as_os_str() == "/dev/stdout"
}

/// Returns what the command line says about a flag, if it has the flag or its opposite. (The parser
/// keeps the later of the two.)
fn given(flag: bool, opposite: bool) -> Option<bool> {
    (flag || opposite).then_some(flag)
}

/// Returns `true` if a filter leaves out entries that heist scans by default.
fn leaves_out_entries(selection: &SelectionArguments, sources: &Sources<'_>) -> bool {
    let flag =
        |given, of: fn(&Tuning) -> Option<bool>| sources.tuned(given, of).unwrap_or_default().value;
    let tree = sources.tree.map(|tree| &tree.tuning);
    let user = sources.user.map(|user| &user.tuning);
    let configured = tree.into_iter().chain(user).any(|tuning| !tuning.exclude.is_empty());
    configured
        || !selection.exclude.is_empty()
        || flag(given(selection.gitignore, selection.no_gitignore), |tuning| tuning.gitignore)
        || flag(given(selection.no_hidden, selection.hidden), |tuning| tuning.no_hidden)
}

/// Adds the globs of all sources to a filter, and those that the policies demand for these roots.
fn filter(
    mut filter: Filter,
    selection: &SelectionArguments,
    sources: &Sources<'_>,
    roots: &[PathBuf],
    overruled: &mut Vec<Overruled>,
) -> Result<Filter, CliError> {
    // A later glob can override an earlier one, so the most trusted source comes last.
    let built_in = [GIT_OBJECTS.to_owned()];
    let of_tree = sources.tree.map(|tree| (Origin::Tree(tree.path.clone()), &*tree.tuning.exclude));
    let of_user =
        sources.user.map(|user| (Origin::UserFile(user.path.clone()), &*user.tuning.exclude));
    let globs = [
        Some((Origin::Default, &built_in[..])),
        of_tree,
        of_user,
        Some((Origin::CommandLine, &*selection.exclude)),
    ];
    let required = sources.policies.paths_below(roots);
    for (origin, globs) in globs.into_iter().flatten().filter(|(_, globs)| !globs.is_empty()) {
        if let Some(demand) = sources.policies.forbids("exclude")
            && origin != Origin::Default
        {
            overruled.extend(forbid("exclude", &origin, demand)?);
            continue;
        }
        let bad = |source| CliError::Glob {
            setting: SettingName { origin: origin.clone(), key: "exclude" },
            source,
        };
        let mut alone = Filter::new();
        for glob in globs {
            filter = match origin {
                Origin::Tree(_) => filter.exclude_counted(glob),
                _ => filter.exclude(glob),
            }
            .map_err(bad)?;
            if !required.is_empty() {
                alone = alone.exclude(glob).map_err(bad)?;
            }
        }
        for (path, demand) in &required {
            if alone.excludes_path(path, true).map_err(CliError::TooManyGlobs)? {
                overruled.extend(forbid("exclude", &origin, demand.clone())?);
            }
        }
    }
    for (path, _) in &required {
        for glob in globs_of(path) {
            let setting = SettingName { origin: Origin::Default, key: "paths" };
            filter = filter.include(glob).map_err(|source| CliError::Glob { setting, source })?;
        }
    }
    if !required.is_empty() {
        let setting = SettingName { origin: Origin::Default, key: "exclude" };
        let glob = filter.exclude(GIT_OBJECTS);
        filter = glob.map_err(|source| CliError::Glob { setting, source })?;
    }
    Ok(filter)
}

/// Returns globs that match a path below a root, the directories above it, and all that is in it.
fn globs_of(path: &Path) -> Vec<String> {
    let (mut way, mut globs) = (String::new(), Vec::new());
    for name in path {
        way.push('/');
        for character in name.to_string_lossy().chars() {
            if !(character.is_alphanumeric() || "-_.".contains(character)) {
                way.push('\\');
            }
            way.push(character);
        }
        globs.push(way.clone());
    }
    globs.push(format!("{way}/**"));
    globs
}
