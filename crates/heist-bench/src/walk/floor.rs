//! The floor: the least that a walk of a tree costs, as a yardstick for all others.
//!
//! Two threads open directories, read them in blocks and ask for the metadata of each entry, all relative to the
//! descriptor of the directory, and add up. There are no paths, no options, no order and no errors but their count.
//! It stands for what a program costs that wants this one number and nothing else.
//!
//! - Every thread walks depth first over a stack of its own, so few descriptors are open: those of directories that
//!   have children still to be opened. If another thread is hungry, the older half of the stack goes to the pool.
//! - A directory that filled its block goes to the pool at once, before the block is looked at: another thread reads
//!   the next block meanwhile. That splits a huge directory and costs small ones nothing.
//! - Only files with more than one link are remembered, by each thread for itself. What two threads met both is taken
//!   off the sum at the end.
//!
//! It does not guarantee an answer where directories cannot be read or where descriptors run out: what it left out is
//! counted in [`Totals::errors`], and it is not what `du` would say of it.

use std::collections::HashMap;
use std::ffi::CStr;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, iter, thread};

use clap::Args;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags};
use rustix::process::{Resource, Rlimit};

/// Large enough for 2,000 short names, small enough for the second-level cache.
const BLOCK_BYTES: usize = 64 * 1024;

/// With less than this left, the kernel may have stopped for want of room: the largest record has a name of 255 bytes.
const RECORD_BYTES_MAX: usize = 280;

/// What a record of `getdents64` has before the name: inode, offset, length and type.
const RECORD_HEAD_BYTES: usize = 19;

pub(crate) const BYTES_PER_BLOCK: u64 = 512;

/// What the floor counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Space on the disk, hard links once. 0 if only names were asked for.
    pub(crate) disk_bytes: u64,
    /// The lengths of all files and directories, hard links once. 0 if only names were asked for.
    pub(crate) apparent_bytes: u64,
    /// The part of directories in that.
    pub(crate) directory_bytes: u64,
    /// Names below the root, of whatever kind.
    pub(crate) names: u64,
    /// Those of directories.
    pub(crate) directories: u64,
    /// Those of regular files.
    pub(crate) files: u64,
    /// Calls that failed.
    pub(crate) errors: u64,
}

impl Totals {
    /// All numbers in the order of their declaration, separated by blanks.
    pub(crate) fn line(&self) -> String {
        let Self { disk_bytes, apparent_bytes, directory_bytes, names, directories, files, errors } =
            self;
        format!(
            "{disk_bytes} {apparent_bytes} {directory_bytes} {names} {directories} {files} {errors}"
        )
    }

    /// The inverse of [`Self::line`].
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [disk_bytes, apparent_bytes, directory_bytes, names, directories, files, errors] =
            numbers[..]
        else {
            return None;
        };
        Some(Self {
            disk_bytes,
            apparent_bytes,
            directory_bytes,
            names,
            directories,
            files,
            errors,
        })
    }
}

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    path: PathBuf,
    /// Count names and do not ask for sizes.
    #[arg(long)]
    names: bool,
    #[arg(long, value_name = "N", default_value = "2")]
    threads: NonZeroUsize,
}

/// Walks and prints one line.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let question = if options.names { Question::Names } else { Question::Sizes };
    let totals = walk(&options.path, question, options.threads);
    println!("{}", totals.line());
    Ok(())
}

/// What is asked of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Names and their types, as the directories have them.
    Names,
    /// The sizes of everything as well.
    Sizes,
}

/// Walks the tree below `root`, which is part of the sizes but not of the names.
pub(crate) fn walk(root: &Path, question: Question, threads: NonZeroUsize) -> Totals {
    allow_descriptors();
    let Ok(root) =
        rustix::fs::open(root, OPEN_DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())
    else {
        return Totals { errors: 1, ..Totals::default() };
    };
    let pool = Pool::new(threads, Task::Begin(root));
    let mut parts: Vec<Part> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get())
            .map(|_| scope.spawn(|| Worker::new(&pool, question).run()))
            .collect();
        let own = Worker::new(&pool, question).run();
        let others =
            others.into_iter().map(|other| other.join().expect("the floor does not panic"));
        iter::once(own).chain(others).collect()
    });
    let mut whole = parts.pop().unwrap_or_default();
    for part in parts {
        whole.add(part);
    }
    whole.totals
}

