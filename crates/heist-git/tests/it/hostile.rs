//! Hostile stores: every object is an outcome, nothing panics, hangs, or takes much memory.

use crate::git::{Repo, Sandbox};
use crate::history::{self, Plan};
use crate::objects::open;
use crate::packs::{PackWriter, delta_size, index, made_up, repeating_delta};
use crate::sweeps::{Collector, seen, unreadable};
use heist::rng::XorShift64;
use heist_git::{
    Access, CommitGraph, FileProblem, HashKind, Layout, Limits, ObjectError, ObjectId, ObjectKind,
    ObjectStore, Sweep, SweepReport, Trust,
};
use std::fs;
use std::time::{Duration, Instant};

/// A repository with one pack that was made by hand.
fn with_pack(sandbox: &Sandbox, pack: &[u8], index: &[u8]) -> Repo {
    let repo = sandbox.init("repo", HashKind::Sha1);
    let folder = repo.git_dir().join("objects/pack");
    fs::write(folder.join("pack-1.pack"), pack).unwrap();
    fs::write(folder.join("pack-1.idx"), index).unwrap();
    repo
}

fn sweep(repo: &Repo) -> SweepReport<Collector> {
    Sweep::new(open(repo)).threads(2).run(|_| Collector::default()).unwrap()
}

/// Sweeps, and reads each of the `ids`. Returns the errors of the sweep by id.
#[track_caller]
fn outcomes(repo: &Repo, ids: &[ObjectId]) -> Vec<Option<ObjectError>> {
    let start = Instant::now();
    let report = sweep(repo);
    assert_eq!((report.cut, report.counts.accounted()), (0, ids.len() as u64));
    let errors = unreadable(&report);
    let store = open(repo);
    for id in ids {
        let readable = !errors.iter().any(|error| error.id == Some(*id));
        assert_eq!(store.read(id).is_ok(), readable, "{id}: {:?}", store.read(id));
    }
    assert!(start.elapsed() < Duration::from_secs(60), "that took {:?}", start.elapsed());
    let error_of = |id| errors.iter().find(|error| error.id == Some(id));
    ids.iter().map(|id| error_of(*id).map(|error| error.error.clone())).collect()
}

#[test]
fn deltas_in_a_circle_are_endless() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    let ids: Vec<_> = (0..4).map(made_up).collect();
    let delta = repeating_delta(10, 10, 1);
    writer.ref_delta(ids[0], ids[1], &delta);
    writer.ref_delta(ids[1], ids[0], &delta);
    writer.ref_delta(ids[2], ids[2], &delta);
    writer.ref_delta(ids[3], ids[0], &delta);
    let (pack, index) = writer.finish();
    assert!(pack.len() < 255);
    let errors = outcomes(&with_pack(&sandbox, &pack, &index), &ids);
    assert!(errors.iter().all(|error| *error == Some(ObjectError::EndlessChain)), "{errors:?}");
}

#[test]
fn a_circle_through_two_packs_ends() {
    let sandbox = Sandbox::new();
    let delta = repeating_delta(10, 10, 1);
    let ids = [made_up(0), made_up(1)];
    let mut first = PackWriter::new();
    first.ref_delta(ids[0], ids[1], &delta);
    let (pack, index) = first.finish();
    let repo = with_pack(&sandbox, &pack, &index);
    let mut second = PackWriter::new();
    second.ref_delta(ids[1], ids[0], &delta);
    let (pack, index) = second.finish();
    let folder = repo.git_dir().join("objects/pack");
    fs::write(folder.join("pack-2.pack"), pack).unwrap();
    fs::write(folder.join("pack-2.idx"), index).unwrap();
    assert!(outcomes(&repo, &ids).iter().all(Option::is_some));
}

#[test]
fn a_bomb_of_deltas_does_not_go_off() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    let mut ids = vec![writer.blob(&[b'x'; 1 << 16])];
    let mut base = 12;
    let mut len = 1_u64 << 16;
    for number in 0..5 {
        let offset = writer.offset();
        // 128 times as large as the base.
        let delta = repeating_delta(len, len.min((1 << 24) - 1) as u32, 128);
        len = len.min((1 << 24) - 1) * 128;
        ids.push(made_up(number));
        writer.ofs_delta(ids[ids.len() - 1], base, &delta);
        base = offset;
    }
    let (pack, index) = writer.finish();
    assert!(pack.len() < 700, "{}", pack.len());
    let repo = with_pack(&sandbox, &pack, &index);
    let errors = outcomes(&repo, &ids);
    assert_eq!(errors[..2], [None, None]);
    assert!(matches!(errors[2], Some(ObjectError::TooLarge { size }) if size == 1 << 30));
    assert!(errors[3..].iter().all(|error| *error == Some(ObjectError::UnreadableBase)));
    assert!(sweep(&repo).buffers_high_water < 20 << 20);
}

