//! Several disks in one walk.
#![cfg(all(target_os = "linux", not(heist_portable)))]

mod support;

use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::check;

/// Two directories on different disks, if this machine has them: main memory and whatever the temporary directory is
/// on.
fn two_disks() -> Option<[tempfile::TempDir; 2]> {
    let in_memory = tempfile::tempdir_in("/dev/shm").ok()?;
    let on_disk = tempfile::tempdir().ok()?;
    let id = |dir: &tempfile::TempDir| heist::DeviceId::from_path(dir.path());
    (id(&in_memory) != id(&on_disk)).then_some([in_memory, on_disk])
}

fn fill(root: &Path, directories: usize) {
    for number in 0..directories {
        let dir = root.join(number.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("file"), "").unwrap();
    }
}

/// On the first root it waits until the second one is done, as if the first disk had stopped to answer.
struct Stuck {
    others_seen: Arc<AtomicUsize>,
    others: usize,
}

impl Visitor for Stuck {
    type Dir = ();

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        if file.root() == 1 {
            self.others_seen.fetch_add(1, Ordering::Relaxed);
            return Flow::Continue;
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.others_seen.load(Ordering::Relaxed) < self.others {
            assert!(Instant::now() < deadline, "one disk waits for the other");
            std::thread::sleep(Duration::from_millis(1));
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn a_disk_that_does_not_answer_holds_up_no_other() {
    let Some([stuck, other]) = two_disks() else {
        eprintln!("skipped: there is only one disk here");
        return;
    };
    // Many more than there are threads.
    fill(stuck.path(), 400);
    fill(other.path(), 400);
    let others_seen = Arc::new(AtomicUsize::new(0));
    let walk = Walk::over([stuck.path(), other.path()]);
    let seen = Arc::clone(&others_seen);
    let walked =
        walk.run(move |_worker| Stuck { others_seen: Arc::clone(&seen), others: 400 }).unwrap();
    assert_eq!(walked.totals.files, 800);
    assert_eq!(walked.totals.directories, 802);
}

/// Waits at each root that is a file until everything below the first root is seen.
struct StuckAtRoots(Arc<AtomicUsize>);

impl Visitor for StuckAtRoots {
    type Dir = ();

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
            assert!(Instant::now() < deadline, "a disk waits for what is elsewhere");
            std::thread::sleep(Duration::from_millis(1));
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// A worker that looks at a root has no right to the disk that it was on before.
#[test]
fn a_root_that_does_not_answer_holds_up_no_disk() {
    let Some([in_memory, on_disk]) = two_disks() else {
        eprintln!("skipped: there is only one disk here");
        return;
    };
    fill(in_memory.path(), 2_000);
    let file = on_disk.path().join("file");
    std::fs::write(&file, "").unwrap();
    // Fewer than there are threads.
    let stuck = vec![file; 28];
    let seen = Arc::new(AtomicUsize::new(0));
    let roots = std::iter::once(in_memory.path().to_path_buf()).chain(stuck);
    let walked = Walk::over(roots).run(move |_worker| StuckAtRoots(Arc::clone(&seen))).unwrap();
    assert_eq!(walked.totals.files, 2_028);
}

#[test]
fn a_walk_crosses_to_another_disk_and_back_unless_told_to_stay() {
    let Some([_, on_disk]) = two_disks() else {
        eprintln!("skipped: there is only one disk here");
        return;
    };
    support::make(on_disk.path(), &["before/x", "mount/", "zz/y"]);
    let mount = on_disk.path().join("mount");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&mount)
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting is not allowed here");
        return;
    }
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
    let unmounted = std::process::Command::new("umount").arg(&mount).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(across, [106; 6]);
    assert_eq!(stay, [5; 6]);
    assert_eq!(by_default, 106);
}

#[test]
fn a_file_on_another_file_system_is_left_out_if_the_walk_is_to_stay() {
    let Some([in_memory, on_disk]) = two_disks() else {
        eprintln!("skipped: there is only one disk here");
        return;
    };
    support::make(in_memory.path(), &["file", "directory/file"]);
    support::make(on_disk.path(), &["here", "elsewhere"]);
    for name in ["file", "directory"] {
        let link = on_disk.path().join(format!("link to {name}"));
        std::os::unix::fs::symlink(in_memory.path().join(name), link).unwrap();
    }
    std::os::unix::fs::symlink("here", on_disk.path().join("link here")).unwrap();
    let walk = Walk::new(on_disk.path()).metadata(true);
    let over_links = walk.clone().symlinks(heist_walk::Symlinks::Always);
    let below = |walk: Walk| check(walk).below(on_disk.path());
    let staying = ["elsewhere", "here", "link here"];
    assert_eq!(below(over_links.clone().same_file_system(true)), staying);
    assert_eq!(below(over_links).len(), 6);

    let elsewhere = on_disk.path().join("elsewhere");
    let mounted = std::process::Command::new("mount")
        .arg("--bind")
        .args([&in_memory.path().join("file"), &elsewhere])
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting is not allowed here");
        return;
    }
    let staying = below(walk.clone().same_file_system(true));
    let crossing = below(walk);
    let unmounted = std::process::Command::new("umount").arg(&elsewhere).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(staying, ["here", "link here", "link to directory", "link to file"]);
    assert_eq!(crossing.len(), 5);
}
