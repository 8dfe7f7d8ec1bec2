//! Makes trees as planned, quickly: on several threads, relative to descriptors, with as few system
//! calls as possible.
//!
//! The root must exist and be empty. An error leaves a part of the tree behind; the caller removes
//! it.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{FileType, Mode, OFlags};

use super::plan::{Nested, Plan, PlannedContent, directory_name, file_name, homes, level_name};

/// Items that a thread takes at a time: few enough to share evenly, enough to avoid contention on
/// the counter.
const BATCH: usize = 64;

const DIRECTORY_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const NEW_FILE_FLAGS: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

fn file_mode() -> Mode {
    Mode::from_raw_mode(0o644)
}

fn directory_mode() -> Mode {
    Mode::from_raw_mode(0o755)
}

/// Fills the empty directory `root`.
pub(crate) fn make(root: &OwnedFd, plan: &Plan) -> io::Result<()> {
    match plan {
        Plan::Nested(nested) => make_nested(root, nested),
        Plan::Chain { levels, files_per_level } => make_chain(root, *levels, *files_per_level),
        Plan::Linked { inodes, links, directories } => {
            make_linked(root, *inodes, *links, *directories)
        }
    }
}

fn make_nested(root: &OwnedFd, plan: &Nested) -> io::Result<()> {
    for level in plan.levels() {
        for_each_in_parallel(level.len(), |position| {
            let path = plan.path(level[position]);
            Ok(rustix::fs::mkdirat(root, path, directory_mode())?)
        })?;
    }
    for_each_in_parallel(plan.directories.len(), |index| {
        let planned = plan.directories[index];
        if planned.files == 0 {
            return Ok(());
        }
        let directory = rustix::fs::openat(root, plan.path(index), DIRECTORY_FLAGS, Mode::empty())?;
        for number in planned.first_file..planned.first_file + planned.files {
            let number = u64::from(number);
            make_file(&directory, &file_name(number), PlannedContent::of_file(number))?;
        }
        Ok(())
    })
}

/// Makes the directories one after the other, because the path of the deepest one is longer than a
/// system call accepts.
fn make_chain(root: &OwnedFd, levels: u32, files_per_level: u32) -> io::Result<()> {
    let mut above: Option<OwnedFd> = None;
    for level in 0..levels {
        let parent = above.as_ref().unwrap_or(root);
        let name = level_name(u64::from(level));
        rustix::fs::mkdirat(parent, &name, directory_mode())?;
        let directory = rustix::fs::openat(parent, &name, DIRECTORY_FLAGS, Mode::empty())?;
        for file in 0..files_per_level {
            let number = u64::from(level * files_per_level + file);
            make_file(&directory, &file_name(number), PlannedContent::of_linked(number))?;
        }
        above = Some(directory);
    }
    Ok(())
}

fn make_linked(root: &OwnedFd, inodes: u32, links: u32, directories: u32) -> io::Result<()> {
    let directories: Vec<OwnedFd> = (0..directories)
        .map(|number| {
            let name = directory_name(u64::from(number));
            rustix::fs::mkdirat(root, &name, directory_mode())?;
            Ok(rustix::fs::openat(root, &name, DIRECTORY_FLAGS, Mode::empty())?)
        })
        .collect::<io::Result<_>>()?;
    for_each_in_parallel(inodes as usize, |inode| {
        let inode = u32::try_from(inode).expect("it came from such a number");
        let homes = homes(inode, links, u32::try_from(directories.len()).expect("the same"));
        // Two names of an inode may be in the same directory, so each gets a number of its own.
        let name_of = |link: usize| file_name(u64::from(inode) * homes.len() as u64 + link as u64);
        let first = &directories[homes[0]];
        let first_name = name_of(0);
        make_file(first, &first_name, PlannedContent::of_linked(u64::from(inode)))?;
        for (link, home) in homes.iter().enumerate().skip(1) {
            let flags = rustix::fs::AtFlags::empty();
            rustix::fs::linkat(first, &first_name, &directories[*home], name_of(link), flags)?;
        }
        Ok(())
    })
}

fn make_file(directory: impl AsFd, name: &str, content: PlannedContent) -> io::Result<()> {
    match content {
        // One system call instead of two.
        PlannedContent::Empty => {
            rustix::fs::mknodat(directory, name, FileType::RegularFile, file_mode(), 0)?;
        }
        PlannedContent::Hole(length) => {
            let file = rustix::fs::openat(directory, name, NEW_FILE_FLAGS, file_mode())?;
            rustix::fs::ftruncate(file, length)?;
        }
        PlannedContent::Written(length) => {
            let file = rustix::fs::openat(directory, name, NEW_FILE_FLAGS, file_mode())?;
            io::Write::write_all(&mut std::fs::File::from(file), &vec![b'.'; length])?;
        }
    }
    Ok(())
}

/// Calls `make` with every number below `count`, on all CPUs. Stops at the first error.
pub(crate) fn for_each_in_parallel(
    count: usize,
    make: impl Fn(usize) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= count {
                return Ok(());
            }
            for number in start..count.min(start + BATCH) {
                make(number).inspect_err(|_error| next.store(count, Ordering::Relaxed))?;
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        others
            .into_iter()
            .map(|other| other.join().expect("making does not panic"))
            .fold(own, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_number_is_made_once() {
        for count in [0, 1, BATCH, 10 * BATCH + 1] {
            let made = Mutex::new(Vec::new());
            for_each_in_parallel(count, |number| {
                made.lock().expect("no panics").push(number);
                Ok(())
            })
            .expect("nothing fails");
            let mut made = made.into_inner().expect("no panics");
            made.sort_unstable();
            assert_eq!(made, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_stops_the_loop() {
        let outcome = for_each_in_parallel(1_000, |number| match number {
            500 => Err(io::Error::other("no more")),
            _ => Ok(()),
        });
        assert_eq!(outcome.expect_err("one failed").to_string(), "no more");
    }
}