#[test]
fn endless_work_is_cut() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    writer.blob(&[b'x'; 1 << 16]);
    let delta = repeating_delta(1 << 16, 1 << 16, 1000);
    for number in 0..100_000 {
        writer.ofs_delta(made_up(number), 12, &delta);
    }
    let (pack, index) = writer.finish();
    let repo = with_pack(&sandbox, &pack, &index);
    let start = Instant::now();
    // Two terabytes if it were not cut.
    let sweep = Sweep::new(open(&repo)).threads(2).decoded_bytes(1 << 30);
    let report = sweep.run(|_| Counter).unwrap();
    assert!(report.cut > 90_000 && report.counts.accounted() + report.cut == 100_001);
    assert!(start.elapsed() < Duration::from_secs(30));
}

struct Counter;

impl heist_git::ObjectVisitor for Counter {
    type State = ();

    fn visit(&mut self, _visit: &heist_git::Visit<'_, ()>) -> Option<()> {
        None
    }
}

#[test]
fn a_chain_longer_than_any_stack() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    writer.blob(b"0123456789");
    let mut base = 12;
    let delta = repeating_delta(10, 10, 1);
    for number in 0..100_000 {
        let offset = writer.offset();
        writer.ofs_delta(made_up(number), base, &delta);
        base = offset;
    }
    let (pack, index) = writer.finish();
    let repo = with_pack(&sandbox, &pack, &index);
    let report = sweep(&repo);
    assert_eq!((seen(&report).len(), report.cut), (100_001, 0));
    // By itself, the end of the chain is too far away.
    let store = open(&repo);
    assert_eq!(store.read(&made_up(99_999)), Err(ObjectError::EndlessChain));
    assert!(store.read(&made_up(4_000)).is_ok());
}

#[test]
fn sizes_that_lie() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    let ids: Vec<_> = (0..9).map(made_up).collect();
    writer.lying_blob(ids[0], 1 << 40, b"small");
    writer.lying_blob(ids[1], u64::from(u32::MAX), b"small");
    writer.lying_blob(ids[2], 60 << 20, b"small");
    writer.lying_blob(ids[3], 4, b"small");
    writer.lying_blob(ids[4], 6, b"small");
    writer.lying_blob(ids[5], 0, b"small");
    let base = writer.offset();
    let whole = writer.blob(b"0123456789");
    writer.ofs_delta(ids[6], base, &[delta_size(1 << 50), delta_size(1), vec![0x90, 1]].concat());
    writer.ofs_delta(ids[7], base, &[delta_size(10), delta_size(1 << 50), vec![0x90, 1]].concat());
    writer.ofs_delta(ids[8], base, &[delta_size(10), delta_size(60 << 20), vec![0x90, 1]].concat());
    let (pack, index) = writer.finish();
    let repo = with_pack(&sandbox, &pack, &index);
    let errors = outcomes(&repo, &[&ids[..], &[whole]].concat());
    let failed = errors.iter().filter(|error| error.is_some()).count();
    assert_eq!((failed, &errors[9]), (9, &None));
    assert_eq!(sweep(&repo).buffers_high_water, 0);
}

#[test]
fn indexes_that_lie() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    let ids: Vec<_> = (0..20_u8).map(|number| writer.blob(&[number; 100])).collect();
    let (pack, good) = writer.finish();
    let mut sorted = ids.clone();
    sorted.sort();
    let at = |offset: u64| {
        let entries: Vec<_> = sorted.iter().map(|id| (*id, offset)).collect();
        index(&entries)
    };
    // All entries at the same place: one is the right one at best.
    for offset in [0, 11, 12, 13, pack.len() as u64 - 21, pack.len() as u64, 1 << 40, u64::MAX >> 2]
    {
        let repo = with_pack(&sandbox, &pack, &at(offset));
        let report = sweep(&repo);
        assert_eq!((report.counts.accounted(), report.cut), (20, 0));
        assert!(unreadable(&report).len() >= 19, "{offset}");
        let store = open(&repo);
        sorted.iter().for_each(|id| drop(store.read(id)));
    }
    // Ids that do not rise: the index is unusable, and said to be.
    let mut unsorted = good.clone();
    unsorted[1032..1072].rotate_left(20);
    let falling = [&good[..8], &[0xff; 1024], &good[1032..]].concat();
    let huge = [&good[..8], &[0xff_u8, 0xff, 0xff, 0xfe].repeat(256)[..], &good[1032..]].concat();
    for bad in [unsorted, falling, huge, Vec::new(), vec![0; 5000]] {
        let repo = with_pack(&sandbox, &pack, &bad);
        let report = sweep(&repo);
        assert!(
            report.problems.iter().any(|one| matches!(one.problem(), FileProblem::Malformed(_))),
            "{:?}",
            report.problems
        );
        let store = open(&repo);
        sorted.iter().for_each(|id| drop(store.read(id)));
    }
}

