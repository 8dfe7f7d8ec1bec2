//! One run of `heist du`: starts the walk, writes the measured tree, and returns the exit code.

use super::arguments::{DuArguments, DuFormat};
use super::format::{self, DuOutput, NameStyle};
use super::view::View;
use super::{input, stats};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine};
use crate::output_file::say_leftovers;
use crate::terminal;
use crate::trace_file::TraceFile;
use heist_walk::usage::{Usage, UsageOptions, measure};
use heist_walk::{Walk, WalkError, WalkStartError};
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// Large enough to keep the number of system calls low.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// Everything that a run needs, checked before it starts.
struct DuPlan {
    view: View,
    walk: Walk,
    options: UsageOptions,
    trace: Option<TraceFile>,
}

/// Runs `heist du`.
///
/// # Errors
/// The options or their values cannot be used, or the walk cannot be started.
pub(crate) fn run(
    arguments: &DuArguments,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Exit, CliError> {
    let plan = plan(arguments)?;
    if let Some(trace) = plan.trace.as_ref().filter(|_| !arguments.run.quiet) {
        say_leftovers(trace.leftovers(), messages);
    }
    let walk = plan.walk.cancel(interrupt.token());
    let started = Instant::now();
    let shows_progress = !arguments.run.quiet && !arguments.run.no_progress;
    let progress_line =
        shows_progress.then(|| ProgressLine::start(messages, walk.progress())).flatten();
    let on_error = report_to(messages, arguments.run.quiet);
    let measured = measured(walk, &plan.options, plan.trace.as_ref(), on_error);
    drop(progress_line);
    interrupt.walk_is_over();
    let walked = started.elapsed();
    let usage = measured.map_err(CliError::StartWalk)?;
    let started = Instant::now();
    let written = write(&usage, &plan.view, arguments);
    let stats = arguments.run.stats.then(|| stats::stats(&usage, walked, started.elapsed()));
    let trace_exit = match plan.trace.map_or(Ok(()), TraceFile::finish) {
        Ok(()) => Exit::Success,
        Err(error) => {
            messages.say_error(&error);
            error.exit()
        }
    };
    if let Some(stats) = stats {
        messages.write_lines(&stats);
    }
    let exit = match written {
        Ok(()) => exit_of(&usage, arguments, interrupt, messages),
        // The reader has closed the pipe because it has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            let error = CliError::WriteStdout(error);
            messages.say_error(&error);
            error.exit()
        }
    };
    Ok(if exit == Exit::Success { trace_exit } else { exit })
}

fn plan(arguments: &DuArguments) -> Result<DuPlan, CliError> {
    let view = View::new(arguments)?;
    let selection = &arguments.selection;
    let filter = input::filter(selection)?;
    let roots = input::roots(arguments, &filter)?;
    let trace = arguments.run.trace.as_deref();
    let trace = trace.map(|path| TraceFile::create(path, &roots)).transpose()?;
    let walk = Walk::over(roots)
        .threads(arguments.run.threads.map(NonZeroUsize::get))
        .symlinks(input::symlinks(selection))
        .same_file_system(selection.one_file_system)
        .filter(filter);
    let options = UsageOptions::new()
        .detail(view.detail)
        // ncdu detects the several names of one file itself.
        .count_links(arguments.sizes.count_links)
        .by_extension(view.by_extension);
    Ok(DuPlan { view, walk, options, trace })
}

fn report_to(
    messages: &Arc<Messages>,
    quiet: bool,
) -> impl Fn(&WalkError) + Send + Sync + 'static + use<> {
    let messages = Arc::clone(messages);
    move |error| {
        if !quiet {
            messages.say_walk_error(error);
        }
    }
}

fn measured(
    walk: Walk,
    options: &UsageOptions,
    trace: Option<&TraceFile>,
    on_error: impl Fn(&WalkError) + Send + Sync + 'static,
) -> Result<Usage, WalkStartError> {
    match trace {
        None => measure(walk, options, on_error),
        Some(trace) => measure(walk.trace(trace.tracer()), options, on_error),
    }
}

fn write(usage: &Usage, view: &View, arguments: &DuArguments) -> io::Result<()> {
    let stdout = io::stdout();
    let columns = terminal::columns(&stdout);
    let mut output = DuOutput {
        out: BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, stdout.lock()),
        names: if columns.is_some() { NameStyle::Escaped } else { NameStyle::Raw },
        colors: arguments.run.color.colors(),
        columns,
    };
    format::write(usage, view, &mut output)
}

fn exit_of(
    usage: &Usage,
    arguments: &DuArguments,
    interrupt: &Interrupt,
    messages: &Messages,
) -> Exit {
    if usage.stopped {
        messages.say("interrupted; the sizes cover only what was read before");
        return interrupt.exit();
    }
    if usage.errors == 0 {
        return Exit::Success;
    }
    // Scripts that read the lines of du know the exit code; people need a message.
    if arguments.format == DuFormat::Text && !arguments.run.quiet {
        messages.say("some files or directories could not be read, so some sizes are too small");
    }
    Exit::Incomplete
}
