//! `heist`, the tool: reads the command line and hands over to the subcommand.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | the command line |
//! | `scan` | `heist scan`: every secret in a tree |
//! | `baseline` | `heist baseline`: what is known already |
//! | `rules` | `heist rules`: what is looked for |
//! | `du` | `heist du`: how much room trees take |
//! | `installed` | completions and manual pages |
//! | `exit` | exit codes |
//! | `messages` | stderr: messages, and the progress line |
//! | `interrupt` | Ctrl-C |
//! | `escape` | names of files, made fit to be shown |
//! | `shell` | arguments, quoted for a shell |
//! | `masked_path` | paths without the secrets in them |
//! | `json` | JSON, written piece by piece |
//! | `units` | sizes, read and shown |
//! | `color`, `terminal` | what the terminal can do |

#![forbid(unsafe_code)]

mod arguments;
mod baseline;
mod color;
mod du;
mod escape;
mod exit;
mod installed;
mod interrupt;
mod json;
mod masked_path;
mod messages;
mod rules;
mod scan;
mod shell;
mod terminal;
mod trace_file;
mod units;

use arguments::{Arguments, Command};
use clap::Parser as _;
use messages::Messages;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let messages = Arc::new(Messages::default());
    match Arguments::parse().command {
        Command::Scan(arguments) => scan::run(&arguments, &messages),
        Command::Baseline(arguments) => baseline::run(&arguments, &messages),
        Command::Rules { command } => rules::run(&command, &messages),
        Command::Du(arguments) => du::run(&arguments, &messages),
        Command::Completions { shell } => installed::completions(shell, &messages),
        Command::Man { dir } => installed::manual(dir.as_deref(), &messages),
    }
    .into()
}
