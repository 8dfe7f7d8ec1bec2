//! Attribution against a slow walk with git itself: `git rev-list` for the commits, and `git
//! ls-tree` of each of them.

use crate::git::{Repo, Sandbox};
use heist::rng::XorShift64;
use heist_git::{
    Access, Attribution, AttributionLimits, BlobSet, CommitWalk, HashKind, Layout, Limits,
    ObjectId, ObjectStore, Refs, Tips, Trust,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// The content of a commit: paths and the numbers of blobs.
type Files = BTreeMap<String, u64>;

/// Writes a random history with merges, evil merges, octopus merges, renames, reverts, orphans,
/// empty trees and wrong clocks. Returns the number of commits.
fn write_history(repo: &Repo, seed: u64, commits: usize) {
    let mut rng = XorShift64::new(seed);
    let mut below = move |bound: u64| rng.next_u64() % bound.max(1);
    let mut out = Vec::new();
    for blob in 0..BLOBS {
        let text = format!("blob {seed} {blob}\n");
        write!(out, "blob\nmark :{}\ndata {}\n{text}\n", blob + 1, text.len()).unwrap();
    }
    let mut trees: Vec<Files> = Vec::new();
    for commit in 0..commits {
        let parents = parents(commit, &mut below);
        let mut files = match parents.first() {
            Some(&first) => trees[first].clone(),
            None => Files::new(),
        };
        for &parent in parents.iter().skip(1) {
            for (path, blob) in &trees[parent] {
                if below(3) > 0 {
                    files.insert(path.clone(), *blob);
                }
            }
        }
        // A merge without a change of its own is as likely as an evil one.
        let changes = if parents.len() > 1 { below(2) } else { 1 + below(3) };
        for _ in 0..changes {
            change(&mut files, &trees, &mut below);
        }
        let mark = 1000 + commit;
        let seconds = 1_600_000_000 + commit as u64 * 10 + below(200) - below(200);
        write!(out, "commit refs/heads/b{}\nmark :{mark}\n", below(4)).unwrap();
        write!(out, "committer C <c@d> {seconds} +0000\ndata 1\nx\n").unwrap();
        for (number, parent) in parents.iter().enumerate() {
            let word = if number == 0 { "from" } else { "merge" };
            writeln!(out, "{word} :{}", 1000 + parent).unwrap();
        }
        out.extend_from_slice(b"deleteall\n");
        for (path, blob) in &files {
            writeln!(out, "M 100644 :{} {path}", blob + 1).unwrap();
        }
        trees.push(files);
        if below(6) == 0 {
            writeln!(out, "reset refs/tags/t{commit}\nfrom :{mark}\n").unwrap();
        }
        // Every line of history has a name, or it would be lost.
        writeln!(out, "reset refs/keep/{commit}\nfrom :{mark}\n").unwrap();
    }
    write!(out, "tag annotated\nfrom :{}\ntagger T <t@u> 1 +0000\ndata 1\ny\n", 999 + commits)
        .unwrap();
    let arguments = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force"];
    repo.git_with(&arguments, &out);
    repo.git(&["symbolic-ref", "HEAD", &format!("refs/keep/{}", commits - 1 - below(3) as usize)]);
}

const BLOBS: u64 = 12;

fn parents(commit: usize, below: &mut impl FnMut(u64) -> u64) -> Vec<usize> {
    let recent =
        |below: &mut dyn FnMut(u64) -> u64| commit - 1 - below(commit.min(5) as u64) as usize;
    let count = match below(12) {
        0 => 0,
        1..8 => 1,
        8..11 => 2,
        _ => 4,
    };
    let mut parents = Vec::new();
    for _ in 0..if commit == 0 { 0 } else { count } {
        let parent = recent(below);
        if !parents.contains(&parent) {
            parents.push(parent);
        }
    }
    parents
}

/// Adds, changes, renames or removes files, or brings back an older state.
fn change(files: &mut Files, trees: &[Files], below: &mut impl FnMut(u64) -> u64) {
    let directories = ["", "a/", "a/b/", "a/b/c/", "d/", "d/b/"];
    let some = |files: &Files, below: &mut dyn FnMut(u64) -> u64| {
        files.keys().nth(below(files.len() as u64) as usize).cloned()
    };
    match below(10) {
        0..4 => {
            let directory = directories[below(directories.len() as u64) as usize];
            files.insert(format!("{directory}f{}", below(4)), below(BLOBS));
        }
        4..6 => {
            if let Some(path) = some(files, below) {
                files.remove(&path);
            }
        }
        6 => {
            if let Some(path) = some(files, below)
                && let Some(blob) = files.remove(&path)
            {
                files.insert(format!("renamed{}", below(3)), blob);
            }
        }
        7 => {
            // A directory is renamed or copied.
            let is_copy = below(2) == 0;
            let moved: Vec<_> = files
                .iter()
                .filter_map(|(path, blob)| {
                    Some((path.clone(), path.strip_prefix("a/")?.to_owned(), *blob))
                })
                .collect();
            for (path, rest, blob) in moved {
                if !is_copy {
                    files.remove(&path);
                }
                files.insert(format!("e/{rest}"), blob);
            }
        }
        8 if !trees.is_empty() => *files = trees[below(trees.len() as u64) as usize].clone(),
        _ => files.clear(),
    }
}

/// A commit as git prints it.
struct SlowCommit {
    id: ObjectId,
    parents: Vec<usize>,
    files: BTreeSet<(String, ObjectId)>,
}

/// Reads all commits with git, in the order that the documentation of the walk promises.
fn slow_commits(repo: &Repo) -> Vec<SlowCommit> {
    let text = repo.git(&["log", "--all", "--topo-order", "--reverse", "--format=%H %ct %P"]);
    let text = String::from_utf8(text).unwrap();
    let mut waiting: Vec<(ObjectId, i64, Vec<ObjectId>)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let id = ObjectId::from_hex(words.next().unwrap().as_bytes()).unwrap();
        let seconds = words.next().unwrap().parse().unwrap();
        let parents = words.map(|hex| ObjectId::from_hex(hex.as_bytes()).unwrap()).collect();
        waiting.push((id, seconds, parents));
    }
    let mut commits: Vec<SlowCommit> = Vec::new();
    while !waiting.is_empty() {
        let number =
            |id: &ObjectId, commits: &[SlowCommit]| commits.iter().position(|one| one.id == *id);
        let ready = waiting.iter().enumerate().filter(|(_, (_, _, parents))| {
            parents.iter().all(|parent| number(parent, &commits).is_some())
        });
        let (at, _) = ready.min_by_key(|(_, (id, seconds, _))| (*seconds, *id)).unwrap();
        let (id, _, parents) = waiting.remove(at);
        let parents = parents.iter().map(|parent| number(parent, &commits).unwrap()).collect();
        let tree = repo.git(&["ls-tree", "-r", &id.to_string()]);
        let tree = String::from_utf8(tree).unwrap();
        let files = tree.lines().map(|line| {
            let (head, path) = line.split_once('\t').unwrap();
            let id = head.split(' ').nth(2).unwrap();
            (path.to_owned(), ObjectId::from_hex(id.as_bytes()).unwrap())
        });
        commits.push(SlowCommit { id, parents, files: files.collect() });
    }
    commits
}

