//! The trees for walks: planned, made once, kept, and removed on request.
//!
//! All trees are in one folder. Beside each is a marker file with the plan that it was made by and
//! whether it is complete. A tree that is incomplete or was made by an older plan is removed and
//! made again. A directory without a marker is never removed. Two concurrent runs that make the
//! same tree disturb each other.

mod make;
mod plan;
pub(crate) mod random;
mod remove;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::ValueEnum;

use plan::Plan;
use rustix::fs::{Mode, OFlags};

/// The start of every marker.
const MARKER_START: &str = "a tree of heist-bench";

/// A tree that can be selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WalkTree {
    /// 1,000,000 files in 50,000 randomly nested directories.
    Million,
    /// 200,000 directories with at most one file each, up to 2,000 of them in one directory.
    Wide,
    /// 300,000 files in one directory.
    Flat,
    /// A chain of 2,000 nested directories.
    Deep,
    /// 100,000 files with ten hard links each.
    Links,
    /// The sources that Cargo has unpacked, unchanged.
    Registry,
}

impl WalkTree {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Million => "million",
            Self::Wide => "wide",
            Self::Flat => "flat",
            Self::Deep => "deep",
            Self::Links => "links",
            Self::Registry => "registry",
        }
    }

    /// Returns the plan, or `None` if the benchmark does not make this tree.
    fn plan(self, size: Size) -> Option<Plan> {
        let scale = match size {
            Size::Full => 1,
            Size::Quick => 10,
        };
        match self {
            Self::Million => Some(Plan::million(scale)),
            Self::Wide => Some(Plan::wide(scale)),
            Self::Flat => Some(Plan::flat(scale)),
            Self::Deep => Some(Plan::deep(scale)),
            Self::Links => Some(Plan::links(scale)),
            Self::Registry => None,
        }
    }
}

/// The size of the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    /// A tenth of the full size.
    Quick,
}

/// The folder that holds the trees.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path: path.unwrap_or_else(|| env::temp_dir().join("heist-bench-trees")) }
    }

    /// Makes the tree unless it exists, and returns its path.
    ///
    /// # Errors
    /// Returns a message if the tree cannot be made, or does not exist and is not made by the
    /// benchmark.
    pub(crate) fn ensure(&self, tree: WalkTree, size: Size) -> Result<PathBuf, String> {
        let Some(plan) = tree.plan(size) else {
            return registry();
        };
        self.ensure_made(&named(tree, size), &summary(&plan), |path| {
            make::make(&open(path)?, &plan)
        })
    }

    /// Makes any tree unless it exists: `make` fills the empty directory, and `summary` identifies
    /// the content, so that a tree with another summary is made again.
    ///
    /// # Errors
    /// Returns a message if the tree cannot be made.
    pub(crate) fn ensure_made(
        &self,
        name: &str,
        summary: &str,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, String> {
        let (path, marker) = self.places(name);
        let marker_text = |what: &str| format!("{MARKER_START}, {what}, {summary}\n");
        if fs::read_to_string(&marker).is_ok_and(|text| text == marker_text("whole")) {
            return Ok(path);
        }
        if path.symlink_metadata().is_ok() {
            self.remove_made(name)?;
        }
        eprintln!("making {}", path.display());
        let made = || -> io::Result<()> {
            fs::create_dir_all(&self.path)?;
            fs::write(&marker, marker_text("unfinished"))?;
            fs::create_dir(&path)?;
            make(&path)?;
            fs::write(&marker, marker_text("whole"))
        };
        let cannot = |error| {
            format!(
                "cannot make the tree {}: {error}; choose another folder with --keep",
                path.display()
            )
        };
        made().map_err(cannot)?;
        Ok(path)
    }

    /// Removes a tree and its marker. Returns `false` if neither existed.
    ///
    /// # Errors
    /// Returns a message if the tree cannot be removed, or does not have a marker: then the
    /// benchmark may not have made it.
    pub(crate) fn remove(&self, tree: WalkTree, size: Size) -> Result<bool, String> {
        self.remove_made(&named(tree, size))
    }

    /// Does the same as [`Folder::remove`], by the tree's name in the folder.
    ///
    /// # Errors
    /// See [`Folder::remove`].
    pub(crate) fn remove_made(&self, name: &str) -> Result<bool, String> {
        let (path, marker) = self.places(name);
        if path.symlink_metadata().is_err() && marker.symlink_metadata().is_err() {
            return Ok(false);
        }
        if !fs::read_to_string(&marker).is_ok_and(|text| text.starts_with(MARKER_START)) {
            return Err(format!(
                "{} is not removed: there is no marker file {} to show that heist-bench made it; \
                 remove it by hand if it is not needed",
                path.display(),
                marker.display()
            ));
        }
        let removed = || -> io::Result<()> {
            // The marker goes last, so that an interrupted removal can be continued.
            if path.symlink_metadata().is_ok() {
                remove::empty(&open(&path)?)?;
                fs::remove_dir(&path)?;
            }
            fs::remove_file(&marker)
        };
        removed().map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        // Fails if the folder contains something else; then it stays.
        let _ = fs::remove_dir(&self.path);
        Ok(true)
    }

    /// Returns the paths of a tree and of its marker.
    fn places(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path.join(name), self.path.join(format!("{name}.marker")))
    }
}