const OPEN_DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A wide and deep tree has more directories open than the 1,024 which are the usual soft limit.
fn allow_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // Where that is refused, the walk may still fit; if not, it counts errors.
    let _ = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit { current: limit.maximum, maximum: limit.maximum },
    );
}

/// Something that any thread can go on with.
enum Task {
    /// The root.
    Begin(OwnedFd),
    /// A directory, by its name in another.
    Open(Arc<OwnedFd>, Box<CStr>),
    /// A directory of which some blocks are read.
    GoOn(Arc<OwnedFd>),
}

/// What threads hand to each other.
struct Pool {
    state: Mutex<PoolState>,
    filled: Condvar,
    /// Whether a thread waits for tasks. Only a hint, so that the others need not take the lock to see it.
    hungry: AtomicBool,
    threads: usize,
}

struct PoolState {
    tasks: Vec<Task>,
    waiting: usize,
}

impl Pool {
    fn new(threads: NonZeroUsize, first: Task) -> Self {
        Self {
            state: Mutex::new(PoolState { tasks: vec![first], waiting: 0 }),
            filled: Condvar::new(),
            hungry: AtomicBool::new(false),
            threads: threads.get(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, tasks: impl IntoIterator<Item = Task>) {
        self.lock().tasks.extend(tasks);
        // The next thread that finds nothing sets it again.
        if self.hungry.swap(false, Ordering::Relaxed) {
            self.filled.notify_all();
        }
    }

    /// Waits for a task; `None` once all threads wait, for then nobody is left to give any.
    fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop() {
                return Some(task);
            }
            if state.waiting + 1 == self.threads {
                state.waiting = self.threads;
                self.filled.notify_all();
                return None;
            }
            state.waiting += 1;
            // Under the lock, so a giver that came too early to see it has its tasks in already.
            self.hungry.store(true, Ordering::Relaxed);
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            if state.waiting == self.threads {
                return None;
            }
            state.waiting -= 1;
        }
    }
}

/// Directories still to be opened by one thread, the last one first. Their names lie behind each other in one buffer,
/// so that pushing one allocates nothing.
#[derive(Default)]
struct Stack {
    /// The parent, and where the name starts. `None`: given away.
    entries: Vec<(Option<Arc<OwnedFd>>, usize)>,
    names: Vec<u8>,
    /// How many of the oldest are given away.
    given: usize,
}

impl Stack {
    fn push(&mut self, parent: Arc<OwnedFd>, name: &CStr) {
        self.entries.push((Some(parent), self.names.len()));
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Takes the youngest and calls `open` with it.
    fn pop<T>(&mut self, open: impl FnOnce(BorrowedFd<'_>, &CStr) -> T) -> Option<T> {
        let Some((Some(parent), start)) = self.entries.pop() else {
            self.entries.clear();
            self.names.clear();
            self.given = 0;
            return None;
        };
        let name = CStr::from_bytes_with_nul(&self.names[start..]).expect("pushed with its end");
        let opened = open((*parent).as_fd(), name);
        self.names.truncate(start);
        Some(opened)
    }

    fn len(&self) -> usize {
        self.entries.len() - self.given
    }

    /// Takes the older half, rounded down.
    fn older_half(&mut self) -> impl Iterator<Item = Task> {
        let from = self.given;
        self.given += self.len() / 2;
        let names = &self.names;
        self.entries[from..self.given].iter_mut().map(|(parent, start)| {
            let name = CStr::from_bytes_until_nul(&names[*start..]).expect("pushed with its end");
            Task::Open(parent.take().expect("given once"), name.into())
        })
    }
}

/// A file with several names, as device and inode.
pub(crate) type Identity = (u64, u64);

/// What a file adds to the totals: on the disk, and apparently.
pub(crate) type Sizes = (u64, u64);

/// What one thread found.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) totals: Totals,
    linked: HashMap<Identity, Sizes, BuildHasherDefault<Mixer>>,
}

impl Part {
    pub(crate) fn count(&mut self, (disk, apparent): Sizes) {
        self.totals.disk_bytes += disk;
        self.totals.apparent_bytes += apparent;
    }

