//! The trees for scans, made once and kept in the same folder as the trees for walks.
//!
//! Files are written in full, because holes would cost nothing to read. A file's content depends
//! only on its number.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::corpus::kinds;
use super::prose::prose;
use crate::walk::trees::random::Random;
use crate::walk::trees::{self, Folder, Size};

/// Must change whenever a tree's content changes, so that existing trees are made again.
const VERSION: u32 = 1;

const SEED: u64 = 0x6865_6973_7420_0008;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Files per directory.
const FILES_PER_DIRECTORY: usize = 100;

/// A tree that can be selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanTree {
    /// The planted corpus: recall and precision of every tool.
    Planted,
    /// An empty tree: the cost of starting.
    StartUp,
    /// The sources that Cargo has unpacked, unchanged.
    Registry,
    /// Text with a secret on every other line.
    Dense,
    /// Random bytes.
    Binary,
    /// 200,000 files of a few hundred bytes.
    Small,
    /// 10,000, 100,000 and 1,000,000 tiny files: the cost per file.
    Scaling,
    /// Files of 200 KB that consist of tokens, and the same amount of prose.
    Tokens,
    /// Files of 4 MB of one repeated letter, and the same amount of prose.
    Letter,
    /// One file of 4 GB. With `--quick`, only if it is named explicitly.
    Large,
}

impl ScanTree {
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

    /// Returns the trees to make. If there are two, they are compared with each other.
    pub(crate) fn made(self, size: Size) -> Vec<Made> {
        let scale = match size {
            Size::Full => 1,
            Size::Quick => 10,
        };
        let tiny =
            |count: usize| Made::files(format!("scan-tiny-{count}"), count, 96, FileContent::Prose);
        let suffix = if size == Size::Quick { "-quick" } else { "" };
        let name = |name: &str| format!("scan-{name}{suffix}");
        match self {
            Self::Planted | Self::StartUp | Self::Registry => Vec::new(),
            Self::Dense => {
                vec![Made::files(name("dense"), 2_000 / scale, 32 * KIB, FileContent::Dense)]
            }
            Self::Binary => {
                vec![Made::files(name("binary"), 100 / scale, 4 * MIB, FileContent::Binary)]
            }
            Self::Small => {
                vec![Made::files(name("small"), 200_000 / scale, 600, FileContent::Prose)]
            }
            Self::Scaling if size == Size::Quick => vec![tiny(1_000), tiny(10_000), tiny(100_000)],
            Self::Scaling => vec![tiny(10_000), tiny(100_000), tiny(1_000_000)],
            // Full size even with `--quick`; otherwise starting the program would dominate.
            Self::Tokens => vec![
                Made::files("scan-tokens".to_owned(), 100, 200_000, FileContent::Tokens),
                Made::files("scan-tokens-prose".to_owned(), 100, 200_000, FileContent::Prose),
            ],
            Self::Letter => vec![
                Made::files("scan-letter".to_owned(), 25, 4 * MIB, FileContent::Letter),
                Made::files("scan-letter-prose".to_owned(), 25, 4 * MIB, FileContent::Prose),
            ],
            Self::Large => {
                vec![Made::files(name("large"), 1, 4_096 / scale * MIB, FileContent::Prose)]
            }
        }
    }

    /// Returns `true` if only heist is measured by default, because the question is about heist
    /// alone and other tools would take hours.
    pub(crate) fn is_about_us(self) -> bool {
        matches!(self, Self::Scaling | Self::Tokens | Self::Letter)
    }
}

/// A tree of files with one kind of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) name: String,
    files: usize,
    bytes_per_file: usize,
    content: FileContent,
}

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileContent {
    Prose,
    /// Alternating lines of prose and lines with a secret.
    Dense,
    /// Secrets separated by spaces.
    Tokens,
    Letter,
    Binary,
}

impl Made {
    fn files(name: String, files: usize, bytes_per_file: usize, content: FileContent) -> Self {
        Self { name, files, bytes_per_file, content }
    }

    /// Makes the tree unless it exists, and returns its path.
    ///
    /// # Errors
    /// Returns a message if the tree cannot be made.
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
            let ending = if self.content == FileContent::Binary { "bin" } else { "txt" };
            let mut file = File::create_new(directory.join(format!("file-{number:07}.{ending}")))?;
            let mut random = Random::of_item(SEED, number as u64);
            // In pieces, so that a large file is never in memory as a whole.
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

impl FileContent {
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

/// Makes the trees that are needed and returns their names and paths.
///
/// # Errors
/// Returns a message if a tree cannot be made or does not exist.
pub(crate) fn ensure(
    tree: ScanTree,
    size: Size,
    folder: &Folder,
) -> Result<Vec<(String, PathBuf)>, String> {
    if tree == ScanTree::Registry {
        return Ok(vec![(tree.name().to_owned(), trees::registry()?)]);
    }
    tree.made(size).iter().map(|made| Ok((made.name.clone(), made.ensure(folder)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_the_planned_number_and_length_of_files() {
        let place = tempfile::tempdir().expect("can create a temporary folder");
        let folder = Folder::new(Some(place.path().join("trees")));
        for content in [
            FileContent::Prose,
            FileContent::Dense,
            FileContent::Tokens,
            FileContent::Letter,
            FileContent::Binary,
        ] {
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
        for tree in ScanTree::value_variants() {
            for size in [Size::Full, Size::Quick] {
                names.extend(tree.made(size).into_iter().map(|made| made.name));
            }
        }
        let count = names.len();
        names.sort();
        names.dedup();
        // Both sizes share two trees of tiny files, and the four trees that have only one size.
        assert_eq!(names.len(), count - 6);
    }

    #[test]
    fn compared_trees_have_the_same_number_of_bytes() {
        for tree in [ScanTree::Tokens, ScanTree::Letter] {
            let [one, other] = &tree.made(Size::Full)[..] else { panic!("two of them") };
            assert_eq!((one.files, one.bytes_per_file), (other.files, other.bytes_per_file));
        }
    }
}