/// Returns the name of a tree in the folder.
fn named(tree: WalkTree, size: Size) -> String {
    match size {
        Size::Full => tree.name().to_owned(),
        Size::Quick => format!("{}-quick", tree.name()),
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Returns the text that identifies a plan in a marker.
fn summary(plan: &Plan) -> String {
    let shape = match plan {
        Plan::Nested(nested) => {
            let files: u32 = nested.directories.iter().map(|directory| directory.files).sum();
            format!("{} directories, {files} files", nested.directories.len())
        }
        Plan::Chain { levels, files_per_level } => {
            format!("{levels} levels, {files_per_level} files each")
        }
        Plan::Linked { inodes, links, directories } => {
            format!("{inodes} inodes, {links} links each, {directories} directories")
        }
    };
    format!("version {}, seed {:#x}, {shape}", plan::VERSION, plan::SEED)
}

/// Returns the folder into which Cargo unpacks sources.
pub(crate) fn registry() -> Result<PathBuf, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let sources = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    if sources.is_dir() {
        Ok(sources)
    } else {
        Err(format!(
            "Cargo has not unpacked any sources: {} does not exist; run `cargo fetch` first",
            sources.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::walk::floor::{self, Question, Totals};

    fn count(path: &Path) -> Totals {
        floor::walk(path, Question::Sizes, NonZeroUsize::new(2).expect("not zero"))
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().expect("can create a temporary folder");
        let folder = Folder::new(Some(place.path().join("trees")));
        (place, folder)
    }

    #[test]
    fn the_deep_tree_is_made_walked_and_removed() {
        let (_place, folder) = folder();
        // Full size, because only then its paths are longer than system calls accept.
        let path = folder.ensure(WalkTree::Deep, Size::Full).expect("can be made");
        let found = count(&path);
        assert_eq!((found.directories, found.files, found.errors), (2_000, 6_000, 0));
        assert_eq!(folder.remove(WalkTree::Deep, Size::Full), Ok(true));
        assert!(!path.exists());
        assert_eq!(folder.remove(WalkTree::Deep, Size::Full), Ok(false));
    }

    #[test]
    fn every_inode_has_its_planned_links_and_counts_once() {
        let (_place, folder) = folder();
        let path = folder.ensure(WalkTree::Links, Size::Quick).expect("can be made");
        let found = count(&path);
        assert_eq!((found.directories, found.files, found.errors), (100, 100_000, 0));
        let planned: u64 = (0..10_000)
            .map(|inode| match plan::PlannedContent::of_linked(inode) {
                plan::PlannedContent::Empty => 0,
                plan::PlannedContent::Hole(length) => length,
                plan::PlannedContent::Written(length) => length as u64,
            })
            .sum();
        assert_eq!(found.apparent_bytes - found.directory_bytes, planned);
        assert_eq!(folder.remove(WalkTree::Links, Size::Quick), Ok(true));
    }

    #[test]
    fn a_complete_tree_is_kept_and_an_incomplete_one_is_made_again() {
        let (_place, folder) = folder();
        let path = folder.ensure(WalkTree::Deep, Size::Quick).expect("can be made");
        let expected = count(&path);
        let extra = path.join("extra");
        fs::write(&extra, b"").expect("is new");
        folder.ensure(WalkTree::Deep, Size::Quick).expect("is there");
        assert!(extra.exists(), "a whole tree is left as it is");
        let (_, marker) = folder.places("deep-quick");
        fs::write(&marker, format!("{MARKER_START}, unfinished")).expect("can be written");
        folder.ensure(WalkTree::Deep, Size::Quick).expect("can be made");
        assert_eq!(count(&path), expected);
    }

    #[test]
    fn a_directory_without_a_marker_is_not_removed() {
        let (_place, folder) = folder();
        let (path, _) = folder.places("wide");
        fs::create_dir_all(path.join("precious")).expect("is new");
        folder.remove(WalkTree::Wide, Size::Full).expect_err("the benchmark did not make it");
        folder.ensure(WalkTree::Wide, Size::Full).expect_err("its place is taken");
        assert!(path.join("precious").exists());
    }
}