    pub(crate) fn count_once(&mut self, file: Identity, sizes: Sizes) {
        if self.linked.insert(file, sizes).is_none() {
            self.count(sizes);
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        let (sum, more) = (&mut self.totals, other.totals);
        sum.disk_bytes += more.disk_bytes;
        sum.apparent_bytes += more.apparent_bytes;
        sum.directory_bytes += more.directory_bytes;
        sum.names += more.names;
        sum.directories += more.directories;
        sum.files += more.files;
        sum.errors += more.errors;
        for (file, sizes) in other.linked {
            if self.linked.insert(file, sizes).is_some() {
                sum.disk_bytes -= sizes.0;
                sum.apparent_bytes -= sizes.1;
            }
        }
    }
}

/// Spreads inode numbers by one multiplication. They come from the kernel, so nobody needs to be kept from colliding.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // An odd number with bits all over. The fold brings the high half, which is mixed best, to the low bits too.
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

/// A reused buffer that the kernel fills with the records of a directory.
struct Block {
    bytes: Box<[u8]>,
}

impl Block {
    fn new() -> Self {
        Self { bytes: vec![0; BLOCK_BYTES].into() }
    }

    /// Reads on in the directory and says how many bytes of records there are now; 0 at the end.
    fn fill(&mut self, directory: BorrowedFd<'_>) -> io::Result<usize> {
        // SAFETY: the kernel writes at most the given number of bytes to a buffer that has as many.
        let used = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                directory.as_raw_fd(),
                self.bytes.as_mut_ptr(),
                self.bytes.len(),
            )
        };
        usize::try_from(used).map_err(|_negative| io::Error::last_os_error())
    }

    /// The names in the first `used` bytes but for `.` and `..`.
    fn records(&self, used: usize) -> impl Iterator<Item = (&CStr, FileType)> {
        let mut rest = &self.bytes[..used];
        let records = iter::from_fn(move || {
            let (head, _) = rest.split_first_chunk::<RECORD_HEAD_BYTES>()?;
            let length = usize::from(u16::from_ne_bytes([head[16], head[17]]));
            let (record, behind) = rest.split_at(length);
            rest = behind;
            Some((&record[RECORD_HEAD_BYTES..], head[18]))
        });
        records.filter(|(name, _)| !matches!(name, [b'.', 0, ..] | [b'.', b'.', 0, ..])).map(
            |(name, kind)| {
                let name = CStr::from_bytes_until_nul(name).expect("names end with a zero byte");
                (name, kind_of(kind))
            },
        )
    }
}

fn kind_of(d_type: u8) -> FileType {
    match d_type {
        libc::DT_DIR => FileType::Directory,
        libc::DT_REG => FileType::RegularFile,
        libc::DT_UNKNOWN => FileType::Unknown,
        // Which of the others it is makes no difference here.
        _ => FileType::Symlink,
    }
}

struct Worker<'pool> {
    pool: &'pool Pool,
    question: Question,
    stack: Stack,
    found: Part,
}

impl<'pool> Worker<'pool> {
    fn new(pool: &'pool Pool, question: Question) -> Self {
        Self { pool, question, stack: Stack::default(), found: Part::default() }
    }

