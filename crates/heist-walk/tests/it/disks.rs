//! Several disks in one walk.
#![cfg(all(target_os = "linux", not(heist_portable)))]

use crate::support;
use crate::support::check;
use crate::support::mounts::{in_own_mounts, mount_over, mount_tmpfs};
use heist_device::DeviceId;
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Runs the body of a test with two directories on different disks: one in memory, and one where
/// temporary files are.
fn with_two_disks(test: &str, body: fn(in_memory: &Path, on_disk: &Path)) {
    in_own_mounts(test, || {
        let (in_memory, on_disk) = (tempdir().unwrap(), tempdir().unwrap());
        mount_tmpfs(in_memory.path(), "size=64m");
        let [memory, disk] = [&in_memory, &on_disk].map(|dir| DeviceId::from_path(dir.path()));
        assert_ne!(memory, disk);
        body(in_memory.path(), on_disk.path());
    });
}

fn fill(root: &Path, directories: usize) {
    for number in 0..directories {
        let dir = root.join(number.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("file"), "").unwrap();
    }
}

/// The number of directories with a file on each disk, many more than there are threads.
const DIRECTORIES: usize = 400;

/// Simulates that the disk of the directory `stuck` hangs.
///
/// It blocks on files below `stuck` until all other files are visited. On the first of the other
/// files it blocks until all workers that the hanging disk leaves free have visited one.
struct HangingDisk {
    share: usize,
    others_seen: Arc<AtomicUsize>,
}

