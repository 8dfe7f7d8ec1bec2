//! [`ConfigurationFiles`]: which configuration files a scan uses.
//!
//! The user's file is what `--config` names, else `heist/heist.toml` in the user's configuration
//! directory. The tree's file is the nearest `heist.toml` in the first PATH or above it, else in
//! the current directory or above it. It is not trusted: it may tune the scan and nothing else,
//! because it comes from the authors of the tree.
//!
//! Invariant: a file outside of the scanned roots counts only if no one except the user and root
//! can have put it there: it and its directory belong to one of them, and neither a group nor
//! others may write to either. A file in a directory such as `/tmp` therefore never counts, not
//! even one of the user's: with links and renames, others could put it there. Not guaranteed: that
//! root or the user wrote the file on purpose.

use super::configuration::{Configuration, Tuning, parse_toml, rule_table};
use super::configuration_error::ConfigurationError;
use super::origin::{NamedFile, read_tree_configuration};
use super::policy::{Overruled, Policies};
use super::settings::is_stdin;
use crate::error::{CliError, one_line};
use crate::{escape, shell};
use heist_scan::read_small_file;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of a configuration file.
const FILE_NAME: &str = "heist.toml";

/// The largest configuration file that heist reads.
const BYTES_MAX: u64 = 1 << 20;

/// The configuration files of a scan, and what the user should know about them.
#[derive(Debug, Default)]
pub(crate) struct ConfigurationFiles {
    pub(crate) user: Option<Configuration>,
    pub(crate) tree: Option<TreeConfiguration>,
    pub(crate) policies: Policies,
    /// The tree's file, if a policy forbids it.
    pub(crate) overruled: Vec<Overruled>,
    /// Notes for the user, safe to print.
    pub(crate) notes: Vec<String>,
}

/// The configuration file of a tree. It has no [privileged](super::configuration::Privileged)
/// settings.
#[derive(Clone, Debug)]
pub(crate) struct TreeConfiguration {
    pub(crate) path: Arc<Path>,
    pub(crate) tuning: Tuning,
    pub(crate) baseline: Option<NamedFile>,
    pub(crate) rules: Vec<NamedFile>,
    /// The keys that have no effect, because a tree may not set them so.
    pub(crate) refused: Vec<String>,
}

impl ConfigurationFiles {
    /// Loads the file that `--config` names, and no other.
    ///
    /// # Errors
    /// The file cannot be read or is not valid.
    pub(crate) fn named(path: &Path) -> Result<Self, CliError> {
        let user = Some(parse(read_small_file(path, BYTES_MAX), path, true)?);
        Ok(Self { user, ..Self::default() })
    }

    /// Finds the user's file and, unless the command line or that file says `untrusted`, that of
    /// the tree at these paths. `untrusted` is what the command line and the policies say.
    ///
    /// # Errors
    /// A file cannot be read or is not valid.
    pub(crate) fn find(
        paths: &[PathBuf],
        untrusted: Option<bool>,
        policies: &Policies,
    ) -> Result<Self, CliError> {
        let mut files = Self { policies: policies.clone(), ..Self::default() };
        let roots = Roots::new(paths);
        files.find_user(&roots)?;
        let of_user = || files.user.as_ref()?.privileged.untrusted;
        if !untrusted.or_else(of_user).unwrap_or_default() {
            files.find_tree(paths, &roots)?;
        }
        Ok(files)
    }

    fn find_user(&mut self, roots: &Roots) -> Result<(), CliError> {
        let Some(path) = user_file() else { return Ok(()) };
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        // The user may keep the file elsewhere and link to it.
        let why = match path.canonicalize().and_then(|file| Ok((file.metadata()?, file))) {
            Err(error) => Some(crate::error::reason(&error)),
            Ok((metadata, _)) if !metadata.is_file() => Some("it is not a regular file".to_owned()),
            Ok((_, file)) if roots.contain(&file) => Some("it is in the scanned tree".to_owned()),
            Ok((metadata, file)) => distrust_of(&path, &file, &metadata).map(str::to_owned),
        };
        match why {
            Some(why) => self.add_unread(&path, &why),
            None => {
                self.user = Some(parse(read_small_file(&path, BYTES_MAX), &path, false)?);
            }
        }
        Ok(())
    }

    fn find_tree(&mut self, paths: &[PathBuf], roots: &Roots) -> Result<(), CliError> {
        let first = paths.first().filter(|path| !is_stdin(path));
        let starts = first.into_iter().map(PathBuf::as_path).chain([Path::new(".")]);
        for start in starts {
            // The scan reports a path that does not exist.
            let Ok(start) = std::path::absolute(start) else { continue };
            for directory in start.ancestors() {
                let path = directory.join(FILE_NAME);
                let Ok(metadata) = path.symlink_metadata() else { continue };
                let why = if !metadata.is_file() {
                    Some("it is not a regular file")
                } else if roots.contain(directory) {
                    None
                } else {
                    distrust_of(&path, &path, &metadata)
                };
                if let Some(why) = why {
                    // The user may believe that this file configures heist.
                    self.add_unread(&path, why);
                    continue;
                }
                if let Some(by) = self.policies.forbids("tree-config") {
                    let (setting, is_whole_file) = ("tree-config", true);
                    self.overruled.push(Overruled { setting, file: path, is_whole_file, by });
                    return Ok(());
                }
                let configuration = parse(read_tree_configuration(&path, BYTES_MAX), &path, false)?;
                self.add_tree(configuration, directory);
                return Ok(());
            }
        }
        Ok(())
    }

