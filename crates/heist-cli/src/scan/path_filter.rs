//! [`PathFilter`]: applies the filter of the settings to files that no walk visits, and counts what
//! it leaves out.

use heist_scan::ScanReport;
use heist_walk::{Filter, PathExclusion};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Decides which files of a diff, or of an index, are scanned. Clones share the counts.
#[derive(Clone, Debug)]
pub(super) struct PathFilter {
    filter: Filter,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: AtomicU64,
    by_counted_globs: AtomicU64,
    hidden: AtomicU64,
}

impl PathFilter {
    pub(super) fn new(filter: &Filter) -> Self {
        Self { filter: filter.clone(), counts: Arc::default() }
    }

    /// Returns `true` if the file is to be scanned, and counts it otherwise. (The settings have
    /// built the matchers already, so a filter that cannot decide does not get here.)
    pub(super) fn wants(&self, path: &Path) -> bool {
        let Ok(Some(by)) = self.filter.exclusion(path) else { return true };
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        count(&self.counts.all);
        match by {
            PathExclusion::CountedGlob => _ = count(&self.counts.by_counted_globs),
            PathExclusion::Hidden => _ = count(&self.counts.hidden),
            _ => {}
        }
        false
    }

    /// Adds the counts to the report of the scan.
    pub(super) fn add_to(&self, report: &mut ScanReport) {
        let Counts { all, by_counted_globs, hidden } = &*self.counts;
        report.filtered += all.load(Ordering::Relaxed);
        report.filtered_by_counted_globs += by_counted_globs.load(Ordering::Relaxed);
        report.filtered_hidden += hidden.load(Ordering::Relaxed);
    }
}