/// What is compared of a place: the first commit, the removals, and whether `HEAD` has it.
type Fate = (ObjectId, Vec<ObjectId>, bool);

fn slow_places(commits: &[SlowCommit], head: ObjectId) -> BTreeMap<(String, ObjectId), Fate> {
    let mut places: BTreeMap<(String, ObjectId), Fate> = BTreeMap::new();
    for commit in commits {
        for file in &commit.files {
            if !commit.parents.iter().any(|&parent| commits[parent].files.contains(file)) {
                places.entry(file.clone()).or_insert((commit.id, vec![], false));
            }
            if commit.id == head {
                places.get_mut(file).unwrap().2 = true;
            }
        }
        for (number, &parent) in commit.parents.iter().enumerate() {
            for file in commits[parent].files.iter().filter(|_| number == 0) {
                let all = commit.parents.iter().all(|&one| commits[one].files.contains(file));
                if all && !commit.files.contains(file) {
                    places.get_mut(file).unwrap().1.push(commit.id);
                }
            }
        }
    }
    for (_, removals, _) in places.values_mut() {
        removals.drain(..removals.len().saturating_sub(8));
    }
    places
}

fn walk(repo: &Repo) -> (CommitWalk, ObjectStore) {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    let store = ObjectStore::open(&layout, &access, Limits::default()).unwrap();
    let refs = Refs::read(&layout, &access);
    let walk = {
        let mut reader = store.reader();
        let (tips, problems) = Tips::read(&layout, &access, &refs, &mut reader, |_, _| ());
        assert!(problems.is_empty(), "{problems:?}");
        CommitWalk::read(tips, store.hash_kind(), &mut reader, |_, _| ())
    };
    assert!(walk.unreadable().is_empty());
    (walk, store)
}

