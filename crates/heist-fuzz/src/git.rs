//! The readers of `heist-git`, each on a file of a repository that is otherwise intact.
//!
//! | target | the input is | checked beside "no panic" |
//! |---|---|---|
//! | `git_pack` | a pack without an index | every visited object has the id of its content |
//! | `git_index` | an index | single objects are what the sweep saw |
//! | `git_midx` | a multi-pack index | the sweep sees all objects |
//! | `git_commit_graph` | a commit-graph | |
//! | `git_inflate` | two bytes for the size, and a zlib stream | the same as miniz_oxide inflates |
//!
//! Each target also checks that every object has an outcome.

use crate::seeds::git::sample;
use heist_git::{
    Access, CommitGraph, Layout, Limits, ObjectId, ObjectKind, ObjectStore, ObjectVisitor, Sweep,
    SweepReport, Trust, Visit,
};
use std::fs;
use std::path::Path;

/// A repository in a temporary directory.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    /// Makes a repository with these files below `objects`.
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &Path, content: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, content).expect("a file");
        };
        write(Path::new("HEAD"), b"ref: refs/heads/main\n");
        for (name, content) in files {
            write(&Path::new("objects").join(name), content);
        }
        Self { folder }
    }

    fn open(&self) -> (Layout, Access) {
        let access = Access::new([self.folder.path()], Trust::RootsOnly).expect("it exists");
        (Layout::open(self.folder.path(), &access).expect("a repository"), access)
    }

    fn store(&self) -> ObjectStore {
        let (layout, access) = self.open();
        let mut limits = Limits::default();
        limits.object_bytes = 1 << 20;
        ObjectStore::open(&layout, &access, limits).expect("a directory of objects")
    }

    fn sweep(&self) -> SweepReport<Collector> {
        let sweep = Sweep::new(self.store()).threads(1);
        let report = sweep.run(|_| Collector::default()).expect("a thread");
        assert_eq!(report.cut, 0, "objects without an outcome");
        report
    }
}

#[derive(Default)]
struct Collector(Vec<(ObjectId, ObjectKind, Vec<u8>)>);

impl ObjectVisitor for Collector {
    type State = ();

    fn wants(&self, _kind: ObjectKind) -> bool {
        true
    }

    fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
        if self.0.len() < 10_000 {
            self.0.push((visit.id, visit.kind, visit.content.to_vec()));
        }
        Some(())
    }
}

/// Fuzzes packs.
pub fn pack(data: &[u8]) {
    let report = Repository::new(&[("pack/pack-1.pack", data)]).sweep();
    for (id, kind, content) in report.visitors.iter().flat_map(|visitor| &visitor.0) {
        assert_eq!(id.hash_kind().hash_object(*kind, content), *id);
    }
}

/// Fuzzes indexes.
pub fn index(data: &[u8]) {
    let (pack, _index) = sample(0);
    let files: [(&str, &[u8]); 2] = [("pack/pack-1.pack", &pack), ("pack/pack-1.idx", data)];
    let repository = Repository::new(&files);
    let report = repository.sweep();
    let store = repository.store();
    for (id, kind, content) in report.visitors.iter().flat_map(|visitor| &visitor.0) {
        let read = store.read(id);
        // Otherwise the index was not used.
        if report.problems.is_empty() {
            let read = read.expect("the sweep has read it");
            assert!(read.kind == *kind && read.content == *content, "{id}");
        }
    }
}

/// Fuzzes multi-pack indexes.
pub fn midx(data: &[u8]) {
    let (pack, index) = sample(0);
    let files: [(&str, &[u8]); 3] =
        [("pack/pack-1.pack", &pack), ("pack/pack-1.idx", &index), ("pack/multi-pack-index", data)];
    let repository = Repository::new(&files);
    let report = repository.sweep();
    assert_eq!(report.counts.unreadable, 0);
    let store = repository.store();
    let mut seen = 0;
    for (id, ..) in report.visitors.iter().flat_map(|visitor| &visitor.0) {
        let _ = (store.read(id), store.header(id));
        seen += 1;
    }
    assert_eq!(seen, crate::seeds::git::SAMPLE_OBJECTS);
}

/// Fuzzes commit-graphs.
pub fn commit_graph(data: &[u8]) {
    let repository = Repository::new(&[("info/commit-graph", data)]);
    let (layout, access) = repository.open();
    let Ok(Some(graph)) = CommitGraph::open(&layout, &access) else { return };
    for position in 0..graph.len().min(1000) as u32 {
        let commit = graph.commit_at(position);
        for parent in commit.iter().flat_map(|commit| &commit.parents) {
            assert!(graph.id_at(*parent).is_ok(), "a parent that does not exist");
        }
        if let Ok(id) = graph.id_at(position) {
            let _ = graph.find(&id);
        }
    }
}

/// Fuzzes the decoder of zlib streams, in one piece and in many, against another one.
pub fn inflate(data: &[u8]) {
    let Some((size, stream)) = data.split_first_chunk::<2>() else { return };
    let size = usize::from(u16::from_le_bytes(*size));
    let expected = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stream, size)
        .ok()
        .filter(|content| content.len() == size);
    let mut decoder = sirocco::inflate::Decoder::new(sirocco::Format::Zlib);
    let mut out = vec![0; size];
    let whole = decoder.decompress(stream, &mut out, true);
    let whole = whole.is_ok_and(|progress| progress.done && progress.output.len() == size);
    assert_eq!(whole.then_some(&out), expected.as_ref(), "in one piece");

    decoder.reset();
    let mut out = vec![0; size];
    let (mut written, mut is_done) = (0, false);
    'pieces: for (number, piece) in stream.chunks(1 + size % 7).enumerate() {
        let is_last = (number + 1) * (1 + size % 7) >= stream.len();
        let mut rest = piece;
        while !rest.is_empty() {
            match decoder.decompress(rest, &mut out, is_last) {
                Ok(progress) => {
                    written += progress.output.len();
                    rest = &rest[progress.consumed..];
                    is_done = progress.done;
                    if is_done || progress.full && progress.consumed == 0 {
                        break 'pieces;
                    }
                }
                Err(_) => break 'pieces,
            }
        }
    }
    let in_pieces = is_done && written == size;
    assert_eq!(in_pieces.then_some(&out), expected.as_ref(), "in pieces");
}
