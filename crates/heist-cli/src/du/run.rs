//! One run of `heist du`: the options become a walk, the walk a measured tree, the tree output and an exit code.

use super::arguments::{DuArguments, Format};
use super::format::{self, Names, Output};
use super::view::View;
use super::{input, stats};
use crate::exit::Exit;
use crate::installed::output_failed;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine};
use crate::terminal;
use crate::trace_file::TraceFile;
use heist_walk::usage::{Usage, UsageOptions, measure, measure_traced};
use heist_walk::{Walk, WalkError, WalkStartError};
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// Enough that writing costs few system calls.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// What is to be done.
struct Plan {
    view: View,
    walk: Walk,
    options: UsageOptions,
    trace: Option<TraceFile>,
}

/// Runs `heist du`.
pub(crate) fn run(arguments: &DuArguments, messages: &Arc<Messages>) -> Exit {
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(text) => {
            messages.say(&text);
            messages.say("see `heist du --help`");
            return Exit::Usage;
        }
    };
    let interrupt = Interrupt::listen(messages);
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
    let usage = match measured {
        Ok(usage) => usage,
        Err(error) => {
            messages.say(&format!("cannot start the walk: {error}; try fewer threads, with -j"));
            return match error {
                // Only -j can ask for something that there cannot be.
                WalkStartError::Threads { .. } | WalkStartError::Setting(_) => Exit::Usage,
                _ => Exit::Incomplete,
            };
        }
    };
    let started = Instant::now();
    let written = write(&usage, &plan.view, arguments);
    let stats = arguments.run.stats.then(|| stats::stats(&usage, walked, started.elapsed()));
    let trace_exit = match plan.trace.map_or(Ok(()), TraceFile::finish) {
        Ok(()) => Exit::Success,
        Err(text) => {
            messages.say(&text);
            Exit::Incomplete
        }
    };
    if let Some(stats) = stats {
        messages.write_lines(&stats);
    }
    let exit = match written {
        Ok(()) => exit_of(&usage, arguments, messages),
        Err(error) => output_failed(&error, messages),
    };
    if exit == Exit::Success { trace_exit } else { exit }
}

fn plan(arguments: &DuArguments) -> Result<Plan, String> {
    let view = View::new(arguments)?;
    let selection = &arguments.selection;
    let filter = input::filter(selection)?;
    let walk = Walk::over(input::roots(arguments, &filter)?)
        .threads(arguments.run.threads.map(NonZeroUsize::get))
        .symlinks(input::symlinks(selection))
        .same_file_system(selection.one_file_system)
        .filter(filter);
    let options = UsageOptions::new()
        .detail(view.detail)
        // (ncdu finds out itself which names are of one file.)
        .count_links(arguments.sizes.count_links)
        .by_extension(view.by_extension);
    let trace = arguments.run.trace.as_deref().map(TraceFile::create).transpose()?;
    Ok(Plan { view, walk, options, trace })
}

fn report_to(
    messages: &Arc<Messages>,
    quiet: bool,
) -> impl Fn(&WalkError) + Send + Sync + 'static + use<> {
    let messages = Arc::clone(messages);
    move |error| {
        if !quiet {
            messages.say_error(error);
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
        Some(trace) => measure_traced(walk, options, trace.tracer(), on_error),
    }
}

fn write(usage: &Usage, view: &View, arguments: &DuArguments) -> io::Result<()> {
    let stdout = io::stdout();
    let columns = terminal::columns(&stdout);
    let mut output = Output {
        out: BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, stdout.lock()),
        names: if columns.is_some() { Names::Shown } else { Names::Raw },
        colors: arguments.run.color.colors(),
        columns,
    };
    format::write(usage, view, &mut output)
}

fn exit_of(usage: &Usage, arguments: &DuArguments, messages: &Messages) -> Exit {
    if usage.stopped {
        messages.say("interrupted; this is only what was counted by then");
        return Exit::Interrupted;
    }
    if usage.errors == 0 {
        return Exit::Success;
    }
    // Scripts that read the lines of du know what that means; people are told.
    if arguments.format == Format::Text && !arguments.run.quiet {
        messages.say("not everything could be read, so some sizes are too small");
    }
    Exit::Incomplete
}
