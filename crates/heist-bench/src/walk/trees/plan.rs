//! What a tree will look like, decided before anything is made.
//!
//! A plan depends on nothing but the kind of tree and its size, so that every run on every machine walks the same tree.
//! It says which directories there are, how many files each has and what is in them. Names are ASCII, a dozen bytes
//! long, and differ below the same directory.
//!
//! Almost nothing is written: most files are empty or end in a hole, so a million of them need inodes and no blocks.
//! A few are written, for without blocks a total of blocks would be right by accident.

use super::random::Random;

/// Changes whenever a plan or its names do, so that trees of older plans are made again.
pub(crate) const VERSION: u32 = 1;

/// The seed of all trees.
pub(crate) const SEED: u64 = 0x6865_6973_7420_0001;

/// Directories of the random tree nest this deep at most.
const NESTING_MAX: u32 = 12;

/// The largest number of directories in one.
const FAN_OUT_MAX: usize = 2_000;

/// The bits of that number.
const FAN_OUT_BITS: usize = 11;

/// Holes are this long at most.
const HOLE_BYTES_MAX: usize = 8 * 1024;

/// One file in this many is written, where there are many.
const WRITTEN_EVERY: u64 = 2_000;

/// One inode in this many of those with several links.
const LINKED_WRITTEN_EVERY: u64 = 100;

const FILES_PER_LEVEL: u32 = 3;

/// What there is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Nested(Nested),
    /// Directories each of which is in the one before.
    Chain {
        levels: u32,
        files_per_level: u32,
    },
    /// Files with several names each, all over some directories.
    Linked {
        inodes: u32,
        links: u32,
        directories: u32,
    },
}

impl Plan {
    pub(crate) fn million(scale: u32) -> Self {
        Self::Nested(Nested::random(50_000 / scale, 1_000_000 / scale))
    }

    pub(crate) fn wide(scale: u32) -> Self {
        Self::Nested(Nested::wide(200_000 / scale))
    }

    pub(crate) fn flat(scale: u32) -> Self {
        let root = Directory { parent: 0, depth: 0, files: 300_000 / scale, first_file: 0 };
        Self::Nested(Nested { directories: vec![root] })
    }

    pub(crate) fn deep(scale: u32) -> Self {
        Self::Chain { levels: 2_000 / scale, files_per_level: FILES_PER_LEVEL }
    }

    pub(crate) fn links(scale: u32) -> Self {
        Self::Linked { inodes: 100_000 / scale, links: 10, directories: 1_000 / scale }
    }
}

/// One directory of a [`Nested`] plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Its parent's index, smaller than its own; the root is its own parent.
    pub(crate) parent: u32,
    pub(crate) depth: u32,
    pub(crate) files: u32,
    /// Files are numbered throughout the tree.
    pub(crate) first_file: u32,
}

/// Directories in directories, the root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nested {
    pub(crate) directories: Vec<Directory>,
}

impl Nested {
    /// Every directory is in a random one of those before it; files go to directories by weights of which most are
    /// small and some large.
    fn random(directories: u32, files: u32) -> Self {
        let mut random = Random::new(SEED);
        let mut plan = Self::with_root();
        while plan.directories.len() <= directories as usize {
            let parent = random.below(plan.directories.len());
            if plan.directories[parent].depth < NESTING_MAX {
                plan.push_below(parent);
            }
        }
        // The product of two even draws: a third of the directories below a tenth of the largest weight. Whole numbers,
        // for logarithms differ in their last bits between machines.
        let mut draw = || (1 + random.below(32)) * (1 + random.below(32));
        let weights: Vec<usize> = plan.directories.iter().map(|_| draw()).collect();
        let all: usize = weights.iter().sum();
        let (mut seen, mut placed) = (0, 0);
        for (directory, weight) in plan.directories.iter_mut().zip(weights) {
            seen += weight;
            // By the running sum, so that the rounded numbers add up to all files.
            let until = (seen as u64 * u64::from(files) / all as u64) as u32;
            directory.files = until - placed;
            placed = until;
        }
        plan.number_files();
        plan
    }

