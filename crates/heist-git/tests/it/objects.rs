//! Objects by their ids: the same as git reads, wherever they are stored.

use crate::git::{Repo, Sandbox};
use crate::history::{self, Plan};
use heist_git::{Access, HashKind, Layout, Limits, ObjectError, ObjectId, ObjectStore, Trust};

pub(crate) fn open(repo: &Repo) -> ObjectStore {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let layout = Layout::open(&repo.path, &access).unwrap();
    ObjectStore::open(&layout, &access, Limits::default()).unwrap()
}

/// Every object that git finds is read the same, in ids' order by one reader, and its header too.
#[track_caller]
fn assert_reads_all(repo: &Repo, most_problems: usize) {
    let expected = repo.all_objects();
    assert!(!expected.is_empty());
    let store = open(repo);
    assert!(store.problems().len() <= most_problems, "{:?}", store.problems());
    let mut reader = store.reader();
    for object in &expected {
        let read = reader.read(&object.id).unwrap();
        assert!(read.kind == object.kind && read.content == object.content, "{}", object.id);
        assert!(read.is_intact());
        let header = reader.header(&object.id).unwrap();
        assert_eq!(header, (object.kind, object.content.len() as u64));
    }
    // The same with nothing kept from before.
    for object in expected.iter().step_by(37) {
        assert_eq!(store.read(&object.id).unwrap().content, object.content);
    }
    let absent = HashKind::hash_object(store.hash_kind(), heist_git::ObjectKind::Blob, b"absent!");
    assert_eq!(store.read(&absent), Err(ObjectError::Missing));
    assert_eq!(store.contains(&absent), Ok(false));
}

#[test]
fn packs_of_every_shape() {
    for (seed, hash) in [(1, HashKind::Sha1), (2, HashKind::Sha256), (3, HashKind::Sha1)] {
        let sandbox = Sandbox::new();
        let repo = sandbox.init("repo", hash);
        history::write(&repo, Plan { seed, ..Plan::default() });
        assert_reads_all(&repo, 0);
        let shapes: [&[&str]; 4] = [
            &["repack", "-adfq", "--depth=250", "--window=50"],
            &["repack", "-adfq", "--depth=1"],
            &["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"],
            &["-c", "pack.indexVersion=1", "repack", "-adfq"],
        ];
        for shape in shapes {
            repo.git(shape);
            assert_reads_all(&repo, 0);
        }
    }
}

#[test]
fn loose_objects_and_several_packs() {
    let sandbox = Sandbox::new();
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let repo = sandbox.init(&format!("{hash:?}"), hash);
        for seed in 10..14 {
            let plan = Plan { seed, commits: 12, ..Plan::default() };
            let other = sandbox.init(&format!("{hash:?}{seed}"), hash);
            history::write(&other, plan);
            let branch = format!("refs/heads/b{seed}");
            repo.git(&[
                "fetch",
                "-q",
                "--no-tags",
                other.path.to_str().unwrap(),
                &format!("+main:{branch}"),
            ]);
        }
        repo.write_blob(&b"large ".repeat(100_000));
        repo.write_blob(b"");
        assert_reads_all(&repo, 0);
        repo.git(&["repack", "-q"]);
        repo.write_blob(b"one more");
        repo.git(&["multi-pack-index", "write"]);
        assert_reads_all(&repo, 0);
    }
}

#[test]
fn large_offsets_in_indexes() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    history::write(&repo, Plan::default());
    let pack = repo.packs("pack")[0].clone();
    let index = pack.with_extension("idx");
    std::fs::remove_file(&index).unwrap();
    // Every offset from 256 on is written as a large one.
    repo.git(&["index-pack", "--index-version=2,0x100", pack.to_str().unwrap()]);
    assert_reads_all(&repo, 0);
    repo.git(&["multi-pack-index", "write"]);
    assert_reads_all(&repo, 0);
}

#[test]
fn an_object_in_a_damaged_place_is_an_outcome() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let id = repo.write_blob(b"some text");
    let hex = id.to_string();
    let file = repo.git_dir().join("objects").join(&hex[..2]).join(&hex[2..]);
    let read = || open(&repo).read(&id).map(|object| object.content);
    let whole = std::fs::read(&file).unwrap();
    assert_eq!(read(), Ok(b"some text".to_vec()));
    std::fs::remove_file(&file).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&file, &whole[..cut]).unwrap();
        assert!(matches!(read(), Err(ObjectError::Corrupt(_))), "{cut}");
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(matches!(read(), Err(ObjectError::Corrupt(_))));
}

#[test]
fn what_is_larger_than_the_limit_is_not_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let loose = repo.write_blob(&[b'x'; 2000]);
    let check = |id: &ObjectId| {
        let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
        let layout = Layout::open(&repo.path, &access).unwrap();
        let mut limits = Limits::default();
        limits.object_bytes = 1999;
        let store = ObjectStore::open(&layout, &access, limits).unwrap();
        assert_eq!(store.read(id), Err(ObjectError::TooLarge { size: 2000 }));
        assert_eq!(store.header(id).unwrap().1, 2000);
    };
    check(&loose);
    repo.git_with(
        &["pack-objects", "-q", ".git/objects/pack/pack"],
        format!("{loose}\n").as_bytes(),
    );
    repo.git(&["prune-packed"]);
    check(&loose);
}