#[cfg(unix)]
#[test]
fn files_of_a_terabyte_cost_nothing() {
    let sandbox = Sandbox::new();
    let mut writer = PackWriter::new();
    let id = writer.blob(b"content");
    let (pack, index) = writer.finish();
    let repo = with_pack(&sandbox, &pack, &index);
    for name in ["pack-1.pack", "pack-1.idx", "multi-pack-index"] {
        let path = repo.git_dir().join("objects/pack").join(name);
        let file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    for name in ["packed-refs", "config", "HEAD", "shallow", "objects/info/commit-graph"] {
        let path = repo.git_dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    assert!(Layout::open(&repo.path, &access).is_err(), "the configuration is too large");
    fs::remove_file(repo.git_dir().join("config")).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    assert!(CommitGraph::open(&layout, &access).is_err());
    assert_eq!(heist_git::Refs::read(&layout, &access).problems.len(), 2);
    let store = ObjectStore::open(&layout, &access, Limits::default()).unwrap();
    assert_eq!(store.read(&id).unwrap().content, b"content");
    // The index is valid at its beginning, and its end is too far away.
    let report = Sweep::new(store).run(|_| Collector::default()).unwrap();
    assert!(!report.problems.is_empty() || report.counts.accounted() == 1);
}

/// Reads everything of a damaged repository. What is read may be wrong, but each object that the
/// index states has an outcome.
fn read_all(repo: &Repo, ids: &[ObjectId]) {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    let mut limits = Limits::default();
    limits.object_bytes = 1 << 20;
    let store = ObjectStore::open(&layout, &access, limits).unwrap();
    let mut reader = store.reader();
    for id in ids {
        let _ = (reader.read(id), reader.header(id));
    }
    let report = Sweep::new(store).threads(1).run(|_| Collector::default()).unwrap();
    assert_eq!(report.cut, 0);
    if let Ok(Some(graph)) = CommitGraph::open(&layout, &access) {
        for id in ids {
            if let Ok(Some(position)) = graph.find(id) {
                let _ = (graph.commit_at(position), graph.id_at(position));
            }
        }
    }
}

/// A small repository with a pack, a multi-pack index and a commit-graph.
fn small(sandbox: &Sandbox) -> (Repo, Vec<ObjectId>) {
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan { commits: 6, files: 3, lines: 12, ..Plan::default() });
    repo.git(&["repack", "-adfq", "--depth=50", "--window=50"]);
    repo.git(&["multi-pack-index", "write"]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    let ids = repo.all_objects().into_iter().map(|object| object.id).collect();
    (repo, ids)
}

#[test]
fn files_that_are_cut_anywhere() {
    let sandbox = Sandbox::new();
    let (repo, ids) = small(&sandbox);
    let pack = repo.packs("pack").remove(0);
    let objects = repo.git_dir().join("objects");
    for (path, step) in [
        (pack.clone(), 1),
        (pack.with_extension("idx"), 7),
        (objects.join("pack/multi-pack-index"), 7),
        (objects.join("info/commit-graph"), 7),
    ] {
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for cut in (0..whole.len()).step_by(step) {
            fs::write(&path, &whole[..cut]).unwrap();
            read_all(&repo, &ids);
        }
        fs::write(&path, &whole).unwrap();
    }
    read_all(&repo, &ids);
}

#[test]
fn bytes_that_are_flipped_anywhere() {
    let sandbox = Sandbox::new();
    let (repo, ids) = small(&sandbox);
    let pack = repo.packs("pack").remove(0);
    let objects = repo.git_dir().join("objects");
    let mut rng = XorShift64::new(11);
    for (path, flips) in [
        (pack.clone(), 1500),
        (pack.with_extension("idx"), 700),
        (objects.join("pack/multi-pack-index"), 500),
        (objects.join("info/commit-graph"), 300),
    ] {
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for _ in 0..flips {
            let mut bytes = whole.clone();
            for _ in 0..1 + rng.next_u64() % 3 {
                let at = (rng.next_u64() % bytes.len() as u64) as usize;
                bytes[at] = match rng.next_u64() % 4 {
                    0 => 0xff,
                    1 => 0,
                    2 => bytes[at] ^ (1 << (rng.next_u64() % 8)),
                    _ => rng.next_u64() as u8,
                };
            }
            fs::write(&path, &bytes).unwrap();
            read_all(&repo, &ids);
        }
        fs::write(&path, &whole).unwrap();
    }
    read_all(&repo, &ids);
}

#[test]
fn a_bomb_of_trees_is_ten_objects() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let mut id = repo.write_blob(b"boom");
    let mut mode = "100644 blob";
    // Ten names for each tree below: ten billion files.
    for _ in 0..10 {
        let text: String = (0..10).map(|name| format!("{mode} {id}\tf{name}\n")).collect();
        let made = repo.git_with(&["mktree"], text.as_bytes());
        id = ObjectId::from_hex(made.trim_ascii()).unwrap();
        mode = "040000 tree";
    }
    let report = sweep(&repo);
    assert_eq!(report.counts.of(ObjectKind::Tree), 10);
    assert_eq!((report.counts.of(ObjectKind::Blob), report.cut), (1, 0));
}
