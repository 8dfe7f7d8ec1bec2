//! What is true of a tree: sizes as GNU du tells them, names as the floor counts them.

use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

use super::answer::Reference;
use super::floor::{self, BYTES_PER_BLOCK, Question};

impl Reference {
    /// Asks du twice and the floor once.
    ///
    /// # Errors
    /// A message if there is no GNU du, or the tree cannot be read as a whole: then nothing is there to compare with.
    pub(crate) fn of(tree: &Path) -> Result<Self, String> {
        let root = tree.metadata().map_err(|error| format!("{}: {error}", tree.display()))?;
        let names = floor::walk(tree, Question::Names, NonZeroUsize::MIN);
        if names.errors > 0 {
            return Err(format!(
                "{} directories of {} cannot be read; walk a tree that you may read",
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

/// The first number that du prints.
fn du(flags: &[&str], path: &Path) -> Result<u64, String> {
    let cannot = |reason: &str| {
        format!("`du {}` of {} says nothing: {reason}", flags.join(" "), path.display())
    };
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
    digits.parse().map_err(|_no_number| cannot("it prints no number"))
}

/// That changed between versions, so it is tried on an empty directory.
fn du_counts_lengths_of_directories() -> Result<bool, String> {
    let probe = env::temp_dir().join(format!("heist-bench-probe-{}", process::id()));
    let cannot = |error: io::Error| format!("cannot make {}: {error}", probe.display());
    fs::create_dir(&probe).map_err(cannot)?;
    // Some filesystems give empty directories no length. Then both ways come to the same for it, not for others.
    let length = probe.metadata().map(|metadata| metadata.len());
    let told = du(&["-s", "-b"], &probe);
    fs::remove_dir(&probe).map_err(cannot)?;
    Ok(told? == length.map_err(cannot)?)
}
