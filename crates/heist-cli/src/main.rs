//! `heist`, the tool: reads the command line and hands over to the subcommand.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | the command line |
//! | `du` | `heist du`: how much room trees take |
//! | `installed` | completions and manual pages |
//! | `exit` | exit codes |
//! | `messages` | stderr: messages, and the progress line |
//! | `interrupt` | Ctrl-C |
//! | `escape` | names of files, made fit to be shown |
//! | `units` | sizes, read and shown |
//! | `color`, `terminal` | what the terminal can do |

#![forbid(unsafe_code)]

mod arguments;
mod color;
mod du;
mod escape;
mod exit;
mod installed;
mod interrupt;
mod messages;
mod terminal;
mod units;

use arguments::{Arguments, Command};
use clap::Parser as _;
use messages::Messages;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let messages = Arc::new(Messages::default());
    match Arguments::parse().command {
        Command::Du(arguments) => du::run(&arguments, &messages),
        Command::Completions { shell } => installed::completions(shell, &messages),
        Command::Man { dir } => installed::manual(dir.as_deref(), &messages),
    }
    .into()
}