fn check(repo: &Repo) {
    let slow = slow_commits(repo);
    let head = repo.id("HEAD");
    let (walk, store) = walk(repo);
    let order: Vec<ObjectId> = (0..walk.len() as u32).map(|number| walk.id(number)).collect();
    assert_eq!(order, slow.iter().map(|commit| commit.id).collect::<Vec<_>>());
    let expected = slow_places(&slow, head);
    let all: Vec<ObjectId> =
        expected.keys().map(|(_, id)| *id).collect::<BTreeSet<_>>().into_iter().collect();
    for step in [1, 3] {
        let ids: Vec<ObjectId> = all.iter().step_by(step).copied().collect();
        let blobs = BlobSet::new(ids.iter().copied());
        let mut reader = store.reader();
        let limits = AttributionLimits::default();
        let found = Attribution::find(&walk, &blobs, &mut reader, limits, || false);
        assert!(found.is_complete());
        let places = found.places.iter().map(|place| {
            let path = String::from_utf8(place.path.to_vec()).unwrap();
            let removals = place.removals.iter().map(|&(commit, _)| walk.id(commit)).collect();
            let fate = (walk.id(place.first.unwrap()), removals, place.in_head);
            ((path, ids[place.blob as usize]), fate)
        });
        let mut expected = expected.clone();
        expected.retain(|(_, id), _| ids.contains(id));
        assert_eq!(places.collect::<BTreeMap<_, _>>(), expected);
    }
    // The refs that contain a commit are those that git names.
    let numbers: Vec<u32> = (0..walk.len() as u32).step_by(3).collect();
    for (number, refs) in numbers.iter().zip(walk.refs_containing(&numbers)) {
        let id = walk.id(*number).to_string();
        let text = repo.git(&["for-each-ref", "--contains", &id, "--format=%(refname)"]);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(refs.count, Some(text.lines().count() as u64), "{id}");
        let names = refs.names.iter().map(|name| String::from_utf8_lossy(name));
        for name in names {
            assert!(text.lines().any(|line| line.ends_with(&*name)), "{name}");
        }
    }
}

#[test]
fn places_are_those_of_a_slow_walk_with_git() {
    for seed in 1..=8 {
        let sandbox = Sandbox::new();
        let hash = if seed == 8 { HashKind::Sha256 } else { HashKind::Sha1 };
        let repo = sandbox.init("repo", hash);
        write_history(&repo, seed * 77, 25 + 3 * seed as usize);
        check(&repo);
    }
}

#[test]
fn a_secret_that_only_a_merge_has_belongs_to_the_merge() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let commit = |files: &[(&str, &[u8])], parents: &[&str]| -> String {
        let lines = files
            .iter()
            .map(|(path, content)| format!("100644 blob {}\t{path}\n", repo.write_blob(content)));
        let tree = repo.git_with(&["mktree"], lines.collect::<String>().as_bytes());
        let tree = String::from_utf8(tree).unwrap();
        let mut arguments = vec!["commit-tree", "-m", "x", tree.trim()];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        repo.line(&arguments)
    };
    let root = commit(&[("a", b"1")], &[]);
    let left = commit(&[("a", b"1"), ("l", b"2")], &[&root]);
    let right = commit(&[("a", b"1"), ("r", b"3")], &[&root]);
    let merge =
        commit(&[("a", b"1"), ("l", b"2"), ("r", b"3"), ("s", b"secret")], &[&left, &right]);
    let gone = commit(&[("a", b"1"), ("l", b"2"), ("r", b"3")], &[&merge]);
    repo.git(&["update-ref", "refs/heads/main", &gone]);
    check(&repo);
    let (walk, store) = walk(&repo);
    let blobs = BlobSet::new([repo.write_blob(b"secret")]);
    let mut reader = store.reader();
    let found =
        Attribution::find(&walk, &blobs, &mut reader, AttributionLimits::default(), || false);
    let [place] = &found.places[..] else { panic!("{found:?}") };
    assert_eq!(walk.id(place.first.unwrap()).to_string(), merge);
    assert_eq!(walk.id(place.removals[0].0).to_string(), gone);
    assert_eq!((&*place.path, place.in_head), (&b"s"[..], false));
}

