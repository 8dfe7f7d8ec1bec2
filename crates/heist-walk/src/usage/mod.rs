//! Measures how much disk space trees take. [`measure`] walks them and adds up.
//!
//! | file | purpose |
//! |---|---|
//! | `options` | what to add up and what to keep |
//! | `size` | lengths, disk space and numbers of files, added up together |
//! | `totals` | the visitor that keeps only a sum for each root |
//! | `inodes` | compact sets of files that are already counted |
//! | `overlap` | roots inside roots |
//! | `tree_visitor`, `records`, `packed_names` | the visitor for trees, and what it keeps of an entry |
//! | `build` | builds a tree from the workers' records |
//! | `tree` | the tree |
//! | `extensions` | sums by extension |
//!
//! Invariants:
//!
//! - The result is the same for any number of threads.
//! - Unless the options say otherwise, everything that the walk reaches several times counts once,
//!   where a serial walk would reach it first. A serial walk visits the roots in the order given,
//!   names by their bytes, and the contents of a directory before the next name. This applies to
//!   files with several names, to roots inside roots, and to everything if the walk follows all
//!   links.
//!
//! A link that leads back to a directory containing it is not an error here, because that directory
//! is counted anyway. Whether a link leads back depends on the way by which a worker reached it.
//!
//! Not guaranteed, if the tree changes during the walk: that the sums were correct at any one time.

mod build;
mod extensions;
mod inodes;
mod options;
mod overlap;
mod packed_names;
mod records;
mod size;
#[cfg(all(test, target_os = "linux", not(heist_portable)))]
mod tests;
mod totals;
mod tree;
mod tree_visitor;

pub use extensions::ExtensionUsage;
pub use options::{Detail, UsageOptions};
pub use size::Size;
pub use tree::{NodeId, UsageTree};

use crate::counters::Totals;
use crate::error::{WalkError, WalkStartError};
use crate::walk::{Symlinks, Walk, WalkReport};
use build::build;
use heist::MetricsSnapshot;
use heist::trace::Tracer;
use inodes::SharedInodes;
use overlap::RootOverlap;
use records::SharedNumbering;
use std::path::PathBuf;
use std::sync::Arc;
use totals::{SharedTotals, TotalsVisitor};
use tree_visitor::{Repeats, SharedTree, TreeVisitor};

/// The result of [`measure`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Usage {
    /// The roots in the order given.
    pub roots: Vec<RootUsage>,
    /// The tree, if [requested](UsageOptions::detail).
    pub tree: Option<UsageTree>,
    /// What each extension takes, if [requested](UsageOptions::by_extension), by decreasing disk
    /// space and then by name.
    pub extensions: Vec<ExtensionUsage>,
    /// What the walk visited. A file counts once for each of its names.
    pub totals: Totals,
    /// Whether the walk ended early. Then the figures cover only a part of the trees.
    pub stopped: bool,
    /// The number of threads of the walk.
    pub threads: usize,
    /// The metrics of the executor that ran the walk.
    pub metrics: MetricsSnapshot,
    /// The number of errors reported.
    pub errors: u64,
}

impl Usage {
    /// Creates a report about `roots` in which everything else is empty.
    #[must_use]
    pub fn new(roots: impl IntoIterator<Item = RootUsage>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            tree: None,
            extensions: Vec::new(),
            totals: Totals::default(),
            stopped: false,
            threads: 0,
            metrics: MetricsSnapshot::default(),
            errors: 0,
        }
    }

    /// Returns what all roots take together.
    #[must_use]
    pub fn total(&self) -> Size {
        self.roots.iter().filter_map(|root| root.size).sum()
    }
}

/// What one root takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootUsage {
    /// The path as given to the walk.
    pub path: PathBuf,
    /// What the root takes. `None` if it could not be read at all, or if everything in it counts
    /// for earlier roots.
    pub size: Option<Size>,
    /// The root's node in the tree, if there is one.
    pub node: Option<NodeId>,
}

impl RootUsage {
    /// Creates the report of a root that takes `size` and is not in a tree.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, size: Option<Size>) -> Self {
        Self { path: path.into(), size, node: None }
    }
}

/// A callback for errors.
trait OnError: Fn(&WalkError) + Send + Sync + 'static {}

impl<F: Fn(&WalkError) + Send + Sync + 'static> OnError for F {}

