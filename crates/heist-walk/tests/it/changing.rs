//! Trees that change during the walk: the walk never leaves its root, and reports what it missed.
#![cfg(all(target_os = "linux", not(heist_portable)))]

use crate::support::{Log, make};
use heist_walk::{Enter, Entry, Flow, Operation, Visitor, Walk, WalkError};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::tempdir;

/// Changes the tree at chosen moments.
///
/// It calls `act` when it sees the file `trigger`, when the directories beside it are listed but
/// not yet open. It removes a directory called `doomed` when it enters it, when it is open but not
/// yet read.
struct TreeChanger {
    log: Log,
    act: Arc<dyn Fn(&Path) + Send + Sync>,
}

impl Visitor for TreeChanger {
    type Dir = PathBuf;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&PathBuf>) -> Enter<PathBuf> {
        if dir.name() == "doomed" {
            std::fs::remove_dir(dir.path()).unwrap();
        }
        self.log.enter_dir(dir, parent)
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&PathBuf>) -> Flow {
        if file.name() == "trigger" {
            (self.act)(file.path().parent().unwrap());
        }
        self.log.file(file, parent)
    }

    fn error(&mut self, error: WalkError, parent: Option<&PathBuf>) -> Flow {
        self.log.error(error, parent)
    }
}

/// Makes `tree/victim/inside` and `outside/secret`, and walks `tree` while `act` changes it.
fn walk_and_change(
    walk: impl Fn(Walk) -> Walk,
    act: impl Fn(&Path) + Send + Sync + 'static,
) -> (Vec<PathBuf>, Vec<WalkError>) {
    let dir = tempdir().unwrap();
    make(dir.path(), &["tree/victim/inside", "tree/trigger", "outside/secret"]);
    let root = dir.path().join("tree");
    let act: Arc<dyn Fn(&Path) + Send + Sync> = Arc::new(act);
    let walk = walk(Walk::new(&root).threads(Some(2)).metadata(true));
    let make = move |_thread| TreeChanger { log: Log::default(), act: Arc::clone(&act) };
    let report = walk.run(make).unwrap();
    let (mut seen, mut errors) = (Vec::new(), Vec::new());
    for changer in report.visitors {
        let paths = changer.log.seen.into_iter().map(|(path, _)| path);
        seen.extend(paths.map(|path| path.strip_prefix(&root).unwrap().to_path_buf()));
        errors.extend(changer.log.errors);
    }
    seen.sort();
    (seen, errors)
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn a_directory_replaced_by_a_link_is_not_followed() {
    let swap = |tree: &Path| {
        std::fs::rename(tree.join("victim"), tree.join("../moved")).unwrap();
        std::os::unix::fs::symlink("../outside", tree.join("victim")).unwrap();
    };
    let (seen, errors) = walk_and_change(|walk| walk, swap);
    assert_eq!(seen, paths(&["", "trigger"]));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].operation, Operation::OpenDirectory);
    assert!(errors[0].path.ends_with("tree/victim"));
}

#[test]
fn a_removed_directory_is_reported() {
    let remove = |tree: &Path| std::fs::remove_dir_all(tree.join("victim")).unwrap();
    let (seen, errors) = walk_and_change(|walk| walk, remove);
    assert_eq!(seen, paths(&["", "trigger"]));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].source.kind(), std::io::ErrorKind::NotFound);
}

/// Only an empty directory can be removed, so the walk missed nothing in it.
#[test]
fn a_directory_removed_before_it_is_read_counts_as_empty() {
    let add = |tree: &Path| std::fs::create_dir(tree.join("victim/doomed")).unwrap();
    let (seen, errors) = walk_and_change(|walk| walk, add);
    assert_eq!(seen, paths(&["", "trigger", "victim", "victim/doomed", "victim/inside"]));
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_directory_replaced_by_a_file_is_reported() {
    let replace = |tree: &Path| {
        std::fs::remove_dir_all(tree.join("victim")).unwrap();
        std::fs::write(tree.join("victim"), "").unwrap();
    };
    let (seen, errors) = walk_and_change(|walk| walk, replace);
    assert_eq!(seen, paths(&["", "trigger"]));
    assert_eq!(errors.len(), 1);
}

/// The walk holds the directory open, whatever its name becomes.
#[test]
fn a_renamed_root_is_walked_to_its_end() {
    let rename = |tree: &Path| std::fs::rename(tree, tree.with_file_name("renamed")).unwrap();
    let (seen, errors) = walk_and_change(|walk| walk, rename);
    assert_eq!(seen, paths(&["", "trigger", "victim", "victim/inside"]));
    assert!(errors.is_empty(), "{errors:?}");
}

/// With few descriptors the walk opens the root again, and it must be the same directory.
#[test]
fn a_replaced_root_is_not_mistaken_for_the_old_one() {
    let replace = |tree: &Path| {
        std::fs::rename(tree, tree.with_file_name("renamed")).unwrap();
        make(tree, &["victim/other"]);
    };
    let (seen, errors) = walk_and_change(|walk| walk.max_descriptors(Some(3)), replace);
    assert_eq!(seen, paths(&["", "trigger"]));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].operation, Operation::ReopenDirectory);
    assert!(errors[0].to_string().contains("replaced"), "{}", errors[0]);
}

#[test]
fn no_swap_at_any_moment_leads_outside_the_root() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["tree/a/victim/inside", "outside/secret"]);
    for number in 0..50 {
        make(dir.path(), &[&format!("tree/a/other{number}/file")]);
    }
    let stop = AtomicBool::new(false);
    let (here, away) = (dir.path().join("tree/a/victim"), dir.path().join("away"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&here, &away).unwrap();
                std::os::unix::fs::symlink(dir.path().join("outside"), &here).unwrap();
                std::fs::remove_file(&here).unwrap();
                std::fs::rename(&away, &here).unwrap();
            }
        });
        for round in 0..300 {
            let descriptors = (round % 2 == 0).then_some(6);
            let walk = Walk::new(dir.path().join("tree")).threads(Some(2)).metadata(true);
            let report = walk.max_descriptors(descriptors).run(|_thread| Log::default()).unwrap();
            for log in report.visitors {
                let escaped = log.seen.iter().find(|(path, _)| path.ends_with("secret"));
                assert!(escaped.is_none(), "{escaped:?}");
                for error in &log.errors {
                    assert!(error.path.ends_with("victim"), "{error}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
