//! One run of `heist scan`: options become a scan, its findings a report, and both an exit code.

use super::arguments::{Format, ScanArguments};
use super::collector::{Collected, Collector};
use super::engine;
use super::explain;
use super::format::{self, Look, Report};
use super::output::Output;
use super::own_output::{looks_like_report, looks_like_trace, refuse_foreign, refuse_same};
use super::rules;
use super::settings::{self, Presentation, Settings};
use super::stats;
use super::stream::{Flusher, Stream};
use super::summary::{Ended, Summary};
use super::suppression::Suppression;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, cannot_write};
use crate::terminal;
use crate::units::grouped;
use heist_scan::suppress::Baseline;
use heist_scan::{SecretDetector, Sink};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Enough that writing costs few system calls.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// What is to be done.
struct Plan {
    settings: Settings,
    presentation: Presentation,
    detector: SecretDetector,
    suppression: Suppression,
    output: Output,
}

/// Runs `heist scan`.
pub(crate) fn run(arguments: &ScanArguments, messages: &Arc<Messages>) -> Exit {
    if let Some(place) = &arguments.explain {
        return explain::run(arguments, place, messages);
    }
    let plan = match plan(arguments, messages) {
        Ok(plan) => plan,
        Err(text) => {
            messages.say(&text);
            messages.say("see `heist scan --help`");
            return Exit::Usage;
        }
    };
    let Plan { settings, presentation, detector, suppression, output } = plan;
    let interrupt = Interrupt::listen(messages);
    interrupt.remove_unfinished(output.unfinished());
    let streams = presentation.format == Format::Jsonl && !presentation.sorted;
    let (stream, output) = match streams {
        true => (Some(Stream::new(output, messages)), None),
        false => (None, Some(output)),
    };
    let collector = Arc::new(Collector::new(
        suppression,
        settings.confidence,
        presentation.show_secrets,
        settings.looks_for_less(),
        !settings.paths_were_given,
        stream,
        interrupt.token(),
    ));
    let flusher = streams.then(|| Flusher::start(&collector));
    let sink: Arc<dyn Sink> = Arc::clone(&collector) as Arc<dyn Sink>;
    let scanned = match engine::scan(&settings, detector, &sink, &interrupt, messages) {
        Ok(scanned) => scanned,
        Err(text) => {
            messages.say(&text);
            return Exit::Usage;
        }
    };
    interrupt.walk_is_over();
    drop(flusher);
    let mut collected = collector.take();
    let write_failed = matches!(collected.streamed, Some(Err(_)));
    let summary = engine::summary(&scanned, &settings, collected.unreported, write_failed);
    engine::say_gaps(&summary, messages);
    let own = summary.unreported.own;
    if own > 0 && !settings.quiet {
        let findings = if own == 1 { "1 finding" } else { &format!("{} findings", grouped(own)) };
        messages.say(&format!(
            "note: not reported: {findings} in a file that this run reads or writes itself"
        ));
    }
    let exit = exit_of(&summary, collected.reported);
    let written = match (collected.streamed.take(), output) {
        (Some(streamed), _) => streamed.and_then(Output::commit),
        (None, Some(output)) => write(&collected, &summary, exit, &presentation, output),
        (None, None) => Ok(()),
    };
    if settings.stats {
        messages.write_lines(&stats::stats(&scanned, &summary, collected.reported));
    }
    match written {
        Ok(()) => exit,
        Err(error) => output_failed(
            &error,
            presentation.output.as_deref(),
            exit,
            collected.reported,
            messages,
        ),
    }
}

fn plan(arguments: &ScanArguments, messages: &Messages) -> Result<Plan, String> {
    let (settings, presentation) = settings::of_scan(arguments, messages)?;
    let detector = rules::detector(&settings, messages)?;
    let baseline = match &settings.baseline {
        Some(path) => Some(Baseline::load(path).map_err(|error| engine::baseline_error(&error))?),
        None => None,
    };
    let (output_path, trace) = (presentation.output.as_deref(), settings.trace.as_deref());
    let read =
        [("the baseline", &settings.baseline), ("the configuration", &settings.configuration)];
    let read = read.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)));
    let rules = settings.rules.iter().map(|path| ("a file of rules", path.as_path()));
    let mut others: Vec<(&str, &Path)> = read.chain(rules).collect();
    refuse_same("--output", output_path, &others)?;
    others.extend(output_path.map(|path| ("--output", path)));
    refuse_same("--trace", trace, &others)?;
    refuse_foreign("--output", output_path, &settings.paths, looks_like_report)?;
    refuse_foreign("--trace", trace, &settings.paths, looks_like_trace)?;
    let output = Output::open(output_path, presentation.show_secrets)?;
    let mut suppression =
        Suppression::read(&settings.paths, messages, settings.quiet).with_baseline(baseline);
    let own = [settings.baseline.as_deref(), output_path, trace, output.unfinished()];
    own.into_iter().flatten().for_each(|path| suppression.add_own(path));
    Ok(Plan { settings, presentation, detector, suppression, output })
}

fn write(
    collected: &Collected,
    summary: &Summary,
    exit: Exit,
    presentation: &Presentation,
    output: Output,
) -> io::Result<()> {
    let report = Report { places: &collected.places, summary, exit, advice: &presentation.advice };
    let look = match &output {
        Output::Stdout(stdout) => {
            Look { colors: presentation.color.colors(), columns: terminal::columns(stdout) }
        }
        Output::File(_) => Look { colors: presentation.color.colors_of_file(), columns: None },
    };
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, output);
    format::write(presentation.format, &report, look, &mut out)?;
    out.flush()?;
    let (output, _) = out.into_parts();
    output.commit()
}

fn exit_of(summary: &Summary, reported: u64) -> Exit {
    if summary.ended == Some(Ended::Interrupted) {
        Exit::Interrupted
    } else if reported > 0 {
        Exit::Found
    } else if summary.is_complete() {
        Exit::Success
    } else {
        Exit::NotAllScanned
    }
}

/// What becomes of a failure to write. Whoever closed a pipe has read enough: no failure.
fn output_failed(
    error: &io::Error,
    output: Option<&Path>,
    exit: Exit,
    reported: u64,
    messages: &Messages,
) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return exit;
    }
    messages.say(&cannot_write(output, error));
    match exit {
        Exit::Success if reported == 0 => Exit::NotAllScanned,
        exit => exit,
    }
}