    /// Random leaves get children until there are enough. How many goes evenly by magnitude: as often 2 or 3 as 512
    /// to 1,023. Every other directory has a file.
    fn wide(directories: u32) -> Self {
        let mut random = Random::new(SEED);
        let mut plan = Self::with_root();
        let mut leaves = vec![0];
        while plan.directories.len() <= directories as usize {
            let leaf = leaves.swap_remove(random.below(leaves.len()));
            let magnitude = random.below(FAN_OUT_BITS);
            let fan_out = ((1 << magnitude) + random.below(1 << magnitude)).min(FAN_OUT_MAX);
            let missing = directories as usize + 1 - plan.directories.len();
            for _ in 0..fan_out.min(missing) {
                leaves.push(plan.directories.len());
                plan.push_below(leaf);
            }
        }
        for directory in &mut plan.directories {
            directory.files = u32::from(random.next().is_multiple_of(2));
        }
        plan.number_files();
        plan
    }

    fn with_root() -> Self {
        Self { directories: vec![Directory { parent: 0, depth: 0, files: 0, first_file: 0 }] }
    }

    fn push_below(&mut self, parent: usize) {
        let depth = self.directories[parent].depth + 1;
        let parent = u32::try_from(parent).expect("plans have fewer than 2³² directories");
        self.directories.push(Directory { parent, depth, files: 0, first_file: 0 });
    }

    fn number_files(&mut self) {
        let mut next = 0;
        for directory in &mut self.directories {
            directory.first_file = next;
            next += directory.files;
        }
    }

    /// Indices by depth, those below the root first.
    pub(crate) fn levels(&self) -> Vec<Vec<usize>> {
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (index, directory) in self.directories.iter().enumerate().skip(1) {
            let level = directory.depth as usize - 1;
            if levels.len() <= level {
                levels.resize(level + 1, Vec::new());
            }
            levels[level].push(index);
        }
        levels
    }

    /// The directory's path from the root; `.` for the root itself.
    pub(crate) fn path(&self, mut index: usize) -> String {
        let mut names = Vec::new();
        while index != 0 {
            names.push(directory_name(index as u64));
            index = self.directories[index].parent as usize;
        }
        names.push(".".to_owned());
        names.reverse();
        names.join("/")
    }
}

/// The directories that hold the links of an inode.
pub(crate) fn homes(inode: u32, links: u32, directories: u32) -> Vec<usize> {
    let mut random = Random::of_item(SEED, u64::from(inode));
    (0..links).map(|_| random.below(directories as usize)).collect()
}

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Empty,
    /// This long, without blocks.
    Hole(u64),
    /// This many bytes, written.
    Written(usize),
}

impl Content {
    /// That of one file among many.
    pub(crate) fn of_file(number: u64) -> Self {
        Self::pick(number, WRITTEN_EVERY)
    }

    /// That of an inode with many names.
    pub(crate) fn of_linked(inode: u64) -> Self {
        Self::pick(inode, LINKED_WRITTEN_EVERY)
    }

    fn pick(number: u64, written_every: u64) -> Self {
        let mut random = Random::of_item(!SEED, number);
        let length = 1 + random.below(HOLE_BYTES_MAX);
        match (number % written_every, random.below(5)) {
            (0, _) => Self::Written(length),
            (_, 0 | 1) => Self::Empty,
            _ => Self::Hole(length as u64),
        }
    }
}

pub(crate) fn directory_name(number: u64) -> String {
    let words = ["src", "tests", "assets", "modules", "build", "include", "locale", "vendor"];
    format!("{}-{number}", words[Random::of_item(SEED, number).below(words.len())])
}

/// A directory of the chain: long, so that even a tenth of the chain is longer than the paths that system calls take.
pub(crate) fn level_name(number: u64) -> String {
    format!("{}-and-then-further-down", directory_name(number))
}

