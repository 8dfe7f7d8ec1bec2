//! Builds a tree from the workers' records, in one pass in the order of a serial walk.
//!
//! That order makes the result the same for any number of threads: roots in the order given, names
//! sorted by their bytes, and the contents of a directory before the next name. If the walk reached
//! something several times, it goes where this order reaches it first:
//!
//! - Of the names of a file the first one counts.
//! - A directory that was entered elsewhere (a root inside a root, or the target of a link) moves
//!   here with its contents, unless the tree already contains it. Then it is left out.
//!
//! Nothing here recurses, because trees may be deeper than the stack.

use super::Size;
use super::extensions::ExtensionSums;
use super::inodes::InodeSet;
use super::records::{Marks, NONE, Records};
use super::tree::{DirectorySummary, UsageTree};
use super::tree_visitor::{SharedTree, WorkerRecords};
use crate::metadata::FileIdentity;
use std::collections::HashMap;

/// The result of building: a tree and the sums.
pub(super) struct BuiltTree {
    pub(super) tree: UsageTree,
    /// The record and the size of each root. `None` for a root that is not in the tree, or not as a
    /// root.
    pub(super) roots: Vec<Option<(u32, Size)>>,
    pub(super) extensions: ExtensionSums,
}

/// Builds the tree from what the workers recorded below `roots` roots.
pub(super) fn build(workers: Vec<WorkerRecords>, shared: &SharedTree, roots: usize) -> BuiltTree {
    let mut arenas = Vec::new();
    let mut sums = Vec::new();
    let mut with_errors = Vec::new();
    let mut root_records = vec![NONE; roots];
    let mut extensions = ExtensionSums::default();
    for worker in workers {
        arenas.push(worker.arena);
        sums.push(worker.sums);
        with_errors.push(worker.with_errors);
        for (root, record) in worker.roots {
            root_records[root] = record;
        }
        extensions.merge(worker.extensions);
    }
    let mut records = Records::new(arenas, &shared.numbering);
    let mut directories = Vec::new();
    let entered_elsewhere = number_directories(&mut records, &mut directories);
    for id in with_errors.into_iter().flatten() {
        records.get_mut(id).marks.set(Marks::ERRORS);
    }
    for (id, sum) in sums.into_iter().flatten() {
        directories[records.get(id).directory()].total += sum;
    }
    let order = order_by_parent(&records, &mut directories);
    let tree = UsageTree { records, directories, order, roots: Vec::new(), len: 0 };
    let mut placer = TreePlacer {
        counted: InodeSet::new(false),
        keep_files: shared.keep_files,
        extensions: shared.by_extension.then_some(extensions),
        entered_elsewhere,
        tree,
    };
    let placed = root_records.into_iter().map(|root| placer.place_root(root)).collect();
    let extensions = placer.extensions.unwrap_or_default();
    BuiltTree { tree: placer.tree, roots: placed, extensions }
}

/// Numbers the directories. Returns where those directories were entered that some record marks as
/// entered elsewhere.
fn number_directories(
    records: &mut Records,
    directories: &mut Vec<DirectorySummary>,
) -> HashMap<FileIdentity, u32> {
    let mut elsewhere = HashMap::new();
    for id in records.ids() {
        let identity = records.identity(id);
        let record = records.get_mut(id);
        if record.kind.is_dir() {
            record.links_or_directory =
                u32::try_from(directories.len()).expect("there are fewer directories than ids");
            directories.push(DirectorySummary::default());
            if record.marks.has(Marks::ENTERED_ELSEWHERE) {
                elsewhere.extend(identity.map(|identity| (identity, NONE)));
            }
        }
    }
    if elsewhere.is_empty() {
        return elsewhere;
    }
    for id in records.ids() {
        let record = records.get(id);
        if record.kind.is_dir()
            && !record.marks.has(Marks::ENTERED_ELSEWHERE)
            && let Some(identity) = records.identity(id)
            && let Some(entered) = elsewhere.get_mut(&identity)
        {
            *entered = id;
        }
    }
    elsewhere
}

/// Groups the entries by directory, without sorting them.
fn order_by_parent(records: &Records, directories: &mut [DirectorySummary]) -> Vec<u32> {
    let directory_of = |id: u32| {
        let parent = records.get(id).parent;
        (parent != NONE).then(|| records.get(parent).directory())
    };
    for directory in records.ids().filter_map(directory_of) {
        directories[directory].entries += 1;
    }
    let mut entries = 0;
    for directory in &mut *directories {
        directory.first = entries;
        entries += std::mem::take(&mut directory.entries);
    }
    let mut order = vec![NONE; entries as usize];
    for id in records.ids() {
        if let Some(directory) = directory_of(id) {
            let directory = &mut directories[directory];
            order[(directory.first + directory.entries) as usize] = id;
            directory.entries += 1;
        }
    }
    order
}

