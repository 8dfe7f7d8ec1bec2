//! [`Advice`]: the commands at the end of a report, for the user to copy.
//!
//! Invariant: the commands have the same findings as this run. So they repeat the PATHs and every
//! option that affects the findings, and no option that affects only the output. They find the same
//! configuration file, because the first PATH is the same.

use super::arguments::{DetectionArguments, RunArguments, ScanArguments, SelectionArguments};
use super::settings::is_stdin;
use crate::shell::quoted;
use heist_scan::Confidence;
use std::ffi::OsStr;
use std::path::Path;

/// The baseline that the commands create if the run had none.
const BASELINE: &str = "heist-baseline.toml";

/// The commands at the end of a report.
#[derive(Debug)]
pub(crate) struct Advice {
    /// Adds the findings to a baseline.
    pub(crate) baseline: String,
    /// Scans again with that baseline.
    pub(crate) scan: String,
    /// Whether the commands read stdin, so that they need the same input again.
    pub(crate) read_stdin: bool,
    /// Whether the run scanned what is staged, which no baseline can record as a whole.
    pub(crate) is_staged: bool,
}

impl Advice {
    /// Creates the commands for a run with these arguments and this baseline, if it had one.
    pub(crate) fn new(arguments: &ScanArguments, baseline: Option<&Path>) -> Self {
        let baseline = baseline.map_or(OsStr::new(BASELINE), Path::as_os_str);
        let with = |command: &str, option: &str| {
            let mut line = CommandLine(format!("heist {command}"));
            line.option(option, baseline);
            repeat(arguments, &mut line);
            line.0
        };
        Self {
            baseline: with("baseline", "--output"),
            scan: with("scan", "--baseline"),
            is_staged: arguments.staged,
            read_stdin: arguments.paths.iter().any(|path| is_stdin(path)),
        }
    }
}

/// A command line under construction.
struct CommandLine(String);

impl CommandLine {
    fn word(&mut self, word: &OsStr) {
        self.0.push(' ');
        self.0.push_str(&quoted(word));
    }

    fn option(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref();
        self.0.push(' ');
        self.0.push_str(name);
        // The parser would take a separate value that begins with a dash for an option.
        self.0.push(if value.as_encoded_bytes().starts_with(b"-") { '=' } else { ' ' });
        self.0.push_str(&quoted(value));
    }

    fn options(&mut self, name: &str, values: impl IntoIterator<Item = impl AsRef<OsStr>>) {
        values.into_iter().for_each(|value| self.option(name, value));
    }

    fn flags<const N: usize>(&mut self, flags: [(bool, &str); N]) {
        for (_, name) in flags.iter().filter(|(is_given, _)| *is_given) {
            self.0.push(' ');
            self.0.push_str(name);
        }
    }
}

/// Adds the arguments that affect the findings. The pattern names every field, so that the compiler
/// asks about each new option.
fn repeat(arguments: &ScanArguments, line: &mut CommandLine) {
    let ScanArguments {
        paths,
        staged,
        format: _,
        output: _,
        explain: _,
        baseline: _,
        no_baseline: _,
        confidence,
        show_secrets: _,
        sorted: _,
        no_sorted: _,
        exit_code_incomplete: _,
        fail_on_hidden: _,
        no_fail_on_hidden: _,
        detection,
        selection,
        run,
    } = arguments;
    line.flags([(*staged, "--staged")]);
    line.options("--confidence", confidence.map(Confidence::as_str));
    repeat_detection(detection, line);
    repeat_selection(selection, line);
    let RunArguments {
        threads: _,
        timeout: _,
        config,
        no_config,
        policy,
        untrusted,
        no_untrusted,
        color: _,
        no_progress: _,
        progress: _,
        quiet: _,
        stats: _,
        no_stats: _,
        trace: _,
    } = run;
    line.options("--config", config);
    line.options("--policy", policy);
    line.flags([
        (*no_config, "--no-config"),
        (*untrusted, "--untrusted"),
        (*no_untrusted, "--no-untrusted"),
    ]);
    let starts_with_dash = |path: &Path| path.as_os_str().as_encoded_bytes().starts_with(b"-");
    if paths.iter().any(|path| starts_with_dash(path) && !is_stdin(path)) {
        line.word(OsStr::new("--"));
    }
    paths.iter().for_each(|path| line.word(path.as_os_str()));
}

fn repeat_detection(detection: &DetectionArguments, line: &mut CommandLine) {
    let DetectionArguments {
        rules,
        only,
        except,
        no_generic,
        generic,
        no_noise_filter,
        noise_filter,
        no_decode,
        decode,
    } = detection;
    line.options("--rules", rules);
    for (name, ids) in [("--only", only), ("--except", except)] {
        line.options(name, (!ids.is_empty()).then(|| ids.join(",")));
    }
    line.flags([
        (*no_generic, "--no-generic"),
        (*generic, "--generic"),
        (*no_noise_filter, "--no-noise-filter"),
        (*noise_filter, "--noise-filter"),
        (*no_decode, "--no-decode"),
        (*decode, "--decode"),
    ]);
}

fn repeat_selection(selection: &SelectionArguments, line: &mut CommandLine) {
    let SelectionArguments {
        max_size,
        no_work_limit,
        exclude,
        gitignore,
        no_gitignore,
        no_hidden,
        hidden,
        binary,
        no_binary,
        no_diff,
        diff,
        follow,
        no_follow,
        one_file_system,
        no_one_file_system,
    } = selection;
    line.options("--max-size", max_size.map(|bytes| bytes.to_string()));
    line.options("--exclude", exclude);
    line.flags([
        (*no_work_limit, "--no-work-limit"),
        (*gitignore, "--gitignore"),
        (*no_gitignore, "--no-gitignore"),
        (*no_hidden, "--no-hidden"),
        (*hidden, "--hidden"),
        (*binary, "--binary"),
        (*no_binary, "--no-binary"),
        (*no_diff, "--no-diff"),
        (*diff, "--diff"),
        (*follow, "--follow"),
        (*no_follow, "--no-follow"),
        (*one_file_system, "--one-file-system"),
        (*no_one_file_system, "--no-one-file-system"),
    ]);
}
