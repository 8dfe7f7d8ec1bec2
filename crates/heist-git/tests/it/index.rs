//! The index: its entries, and how it differs from `HEAD`, as git tells them.

use crate::git::{Repo, Sandbox};
use heist_git::{
    Access, Commit, FileProblem, HashKind, Index, Layout, Limits, ObjectId, ObjectStore,
    StagedProblem, StagedSummary, Trust,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

fn write(repo: &Repo, path: &str, content: &str) {
    let path = repo.path.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    fs::write(&path, content).unwrap();
    // Of a file that is as new as the index, git would not know whether it has changed since.
    static SECONDS: AtomicU64 = AtomicU64::new(1_600_000_000);
    let time = UNIX_EPOCH + Duration::from_secs(SECONDS.fetch_add(1, Ordering::Relaxed));
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn commit(repo: &Repo) {
    repo.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
}

fn index(repo: &Repo) -> Index {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    let path = layout.git_dir().join("index");
    Index::read(path, layout.hash_kind(), &access).unwrap().expect("there is an index")
}

/// Returns the entries as `git ls-files --stage` prints them.
fn entries(index: &Index) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut entries = index.entries();
    while let Some(entry) = entries.next() {
        let mut line = format!("{:06o} {} {}\t", entry.mode, entry.id, entry.stage).into_bytes();
        line.extend_from_slice(entry.path);
        lines.push(line);
    }
    assert_eq!(lines.len(), index.len() as usize);
    lines
}

fn nul_separated(output: &[u8]) -> Vec<Vec<u8>> {
    let parts = output.split(|&byte| byte == 0).filter(|part| !part.is_empty());
    parts.map(<[u8]>::to_vec).collect()
}

/// A path, the id before, and the id in the index.
type Change = (Vec<u8>, Option<ObjectId>, Option<ObjectId>);

fn staged(repo: &Repo) -> (BTreeSet<Change>, Vec<StagedProblem>, StagedSummary) {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    let store = ObjectStore::open(&layout, &access, Limits::default()).unwrap();
    let mut reader = store.reader();
    let tree = layout.head_commit(&access).unwrap().map(|id| {
        let commit = reader.read(&id).unwrap();
        Commit::parse(layout.hash_kind(), &commit.content).unwrap().tree
    });
    let (mut changes, mut problems) = (BTreeSet::new(), Vec::new());
    let summary = index(repo).staged(
        tree,
        &mut reader,
        &mut |change| {
            let id = |blob: Option<heist_git::StagedBlob>| blob.map(|blob| blob.id);
            let new = changes.insert((change.path.to_vec(), id(change.old), id(change.new)));
            assert!(new || summary_of_conflicts(repo), "{change:?} twice");
        },
        &mut |_, problem| problems.push(problem),
    );
    (changes, problems, summary)
}

fn summary_of_conflicts(repo: &Repo) -> bool {
    !repo.git(&["ls-files", "--unmerged"]).is_empty()
}

/// Returns the changes of contents that `git diff --cached` tells, without submodules.
fn staged_by_git(repo: &Repo) -> BTreeSet<Change> {
    let has_head = !repo.git(&["rev-list", "-n1", "--all"]).is_empty();
    let mut arguments = vec!["diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
    if has_head {
        arguments.push("HEAD");
    }
    let parts = nul_separated(&repo.git(&arguments));
    let mut changes = BTreeSet::new();
    for pair in parts.chunks_exact(2) {
        let header = String::from_utf8(pair[0][1..].to_vec()).unwrap();
        let words: Vec<_> = header.split(' ').collect();
        let blob = |mode: &str, id: &str| {
            let id = ObjectId::from_hex(id.as_bytes()).unwrap();
            (!id.is_null() && mode != "160000").then_some(id)
        };
        let (old, new) = (blob(words[0], words[2]), blob(words[1], words[3]));
        if old != new {
            changes.insert((pair[1].clone(), old, new));
        }
    }
    changes
}

#[track_caller]
fn assert_same(repo: &Repo) -> StagedSummary {
    let (changes, problems, summary) = staged(repo);
    assert_eq!(problems, []);
    assert_eq!(changes, staged_by_git(repo));
    summary
}

#[test]
fn entries_of_all_versions() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        let long = "a/long/way/".repeat(90);
        for name in ["a", "a.b", "a/b", "a-b/c", "\u{e4}\nx", "z y", &format!("{long}/file")] {
            let _ = fs::remove_file(repo.path.join("a"));
            write(&repo, name, name);
            repo.git(&["add", "--all", "--force"]);
        }
        for version in ["2", "3", "4"] {
            if version == "3" {
                // Git writes it only if an entry needs it.
                write(&repo, "intent", "x");
                repo.git(&["add", "--intent-to-add", "intent"]);
                repo.git(&["update-index", "--skip-worktree", "z y"]);
            }
            repo.git(&["update-index", "--index-version", version]);
            let index = index(&repo);
            assert_eq!((index.version().to_string(), index.hash_kind()), (version.into(), hash));
            assert_eq!(entries(&index), nul_separated(&repo.git(&["ls-files", "--stage", "-z"])));
            assert_same(&repo);
        }
        let index = index(&repo);
        let (mut entries, mut marks) = (index.entries(), Vec::new());
        while let Some(entry) = entries.next() {
            if entry.is_intent_to_add || entry.is_skipped {
                marks.push((entry.path.to_vec(), entry.is_intent_to_add, entry.is_skipped));
            }
        }
        assert_eq!(marks, [(b"intent".to_vec(), true, false), (b"z y".to_vec(), false, true)]);
    }
}

