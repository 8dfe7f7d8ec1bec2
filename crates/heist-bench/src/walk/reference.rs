//! The truth about a tree: sizes from GNU du, names as the floor counts them.

use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

use super::answer::Reference;
use super::floor::{self, BYTES_PER_BLOCK, Question};

impl Reference {
    /// Runs du twice and the floor once.
    ///
    /// # Errors
    /// Returns a message if GNU du is missing or part of the tree cannot be read: then there is
    /// nothing to compare with.
    pub(crate) fn of(tree: &Path) -> Result<Self, String> {
        let root = tree.metadata().map_err(|error| format!("{}: {error}", tree.display()))?;
        let names = floor::walk(tree, Question::Names, NonZeroUsize::MIN);
        if names.errors > 0 {
            return Err(format!(
                "{} directories of {} cannot be read; choose a tree that you have permission to read",
                names.errors,
                tree.display()
            ));
        }
        Ok(Self {
            disk_bytes: du(&["-s", "-B1"], tree)?,
            root_disk_bytes: root.blocks() * BYTES_PER_BLOCK,
            apparent_bytes: du(&["-s", "-b"], tree)?,
            apparent_has_directories: du_counts_lengths_of_directories()?,
            names: names.names,
            files: names.files,
        })
    }
}

/// Runs du and returns the first number that it prints.
fn du(flags: &[&str], path: &Path) -> Result<u64, String> {
    let cannot =
        |reason: &str| format!("`du {}` failed on {}: {reason}", flags.join(" "), path.display());
    let output = Command::new("du")
        .args(flags)
        .arg("--")
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot(&error.to_string()))?;
    if !output.status.success() {
        return Err(cannot(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let digits = output.stdout.iter().take_while(|byte| byte.is_ascii_digit());
    let digits: String = digits.map(|digit| char::from(*digit)).collect();
    digits.parse().map_err(|_no_number| cannot("it did not print a number"))
}

/// Returns whether du counts the lengths of directories. That changed between versions, so it is
/// tried on an empty directory.
fn du_counts_lengths_of_directories() -> Result<bool, String> {
    let probe = env::temp_dir().join(format!("heist-bench-probe-{}", process::id()));
    let cannot = |error: io::Error| format!("cannot create {}: {error}", probe.display());
    fs::create_dir(&probe).map_err(cannot)?;
    // On some filesystems empty directories have length 0. Then the probe cannot distinguish the
    // two, although they differ for other directories.
    let length = probe.metadata().map(|metadata| metadata.len());
    let printed = du(&["-s", "-b"], &probe);
    fs::remove_dir(&probe).map_err(cannot)?;
    Ok(printed? == length.map_err(cannot)?)
}