/// A directory on the path from the root to the current position.
struct Descent {
    id: u32,
    /// The next of its entries, as an index into the tree's order.
    next: usize,
    end: usize,
    /// Where the next entry that stays in the tree goes. Entries that do not stay leave no gaps.
    kept: usize,
}

/// What happens to a record when the pass reaches it.
enum Placement {
    /// It is not in the tree.
    None,
    /// It is in the tree and complete, and adds this size.
    File(Size),
    /// It is a directory whose contents come next.
    Directory,
}

/// The state of the pass.
struct TreePlacer {
    tree: UsageTree,
    /// The counted files that may have more names.
    counted: InodeSet,
    keep_files: bool,
    extensions: Option<ExtensionSums>,
    entered_elsewhere: HashMap<FileIdentity, u32>,
}

impl TreePlacer {
    /// Places a root and everything below it. Returns its record and size.
    fn place_root(&mut self, root: u32) -> Option<(u32, Size)> {
        if root == NONE {
            return None;
        }
        let size = match self.place(root) {
            Placement::None => return None,
            Placement::File(_) if self.tree.records.get(root).marks.has(Marks::NOT_COUNTED) => {
                return None;
            }
            Placement::File(size) => size,
            Placement::Directory => self.place_below(root),
        };
        self.tree.roots.push(root);
        self.tree.len += 1;
        Some((root, size))
    }

    /// Places everything below a directory. Returns the directory's size.
    fn place_below(&mut self, root: u32) -> Size {
        let mut descents = vec![self.go_down(root)];
        let mut total = Size::default();
        while let Some(level) = descents.last_mut() {
            if level.next == level.end {
                total = self.go_up(level);
                descents.pop();
                if let Some(above) = descents.last() {
                    self.directory_mut(above.id).total += total;
                }
                continue;
            }
            let id = self.tree.order[level.next];
            level.next += 1;
            let (kept, within) = (level.kept, level.id);
            let place = self.place(id);
            let keep = match place {
                Placement::None => false,
                Placement::File(_) => self.keep_files,
                Placement::Directory => true,
            };
            if keep {
                self.tree.order[kept] = id;
                self.tree.len += 1;
                level.kept += 1;
            }
            match place {
                Placement::None => {}
                Placement::File(size) => self.directory_mut(within).total += size,
                Placement::Directory => descents.push(self.go_down(id)),
            }
        }
        total
    }

    fn place(&mut self, id: u32) -> Placement {
        let record = self.tree.records.get(id);
        if record.kind.is_dir() {
            return self.place_directory(id);
        }
        let size = record.own_size();
        if !record.marks.has(Marks::MAY_REPEAT) {
            return Placement::File(size);
        }
        let identity = self.tree.records.identity(id);
        if identity.is_none_or(|identity| self.counted.insert(identity)) {
            if let Some(extensions) = &mut self.extensions {
                extensions.add(self.tree.records.name(id), size);
            }
            return Placement::File(size);
        }
        self.tree.records.get_mut(id).marks.set(Marks::NOT_COUNTED);
        Placement::File(Size::default())
    }

    fn place_directory(&mut self, id: u32) -> Placement {
        let records = &mut self.tree.records;
        let mut entered = id;
        if records.get(id).marks.has(Marks::ENTERED_ELSEWHERE) {
            let identity = records.identity(id);
            let elsewhere = identity.and_then(|identity| self.entered_elsewhere.get(&identity));
            // It was entered nowhere, because it was replaced during the walk or the walk was
            // stopped. Its own record is all that is known.
            entered = elsewhere.copied().filter(|&elsewhere| elsewhere != NONE).unwrap_or(id);
        }
        let marks = &mut records.get_mut(entered).marks;
        if marks.has(Marks::PLACED) {
            return Placement::None;
        }
        marks.set(Marks::PLACED);
        if entered != id {
            self.move_contents(entered, id);
        }
        Placement::Directory
    }

    /// Moves the contents of a directory to another record of the same directory.
    fn move_contents(&mut self, from: u32, to: u32) {
        let moved = std::mem::take(self.directory_mut(from));
        *self.directory_mut(to) = moved;
        for entry in moved.range() {
            let id = self.tree.order[entry];
            self.tree.records.get_mut(id).parent = to;
        }
        if self.tree.records.get(from).marks.has(Marks::ERRORS) {
            self.tree.records.get_mut(to).marks.set(Marks::ERRORS);
        }
    }

    fn go_down(&mut self, id: u32) -> Descent {
        let own = self.tree.records.get(id).own_size();
        let directory = self.directory_mut(id);
        directory.total += own;
        let range = directory.range();
        let records = &self.tree.records;
        let name = |id: &u32| records.name(*id).as_encoded_bytes();
        self.tree.order[range.clone()].sort_unstable_by(|one, other| name(one).cmp(name(other)));
        Descent { id, next: range.start, end: range.end, kept: range.start }
    }

