//! The command line of `heist`: one subcommand per task.

use crate::baseline::BaselineArguments;
use crate::du::DuArguments;
use crate::rules::RulesCommand;
use crate::scan::ScanArguments;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Work on directory trees with all cores
///
/// heist walks directory trees in parallel. See `heist scan --help` for the secrets in files, and `heist du --help` for
/// the disk usage of files and directories.
#[derive(Debug, Parser)]
#[command(name = "heist", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(Box<ScanArguments>),
    Baseline(Box<BaselineArguments>),
    /// List, show and test the rules that a scan looks for secrets with
    Rules {
        #[command(subcommand)]
        command: RulesCommand,
    },
    Du(Box<DuArguments>),
    /// Print a script that completes heist's commands and options in a shell
    ///
    /// For example, `heist completions bash > ~/.local/share/bash-completion/completions/heist`, or, in zsh, a file
    /// `_heist` in a directory of `$fpath`.
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a directory
    Man {
        /// Write heist.1, heist-du.1 and the others into this directory, which must exist
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}