pub(crate) fn file_name(number: u64) -> String {
    let endings = ["rs", "c", "html", "json", "toml", "md", "txt", "so"];
    format!("file{number:07}.{}", endings[Random::of_item(SEED, number).below(endings.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(plan: Plan) -> Nested {
        match plan {
            Plan::Nested(nested) => nested,
            other => panic!("{other:?} is not nested"),
        }
    }

    #[test]
    fn plans_are_the_same_every_time() {
        for plan in [Plan::million, Plan::wide, Plan::flat, Plan::deep, Plan::links] {
            assert_eq!(plan(10), plan(10));
        }
        assert_eq!(homes(77, 10, 1_000), homes(77, 10, 1_000));
    }

    /// Whoever changes a plan changes [`VERSION`] too, or old trees pass for new ones.
    #[test]
    fn the_plans_of_this_version_are_these() {
        let mut text = String::new();
        for directory in nested(Plan::million(100)).directories {
            text += &format!("{directory:?}");
        }
        for directory in nested(Plan::wide(100)).directories {
            text += &format!("{directory:?}");
        }
        for number in 0..5_000 {
            let (directory, file) = (directory_name(number), file_name(number));
            text += &format!("{directory} {file} {:?}", Content::of_file(number));
            text += &level_name(number);
            text += &format!("{:?}{:?}", Content::of_linked(number), homes(number as u32, 10, 99));
        }
        let digest = text.bytes().fold(0, |digest: u64, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
        assert_eq!((VERSION, digest), (1, 18_279_572_418_620_248_199));
    }

    #[test]
    fn the_million_has_its_numbers() {
        let plan = nested(Plan::million(1));
        assert_eq!(plan.directories.len(), 50_001);
        assert_eq!(
            plan.directories.iter().map(|directory| directory.files).sum::<u32>(),
            1_000_000
        );
        assert_eq!(plan.levels().len(), NESTING_MAX as usize);
        let largest = plan.directories.iter().map(|directory| directory.files).max();
        assert!((50..1_000).contains(&largest.expect("there are directories")));
        let written = (0..1_000_000)
            .filter(|number| matches!(Content::of_file(*number), Content::Written(_)))
            .count();
        assert_eq!(written, 500);
    }

    #[test]
    fn the_wide_tree_has_all_fan_outs() {
        let plan = nested(Plan::wide(1));
        assert_eq!(plan.directories.len(), 200_001);
        assert!(plan.directories.iter().all(|directory| directory.files <= 1));
        let mut fan_outs = vec![0; plan.directories.len()];
        for directory in &plan.directories[1..] {
            fan_outs[directory.parent as usize] += 1;
        }
        assert!(fan_outs.contains(&1));
        let largest = fan_outs.iter().max().copied().unwrap_or_default();
        assert!((1_500..=2_000).contains(&largest), "{largest}");
    }

    #[test]
    fn parents_come_before_their_children_and_paths_lead_there() {
        let plan = nested(Plan::million(100));
        for (index, directory) in plan.directories.iter().enumerate().skip(1) {
            assert!((directory.parent as usize) < index);
            let path = plan.path(index);
            assert_eq!(path.split('/').count(), directory.depth as usize + 1, "{path}");
            assert!(path.starts_with(&plan.path(directory.parent as usize)));
        }
        assert_eq!(plan.path(0), ".");
    }

    #[test]
    fn paths_of_the_chain_are_longer_than_system_calls_take() {
        const PATH_MAX: usize = 4_096;
        let Plan::Chain { levels, .. } = Plan::deep(10) else { panic!("it is a chain") };
        let bytes: usize = (0..u64::from(levels)).map(|level| 1 + level_name(level).len()).sum();
        assert!(bytes > PATH_MAX, "{bytes}");
    }

    #[test]
    fn most_files_have_no_blocks_and_all_are_short() {
        for number in 0..10_000 {
            match Content::of_file(number) {
                Content::Empty => {}
                Content::Hole(length) => assert!((1..=8_192).contains(&length)),
                Content::Written(length) => {
                    assert!((1..=8_192).contains(&length));
                    assert_eq!(number % WRITTEN_EVERY, 0);
                }
            }
        }
    }
}