#[test]
fn a_bomb_of_trees_costs_little_and_is_cut() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let blob = repo.write_blob(b"secret");
    let mut id = repo.line_with(&["mktree"], format!("100644 blob {blob}\tf\n").as_bytes());
    for _ in 0..12 {
        let lines: String = (0..10).map(|name| format!("040000 tree {id}\t{name}\n")).collect();
        id = repo.line_with(&["mktree"], lines.as_bytes());
    }
    let commit = repo.line(&["commit-tree", "-m", "x", &id]);
    repo.git(&["update-ref", "refs/heads/main", &commit]);
    let (walk, store) = walk(&repo);
    let blobs = BlobSet::new([blob]);
    let mut reader = store.reader();
    let found =
        Attribution::find(&walk, &blobs, &mut reader, AttributionLimits::default(), || false);
    assert!(found.is_cut && found.places_left_out > 0 && !found.is_complete());
    assert_eq!((found.trees_read, found.places.len()), (13, 10_000));
}

#[test]
fn trees_that_are_nested_too_deep_are_said() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let mut stream = b"blob\nmark :1\ndata 1\nx\n".to_vec();
    stream.extend_from_slice(b"commit refs/heads/main\ncommitter C <c@d> 1 +0000\ndata 1\nx\n");
    for depth in [1, 2000, 2100] {
        writeln!(stream, "M 100644 :1 {}f{depth}", "a/".repeat(depth)).unwrap();
    }
    repo.git_with(&["-c", "core.maxTreeDepth=9999", "fast-import", "--quiet"], &stream);
    let (walk, store) = walk(&repo);
    let blobs = BlobSet::new([repo.write_blob(b"x")]);
    let mut reader = store.reader();
    let found =
        Attribution::find(&walk, &blobs, &mut reader, AttributionLimits::default(), || false);
    let deepest = found.places.iter().map(|place| place.path.len()).max();
    assert_eq!((found.places.len(), deepest), (2, Some(4005)));
    assert_eq!(found.unreadable.damaged, 1);
    assert!(!found.is_complete());
}

#[test]
fn missing_trees_and_parents_are_said() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let blob = repo.write_blob(b"secret");
    let tree = repo.line_with(&["mktree"], format!("100644 blob {blob}\tf\n").as_bytes());
    let root = repo.line(&["commit-tree", "-m", "1", &tree]);
    let next = repo.line(&["commit-tree", "-m", "2", "-p", &root, &tree]);
    repo.git(&["update-ref", "refs/heads/main", &next]);
    let object = |id: &str| repo.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(object(&root)).unwrap();
    let found = || {
        let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
        let layout = Layout::open(&repo.path, &access).unwrap();
        let store = ObjectStore::open(&layout, &access, Limits::default()).unwrap();
        let refs = Refs::read(&layout, &access);
        let mut reader = store.reader();
        let (tips, _) = Tips::read(&layout, &access, &refs, &mut reader, |_, _| ());
        let walk = CommitWalk::read(tips, store.hash_kind(), &mut reader, |_, _| ());
        let blobs = BlobSet::new([blob]);
        let limits = AttributionLimits::default();
        let found = Attribution::find(&walk, &blobs, &mut reader, limits, || false);
        (walk, found)
    };
    let (walk, complete) = found();
    assert_eq!((walk.len(), walk.unreadable().missing), (1, 1));
    assert!(walk.is_boundary(0) && complete.is_complete() && complete.places[0].in_head);
    std::fs::remove_file(object(&tree)).unwrap();
    let (_, incomplete) = found();
    assert_eq!((incomplete.places.len(), incomplete.unreadable.missing), (0, 1));
}
