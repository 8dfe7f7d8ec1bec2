//! Sweeps visit exactly the objects that git finds, each once, with their contents, and what they
//! say of deltas is right.

use crate::git::{GitObject, Repo, Sandbox};
use crate::history::{self, Plan};
use crate::objects::open;
use heist_git::{
    DeltaOp, HashKind, ObjectKind, ObjectVisitor, Sweep, SweepReport, Unreadable, Visit,
};

/// Keeps everything, and checks each delta against the base's content.
#[derive(Default)]
pub(crate) struct Collector {
    pub seen: Vec<GitObject>,
    pub unreadable: Vec<Unreadable>,
    pub deltas: usize,
    pub states: usize,
}

impl ObjectVisitor for Collector {
    type State = (heist_git::ObjectId, Vec<u8>);

    fn wants(&self, _kind: ObjectKind) -> bool {
        true
    }

    fn visit(&mut self, visit: &Visit<'_, Self::State>) -> Option<Self::State> {
        if let Some(delta) = &visit.delta {
            self.deltas += 1;
            assert_eq!(delta.base_len, delta.base.1.len());
            for range in delta.copies() {
                let copied = &delta.base.1[range.from as usize..][..range.len as usize];
                assert_eq!(copied, &visit.content[range.to as usize..][..range.len as usize]);
            }
            let (mut at, mut inserted) = (0, 0);
            for op in delta.ops {
                let len = op.len() as usize;
                match op {
                    DeltaOp::Copy { offset, .. } => {
                        let copied = &delta.base.1[*offset as usize..][..len];
                        assert_eq!(copied, &visit.content[at..at + len]);
                    }
                    DeltaOp::Insert { .. } => inserted += len as u64,
                }
                at += len;
            }
            assert_eq!((at, inserted), (visit.content.len(), delta.inserted_bytes()));
        }
        self.seen.push(GitObject {
            id: visit.id,
            kind: visit.kind,
            content: visit.content.to_vec(),
        });
        self.states += usize::from(visit.is_base);
        visit.is_base.then(|| (visit.id, visit.content.to_vec()))
    }

    fn unreadable(&mut self, object: &Unreadable) {
        self.unreadable.push(object.clone());
    }
}

/// What all visitors of a sweep saw, sorted.
pub(crate) fn seen(report: &SweepReport<Collector>) -> Vec<GitObject> {
    let mut seen: Vec<_> =
        report.visitors.iter().flat_map(|visitor| visitor.seen.clone()).collect();
    seen.sort();
    seen
}

pub(crate) fn unreadable(report: &SweepReport<Collector>) -> Vec<Unreadable> {
    report.visitors.iter().flat_map(|visitor| visitor.unreadable.clone()).collect()
}

/// A sweep sees the same as git, by one worker and by several, with much memory and with little.
#[track_caller]
pub(crate) fn assert_sees_all(repo: &Repo) {
    let expected = repo.all_objects();
    for (threads, memory) in [(1, 160 << 20), (3, 160 << 20)] {
        let sweep = Sweep::new(open(repo)).threads(threads).memory(memory);
        let report = sweep.run(|_| Collector::default()).unwrap();
        let seen = seen(&report);
        assert_eq!(unreadable(&report), []);
        assert_eq!((seen.len(), report.cut), (expected.len(), 0));
        assert!(seen == expected, "the same objects with other contents");
        assert_eq!(report.counts.accounted(), expected.len() as u64);
    }
}

#[test]
fn packs_of_every_shape() {
    for (seed, hash) in [(1, HashKind::Sha1), (2, HashKind::Sha256), (3, HashKind::Sha1)] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        history::write(&repo, Plan { seed, ..Plan::default() });
        assert_sees_all(&repo);
        let shapes: [&[&str]; 5] = [
            &["repack", "-adfq", "--depth=4000", "--window=50"],
            &["repack", "-adfq", "--depth=1"],
            &["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"],
            &["-c", "pack.indexVersion=1", "repack", "-adfq"],
            &["-c", "pack.compression=0", "repack", "-adfq"],
        ];
        for shape in shapes {
            repo.git(shape);
            assert_sees_all(&repo);
        }
    }
}