#[test]
fn every_kind_of_change() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    for (path, content) in [
        ("same", "same"),
        ("changed", "one"),
        ("mode", "mode"),
        ("gone", "gone"),
        ("dir/same", "x"),
        ("dir/sub/deep", "y"),
        ("was-dir/a", "a"),
        ("was-dir/b/c", "c"),
        ("was-file", "f"),
        ("link", "file"),
        ("old-name", "moved"),
        ("untouched/1/2/3", "n"),
    ] {
        write(&repo, path, content);
    }
    repo.git(&["add", "--all"]);
    let before_commit = assert_same(&repo);
    assert_eq!(before_commit.trees_read, 0);
    commit(&repo);
    assert_eq!(assert_same(&repo), StagedSummary::default(), "the root has not changed");
    write(&repo, "changed", "two");
    fs::set_permissions(repo.path.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&["rm", "--quiet", "gone"]);
    write(&repo, "dir/sub/deep", "changed");
    fs::remove_dir_all(repo.path.join("was-dir")).unwrap();
    write(&repo, "was-dir", "now a file");
    fs::remove_file(repo.path.join("was-file")).unwrap();
    write(&repo, "was-file/inside", "f");
    fs::remove_file(repo.path.join("link")).unwrap();
    symlink("target", repo.path.join("link")).unwrap();
    repo.git(&["add", "--all"]);
    repo.git(&["mv", "old-name", "new-name"]);
    write(&repo, "intent", "not yet");
    repo.git(&["add", "--intent-to-add", "intent"]);
    let zeros = "1".repeat(40);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{zeros},module")]);
    let summary = assert_same(&repo);
    assert_eq!((summary.submodules, summary.unmerged), (1, 0));
    // The root, `dir`, `dir/sub`, and the two directories that are gone.
    assert_eq!(summary.trees_read, 5);
    commit(&repo);
    repo.git(&["update-index", "--force-remove", "module"]);
    assert_eq!(assert_same(&repo).submodules, 0);
    repo.git(&["read-tree", "--empty"]);
    assert_same(&repo);
}

#[test]
fn both_sides_of_a_conflict_are_new() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    write(&repo, "file", "base\n");
    repo.git(&["add", "--all"]);
    commit(&repo);
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    write(&repo, "file", "theirs\n");
    repo.git(&["commit", "--quiet", "--all", "--message=theirs"]);
    repo.git(&["checkout", "--quiet", "main"]);
    write(&repo, "file", "ours\n");
    repo.git(&["commit", "--quiet", "--all", "--message=ours"]);
    let merge = "git merge --quiet side >/dev/null 2>&1 || true";
    repo.git(&["-c", &format!("alias.x=!{merge}"), "x"]);
    let (changes, problems, summary) = staged(&repo);
    // Ours is what HEAD has.
    let expected = (b"file".to_vec(), Some(repo.id("HEAD:file")), Some(repo.id("side:file")));
    assert_eq!((changes, problems), (BTreeSet::from([expected]), vec![]));
    assert_eq!(summary.unmerged, 3);
}

