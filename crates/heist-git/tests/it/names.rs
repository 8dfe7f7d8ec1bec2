//! Refs, `HEAD`, reflogs, shallow clones and the commit-graph: as git tells them.

use crate::git::{Repo, Sandbox};
use crate::history::{self, Plan};
use heist_git::{Access, Commit, CommitGraph, HashKind, Head, Layout, ObjectId, Refs, Trust};
use std::collections::BTreeMap;
use std::fs;

fn opened(repo: &Repo) -> (Layout, Access) {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    (Layout::open(&repo.path, &access).unwrap(), access)
}

fn refs_by_git(repo: &Repo) -> BTreeMap<String, ObjectId> {
    let text = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let text = String::from_utf8(text).unwrap();
    let pair = |line: &str| {
        let (name, id) = line.split_once(' ').unwrap();
        (name.to_owned(), ObjectId::from_hex(id.as_bytes()).unwrap())
    };
    text.lines().map(pair).collect()
}

#[track_caller]
fn assert_same_refs(repo: &Repo) {
    let (layout, access) = opened(repo);
    let refs = Refs::read(&layout, &access);
    assert!(refs.problems.is_empty(), "{:?}", refs.problems);
    let found: BTreeMap<_, _> = refs
        .refs
        .iter()
        .map(|found| (String::from_utf8(found.name.clone()).unwrap(), found.target))
        .collect();
    assert_eq!(found, refs_by_git(repo));
    assert_eq!(refs.head_commit(), Some(repo.id("HEAD")));
}

#[test]
fn loose_and_packed_refs() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        history::write(&repo, Plan::default());
        assert_same_refs(&repo);
        repo.git(&["pack-refs", "--all"]);
        assert_same_refs(&repo);
        repo.git(&["update-ref", "refs/heads/side", "main~3"]);
        repo.git(&["update-ref", "refs/heads/a/b/c", "main~4"]);
        repo.git(&["symbolic-ref", "refs/heads/also", "refs/heads/main"]);
        assert_same_refs(&repo);
        repo.git(&["checkout", "-q", "--detach", "main~1"]);
        assert_same_refs(&repo);
        let (layout, access) = opened(&repo);
        let refs = Refs::read(&layout, &access);
        assert!(matches!(refs.head, Head::Detached(_)));
        let peeled = refs.refs.iter().filter_map(|found| found.peeled).next().unwrap();
        assert_eq!(peeled, repo.id("v19^{commit}"));
    }
}

#[test]
fn refs_in_circles_and_nonsense_are_problems() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let heads = repo.git_dir().join("refs/heads");
    for (name, text) in [
        ("a", "ref: refs/heads/b"),
        ("b", "ref: refs/heads/a"),
        ("c", "not an id"),
        ("d", ""),
        ("e", "ref: ../../../../etc/passwd"),
    ] {
        fs::write(heads.join(name), text).unwrap();
    }
    fs::write(heads.join("f"), vec![b'0'; 100_000]).unwrap();
    fs::write(repo.git_dir().join("packed-refs"), "^x\n").unwrap();
    let (layout, access) = opened(&repo);
    let refs = Refs::read(&layout, &access);
    assert!(refs.refs.is_empty(), "{:?}", refs.refs);
    assert_eq!(refs.problems.len(), 4, "{:?}", refs.problems);
    assert_eq!(refs.head, Head::Branch(b"refs/heads/main".to_vec()));
}

#[test]
fn reflogs_know_what_no_ref_reaches() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "kept"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "dropped"]);
    let dropped = repo.id("HEAD");
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    repo.git(&["worktree", "add", "-q", "--detach", "linked"]);
    let (layout, access) = opened(&repo);
    let mut seen = Vec::new();
    let problems = layout.reflogs(&access, |name, entry| {
        seen.push((String::from_utf8(name.to_vec()).unwrap(), entry.new));
    });
    assert!(problems.is_empty(), "{problems:?}");
    assert!(seen.contains(&("HEAD".to_owned(), dropped)));
    assert!(seen.contains(&("refs/heads/main".to_owned(), dropped)));
    assert!(seen.iter().any(|(name, _)| name == "worktrees/linked/HEAD"), "{seen:?}");
}

#[test]
fn shallow_and_partial_clones_say_so() {
    let sandbox = Sandbox::new();
    let origin = sandbox.init("origin", HashKind::Sha1);
    history::write(&origin, Plan::default());
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.path.display());
    origin.git(&["clone", "-q", "--bare", "--depth=2", &url, "../shallow"]);
    let shallow = Repo { path: sandbox.path().join("shallow") };
    let (layout, access) = opened(&shallow);
    let text = fs::read_to_string(shallow.path.join("shallow")).unwrap();
    let ids = layout.shallow_commits(&access).unwrap();
    assert_eq!(ids.len(), text.lines().count());
    assert!(ids.iter().all(|id| text.contains(&id.to_string())));
    assert!(opened(&origin).0.shallow_commits(&access).is_ok_and(|ids| ids.is_empty()));

    origin.git(&["clone", "-q", "--bare", "--filter=blob:none", &url, "../partial"]);
    let partial = Repo { path: sandbox.path().join("partial") };
    assert!(opened(&partial).0.is_partial());
    assert!(crate::objects::open(&partial).is_partial());
    assert!(!crate::objects::open(&origin).is_partial());
}

#[track_caller]
fn assert_same_graph(repo: &Repo) {
    let (layout, access) = opened(repo);
    let graph = CommitGraph::open(&layout, &access).unwrap().unwrap();
    let store = crate::objects::open(repo);
    let ids = String::from_utf8(repo.git(&["rev-list", "--all"])).unwrap();
    assert_eq!(graph.len(), ids.lines().count() as u64);
    for id in ids.lines() {
        let id = ObjectId::from_hex(id.as_bytes()).unwrap();
        let position = graph.find(&id).unwrap().unwrap();
        assert_eq!(graph.id_at(position).unwrap(), id);
        let found = graph.commit_at(position).unwrap();
        let object = store.read(&id).unwrap();
        let commit = Commit::parse(store.hash_kind(), &object.content).unwrap();
        assert_eq!(found.tree, commit.tree);
        assert_eq!(found.seconds as i64, commit.committer.unwrap().seconds);
        let parents = found.parents.iter().map(|parent| graph.id_at(*parent).unwrap());
        assert!(parents.eq(commit.parents()));
    }
}

#[test]
fn the_commit_graph_says_what_the_commits_say() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        history::write(&repo, Plan::default());
        repo.git(&[
            "update-ref",
            "refs/heads/octopus",
            &repo.line(&[
                "commit-tree",
                "-m",
                "x",
                "-p",
                "main",
                "-p",
                "side",
                "-p",
                "v19^0",
                "-p",
                "main~5",
                "main^{tree}",
            ]),
        ]);
        let (layout, access) = opened(&repo);
        assert!(CommitGraph::open(&layout, &access).unwrap().is_none());
        repo.git(&["commit-graph", "write", "--reachable"]);
        assert_same_graph(&repo);
        fs::remove_file(repo.git_dir().join("objects/info/commit-graph")).unwrap();
        repo.git_with(
            &["commit-graph", "write", "--split=no-merge", "--stdin-commits"],
            format!("{}\n", repo.id("main~20")).as_bytes(),
        );
        repo.git(&["commit-graph", "write", "--split=no-merge", "--reachable"]);
        let chain = repo.git_dir().join("objects/info/commit-graphs/commit-graph-chain");
        assert_eq!(fs::read_to_string(chain).unwrap().lines().count(), 2);
        assert_same_graph(&repo);
    }
}