impl HangingDisk {
    fn wait_for_others(&self, others: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.others_seen.load(Ordering::Relaxed) < others {
            assert!(Instant::now() < deadline, "one disk delays the other");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Visitor for HangingDisk {
    /// Whether the directory is on the hanging disk.
    type Dir = bool;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&bool>) -> Enter<bool> {
        // The name of a root is its path.
        let is_named_so = Path::new(dir.name()).file_name().is_some_and(|name| name == "stuck");
        Enter::Into(is_named_so || parent.is_some_and(|&is_stuck| is_stuck))
    }

    fn file(&mut self, _file: &Entry<'_>, parent: Option<&bool>) -> Flow {
        if parent.is_some_and(|&is_stuck| is_stuck) {
            self.wait_for_others(DIRECTORIES);
        } else {
            self.others_seen.fetch_add(1, Ordering::Relaxed);
            self.wait_for_others(self.share);
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&bool>) -> Flow {
        panic!("{error}");
    }
}

/// Walks while the file system in memory hangs. It is good for one thread per core.
fn walk_while_memory_hangs(walk: &Walk) {
    let threads = walk.clone().max_depth(Some(0)).run(|_thread| support::Log::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = threads.unwrap().threads.saturating_sub(cores);
    let others_seen = Arc::new(AtomicUsize::new(0));
    let visitor = move |_thread| HangingDisk { share, others_seen: Arc::clone(&others_seen) };
    let report = walk.clone().run(visitor).unwrap();
    assert_eq!(report.totals.files, 2 * DIRECTORIES as u64);
}

#[test]
fn a_disk_that_hangs_does_not_delay_other_disks() {
    with_two_disks("disks::a_disk_that_hangs_does_not_delay_other_disks", |in_memory, on_disk| {
        let roots = [in_memory.join("stuck"), on_disk.join("other")];
        for root in &roots {
            std::fs::create_dir(root).unwrap();
            fill(root, DIRECTORIES);
        }
        walk_while_memory_hangs(&Walk::over(&roots));
    });
}

#[test]
fn a_hanging_disk_below_a_root_does_not_delay_other_disks() {
    in_own_mounts("disks::a_hanging_disk_below_a_root_does_not_delay_other_disks", || {
        let root = tempdir().unwrap();
        support::make(root.path(), &["stuck/", "other/"]);
        mount_tmpfs(&root.path().join("stuck"), "size=64m");
        for name in ["stuck", "other"] {
            fill(&root.path().join(name), DIRECTORIES);
        }
        walk_while_memory_hangs(&Walk::new(root.path()));
    });
}

/// Blocks on each root that is a file until everything below the first root is visited.
struct HangingRoots(Arc<AtomicUsize>);

impl Visitor for HangingRoots {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        if file.root() == 0 {
            self.0.fetch_add(1, Ordering::Relaxed);
            return Flow::Continue;
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.0.load(Ordering::Relaxed) < 2_000 {
            assert!(Instant::now() < deadline, "the roots delay the disk");
            std::thread::sleep(Duration::from_millis(1));
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// A worker that examines a root does not hold a device slot of the disk it was on before.
#[test]
fn a_hanging_root_does_not_delay_any_disk() {
    with_two_disks("disks::a_hanging_root_does_not_delay_any_disk", walk_with_hanging_roots);
}

fn walk_with_hanging_roots(in_memory: &Path, on_disk: &Path) {
    fill(in_memory, 2_000);
    let file = on_disk.join("file");
    std::fs::write(&file, "").unwrap();
    // Fewer than there are threads.
    let stuck = vec![file; 28];
    let seen = Arc::new(AtomicUsize::new(0));
    let roots = std::iter::once(in_memory.to_path_buf()).chain(stuck);
    let report = Walk::over(roots).run(move |_thread| HangingRoots(Arc::clone(&seen))).unwrap();
    assert_eq!(report.totals.files, 2_028);
}

#[test]
fn a_walk_crosses_file_systems_only_if_allowed() {
    in_own_mounts("disks::a_walk_crosses_file_systems_only_if_allowed", cross_and_stay);
}

fn cross_and_stay() {
    let on_disk = tempdir().unwrap();
    support::make(on_disk.path(), &["before/x", "mount/", "zz/y"]);
    let mount = on_disk.path().join("mount");
    mount_tmpfs(&mount, "size=1m");
    fill(&mount, 50);
    let walks: Vec<_> = [1, 2, 8]
        .into_iter()
        .flat_map(|threads| [(threads, false), (threads, true)])
        .map(|(threads, metadata)| {
            Walk::new(on_disk.path()).threads(Some(threads)).metadata(metadata)
        })
        .collect();
    let across: Vec<_> = walks.iter().map(|walk| check(walk.clone()).seen.len()).collect();
    let stay: Vec<_> =
        walks.iter().map(|walk| check(walk.clone().same_file_system(true)).seen.len()).collect();
    let by_default = check(Walk::new(on_disk.path())).seen.len();
    assert_eq!(across, [106; 6]);
    assert_eq!(stay, [5; 6]);
    assert_eq!(by_default, 106);
}

#[test]
fn files_on_other_file_systems_are_left_out_if_the_walk_stays_on_one() {
    with_two_disks(
        "disks::files_on_other_file_systems_are_left_out_if_the_walk_stays_on_one",
        links_and_mounted_files,
    );
}

fn links_and_mounted_files(in_memory: &Path, on_disk: &Path) {
    support::make(in_memory, &["file", "directory/file"]);
    support::make(on_disk, &["here", "elsewhere"]);
    for name in ["file", "directory"] {
        let link = on_disk.join(format!("link to {name}"));
        std::os::unix::fs::symlink(in_memory.join(name), link).unwrap();
    }
    std::os::unix::fs::symlink("here", on_disk.join("link here")).unwrap();
    let walk = Walk::new(on_disk).metadata(true);
    let over_links = walk.clone().symlinks(heist_walk::Symlinks::Always);
    let below = |walk: Walk| check(walk).below(on_disk);
    let staying = ["elsewhere", "here", "link here"];
    assert_eq!(below(over_links.clone().same_file_system(true)), staying);
    assert_eq!(below(over_links).len(), 6);

    let elsewhere = on_disk.join("elsewhere");
    mount_over(&in_memory.join("file"), &elsewhere);
    let staying = below(walk.clone().same_file_system(true));
    let crossing = below(walk);
    assert_eq!(staying, ["here", "link here", "link to directory", "link to file"]);
    assert_eq!(crossing.len(), 5);
}