#[test]
fn every_object_once_though_it_is_in_many_places() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan { commits: 40, ..Plan::default() });
    // Three packs that overlap, and loose copies of some objects.
    let all = repo.git(&["rev-list", "--objects", "--all", "--no-object-names"]);
    let lines: Vec<_> = all.split_inclusive(|&byte| byte == b'\n').collect();
    for part in [&lines[..lines.len() / 2], &lines[lines.len() / 3..]] {
        let arguments = ["pack-objects", "-q", "--window=50", ".git/objects/pack/pack"];
        repo.git_with(&arguments, &part.concat());
    }
    assert_eq!(repo.packs("pack").len(), 3);
    for object in repo.all_objects().iter().step_by(5) {
        let copied = sandbox.init("copy", HashKind::Sha1);
        let kind = object.kind.name();
        let arguments = ["hash-object", "-w", "-t", kind, "--stdin", "--literally"];
        copied.git_with(&arguments, &object.content);
        let hex = object.id.to_string();
        let from = copied.git_dir().join("objects").join(&hex[..2]).join(&hex[2..]);
        let folder = repo.git_dir().join("objects").join(&hex[..2]);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(from, folder.join(&hex[2..])).unwrap();
    }
    repo.write_blob(b"only loose");
    repo.write_blob(&b"large and loose".repeat(100_000));
    assert_sees_all(&repo);
    let report = Sweep::new(open(&repo)).run(|_| Collector::default()).unwrap();
    assert!(report.counts.duplicates > lines.len() as u64 / 6);
    // Borrowed by a clone, too.
    repo.git(&["clone", "-q", "--shared", "--bare", ".", "../clone"]);
    std::fs::rename(sandbox.path().join("clone"), repo.path.join("clone")).unwrap();
    let inner = Repo { path: repo.path.clone() };
    let alternates = repo.path.join("clone/objects/info/alternates");
    std::fs::write(alternates, "../../.git/objects\n").unwrap();
    let clone = Repo { path: repo.path.join("clone") };
    let access = heist_git::Access::new([&inner.path], heist_git::Trust::RootsOnly).unwrap();
    let layout = heist_git::Layout::open(&clone.path, &access).unwrap();
    let store = heist_git::ObjectStore::open(&layout, &access, heist_git::Limits::default());
    let report = Sweep::new(store.unwrap()).run(|_| Collector::default()).unwrap();
    assert!(seen(&report) == clone.all_objects());
}

#[test]
fn visitors_get_what_they_kept_of_the_base() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan { commits: 100, ..Plan::default() });
    repo.git(&["repack", "-adfq", "--depth=50", "--window=50"]);
    let report = Sweep::new(open(&repo)).threads(2).run(|_| Collector::default()).unwrap();
    let deltas: usize = report.visitors.iter().map(|visitor| visitor.deltas).sum();
    let listed =
        String::from_utf8(repo.git(&["verify-pack", "-v", repo.packs("idx")[0].to_str().unwrap()]));
    // Lines of deltas have the depth and the base after the offset.
    let is_delta = |line: &&str| line.split_whitespace().count() == 7;
    assert_eq!(deltas, listed.unwrap().lines().filter(is_delta).count());
    assert!(deltas > 100);
}

/// Wants blobs only, and keeps nothing.
#[derive(Default)]
struct Blobs(u64);

impl ObjectVisitor for Blobs {
    type State = ();

    fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
        assert!(visit.kind == ObjectKind::Blob && visit.delta.is_none());
        self.0 += 1;
        None
    }
}

#[test]
fn unwanted_kinds_are_counted_and_not_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan::default());
    repo.write_blob(b"loose");
    repo.git(&["tag", "-a", "-m", "loose tag", "tag"]);
    let report = Sweep::new(open(&repo)).run(|_| Blobs::default()).unwrap();
    let objects = repo.all_objects();
    let blobs = objects.iter().filter(|object| object.kind == ObjectKind::Blob).count() as u64;
    let counts = report.counts;
    assert_eq!((counts.of(ObjectKind::Blob), counts.unreadable), (blobs, 0));
    assert_eq!(counts.unwanted, objects.len() as u64 - blobs);
    assert_eq!(report.visitors.iter().map(|visitor| visitor.0).sum::<u64>(), blobs);
    assert_eq!(report.cut, 0);
}

