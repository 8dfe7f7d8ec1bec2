//! The trees that scans are measured on, made once and kept in the folder of the walks' trees.
//!
//! Everything in them is written: a hole costs nothing to read. What is in a file depends on its number alone.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::corpus::kinds;
use super::prose::prose;
use crate::walk::trees::random::Random;
use crate::walk::trees::{self, Folder, Size};

/// Changes whenever a tree does, so that older ones are made again.
const VERSION: u32 = 1;

const SEED: u64 = 0x6865_6973_7420_0008;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Files of one directory.
const FILES_PER_DIRECTORY: usize = 100;

/// What can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tree {
    /// How right everybody is: the planted corpus.
    Planted,
    /// How long it takes to scan nothing.
    StartUp,
    /// The sources that Cargo has unpacked, as they are.
    Registry,
    /// Text in which every other line has a secret.
    Dense,
    /// Random bytes.
    Binary,
    /// 200,000 files of a few hundred bytes.
    Small,
    /// 10,000, 100,000 and 1,000,000 tiny files: what a file costs.
    Scaling,
    /// Files of 200 KB with nothing but tokens, against as much prose.
    Tokens,
    /// Files of 4 MB with one repeated letter, against as much prose.
    Letter,
    /// One file of 4 GB. With `--quick` only if it is asked for.
    Large,
}

impl Tree {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Planted => "planted",
            Self::StartUp => "start-up",
            Self::Registry => "registry",
            Self::Dense => "dense",
            Self::Binary => "binary",
            Self::Small => "small",
            Self::Scaling => "scaling",
            Self::Tokens => "tokens",
            Self::Letter => "letter",
            Self::Large => "large",
        }
    }

    /// The made trees that it needs. Where there are several, they are compared with each other.
    pub(crate) fn made(self, size: Size) -> Vec<Made> {
        let scale = match size {
            Size::Full => 1,
            Size::Quick => 10,
        };
        let tiny =
            |count: usize| Made::files(format!("scan-tiny-{count}"), count, 96, Content::Prose);
        let suffix = if size == Size::Quick { "-quick" } else { "" };
        let name = |name: &str| format!("scan-{name}{suffix}");
        match self {
            Self::Planted | Self::StartUp | Self::Registry => Vec::new(),
            Self::Dense => {
                vec![Made::files(name("dense"), 2_000 / scale, 32 * KIB, Content::Dense)]
            }
            Self::Binary => {
                vec![Made::files(name("binary"), 100 / scale, 4 * MIB, Content::Binary)]
            }
            Self::Small => vec![Made::files(name("small"), 200_000 / scale, 600, Content::Prose)],
            Self::Scaling if size == Size::Quick => vec![tiny(1_000), tiny(10_000), tiny(100_000)],
            Self::Scaling => vec![tiny(10_000), tiny(100_000), tiny(1_000_000)],
            // As big as ever, or the start of the program would be most of it.
            Self::Tokens => vec![
                Made::files("scan-tokens".to_owned(), 100, 200_000, Content::Tokens),
                Made::files("scan-tokens-prose".to_owned(), 100, 200_000, Content::Prose),
            ],
            Self::Letter => vec![
                Made::files("scan-letter".to_owned(), 25, 4 * MIB, Content::Letter),
                Made::files("scan-letter-prose".to_owned(), 25, 4 * MIB, Content::Prose),
            ],
            Self::Large => vec![Made::files(name("large"), 1, 4_096 / scale * MIB, Content::Prose)],
        }
    }

    /// Whether only we are measured: where the question is one about ourselves, and others would take hours.
    pub(crate) fn is_about_us(self) -> bool {
        matches!(self, Self::Scaling | Self::Tokens | Self::Letter)
    }
}

/// A tree of files of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) name: String,
    files: usize,
    bytes_per_file: usize,
    content: Content,
}

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Prose,
    /// A line of prose, then a line with a secret, and so on.
    Dense,
    /// Secrets with a space between them.
    Tokens,
    Letter,
    Binary,
}

impl Made {
    fn files(name: String, files: usize, bytes_per_file: usize, content: Content) -> Self {
        Self { name, files, bytes_per_file, content }
    }

