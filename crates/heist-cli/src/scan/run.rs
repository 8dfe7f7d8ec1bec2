//! One run of `heist scan`: starts the scan, writes the report, and returns the exit code.

use super::arguments::{ScanArguments, ScanFormat};
use super::collector::{Collected, Collector, CollectorOptions};
use super::engine;
use super::explain;
use super::format::{self, Report, TextStyle, jsonl};
use super::history;
use super::output::ReportOutput;
use super::overwrite::refuse_own_file;
use super::rules::{self, Detection};
use super::settings::{self, Presentation, Settings};
use super::stats;
use super::stream::{Flusher, Stream};
use super::summary::{EndedEarly, Summary};
use super::suppression::Suppression;
use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::output_file::say_leftovers;
use crate::terminal;
use crate::trace_file::TraceFile;
use crate::units::grouped;
use heist_scan::Sink;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Large enough to keep the number of system calls low.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// Everything that a run needs, checked before it starts.
struct ScanPlan {
    settings: Settings,
    presentation: Presentation,
    detection: Detection,
    suppression: Suppression,
    output: ReportOutput,
    trace: Option<TraceFile>,
}

/// Runs `heist scan`.
///
/// # Errors
/// The options or their values cannot be used, or the scan cannot be started.
pub(crate) fn run(
    arguments: &ScanArguments,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Exit, CliError> {
    if let Some(place) = &arguments.explain {
        return explain::run(arguments, place, messages);
    }
    let ScanPlan { mut settings, presentation, detection, suppression, output, trace } =
        plan(arguments, messages)?;
    let streams = presentation.format == ScanFormat::Jsonl && !presentation.sorted;
    if streams && output.is_pipe() && !arguments.run.progress {
        // Its reader may print the lines on the terminal that would show the progress line.
        settings.progress = false;
    }
    let (stream, output) = match streams {
        true => (Some(Stream::new(output, messages)), None),
        false => (None, Some(output)),
    };
    let Detection { detector, off, .. } = detection;
    let options = CollectorOptions {
        confidence: settings.confidence.value,
        hiding: settings.hiding(off),
        show_secrets: presentation.show_secrets,
        strips_dot: !settings.paths_were_given,
    };
    let collector = Arc::new(Collector::new(options, suppression, stream, interrupt.token()));
    let flusher = streams.then(|| Flusher::start(&collector));
    let sink: Arc<dyn Sink> = Arc::clone(&collector) as Arc<dyn Sink>;
    let scanned = engine::scan(&settings, detector, &sink, interrupt, trace, messages)?;
    drop(flusher);
    let mut collected = collector.take();
    let write_failed = matches!(collected.streamed, Some(Err(_)));
    let counts = (collected.listed, collected.unreported);
    let mut summary = engine::summary(&scanned, &settings, counts, write_failed);
    summary.hidden.entries.splice(0..0, std::mem::take(&mut collected.hidden.entries));
    engine::say_gaps(&summary, messages);
    if settings.history.is_none() && settings.staged.is_none() {
        summary.unscanned_histories = history::unscanned(&settings.paths);
    }
    if !settings.quiet {
        history::say_notes(&summary, messages);
    }
    let own = summary.unreported.in_own_files;
    if own > 0 && !settings.quiet {
        let findings = if own == 1 { "1 finding" } else { &format!("{} findings", grouped(own)) };
        messages.say(&format!(
            "note: {findings} in the output, trace or baseline of this run not reported"
        ));
    }
    let incomplete = presentation.exit_code_incomplete;
    let exit = exit_of(&summary, collected.reported, &presentation, interrupt);
    let exit = if scanned.trace_failed { without_output(exit, incomplete) } else { exit };
    let written = match (collected.streamed.take(), output) {
        (Some(streamed), _) => streamed.and_then(|mut output| {
            jsonl::write_end(&summary, exit, &mut output)?;
            output.commit()
        }),
        (None, Some(output)) => write(&collected, &summary, exit, &presentation, output),
        (None, None) => Ok(()),
    };
    if settings.stats {
        messages.write_lines(&stats::stats(&scanned, &summary, collected.reported));
    }
    Ok(match written {
        Ok(()) => exit,
        // The reader has closed the pipe because it has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            messages.say_error(&write_error(presentation.output.as_deref(), error));
            without_output(exit, incomplete)
        }
    })
}