/// Blobs of half a megabyte each, in one chain and in one wide tree, with memory for two of them.
#[test]
fn little_memory_is_enough() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let mut rng = heist::rng::XorShift64::new(5);
    let mut content: Vec<u8> = (0..500_000).map(|_| b'a' + (rng.next_u64() % 20) as u8).collect();
    let mut ids = Vec::new();
    for number in 0..60 {
        if number % 20 == 0 {
            content.rotate_left(250_000);
        }
        let at = rng.next_u64() as usize % content.len();
        content[at] ^= 1;
        content.extend_from_slice(b"more");
        ids.push(repo.write_blob(&content));
    }
    let list: String = ids.iter().map(|id| format!("{id} file\n")).collect();
    let mut put_off = 0;
    for depth in ["--depth=1", "--depth=3", "--depth=60"] {
        let arguments = ["pack-objects", "-q", "--window=60", depth, ".git/objects/pack/pack"];
        repo.git_with(&arguments, list.as_bytes());
        repo.git(&["prune-packed"]);
        let expected = repo.all_objects();
        let access = heist_git::Access::new([&repo.path], heist_git::Trust::RootsOnly).unwrap();
        let layout = heist_git::Layout::open(&repo.path, &access).unwrap();
        let mut limits = heist_git::Limits::default();
        limits.object_bytes = 510_000;
        for threads in [1, 4] {
            let store = heist_git::ObjectStore::open(&layout, &access, limits.clone()).unwrap();
            let sweep = Sweep::new(store).threads(threads).memory(0);
            let report = sweep.run(|_| Collector::default()).unwrap();
            assert_eq!(unreadable(&report), []);
            assert!(seen(&report) == expected);
            assert!(report.buffers_high_water <= 5 * 255_000 + 200_000);
            // Four workers in one wide tree want more than there is.
            put_off += report.counts.put_off;
        }
        for pack in repo.packs("pack") {
            let to = sandbox.path().join("pack");
            std::fs::rename(&pack, &to).unwrap();
            std::fs::remove_file(pack.with_extension("idx")).unwrap();
            repo.git_with(&["unpack-objects", "-q"], &std::fs::read(to).unwrap());
        }
    }
    assert!(put_off > 0);
}

#[test]
fn reads_and_disks_are_shared_with_others() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan { commits: 30, ..Plan::default() });
    repo.write_blob(b"loose");
    let expected = repo.all_objects();
    // One read at a time for four workers, and one slot of each disk.
    let reads = heist::ReadTokens::new(1, 100).unwrap();
    let one = heist_device::DeviceSlotsConfig::uniform(1);
    let slots = heist_device::DeviceSlots::new(one).unwrap();
    let sweep = Sweep::new(open(&repo)).threads(4).read_tokens(reads.clone());
    let report = sweep.device_slots(slots).run(|_| Collector::default()).unwrap();
    assert!(seen(&report) == expected);
    assert_eq!((reads.available().count, reads.high_water().count), (1, 1));
}

#[test]
fn a_sweep_that_is_cut_says_how_many_objects_are_missing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let ids: String = (0..200)
        .map(|n| repo.write_blob(&format!("{n} ").repeat(30_000).into_bytes()))
        .map(|id| format!("{id}\n"))
        .collect();
    repo.git_with(&["pack-objects", "-q", ".git/objects/pack/pack"], ids.as_bytes());
    repo.git(&["prune-packed"]);
    let sweep = Sweep::new(open(&repo)).threads(1).decoded_bytes(5 << 20);
    let report = sweep.run(|_| Collector::default()).unwrap();
    assert!(report.cut > 0);
    assert_eq!(report.counts.accounted() + report.cut, 200);
    let cancel = heist::CancelToken::new();
    cancel.cancel();
    let report = Sweep::new(open(&repo)).cancel(cancel).run(|_| Collector::default()).unwrap();
    assert_eq!(report.counts.accounted() + report.cut, 200);
}

#[test]
fn packs_without_an_index_are_read() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        history::write(&repo, Plan::default());
        let shapes: [&[&str]; 2] = [
            &["repack", "-adfq", "--depth=4000", "--window=50"],
            &["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"],
        ];
        for shape in shapes {
            repo.git(shape);
            let expected = repo.all_objects();
            let index = repo.packs("idx").remove(0);
            let whole = std::fs::read(&index).unwrap();
            std::fs::remove_file(&index).unwrap();
            let report = Sweep::new(open(&repo)).run(|_| Collector::default()).unwrap();
            assert!(seen(&report) == expected);
            assert!(report.problems.is_empty() && report.cut == 0);
            // A damaged index is told.
            std::fs::write(&index, &whole[..whole.len() / 2]).unwrap();
            let report = Sweep::new(open(&repo)).run(|_| Collector::default()).unwrap();
            assert!(seen(&report) == expected);
            assert_eq!(report.problems.len(), 1);
            // What is behind damage in the pack cannot be found.
            let pack = index.with_extension("pack");
            let mut bytes = std::fs::read(&pack).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 300].fill(0xff);
            std::fs::remove_file(&pack).unwrap();
            std::fs::write(&pack, bytes).unwrap();
            let report = Sweep::new(open(&repo)).run(|_| Collector::default()).unwrap();
            assert!(report.problems.len() == 2 && !seen(&report).is_empty());
            std::fs::remove_file(pack).unwrap();
            std::fs::remove_file(&index).unwrap();
            history::write(&repo, Plan::default());
        }
    }
}