/// Over random changes, the differences are those of `git diff --cached`, and whole directories
/// are passed over.
#[test]
fn random_changes() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % most
    };
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        for round in 0..25 {
            for _ in 0..=below(12) {
                let path = format!("d{}/e{}/f{}", below(4), below(3), below(4));
                match below(6) {
                    0 => {
                        let _ = fs::remove_file(repo.path.join(&path));
                    }
                    1 => {
                        let _ = fs::remove_dir_all(repo.path.join(format!("d{}", below(4))));
                    }
                    _ => write(&repo, &path, &below(9).to_string()),
                }
            }
            if round % 5 == 4 {
                repo.git(&["update-index", "--index-version", if round == 9 { "4" } else { "2" }]);
            }
            repo.git(&["add", "--all"]);
            assert_same(&repo);
            if below(2) == 0 {
                commit(&repo);
                assert_eq!(assert_same(&repo).trees_read, 0);
            }
        }
    }
}

#[test]
fn what_cannot_be_compared_is_told() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    write(&repo, "a/b/x", "1");
    write(&repo, "a/y", "2");
    write(&repo, "top", "3");
    repo.git(&["add", "--all"]);
    commit(&repo);
    // The whole index is known, but not that of another commit.
    write(&repo, "a/b/x", "changed");
    repo.git(&["add", "--all"]);
    let tree = repo.id("HEAD:a").to_string();
    fs::remove_file(repo.path.join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    let (changes, problems, _) = staged(&repo);
    let paths: Vec<_> = changes.iter().map(|(path, ..)| path.as_slice()).collect();
    assert_eq!(paths, [&b"a/b/x"[..], b"a/y"], "all below the missing tree counts as added");
    assert!(matches!(problems[..], [StagedProblem::Tree(..)]), "{problems:?}");
    repo.git(&["update-index", "--split-index"]);
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let split = Index::read(repo.path.join(".git/index"), HashKind::Sha1, &access);
    let problem = split.err().map(|error| error.problem().clone());
    assert!(matches!(problem, Some(FileProblem::Unsupported(_))), "{problem:?}");
    let none = Index::read(repo.path.join("none"), HashKind::Sha1, &access);
    assert!(matches!(none, Ok(None)));
}

#[test]
fn directories_outside_a_sparse_checkout_are_compared_by_their_trees() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    for path in ["in/a", "out/b", "out/deep/c", "top"] {
        write(&repo, path, path);
    }
    repo.git(&["add", "--all"]);
    commit(&repo);
    let cone = ["sparse-checkout", "set", "--cone", "--sparse-index", "in"];
    repo.git(&[&["-c", "advice.sparseIndexExpanded=false"][..], &cone].concat());
    let is_sparse = entries(&index(&repo)).iter().any(|line| line.starts_with(b"040000"));
    assert!(is_sparse, "git keeps the index sparse");
    write(&repo, "in/a", "changed");
    repo.git(&["add", "in/a"]);
    let (changes, problems, _) = staged(&repo);
    assert_eq!((changes.len(), problems), (1, vec![]));
    // The directory in the index is not that of this commit.
    repo.git(&["reset", "--quiet", "--soft", "HEAD"]);
    let empty = repo.line(&["mktree", "--missing"]);
    let other = repo.line(&["commit-tree", &empty, "-m", "empty"]);
    repo.git(&["update-ref", "HEAD", &other]);
    let (_, problems, _) = staged(&repo);
    assert_eq!(problems, [StagedProblem::SparseDirectory]);
}

#[test]
fn damaged_indexes_are_refused_or_read_without_panic() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    for path in ["a/b/c", "a/b/d", "e"] {
        write(&repo, path, path);
    }
    repo.git(&["add", "--all"]);
    commit(&repo);
    for version in ["2", "4"] {
        repo.git(&["update-index", "--index-version", version]);
        let bytes = fs::read(repo.path.join(".git/index")).unwrap();
        let sound = Index::parse(bytes.clone(), HashKind::Sha1).unwrap();
        assert_eq!(sound.len(), 3);
        for len in 0..bytes.len() {
            // Without the last extensions and the checksum, the rest may be a whole index.
            let _ = Index::parse(bytes[..len].to_vec(), HashKind::Sha1);
            let _ = Index::parse(bytes[..len].to_vec(), HashKind::Sha256);
            for bit in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[len] ^= bit;
                if let Ok(index) = Index::parse(damaged, HashKind::Sha1) {
                    let _ = entries(&index);
                }
            }
        }
        let count = |count: u32| {
            let mut hostile = bytes.clone();
            hostile[8..12].copy_from_slice(&count.to_be_bytes());
            Index::parse(hostile, HashKind::Sha1).is_ok()
        };
        assert!(!count(4) && !count(u32::MAX));
    }
}