/// Returns the exit code of a run whose report or trace could not be written.
fn without_output(exit: Exit, incomplete: Option<u8>) -> Exit {
    match (exit, incomplete) {
        (Exit::Success | Exit::SecretsFound | Exit::Hidden, Some(code)) => {
            Exit::IncompleteScan(code)
        }
        (Exit::Success, None) => Exit::NotAllScanned,
        (exit, _) => exit,
    }
}

fn write_error(output: Option<&Path>, source: io::Error) -> CliError {
    match output {
        Some(path) => CliError::WriteFile { what: "the output", path: path.to_owned(), source },
        None => CliError::WriteStdout(source),
    }
}

fn plan(arguments: &ScanArguments, messages: &Messages) -> Result<ScanPlan, CliError> {
    let (mut settings, presentation) = settings::of_scan(arguments, messages)?;
    let mut detection = rules::detector(&settings, messages)?;
    let baseline = settings.baseline.as_ref().map(|file| file.value.load_baseline()).transpose()?;
    let baseline_path = settings.baseline.as_ref().map(|file| file.value.path());
    let (output_path, trace) = (presentation.output.as_deref(), settings.trace.as_deref());
    let baselines = baseline_path.map(|path| ("the baseline", path)).into_iter();
    let configurations =
        settings.configurations.iter().map(|file| ("the configuration", file.path.as_path()));
    let rules = settings.rules.value.iter().map(|file| ("a rule file", file.path()));
    let policies = settings.policies.files().map(|path| ("the policy", &**path));
    let mut others: Vec<(&'static str, &Path)> =
        baselines.chain(configurations).chain(rules).chain(policies).collect();
    refuse_own_file("--output", output_path, &others)?;
    others.extend(output_path.map(|path| ("the file of --output", path)));
    refuse_own_file("--trace", trace, &others)?;
    let output = ReportOutput::open(output_path, &settings.paths, presentation.show_secrets)?;
    let trace = trace.map(|path| TraceFile::create(path, &settings.paths)).transpose()?;
    let mut suppression = Suppression::read(&settings, messages).with_baseline(baseline);
    if let Some(found) = baseline_path.filter(|_| settings.baseline_is_found)
        && !settings.quiet
    {
        let found = escape::for_terminal(found.as_os_str());
        messages.say(&format!(
            "note: the secrets in '{found}' are not reported (--no-baseline reports them)"
        ));
    }
    let (unfinished, settings_trace) = (output.unfinished(), settings.trace.as_deref());
    let own = [
        output_path,
        settings_trace,
        unfinished.as_deref(),
        trace.as_ref().and_then(TraceFile::unfinished),
    ];
    own.into_iter().flatten().for_each(|path| suppression.add_own(path));
    let mut leftovers = output.leftovers();
    leftovers.extend(trace.iter().flat_map(TraceFile::leftovers).cloned());
    leftovers.iter().for_each(|path| suppression.add_own(path));
    if !settings.quiet {
        say_leftovers(&leftovers, messages);
    }
    settings.add_baseline_to(&mut suppression);
    let overruled = [std::mem::take(&mut detection.overruled), suppression.take_overruled()];
    settings.add_overruled(overruled, messages);
    Ok(ScanPlan { settings, presentation, detection, suppression, output, trace })
}

fn write(
    collected: &Collected,
    summary: &Summary,
    exit: Exit,
    presentation: &Presentation,
    output: ReportOutput,
) -> io::Result<()> {
    let report =
        Report { findings: &collected.findings, summary, exit, advice: &presentation.advice };
    let look = match &output {
        ReportOutput::Stdout(stdout) => {
            TextStyle { colors: presentation.color.colors(), columns: terminal::columns(stdout) }
        }
        ReportOutput::File(_) => {
            TextStyle { colors: presentation.color.colors_of_file(), columns: None }
        }
    };
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, output);
    format::write(presentation.format, &report, look, &mut out)?;
    out.flush()?;
    let (output, _) = out.into_parts();
    output.commit()
}

fn exit_of(
    summary: &Summary,
    reported: u64,
    presentation: &Presentation,
    interrupt: &Interrupt,
) -> Exit {
    let Presentation { exit_code_incomplete, fail_on_hidden, .. } = *presentation;
    if summary.ended == Some(EndedEarly::Interrupted) {
        interrupt.exit()
    } else if let Some(code) = exit_code_incomplete.filter(|_| !summary.is_complete()) {
        Exit::IncompleteScan(code)
    } else if reported > 0 {
        Exit::SecretsFound
    } else if fail_on_hidden && !summary.hidden.entries.is_empty() {
        Exit::Hidden
    } else if summary.is_complete() {
        Exit::Success
    } else {
        Exit::NotAllScanned
    }
}