    fn run(mut self) -> Part {
        let mut block = Block::new();
        loop {
            if let Some(opened) = self.stack.pop(open_directory) {
                self.enter(opened, &mut block);
            } else {
                match self.pool.take() {
                    Some(Task::Begin(root)) => self.enter(Ok(root), &mut block),
                    Some(Task::Open(parent, name)) => {
                        let opened = open_directory((*parent).as_fd(), &name);
                        // Before the long part, so that it is closed as soon as nobody needs it.
                        drop(parent);
                        self.enter(opened, &mut block);
                    }
                    Some(Task::GoOn(directory)) => self.read(&directory, &mut block),
                    None => return self.found,
                }
            }
            if self.stack.len() > 1 && self.pool.hungry.load(Ordering::Relaxed) {
                self.pool.give(self.stack.older_half());
            }
        }
    }

    fn enter(&mut self, opened: rustix::io::Result<OwnedFd>, block: &mut Block) {
        let Ok(directory) = opened else {
            self.found.totals.errors += 1;
            return;
        };
        if self.question == Question::Sizes {
            match rustix::fs::fstat(&directory) {
                Ok(stat) => {
                    let disk = stat.st_blocks as u64 * BYTES_PER_BLOCK;
                    let length = stat.st_size as u64;
                    self.found.count((disk, length));
                    self.found.totals.directory_bytes += length;
                }
                Err(_) => self.found.totals.errors += 1,
            }
        }
        self.read(&Arc::new(directory), block);
    }

    /// Reads block after block, or only one if it is full: then the directory goes to whoever comes first.
    fn read(&mut self, directory: &Arc<OwnedFd>, block: &mut Block) {
        loop {
            match block.fill((**directory).as_fd()) {
                Ok(0) => return,
                Ok(used) => {
                    let full = used > BLOCK_BYTES - RECORD_BYTES_MAX;
                    if full {
                        self.pool.give([Task::GoOn(Arc::clone(directory))]);
                    }
                    for (name, kind) in block.records(used) {
                        self.found.totals.names += 1;
                        self.meet(directory, name, kind);
                    }
                    if full {
                        return;
                    }
                }
                Err(_) => {
                    self.found.totals.errors += 1;
                    return;
                }
            }
        }
    }

    fn meet(&mut self, parent: &Arc<OwnedFd>, name: &CStr, kind: FileType) {
        match kind {
            FileType::Directory => self.meet_directory(parent, name),
            // Some filesystems do not tell kinds with the names.
            FileType::Unknown => self.meet_unknown(parent, name),
            _ => {
                self.found.totals.files += u64::from(kind == FileType::RegularFile);
                if self.question == Question::Sizes {
                    self.meet_file(parent, name);
                }
            }
        }
    }

    #[cold]
    fn meet_unknown(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.meet(parent, name, FileType::from_raw_mode(stat.st_mode)),
            Err(_) => self.found.totals.errors += 1,
        }
    }

    fn meet_directory(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        self.found.totals.directories += 1;
        self.stack.push(Arc::clone(parent), name);
    }

    fn meet_file(&mut self, parent: &Arc<OwnedFd>, name: &CStr) {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::TYPE
            | StatxFlags::NLINK
            | StatxFlags::INO
            | StatxFlags::SIZE
            | StatxFlags::BLOCKS;
        let Ok(found) = rustix::fs::statx(parent, name, flags, wanted) else {
            self.found.totals.errors += 1;
            return;
        };
        let sizes = (found.stx_blocks * BYTES_PER_BLOCK, found.stx_size);
        if found.stx_nlink == 1 {
            self.found.count(sizes);
        } else {
            let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
            self.found.count_once((device, found.stx_ino), sizes);
        }
    }
}

fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(parent, name, OPEN_DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    /// The same by the plainest means: paths, one thread, a set of all files.
    fn slow_obvious_count(root: &Path) -> Totals {
        let mut totals = Totals::default();
        let mut met = BTreeSet::new();
        let mut paths = vec![root.to_owned()];
        while let Some(path) = paths.pop() {
            let metadata = fs::symlink_metadata(&path).expect("made by the test");
            if met.insert((metadata.dev(), metadata.ino())) {
                totals.disk_bytes += metadata.blocks() * BYTES_PER_BLOCK;
                totals.apparent_bytes += metadata.size();
                totals.directory_bytes += if metadata.is_dir() { metadata.size() } else { 0 };
            }
            if path != root {
                totals.names += 1;
                totals.directories += u64::from(metadata.is_dir());
                totals.files += u64::from(metadata.is_file());
            }
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).expect("made by the test");
                paths.extend(entries.map(|entry| entry.expect("readable").path()));
            }
        }
        totals
    }

    /// Nested directories, files of several sizes, hard links across directories, symbolic links, a directory of more
    /// than one block, and names that are not UTF-8.
    fn small_tree() -> tempfile::TempDir {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tempfile::tempdir().expect("a place for a test");
        let mut directories = vec![root.path().to_owned()];
        for number in 0..60 {
            let directory = directories[number / 3].join(format!("directory {number}"));
            fs::create_dir(&directory).expect("is new");
            fs::write(directory.join("file"), vec![1; number * 700]).expect("is new");
            let name = std::ffi::OsStr::from_bytes(b"\xff\xfe\x01");
            fs::hard_link(directories[number / 2].join("file"), directory.join(name))
                .or_else(|_root_has_none| fs::write(directory.join(name), b"x"))
                .expect("is new");
            symlink("nowhere", directory.join("link")).expect("is new");
            directories.push(directory);
        }
        for number in 0..5_000 {
            fs::write(directories[9].join(format!("one of many {number}")), b"").expect("is new");
        }
        root
    }

    #[test]
    fn the_floor_equals_the_slow_obvious_count() {
        let root = small_tree();
        let expected = slow_obvious_count(root.path());
        assert!(expected.names > 5_000 && expected.directories == 60, "{expected:?}");
        for threads in [1, 2, 5] {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            assert_eq!(walk(root.path(), Question::Sizes, threads), expected);
            let names = Totals { disk_bytes: 0, apparent_bytes: 0, directory_bytes: 0, ..expected };
            assert_eq!(walk(root.path(), Question::Names, threads), names);
        }
    }

    #[test]
    fn a_file_met_by_two_threads_counts_once() {
        let file = (1, 2);
        let mut parts = [Part::default(), Part::default()];
        for part in &mut parts {
            part.count_once(file, (4096, 5));
            part.count_once(file, (4096, 5));
        }
        let [mut whole, other] = parts;
        whole.add(other);
        assert_eq!((whole.totals.disk_bytes, whole.totals.apparent_bytes), (4096, 5));
    }

    #[test]
    fn what_cannot_be_opened_is_an_error_counted() {
        let root = tempfile::tempdir().expect("a place for a test");
        let missing = root.path().join("missing");
        assert_eq!(walk(&missing, Question::Sizes, NonZeroUsize::MIN).errors, 1);
    }

    #[test]
    fn the_older_half_of_a_stack_is_given_and_the_rest_is_popped_from_the_top() {
        let root = tempfile::tempdir().expect("a place for a test");
        let parent = Arc::new(OwnedFd::from(fs::File::open(root.path()).expect("is there")));
        let mut stack = Stack::default();
        for name in [c"a", c"bb", c"ccc", c"d", c"e"] {
            stack.push(Arc::clone(&parent), name);
        }
        let name_of = |task| match task {
            Task::Open(_, name) => name,
            Task::Begin(_) | Task::GoOn(_) => panic!("a stack has names only"),
        };
        let given: Vec<_> = stack.older_half().map(name_of).collect();
        assert_eq!(given, [c"a".into(), c"bb".into()]);
        assert_eq!(stack.len(), 3);
        let rest: Vec<Box<CStr>> =
            iter::from_fn(|| stack.pop(|_parent, name| name.into())).collect();
        assert_eq!(rest, [c"e".into(), c"d".into(), c"ccc".into()]);
        assert_eq!(stack.len(), 0);
        assert_eq!(Arc::strong_count(&parent), 1, "nothing keeps a descriptor open");
    }
}
