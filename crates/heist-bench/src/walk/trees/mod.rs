//! The trees that walks are measured on: planned, made once, kept, and removed when asked.
//!
//! All trees are in one folder. Beside each is a marker file that says which plan it was made by and whether it is
//! whole; a tree that was left unfinished, or made by an older plan, is removed and made again. Nothing is ever removed
//! that has no marker. Two runs that make the same tree at the same time disturb each other.

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

/// How every marker starts.
const MARKER_START: &str = "a tree of heist-bench";

/// A tree that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tree {
    /// 1,000,000 files in 50,000 randomly nested directories.
    Million,
    /// 200,000 directories with no file or one, up to 2,000 of them in one directory.
    Wide,
    /// 300,000 files in one directory.
    Flat,
    /// 2,000 directories each in the one before.
    Deep,
    /// 100,000 files with ten hard links each.
    Links,
    /// The sources that Cargo has unpacked, as they are.
    Registry,
}

impl Tree {
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

    /// `None`: it is not for us to make.
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

/// How big the trees are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    /// A tenth.
    Quick,
}

/// The folder with the trees.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path: path.unwrap_or_else(|| env::temp_dir().join("heist-bench-trees")) }
    }

    /// The path of a tree, which is made if it is not there.
    ///
    /// # Errors
    /// A message if it cannot be made, or is not ours to make and not there.
    pub(crate) fn ensure(&self, tree: Tree, size: Size) -> Result<PathBuf, String> {
        let Some(plan) = tree.plan(size) else {
            return registry();
        };
        self.ensure_made(&named(tree, size), &summary(&plan), |path| {
            make::make(&open(path)?, &plan)
        })
    }

    /// The same for any tree: `make` fills the empty directory, and `summary` says what decides whether a kept tree is
    /// the one that is wanted.
    ///
    /// # Errors
    /// A message if it cannot be made.
    pub(crate) fn ensure_made(
        &self,
        name: &str,
        summary: &str,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, String> {
        let (path, marker) = self.places(name);
        let told = |what: &str| format!("{MARKER_START}, {what}, {summary}\n");
        if fs::read_to_string(&marker).is_ok_and(|text| text == told("whole")) {
            return Ok(path);
        }
        if path.symlink_metadata().is_ok() {
            self.remove_made(name)?;
        }
        eprintln!("making {}", path.display());
        let made = || -> io::Result<()> {
            fs::create_dir_all(&self.path)?;
            fs::write(&marker, told("unfinished"))?;
            fs::create_dir(&path)?;
            make(&path)?;
            fs::write(&marker, told("whole"))
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

    /// Removes a tree and its marker. Says whether there was one.
    ///
    /// # Errors
    /// A message if it cannot be removed, or has no marker, so that it may be somebody else's.
    pub(crate) fn remove(&self, tree: Tree, size: Size) -> Result<bool, String> {
        self.remove_made(&named(tree, size))
    }

    /// The same by the tree's name.
    ///
    /// # Errors
    /// As [`Folder::remove`].
    pub(crate) fn remove_made(&self, name: &str) -> Result<bool, String> {
        let (path, marker) = self.places(name);
        if path.symlink_metadata().is_err() && marker.symlink_metadata().is_err() {
            return Ok(false);
        }
        if !fs::read_to_string(&marker).is_ok_and(|text| text.starts_with(MARKER_START)) {
            return Err(format!(
                "{} stays: no marker file {} says that it was made here; remove it yourself if it may go",
                path.display(),
                marker.display()
            ));
        }
        let removed = || -> io::Result<()> {
            // The marker goes last, so that a removal that was stopped can be taken up again.
            if path.symlink_metadata().is_ok() {
                remove::empty(&open(&path)?)?;
                fs::remove_dir(&path)?;
            }
            fs::remove_file(&marker)
        };
        removed().map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        // It stays if something else is in it.
        let _ = fs::remove_dir(&self.path);
        Ok(true)
    }

    /// Where a tree and its marker are.
    fn places(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path.join(name), self.path.join(format!("{name}.marker")))
    }
}

/// What a tree of a size is called in the folder.
fn named(tree: Tree, size: Size) -> String {
    match size {
        Size::Full => tree.name().to_owned(),
        Size::Quick => format!("{}-quick", tree.name()),
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// What decides whether a kept tree is the one that is wanted.
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

/// Where Cargo unpacks sources.
pub(crate) fn registry() -> Result<PathBuf, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let sources = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    if sources.is_dir() {
        Ok(sources)
    } else {
        Err(format!("Cargo has unpacked no sources: there is no {}", sources.display()))
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
        let place = tempfile::tempdir().expect("a place for a test");
        let folder = Folder::new(Some(place.path().join("trees")));
        (place, folder)
    }

    #[test]
    fn the_deep_tree_is_made_walked_and_removed() {
        let (_place, folder) = folder();
        // Full, for only then its paths are longer than system calls take.
        let path = folder.ensure(Tree::Deep, Size::Full).expect("can be made");
        let found = count(&path);
        assert_eq!((found.directories, found.files, found.errors), (2_000, 6_000, 0));
        assert_eq!(folder.remove(Tree::Deep, Size::Full), Ok(true));
        assert!(!path.exists());
        assert_eq!(folder.remove(Tree::Deep, Size::Full), Ok(false));
    }

    #[test]
    fn links_have_as_many_names_as_planned_and_count_once() {
        let (_place, folder) = folder();
        let path = folder.ensure(Tree::Links, Size::Quick).expect("can be made");
        let found = count(&path);
        assert_eq!((found.directories, found.files, found.errors), (100, 100_000, 0));
        let planned: u64 = (0..10_000)
            .map(|inode| match plan::Content::of_linked(inode) {
                plan::Content::Empty => 0,
                plan::Content::Hole(length) => length,
                plan::Content::Written(length) => length as u64,
            })
            .sum();
        assert_eq!(found.apparent_bytes - found.directory_bytes, planned);
        assert_eq!(folder.remove(Tree::Links, Size::Quick), Ok(true));
    }

    #[test]
    fn a_whole_tree_is_kept_and_an_unfinished_one_made_again() {
        let (_place, folder) = folder();
        let path = folder.ensure(Tree::Deep, Size::Quick).expect("can be made");
        let expected = count(&path);
        let extra = path.join("extra");
        fs::write(&extra, b"").expect("is new");
        folder.ensure(Tree::Deep, Size::Quick).expect("is there");
        assert!(extra.exists(), "a whole tree is left as it is");
        let (_, marker) = folder.places("deep-quick");
        fs::write(&marker, format!("{MARKER_START}, unfinished")).expect("can be written");
        folder.ensure(Tree::Deep, Size::Quick).expect("can be made");
        assert_eq!(count(&path), expected);
    }

    #[test]
    fn what_has_no_marker_is_not_removed() {
        let (_place, folder) = folder();
        let (path, _) = folder.places("wide");
        fs::create_dir_all(path.join("precious")).expect("is new");
        folder.remove(Tree::Wide, Size::Full).expect_err("is not ours");
        folder.ensure(Tree::Wide, Size::Full).expect_err("its place is taken");
        assert!(path.join("precious").exists());
    }
}
