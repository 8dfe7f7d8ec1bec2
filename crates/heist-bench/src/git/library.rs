//! Parts of heist's scan of a history, as contenders of `git`: the hidden subcommand `git-library`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::{Args, ValueEnum};
use heist::CancelToken;
use heist_git::{
    Access, Attribution, AttributionLimits, BlobSet, CommitWalk, DeltaOp, Layout, Limits, ObjectId,
    ObjectStore, ObjectVisitor, Refs, Sweep, Tips, Trust, Visit,
};
use heist_scan::rules::RuleSet;
use heist_scan::{
    BlobScan, BlobScanner, Copied, DetectorOptions, Finding, Memory, Scan, SecretDetector, Version,
};

/// What a run does.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Part {
    /// Decodes every blob and looks at none.
    Floor,
    /// Scans every blob whole.
    Whole,
    /// Scans what changed.
    Changes,
    /// Finds the places of every hundredth blob, without a scan.
    Attribution,
}

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    part: Part,
    path: PathBuf,
    #[arg(long)]
    threads: Option<usize>,
}

/// Runs a part, and prints how many objects it has looked at.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let shown = |error: heist_git::FileError| error.to_string();
    let access = Access::new([&options.path], Trust::RootsOnly).map_err(shown)?;
    let layout = Layout::open(&options.path, &access).map_err(shown)?;
    let store = ObjectStore::open(&layout, &access, Limits::default()).map_err(shown)?;
    let store = Arc::new(store);
    let sweep = Sweep::new(Arc::clone(&store));
    let sweep = match options.threads {
        Some(threads) => sweep.threads(threads),
        None => sweep,
    };
    let started = |error: heist::StartError| error.to_string();
    let looked_at = match options.part {
        Part::Floor => {
            let report = sweep.run(|_worker| Floor).map_err(started)?;
            report.counts.accounted() - report.counts.unwanted
        }
        Part::Attribution => {
            let report = sweep.run(|_worker| Ids(Vec::new())).map_err(started)?;
            let ids = report.visitors.into_iter().flat_map(|visitor| visitor.0);
            let mut ids: Vec<ObjectId> = ids.collect();
            ids.sort_unstable();
            attribute(&layout, &access, &store, ids.into_iter().step_by(100))
        }
        part => {
            let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
            let findings = Arc::new(Mutex::new(Vec::<Finding>::new()));
            let scan = Arc::new(Scan::new(detector).blobs(findings, &CancelToken::new()));
            let report = sweep.run(move |_worker| Scanner {
                scanner: BlobScan::scanner(&scan),
                changes: part == Part::Changes,
                copies: Vec::new(),
                candidates: 0,
            });
            let visitors = report.map_err(started)?.visitors;
            visitors.iter().map(|visitor| visitor.candidates).sum()
        }
    };
    println!("{looked_at}");
    Ok(())
}

fn attribute(
    layout: &Layout,
    access: &Access,
    store: &ObjectStore,
    blobs: impl Iterator<Item = ObjectId>,
) -> u64 {
    let refs = Refs::read(layout, access);
    let mut reader = store.reader();
    let (tips, _) = Tips::read(layout, access, &refs, &mut reader, |_, _| ());
    let walk = CommitWalk::read(tips, store.hash_kind(), &mut reader, |_, _| ());
    let blobs = BlobSet::new(blobs);
    let limits = AttributionLimits::default();
    let found = Attribution::find(&walk, &blobs, &mut reader, limits, || false);
    found.places.len() as u64
}

struct Floor;

impl ObjectVisitor for Floor {
    type State = ();

    fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
        std::hint::black_box(visit.content);
        None
    }
}

struct Ids(Vec<ObjectId>);

impl ObjectVisitor for Ids {
    type State = ();

    fn visit(&mut self, visit: &Visit<'_, ()>) -> Option<()> {
        self.0.push(visit.id);
        None
    }
}

struct Scanner {
    scanner: BlobScanner<SecretDetector>,
    changes: bool,
    copies: Vec<Copied>,
    /// The number of blobs that have any.
    candidates: u64,
}

impl ObjectVisitor for Scanner {
    type State = Memory;

    fn visit(&mut self, visit: &Visit<'_, Memory>) -> Option<Memory> {
        let version = Version::new(visit.content);
        let keeps = self.changes && visit.is_base;
        let version = if keeps { version } else { version.without_memory() };
        let scanned = match visit.delta.as_ref().filter(|_| self.changes) {
            None => self.scanner.scan(version),
            Some(delta) => {
                self.copies.clear();
                let mut to = 0;
                for op in delta.ops {
                    if let DeltaOp::Copy { offset, len } = *op {
                        let (from, len) = (u64::from(offset), u64::from(len));
                        self.copies.push(Copied { from, to, len });
                    }
                    to += u64::from(op.len());
                }
                self.scanner.scan(version.based_on(delta.base, &self.copies))
            }
        };
        self.candidates += u64::from(scanned.captured_size() > 0);
        (keeps && !scanned.memory.is_empty()).then_some(scanned.memory)
    }
}