    /// The path of the tree, which is made if it is not there.
    ///
    /// # Errors
    /// A message if it cannot be made.
    pub(crate) fn ensure(&self, folder: &Folder) -> Result<PathBuf, String> {
        let Self { files, bytes_per_file, content, .. } = self;
        let summary = format!(
            "version {VERSION}, seed {SEED:#x}, {files} files of {bytes_per_file} bytes, {content:?}"
        );
        folder.ensure_made(&self.name, &summary, |path| self.make(path))
    }

    fn make(&self, root: &Path) -> io::Result<()> {
        for number in 0..self.files {
            let directory = root.join(format!("part-{:04}", number / FILES_PER_DIRECTORY));
            if number.is_multiple_of(FILES_PER_DIRECTORY) {
                fs::create_dir(&directory)?;
            }
            let ending = if self.content == Content::Binary { "bin" } else { "txt" };
            let mut file = File::create_new(directory.join(format!("file-{number:07}.{ending}")))?;
            let mut random = Random::of_item(SEED, number as u64);
            // By pieces: a large file is never in memory.
            let mut missing = self.bytes_per_file;
            while missing > 0 {
                let piece = self.content.piece(&mut random, missing.min(4 * MIB));
                file.write_all(&piece)?;
                missing -= piece.len();
            }
        }
        Ok(())
    }
}

impl Content {
    fn piece(self, random: &mut Random, length: usize) -> Vec<u8> {
        let mut piece = match self {
            Self::Prose => prose(random, length),
            Self::Letter => vec![b'a'; length],
            Self::Binary => super::corpus::bytes(random, length),
            Self::Dense | Self::Tokens => {
                let kinds: Vec<_> =
                    kinds::all().filter(|kind| kind.form == kinds::Form::Typical).collect();
                let mut text = Vec::with_capacity(length + 4 * KIB);
                while text.len() < length {
                    let kind = kinds[random.below(kinds.len())];
                    let token = kind.make(random).text;
                    if self == Self::Dense {
                        text.extend(prose(random, 60));
                        let name = kind.name.replace(' ', "_");
                        text.extend_from_slice(format!("\n{name} = \"{token}\"\n").as_bytes());
                    } else {
                        text.extend_from_slice(token.as_bytes());
                        text.push(b' ');
                    }
                }
                text
            }
        };
        piece.truncate(length);
        piece
    }
}

/// The paths to scan for a tree, with what each is called.
///
/// # Errors
/// A message if a tree cannot be made or is not there.
pub(crate) fn ensure(
    tree: Tree,
    size: Size,
    folder: &Folder,
) -> Result<Vec<(String, PathBuf)>, String> {
    if tree == Tree::Registry {
        return Ok(vec![(tree.name().to_owned(), trees::registry()?)]);
    }
    tree.made(size).iter().map(|made| Ok((made.name.clone(), made.ensure(folder)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_as_many_and_as_long_as_planned() {
        let place = tempfile::tempdir().expect("a place for a test");
        let folder = Folder::new(Some(place.path().join("trees")));
        for content in
            [Content::Prose, Content::Dense, Content::Tokens, Content::Letter, Content::Binary]
        {
            let made = Made::files(format!("{content:?}"), 203, 5_000, content);
            let path = made.ensure(&folder).expect("can be made");
            let mut lengths = Vec::new();
            for part in fs::read_dir(&path).expect("is there") {
                for file in fs::read_dir(part.expect("a directory").path()).expect("is there") {
                    lengths.push(file.expect("a file").metadata().expect("is there").len());
                }
            }
            assert_eq!(lengths, [5_000; 203]);
            assert_eq!(folder.remove_made(&made.name), Ok(true));
        }
    }

    #[test]
    fn names_of_made_trees_differ_between_trees_and_sizes() {
        let mut names: Vec<String> = Vec::new();
        for tree in Tree::value_variants() {
            for size in [Size::Full, Size::Quick] {
                names.extend(tree.made(size).into_iter().map(|made| made.name));
            }
        }
        let count = names.len();
        names.sort();
        names.dedup();
        // Two trees of tiny files are in both, and four that have one size only.
        assert_eq!(names.len(), count - 6);
    }

    #[test]
    fn what_is_compared_has_the_same_bytes() {
        for tree in [Tree::Tokens, Tree::Letter] {
            let [one, other] = &tree.made(Size::Full)[..] else { panic!("two of them") };
            assert_eq!((one.files, one.bytes_per_file), (other.files, other.bytes_per_file));
        }
    }
}
