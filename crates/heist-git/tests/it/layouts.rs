//! Where repositories keep their parts, and what may lead out of the roots.

use crate::git::{Repo, Sandbox};
use heist_git::{Access, FileProblem, HashKind, Layout, Limits, ObjectStore, Trust};
use std::fs;
use std::path::Path;

fn sealed(root: &Path) -> Access {
    Access::new([root], Trust::RootsOnly).unwrap()
}

fn objects_of(path: &Path, access: &Access) -> ObjectStore {
    let layout = Layout::open(path, access).unwrap();
    ObjectStore::open(&layout, access, Limits::default()).unwrap()
}

#[test]
fn work_trees_bare_repositories_and_git_directories() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha256);
    let access = sealed(sandbox.path());
    let layout = Layout::open(&repo.path, &access).unwrap();
    assert_eq!(layout.work_tree(), Some(repo.path.as_path()));
    assert_eq!(layout.hash_kind(), HashKind::Sha256);
    assert!(!layout.is_linked() && !layout.is_partial());
    let by_git_dir = Layout::open(repo.git_dir(), &access).unwrap();
    assert_eq!(by_git_dir.git_dir(), layout.git_dir());
    fs::create_dir_all(repo.path.join("a/b")).unwrap();
    let discovered = Layout::discover(repo.path.join("a/b"), &access).unwrap();
    assert_eq!(discovered.git_dir(), layout.git_dir());

    repo.git(&["init", "-q", "--bare", "../bare.git"]);
    let bare = Layout::open(sandbox.path().join("bare.git"), &access).unwrap();
    assert_eq!((bare.work_tree(), bare.hash_kind()), (None, HashKind::Sha1));

    let none = sandbox.path().join("none");
    fs::create_dir(&none).unwrap();
    assert!(Layout::open(&none, &access).is_err());
    assert!(Layout::discover(&none, &access).is_err());
    // The parents of a root are not looked at.
    assert!(Layout::discover(repo.path.join("a"), &sealed(&repo.path.join("a"))).is_err());
}

#[test]
fn linked_work_trees_share_their_objects() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.path().join("linked");
    let access = sealed(sandbox.path());
    let layout = Layout::open(&linked, &access).unwrap();
    let main = Layout::open(&repo.path, &access).unwrap();
    assert!(layout.is_linked());
    assert_eq!(layout.common_dir(), main.common_dir());
    assert_eq!(main.linked_work_trees(&access).unwrap(), [layout.git_dir()]);
    let store = objects_of(&linked, &access);
    assert!(store.read(&repo.id("HEAD")).is_ok());

    // Its `.git` file leads out of a root that is the linked work tree alone.
    let error = Layout::open(&linked, &sealed(&linked)).unwrap_err();
    assert!(matches!(error.problem(), FileProblem::OutsideRoots(_)), "{error}");
    let trusted = Access::new([&linked], Trust::Everything).unwrap();
    assert!(Layout::open(&linked, &trusted).is_ok());
}

#[test]
fn submodules_keep_their_stores_in_the_parent() {
    let sandbox = Sandbox::new();
    let inner = sandbox.init("inner", HashKind::Sha1);
    inner.git(&["commit", "-q", "--allow-empty", "-m", "inner"]);
    let outer = sandbox.init("outer", HashKind::Sha1);
    let arguments = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name"];
    outer.git(&[&arguments[..], &["deep/name", "../inner", "sub"]].concat());
    let access = sealed(&outer.path);
    let layout = Layout::open(&outer.path, &access).unwrap();
    let submodules = layout.submodules(&access).unwrap();
    assert_eq!(submodules, [layout.git_dir().join("modules/deep/name")]);
    let submodule = Layout::open(outer.path.join("sub"), &access).unwrap();
    assert_eq!(submodule.git_dir(), submodules[0]);
    let store = objects_of(&outer.path.join("sub"), &access);
    assert!(store.read(&inner.id("HEAD")).is_ok());
}

