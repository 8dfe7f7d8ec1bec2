//! Plans of trees, decided before anything is made.
//!
//! A plan depends only on the kind of tree and its size, so that every run on every machine walks
//! the same tree. It says which directories exist, how many files each has and what the files
//! contain. Names are ASCII, about a dozen bytes long, and unique within a directory.
//!
//! Most files are empty or end in a hole, so a million of them need inodes but no blocks. A few
//! have written content: with no blocks at all, a wrong total of blocks could be right by accident.

use super::random::Random;

/// Must change whenever a plan or its names change, so that existing trees are made again.
pub(crate) const VERSION: u32 = 1;

/// The seed of all trees.
pub(crate) const SEED: u64 = 0x6865_6973_7420_0001;

/// The deepest nesting in the random tree.
const NESTING_MAX: u32 = 12;

/// The largest number of subdirectories in one directory.
const FAN_OUT_MAX: usize = 2_000;

/// The number of bits in `FAN_OUT_MAX`.
const FAN_OUT_BITS: usize = 11;

/// The longest hole.
const HOLE_BYTES_MAX: usize = 8 * 1024;

/// One file in this many has written content, in trees of many files.
const WRITTEN_EVERY: u64 = 2_000;

/// The same for inodes with several links.
const LINKED_WRITTEN_EVERY: u64 = 100;

const FILES_PER_LEVEL: u32 = 3;

/// What to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Nested(Nested),
    /// A chain of directories, each inside the one before it.
    Chain {
        levels: u32,
        files_per_level: u32,
    },
    /// Files with several names each, spread over some directories.
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
    /// The parent's index, smaller than its own; the root is its own parent.
    pub(crate) parent: u32,
    pub(crate) depth: u32,
    pub(crate) files: u32,
    /// The number of its first file; files are numbered throughout the tree.
    pub(crate) first_file: u32,
}

/// Nested directories, the root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nested {
    pub(crate) directories: Vec<Directory>,
}

impl Nested {
    /// Puts every directory into a random one of those before it, and distributes the files by
    /// random weights, most of which are small and some large.
    fn random(directories: u32, files: u32) -> Self {
        let mut random = Random::new(SEED);
        let mut plan = Self::with_root();
        while plan.directories.len() <= directories as usize {
            let parent = random.below(plan.directories.len());
            if plan.directories[parent].depth < NESTING_MAX {
                plan.push_below(parent);
            }
        }
        // The product of two uniform draws puts a third of the directories below a tenth of the
        // largest weight. Integers, because logarithms differ in their last bits between machines.
        let mut draw = || (1 + random.below(32)) * (1 + random.below(32));
        let weights: Vec<usize> = plan.directories.iter().map(|_| draw()).collect();
        let all: usize = weights.iter().sum();
        let (mut seen, mut placed) = (0, 0);
        for (directory, weight) in plan.directories.iter_mut().zip(weights) {
            seen += weight;
            // From the running sum, so that the rounded counts add up to the total.
            let until = (seen as u64 * u64::from(files) / all as u64) as u32;
            directory.files = until - placed;
            placed = until;
        }
        plan.number_files();
        plan
    }

    /// Gives children to random leaves until there are enough directories. The number of children
    /// is uniform by magnitude: 2 or 3 is as likely as 512 to 1,023. Every other directory has a
    /// file.
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

    /// Returns the indices grouped by depth, starting with the children of the root.
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

    /// Returns the directory's path from the root; `.` for the root itself.
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

/// Returns the directories that hold the links of an inode.
pub(crate) fn homes(inode: u32, links: u32, directories: u32) -> Vec<usize> {
    let mut random = Random::of_item(SEED, u64::from(inode));
    (0..links).map(|_| random.below(directories as usize)).collect()
}

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedContent {
    Empty,
    /// A hole of this length, without blocks.
    Hole(u64),
    /// This many written bytes.
    Written(usize),
}

impl PlannedContent {
    /// Returns the content of a file with one name.
    pub(crate) fn of_file(number: u64) -> Self {
        Self::pick(number, WRITTEN_EVERY)
    }

    /// Returns the content of an inode with several names.
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

/// Returns the name of a directory of the chain. Names are long, so that even a tenth of the chain
/// exceeds the path length that system calls accept.
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

    /// If this fails because a plan changed, change [`VERSION`] as well; otherwise existing trees
    /// pass for new ones.
    #[test]
    fn plans_do_not_change_within_a_version() {
        let mut text = String::new();
        for directory in nested(Plan::million(100)).directories {
            text += &format!("{directory:?}");
        }
        for directory in nested(Plan::wide(100)).directories {
            text += &format!("{directory:?}");
        }
        for number in 0..5_000 {
            let (directory, file) = (directory_name(number), file_name(number));
            text += &format!("{directory} {file} {:?}", PlannedContent::of_file(number));
            text += &level_name(number);
            text += &format!(
                "{:?}{:?}",
                PlannedContent::of_linked(number),
                homes(number as u32, 10, 99)
            );
        }
        let digest = text.bytes().fold(0, |digest: u64, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
        assert_eq!((VERSION, digest), (1, 18_279_572_418_620_248_199));
    }

    #[test]
    fn the_million_tree_has_its_planned_counts() {
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
            .filter(|number| matches!(PlannedContent::of_file(*number), PlannedContent::Written(_)))
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
    fn paths_of_the_chain_exceed_the_limit_of_system_calls() {
        const PATH_MAX: usize = 4_096;
        let Plan::Chain { levels, .. } = Plan::deep(10) else { panic!("it is a chain") };
        let bytes: usize = (0..u64::from(levels)).map(|level| 1 + level_name(level).len()).sum();
        assert!(bytes > PATH_MAX, "{bytes}");
    }

    #[test]
    fn most_files_have_no_blocks_and_all_are_short() {
        for number in 0..10_000 {
            match PlannedContent::of_file(number) {
                PlannedContent::Empty => {}
                PlannedContent::Hole(length) => assert!((1..=8_192).contains(&length)),
                PlannedContent::Written(length) => {
                    assert!((1..=8_192).contains(&length));
                    assert_eq!(number % WRITTEN_EVERY, 0);
                }
            }
        }
    }
}
