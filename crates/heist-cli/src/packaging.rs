//! `heist completions` and `heist man`: the files that a package of heist contains.
//!
//! Both are generated from the definition of the command line, so they cannot disagree with it.

use crate::arguments::Arguments;
use crate::error::CliError;
use crate::exit::Exit;
use crate::stdout::print;
use clap::CommandFactory as _;
use std::path::Path;

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "heist", &mut script);
    print(&script).map(|()| Exit::Success)
}

/// Prints the manual page of `heist`, or writes the pages of all commands to a directory.
pub(crate) fn manual(directory: Option<&Path>) -> Result<Exit, CliError> {
    let command = Arguments::command();
    match directory {
        Some(directory) => clap_mangen::generate_to(command, directory)
            .map_err(|source| CliError::WriteManual { directory: directory.to_owned(), source })?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(CliError::WriteStdout)?;
            print(&page)?;
        }
    }
    Ok(Exit::Success)
}