#[test]
fn alternates_within_the_roots_are_followed_and_others_refused() {
    let sandbox = Sandbox::new();
    let origin = sandbox.init("origin", HashKind::Sha1);
    origin.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let id = origin.id("HEAD");
    origin.git(&["clone", "-q", "--shared", ".", "../clone"]);
    let clone = Repo { path: sandbox.path().join("clone") };
    let store = objects_of(&clone.path, &sealed(sandbox.path()));
    assert!(store.read(&id).is_ok() && store.problems().is_empty());
    assert_eq!(store.object_dirs().len(), 2);

    let store = objects_of(&clone.path, &sealed(&clone.path));
    assert!(store.read(&id).is_err());
    let [problem] = store.problems() else { panic!("{:?}", store.problems()) };
    assert!(matches!(problem.problem(), FileProblem::OutsideRoots(_)));

    // A cycle, a directory that does not exist, and a path with quotes.
    let alternates = |repo: &Repo| repo.git_dir().join("objects/info/alternates");
    fs::write(alternates(&origin), "../../../clone/.git/objects\n/does/not/exist\n").unwrap();
    let text = format!("# here\n\"{}\"\n", origin.git_dir().join("objects").display());
    fs::write(alternates(&clone), text).unwrap();
    let store = objects_of(&clone.path, &sealed(sandbox.path()));
    assert!(store.read(&id).is_ok());
    assert_eq!((store.object_dirs().len(), store.problems().len()), (2, 1));
}

#[test]
fn git_files_that_name_nothing_are_refused() {
    let sandbox = Sandbox::new();
    let place = sandbox.path().join("place");
    fs::create_dir(&place).unwrap();
    let access = sealed(&place);
    for text in ["", "gitdir: ", "gitdir: \n", "gitdir: a\0b", "gitdir: /etc", "gitdir: ../..", "x"]
    {
        fs::write(place.join(".git"), text).unwrap();
        assert!(Layout::open(&place, &access).is_err(), "{text:?}");
    }
    let long = format!("gitdir: {}", "a/".repeat(100_000));
    fs::write(place.join(".git"), long).unwrap();
    assert!(Layout::open(&place, &access).is_err());
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_the_store_are_refused() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::new();
    let outside = sandbox.init("outside", HashKind::Sha1);
    let id = outside.write_blob(b"not yours");
    let repo = sandbox.init("repo", HashKind::Sha1);
    let hex = id.to_string();
    let (part, name) = hex.split_at(2);
    let from = outside.git_dir().join("objects").join(part);
    let to = repo.git_dir().join("objects").join(part);
    let access = sealed(&repo.path);

    symlink(&from, &to).unwrap();
    assert!(objects_of(&repo.path, &access).read(&id).is_err());
    fs::remove_file(&to).unwrap();
    fs::create_dir(&to).unwrap();
    symlink(from.join(name), to.join(name)).unwrap();
    assert!(objects_of(&repo.path, &access).read(&id).is_err());

    fs::remove_dir_all(repo.git_dir().join("objects")).unwrap();
    symlink(outside.git_dir().join("objects"), repo.git_dir().join("objects")).unwrap();
    assert!(Layout::open(&repo.path, &access).is_err());

    let pipes = sandbox.init("pipes", HashKind::Sha1);
    for file in [
        "HEAD",
        "packed-refs",
        "objects/pack/multi-pack-index",
        "objects/pack/pack-1.pack",
        "objects/pack/pack-1.idx",
        "objects/info/alternates",
        "shallow",
        "config",
    ] {
        let path = pipes.git_dir().join(file);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(status.success());
    }
    let access = sealed(&pipes.path);
    assert!(Layout::open(&pipes.path, &access).is_err(), "`config` is a pipe");
    fs::remove_file(pipes.git_dir().join("config")).unwrap();
    let layout = Layout::open(&pipes.path, &access).unwrap();
    assert!(layout.shallow_commits(&access).is_err());
    let refs = heist_git::Refs::read(&layout, &access);
    assert_eq!(refs.problems.len(), 2, "{:?}", refs.problems);
    let store = ObjectStore::open(&layout, &access, Limits::default()).unwrap();
    assert_eq!(store.problems().len(), 3, "{:?}", store.problems());
}
