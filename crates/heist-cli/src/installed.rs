//! What belongs to an installed tool: completions for shells, and manual pages. Both are made from the command line's
//! own description, so they cannot say anything else.

use crate::arguments::Arguments;
use crate::escape;
use crate::exit::Exit;
use crate::messages::{Messages, cannot_write, reason};
use clap::CommandFactory as _;
use std::io::{self, Write as _};
use std::path::Path;

/// Prints the completions for a shell.
pub(crate) fn completions(shell: clap_complete::Shell, messages: &Messages) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "heist", &mut script);
    print(&script, messages)
}

/// Prints the manual page of `heist`, or writes those of all commands into a directory.
pub(crate) fn manual(directory: Option<&Path>, messages: &Messages) -> Exit {
    let command = Arguments::command();
    let Some(directory) = directory else {
        let mut page = Vec::new();
        return match clap_mangen::Man::new(command).render(&mut page) {
            Ok(()) => print(&page, messages),
            Err(error) => output_failed(&error, messages),
        };
    };
    match clap_mangen::generate_to(command, directory) {
        Ok(()) => Exit::Success,
        Err(error) => {
            let shown = escape::for_terminal(directory.as_os_str());
            messages.say(&format!(
                "cannot write manual pages into '{shown}': {}; give a directory that exists and can be written to",
                reason(&error)
            ));
            Exit::Incomplete
        }
    }
}

fn print(bytes: &[u8], messages: &Messages) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Exit::Success,
        Err(error) => output_failed(&error, messages),
    }
}

/// What becomes of a failure to write to stdout. Whoever closed a pipe has read enough: no failure.
pub(crate) fn output_failed(error: &io::Error, messages: &Messages) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::Success;
    }
    messages.say(&cannot_write(None, error));
    Exit::Incomplete
}