    /// Completes a directory after all its contents are placed. Returns its size.
    fn go_up(&mut self, level: &Descent) -> Size {
        let directory = self.directory_mut(level.id);
        #[expect(clippy::cast_possible_truncation, reason = "not more than there were before")]
        let kept = level.kept as u32;
        directory.entries = kept - directory.first;
        directory.total
    }

    fn directory_mut(&mut self, id: u32) -> &mut DirectorySummary {
        let index = self.tree.records.get(id).directory();
        &mut self.tree.directories[index]
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::SharedNumbering;
    use super::super::tree::NodeId;
    use super::*;
    use crate::metadata::{FileKind, Metadata};
    use std::ffi::OsStr;

    fn metadata(kind: FileKind, inode: u64) -> Metadata {
        Metadata {
            kind,
            len: 1,
            allocated: 10,
            device: 1,
            inode,
            links: 1,
            mode: 0,
            modified: None,
        }
    }

    fn shared() -> SharedTree {
        let numbering = SharedNumbering::default();
        SharedTree { numbering, keep_files: true, by_extension: false, repeats: None }
    }

    /// Different workers record the levels of a deep tree.
    #[test]
    fn a_hundred_thousand_levels_fit_on_a_small_stack() {
        const DEPTH: u64 = 100_000;
        let build_deep = || {
            let shared = shared();
            let mut workers =
                [WorkerRecords::default(), WorkerRecords::default(), WorkerRecords::default()];
            let mut parent = NONE;
            for level in 0..DEPTH {
                let worker = &mut workers[level as usize % 3];
                let (numbering, directory) =
                    (&shared.numbering, metadata(FileKind::Directory, level + 1));
                let name = OsStr::new("d");
                let id =
                    worker.arena.push(numbering, name, &directory, parent, Marks::NOTHING).unwrap();
                if parent == NONE {
                    worker.roots.push((0, id));
                }
                parent = id;
            }
            let built = build(workers.into(), &shared, 1);
            let size = Size { len: DEPTH, allocated: 10 * DEPTH, inodes: DEPTH };
            assert_eq!(built.roots[0].map(|(_, size)| size), Some(size));
            assert_eq!(built.tree.len() as u64, DEPTH);
            assert_eq!(built.tree.path(NodeId(parent)).as_os_str().len() as u64, 2 * DEPTH - 1);
        };
        let small = std::thread::Builder::new().stack_size(128 << 10);
        small.spawn(build_deep).unwrap().join().unwrap();
    }

    #[test]
    fn entries_of_one_directory_may_come_from_any_worker() {
        let shared = shared();
        let mut workers = [WorkerRecords::default(), WorkerRecords::default()];
        let numbering = &shared.numbering;
        let directory = metadata(FileKind::Directory, 1);
        let root =
            workers[1].arena.push(numbering, OsStr::new("r"), &directory, NONE, Marks::NOTHING);
        let root = root.unwrap();
        workers[1].roots.push((0, root));
        // More than a block for each worker.
        for number in 0..5_000_u32 {
            let name = format!("{:04}", number.reverse_bits() >> 16 ^ number);
            let file = metadata(FileKind::File, u64::from(number) + 2);
            let arena = &mut workers[number as usize % 2].arena;
            arena.push(numbering, OsStr::new(&name), &file, root, Marks::NOTHING).unwrap();
        }
        workers[0].with_errors.push(root);
        workers[0].sums.push((root, Size { len: 7, allocated: 0, inodes: 0 }));
        let BuiltTree { tree, roots, .. } = build(workers.into(), &shared, 2);
        assert_eq!(roots[1], None);
        let (root, size) = roots[0].unwrap();
        assert_eq!(size, Size { len: 5_008, allocated: 50_010, inodes: 5_001 });
        let root = NodeId(root);
        assert!(tree.has_errors(root));
        let names: Vec<_> = tree.children(root).map(|child| tree.name(child)).collect();
        assert_eq!(names.len(), 5_000);
        assert!(names.is_sorted());
        assert!(tree.children(root).all(|child| tree.parent(child) == Some(root)));
    }

    #[test]
    fn a_directory_that_was_entered_nowhere_counts_only_itself() {
        let shared = shared();
        let mut worker = WorkerRecords::default();
        let numbering = &shared.numbering;
        for root in 0..2 {
            let directory = metadata(FileKind::Directory, 5);
            let marks = Marks::ENTERED_ELSEWHERE;
            let id =
                worker.arena.push(numbering, OsStr::new("r"), &directory, NONE, marks).unwrap();
            worker.roots.push((root, id));
        }
        let built = build(vec![worker], &shared, 2);
        let sizes: Vec<_> =
            built.roots.iter().map(|root| root.map(|(_, size)| size.inodes)).collect();
        assert_eq!(sizes, [Some(1), Some(1)]);
    }
}
