//! The command line of `heist`: one subcommand per task.

use crate::baseline::BaselineArguments;
use crate::du::DuArguments;
use crate::hook::HookArguments;
use crate::rules::RulesCommand;
use crate::scan::ScanArguments;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Find secrets and measure disk usage in directory trees
///
/// heist reads directory trees on all cores. `heist scan` finds secrets in files; `heist du` shows
/// which files and directories use the disk.
#[derive(Debug, Parser)]
#[command(name = "heist", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(Box<ScanArguments>),
    Baseline(Box<BaselineArguments>),
    /// List, show and test the rules that find secrets
    Rules {
        #[command(subcommand)]
        command: RulesCommand,
    },
    Hook(HookArguments),
    Du(Box<DuArguments>),
    /// Print a completion script for a shell
    ///
    /// In bash: `heist completions bash > ~/.local/share/bash-completion/completions/heist`.
    /// In zsh, save the script as `_heist` in a directory of `$fpath`.
    Completions {
        /// The shell to print the script for
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory
    Man {
        /// Write heist.1, heist-du.1 and all other pages to DIR, which must exist
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Returns the name of the subcommand, as the user types it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Scan(_) => "scan",
            Self::Baseline(_) => "baseline",
            Self::Rules { .. } => "rules",
            Self::Hook(_) => "hook",
            Self::Du(_) => "du",
            Self::Completions { .. } => "completions",
            Self::Man { .. } => "man",
        }
    }

    /// Returns `true` if a first signal ends the walk of the command, and not the process.
    pub(crate) fn has_partial_results(&self) -> bool {
        match self {
            Self::Scan(arguments) => arguments.explain.is_none(),
            Self::Baseline(arguments) => arguments.scans(),
            Self::Du(_) => true,
            Self::Rules { .. } | Self::Hook(_) | Self::Completions { .. } | Self::Man { .. } => {
                false
            }
        }
    }
}
