//! The `heist` binary: parses the command line and runs one subcommand.
//!
//! | file | purpose |
//! |---|---|
//! | `arguments` | the command line |
//! | `scan` | `heist scan`: finds secrets |
//! | `baseline` | `heist baseline`: records the known secrets |
//! | `hook` | `heist hook`: lets git run heist |
//! | `rules` | `heist rules`: lists, shows and tests rules |
//! | `du` | `heist du`: measures disk usage |
//! | `packaging` | shell completions and manual pages |
//! | `error`, `exit` | every error with its message, its help and its exit code |
//! | `messages` | stderr: messages and the progress line |
//! | `stdout` | prints output that is complete |
//! | `interrupt` | Ctrl-C and the other signals that end heist |
//! | `escape` | makes file names safe to print |
//! | `shell` | quotes arguments for a shell |
//! | `path_masker` | masks secrets in paths |
//! | `json` | writes JSON piece by piece |
//! | `units` | parses and formats sizes |
//! | `color`, `terminal` | what the terminal supports |
//! | `output_file` | creates the files that options name |
//! | `trace_file` | the file of `--trace` |

#![forbid(unsafe_code)]

mod arguments;
mod baseline;
mod color;
mod du;
mod error;
mod escape;
mod exit;
mod hook;
mod interrupt;
mod json;
mod messages;
mod output_file;
mod packaging;
mod path_masker;
mod rules;
mod scan;
mod shell;
mod stdout;
mod terminal;
mod trace_file;
mod units;

use arguments::{Arguments, Command};
use clap::Parser as _;
use error::CliError;
use exit::Exit;
use interrupt::Interrupt;
use messages::Messages;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let messages = Arc::new(Messages::default());
    // First of all, so that no signal ends a scan without its report.
    let interrupt = Interrupt::listen(&messages);
    let command = Arguments::parse().command;
    if !command.has_partial_results() {
        interrupt.end_at_once();
    }
    let name = command.name();
    let result = match command {
        Command::Scan(arguments) => scan::run(&arguments, &interrupt, &messages),
        Command::Baseline(arguments) => baseline::run(&arguments, &interrupt, &messages),
        Command::Rules { command } => rules::run(&command, &messages),
        Command::Hook(arguments) => hook::run(&arguments, &messages),
        Command::Du(arguments) => du::run(&arguments, &interrupt, &messages),
        Command::Completions { shell } => packaging::completions(shell),
        Command::Man { dir } => packaging::manual(dir.as_deref()),
    };
    result.unwrap_or_else(|error| report(&error, name, &messages)).into()
}

/// Prints the error that stopped a command, and returns its exit code.
fn report(error: &CliError, command: &str, messages: &Messages) -> Exit {
    messages.say_error(error);
    if error.exit() == Exit::Usage && error.help().is_none() {
        messages.write_lines(&format!("  help: see `heist {command} --help`\n"));
    }
    error.exit()
}