/// Walks trees and adds up how much disk space they take.
///
/// The walk reads metadata even if the caller did not enable it. `on_error` receives everything
/// that could not be visited, on the worker threads and several at a time. The rest is measured.
///
/// ```
/// use heist_walk::Walk;
/// use heist_walk::usage::{Detail, UsageOptions, measure};
///
/// let options = UsageOptions::new().detail(Detail::Directories);
/// let usage = measure(Walk::new("src"), &options, |error| eprintln!("{error}"))?;
/// let tree = usage.tree.expect("the options request a tree");
/// for root in tree.roots() {
///     for directory in tree.children(root) {
///         println!("{:10} {}", tree.size(directory).allocated, tree.path(directory).display());
///     }
/// }
/// # Ok::<(), heist_walk::WalkStartError>(())
/// ```
///
/// # Errors
///
/// See [`Walk::run`].
///
/// # Panics
///
/// Rethrows a panic of `on_error`.
pub fn measure(
    walk: Walk<impl Tracer>,
    options: &UsageOptions,
    on_error: impl Fn(&WalkError) + Send + Sync + 'static,
) -> Result<Usage, WalkStartError> {
    // If all links are followed and nothing counts twice, the visitors remember every directory.
    // They have to see everything that leads to a directory, even from below it, because only the
    // end shows which way comes first.
    let walk = walk.metadata(true).show_loops(!options.count_links);
    let symlinks = walk.followed_symlinks();
    let overlap = if options.count_links {
        RootOverlap::default()
    } else {
        RootOverlap::of(walk.roots(), symlinks)
    };
    if needs_tree(&walk, options, &overlap) {
        measure_tree(walk, options, overlap, on_error)
    } else {
        measure_totals(walk, options, overlap, on_error)
    }
}

/// Returns `true` if a sum per root is not enough, because the caller wants more or because only a
/// tree shows what comes first.
fn needs_tree(walk: &Walk<impl Tracer>, options: &UsageOptions, overlap: &RootOverlap) -> bool {
    let roots = walk.roots().len();
    let is_followed = walk.followed_symlinks() == Symlinks::Always;
    options.detail != Detail::Total
        || options.by_extension
        || (!options.count_links
            && (overlap.any || (roots > 1 && is_followed) || u16::try_from(roots).is_err()))
}

fn measure_totals(
    walk: Walk<impl Tracer>,
    options: &UsageOptions,
    overlap: RootOverlap,
    on_error: impl OnError,
) -> Result<Usage, WalkStartError> {
    let paths = walk.roots().to_vec();
    let roots = paths.len();
    let shared = Arc::new(SharedTotals {
        counted: (!options.count_links).then(|| SharedInodes::new(roots > 1)),
        all_may_repeat: !options.count_links && walk.followed_symlinks() == Symlinks::Always,
        roots: overlap.identities,
    });
    let on_error = Arc::new(on_error);
    let report =
        walk.run(move |_thread| TotalsVisitor::new(Arc::clone(&shared), Arc::clone(&on_error)))?;
    let sums = TotalsVisitor::merge(roots, &report.visitors);
    let roots = paths.into_iter().zip(sums);
    let roots = roots.map(|(path, size)| RootUsage::new(path, size)).collect();
    let loops = report.visitors.iter().map(TotalsVisitor::loops).sum();
    Ok(usage_of(report, roots, loops))
}

fn measure_tree(
    walk: Walk<impl Tracer>,
    options: &UsageOptions,
    overlap: RootOverlap,
    on_error: impl OnError,
) -> Result<Usage, WalkStartError> {
    let paths = walk.roots().to_vec();
    let has_tree = options.detail != Detail::Total;
    let shared = Arc::new(SharedTree {
        numbering: SharedNumbering::default(),
        keep_files: options.detail == Detail::Files,
        by_extension: options.by_extension,
        repeats: (!options.count_links).then(|| Repeats {
            over_links: walk.followed_symlinks() == Symlinks::Always,
            roots: overlap.identities,
            entered: SharedInodes::new(false),
        }),
    });
    let on_error = Arc::new(on_error);
    let visitors_share = Arc::clone(&shared);
    let mut report = walk
        .run(move |_thread| TreeVisitor::new(Arc::clone(&visitors_share), Arc::clone(&on_error)))?;
    let records: Vec<_> = report.visitors.drain(..).map(TreeVisitor::into_records).collect();
    let loops = records.iter().map(|records| records.loops).sum();
    let built = build(records, &shared, paths.len());
    let roots = paths.into_iter().zip(&built.roots).map(|(path, placed)| RootUsage {
        path,
        size: placed.map(|(_, size)| size),
        node: placed.filter(|_| has_tree).map(|(id, _)| NodeId(id)),
    });
    let mut usage = usage_of(report, roots.collect(), loops);
    usage.tree = has_tree.then_some(built.tree);
    usage.extensions = built.extensions.into_sorted();
    Ok(usage)
}

/// Makes the report. `loops` of the walk's errors are links that lead back, which do not count as
/// errors here.
fn usage_of<V>(report: WalkReport<V>, roots: Vec<RootUsage>, loops: u64) -> Usage {
    let errors = report.totals.errors.saturating_sub(loops);
    Usage {
        totals: Totals { errors, ..report.totals },
        stopped: report.stopped,
        threads: report.threads,
        errors,
        metrics: report.metrics,
        ..Usage::new(roots)
    }
}