    fn add_unread(&mut self, path: &Path, why: &str) {
        let shown = escape::for_terminal(path.as_os_str());
        let trust = shell::quoted(path.as_os_str());
        let note = format!(
            "'{shown}' is not used: {why}\n  help: to use it all the same: --config {trust}"
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Keeps what a tree may set, and adds a note about the rest.
    fn add_tree(&mut self, configuration: Configuration, directory: &Path) {
        let Configuration { path, tuning, privileged } = configuration;
        let mut refused = privileged.keys;
        let mut named = |key: &str, file: &PathBuf| match NamedFile::of_tree(directory, file) {
            Ok(file) => Some(file),
            Err(why) => {
                let file = escape::for_terminal(file.as_os_str());
                let path = escape::for_terminal(path.as_os_str());
                let trust = shell::quoted(path.as_ref().as_ref());
                self.notes.push(format!(
                    "`{key}` in '{path}' has no effect: '{file}' {why}\n  \
                     help: to trust that configuration: --config {trust}"
                ));
                if !refused.iter().any(|known| known == key) {
                    refused.push(key.to_owned());
                }
                None
            }
        };
        let baseline = tuning.baseline.as_ref().and_then(|file| named("baseline", file));
        let rules = tuning.rules.iter().filter_map(|file| named("rules", file)).collect();
        let privileged: Vec<String> = refused
            .iter()
            .filter(|key| !matches!(&***key, "rules" | "baseline"))
            .cloned()
            .collect();
        if !privileged.is_empty() {
            let keys: Vec<String> =
                privileged.iter().map(|key| format!("`{}`", one_line(key))).collect();
            let shown = escape::for_terminal(path.as_os_str());
            let trust = shell::quoted(path.as_os_str());
            let (have, them) = match keys.len() {
                1 => ("has", "it"),
                _ => ("have", "them"),
            };
            self.notes.push(format!(
                "{} in '{shown}' {have} no effect: the configuration of a scanned tree cannot set \
                 {them}\n  help: to trust that configuration: --config {trust}",
                keys.join(", ")
            ));
        }
        self.tree = Some(TreeConfiguration { path, tuning, baseline, rules, refused });
    }
}

/// Parses a configuration file. `was_named` says whether `--config` named it.
fn parse(
    read: io::Result<Vec<u8>>,
    path: &Path,
    was_named: bool,
) -> Result<Configuration, CliError> {
    let bytes = read.map_err(|source| CliError::ReadFile {
        what: "the configuration",
        path: path.to_owned(),
        source,
    })?;
    let invalid = |source| CliError::Configuration { path: path.to_owned(), source };
    let text = String::from_utf8(bytes).map_err(|_| invalid(ConfigurationError::NotUtf8))?;
    let table = parse_toml(&text).map_err(invalid)?;
    if let Some(table) = rule_table(&table) {
        return Err(CliError::RulesAsConfiguration { path: path.to_owned(), table, was_named });
    }
    Configuration::of_table(&table, path).map_err(invalid)
}

/// Returns the path of the user's configuration file, which need not exist.
fn user_file() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name).map(PathBuf::from).filter(|directory| directory.is_absolute())
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("heist").join(FILE_NAME))
}

/// The scanned directories, as canonical paths.
struct Roots(Vec<PathBuf>);

impl Roots {
    fn new(paths: &[PathBuf]) -> Self {
        let here = [PathBuf::from(".")];
        let paths = if paths.is_empty() { &here } else { paths };
        Self(paths.iter().filter_map(|path| path.canonicalize().ok()).collect())
    }

    /// Returns `true` if the path is a root or below one.
    fn contain(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.0.iter().any(|root| path.starts_with(root)))
    }
}

/// Returns why a file outside of the roots may be another user's work, if it may. `path` is where
/// it was found, and `file` where it is.
#[cfg(unix)]
fn distrust_of(path: &Path, file: &Path, metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    /// The permissions of a group and of others to write.
    const OTHERS_WRITE: u32 = 0o022;
    let user = rustix::process::geteuid().as_raw();
    let is_mine = |metadata: &Metadata| metadata.uid() == user || metadata.uid() == 0;
    if !is_mine(metadata) {
        return Some("it belongs to another user");
    }
    if metadata.mode() & OTHERS_WRITE != 0 {
        return Some("others may write to it");
    }
    if metadata.nlink() > 1 {
        // Another user may have linked a file of the user or of root to this place.
        return Some("it has a second name (a hard link)");
    }
    for place in [path, file] {
        let directory = place.parent().unwrap_or(Path::new("/"));
        match directory.metadata() {
            Ok(metadata) if !is_mine(&metadata) => {
                return Some("its directory belongs to another user");
            }
            Ok(metadata) if metadata.mode() & OTHERS_WRITE != 0 => {
                return Some("others may write to its directory");
            }
            Ok(_) => {}
            Err(_) => return Some("its directory cannot be read"),
        }
    }
    None
}

/// Owners cannot be compared here, so only files in the scanned tree and `--config` count.
#[cfg(not(unix))]
fn distrust_of(_path: &Path, _file: &Path, _metadata: &Metadata) -> Option<&'static str> {
    Some("it is outside of the scanned tree")
}
