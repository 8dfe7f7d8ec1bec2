//! `heist hook`: lets git run heist before each commit.
//!
//! Invariants: a hook that heist did not write is neither replaced nor removed. heist never runs
//! git. It reads the repository's own configuration as text, for `core.hooksPath`, and only if the
//! repository belongs to the user.

mod config;
mod error;

pub(crate) use error::HookError;

use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::messages::Messages;
use crate::scan::staged::StagedPlace;
use crate::shell::quoted;
use crate::stdout::print;
use clap::Subcommand;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The name of the hook that git runs before it makes a commit.
const PRE_COMMIT: &str = "pre-commit";

/// How heist recognizes its own hooks: their second line.
const MARK: &str = "# Written by `heist hook install`. `heist hook uninstall` removes it.";

/// Larger files are not heist's hooks.
const HOOK_BYTES_MAX: u64 = 64 << 10;

const AFTER_HELP: &str = "\
The hook runs `heist scan --staged`. It stops a commit that adds a secret, and one that heist cannot
check completely. `git commit --no-verify` commits all the same.

Examples:
  heist hook install      scan before each commit in this repository
  heist hook status       say whether the hook is installed
  heist hook uninstall    remove the hook";

/// Let git scan what is staged before each commit
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct HookArguments {
    #[command(subcommand)]
    pub(crate) command: HookCommand,
}

/// What to do with the hook.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Install the pre-commit hook
    ///
    /// heist does not replace a hook that it did not write.
    Install(HookTarget),
    /// Remove the pre-commit hook, if heist wrote it
    Uninstall(HookTarget),
    /// Say whether the pre-commit hook is installed
    Status(HookTarget),
}

/// The repository.
#[derive(Debug, clap::Args)]
pub(crate) struct HookTarget {
    /// The work tree of the repository [default: .]
    #[arg(value_name = "REPO")]
    pub(crate) repository: Option<PathBuf>,
}

/// What is in the place of the hook.
#[derive(Debug, PartialEq, Eq)]
enum Installed {
    Nothing,
    Ours(Vec<u8>),
    Foreign,
}

/// Runs `heist hook`.
///
/// # Errors
/// There is no repository, the hook is not heist's, or it cannot be written or removed.
pub(crate) fn run(arguments: &HookArguments, messages: &Messages) -> Result<Exit, CliError> {
    let (HookCommand::Install(target)
    | HookCommand::Uninstall(target)
    | HookCommand::Status(target)) = &arguments.command;
    let paths: Vec<PathBuf> = target.repository.iter().cloned().collect();
    let place = StagedPlace::find(&paths).map_err(CliError::Staged)?;
    let path = hook_path(&place, messages)?;
    let shown = escape::for_terminal(path.as_os_str()).into_owned();
    let unreadable = |source| HookError::Unreadable { path: path.clone(), source };
    let installed = read(&path).map_err(unreadable)?;
    let said = match (&arguments.command, installed) {
        (HookCommand::Install(_), Installed::Foreign) => {
            return Err(HookError::Foreign(path).into());
        }
        (HookCommand::Install(_), installed) => {
            let script = script()?;
            if installed != Installed::Ours(script.clone().into_bytes()) {
                let is_replaced = installed != Installed::Nothing;
                let failed = |source| HookError::Unwritable { path: path.clone(), source };
                write(&path, &script, is_replaced).map_err(failed)?;
            }
            format!("{shown}: installed\n")
        }
        (HookCommand::Uninstall(_), Installed::Ours(_)) => {
            let failed = |source| HookError::Unwritable { path: path.clone(), source };
            fs::remove_file(&path).map_err(failed)?;
            format!("{shown}: removed\n")
        }
        (HookCommand::Uninstall(_), Installed::Foreign) => {
            return Err(HookError::NotOurs(path).into());
        }
        (HookCommand::Uninstall(_) | HookCommand::Status(_), Installed::Nothing) => {
            format!("{shown}: not installed\n")
        }
        (HookCommand::Status(_), Installed::Ours(_)) => format!("{shown}: installed\n"),
        (HookCommand::Status(_), Installed::Foreign) => {
            format!("{shown}: a hook that heist did not write\n")
        }
    };
    print(said.as_bytes())?;
    Ok(Exit::Success)
}

/// Returns the path of the hook of a repository.
fn hook_path(place: &StagedPlace, messages: &Messages) -> Result<PathBuf, HookError> {
    let common = place.common_dir();
    if !place.is_trusted() {
        return Err(HookError::NotOwn(common.to_owned()));
    }
    let file = common.join("config");
    let own = config::hooks_path(&file);
    let own = own.map_err(|source| HookError::Unreadable { path: file, source })?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let directory = match own {
        Some(own) => match own.strip_prefix("~/") {
            Some(below) => home.unwrap_or_default().join(below),
            // Git runs its hooks in the root of the work tree.
            None => place.root().join(own),
        },
        None => {
            // Git would look there and not in the repository.
            let global = home.map(|home| home.join(".gitconfig"));
            let global = global.filter(|global| matches!(config::hooks_path(global), Ok(Some(_))));
            if let Some(global) = global {
                let global = escape::for_terminal(global.as_os_str());
                messages.say(&format!(
                    "note: '{global}' sets core.hooksPath, so git does not look at the hooks of \
                     the repository\n  help: git config core.hooksPath .git/hooks"
                ));
            }
            common.join("hooks")
        }
    };
    Ok(directory.join(PRE_COMMIT))
}

/// Returns the hook: a script for any POSIX shell.
fn script() -> Result<String, HookError> {
    let heist = std::env::current_exe().map_err(HookError::OwnPath)?;
    // Git for Windows runs its hooks in a shell that takes these slashes.
    let heist = match cfg!(windows) {
        true => heist.to_string_lossy().replace('\\', "/").into(),
        false => heist.into_os_string(),
    };
    Ok(format!(
        "#!/bin/sh\n\
         {MARK}\n\
         heist={}\n\
         # It may have moved since.\n\
         [ -x \"$heist\" ] || heist=heist\n\
         exec \"$heist\" scan --staged --no-progress\n",
        quoted(OsStr::new(&heist))
    ))
}

/// Reads what is in the place of the hook. A link is not heist's, wherever it leads.
fn read(path: &Path) -> io::Result<Installed> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Installed::Nothing),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() || metadata.len() > HOOK_BYTES_MAX {
        return Ok(Installed::Foreign);
    }
    let mut content = Vec::new();
    fs::File::open(path)?.take(HOOK_BYTES_MAX).read_to_end(&mut content)?;
    let second_line = content.split(|&byte| byte == b'\n').nth(1);
    Ok(match second_line == Some(MARK.as_bytes()) {
        true => Installed::Ours(content),
        false => Installed::Foreign,
    })
}

/// Writes the hook beside its place, and moves it there, so that git never runs half of it.
fn write(path: &Path, script: &str, is_replaced: bool) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let unfinished = directory.join(format!("{PRE_COMMIT}.{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
    let written = options.open(&unfinished)?.write_all(script.as_bytes()).and_then(|()| {
        match is_replaced {
            true => fs::rename(&unfinished, path),
            // Fails if another hook has got there since.
            false => fs::hard_link(&unfinished, path).and_then(|()| fs::remove_file(&unfinished)),
        }
    });
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
