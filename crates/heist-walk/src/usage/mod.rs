//! How much room trees take: [`measure`] walks, and adds up.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what is added up, and what is kept |
//! | `size` | lengths, room on the disk and numbers of files, added up together |
//! | `totals` | the visitor that keeps nothing but a sum for each root |
//! | `inodes` | compact sets of files: those that were counted |
//! | `overlap` | roots in roots |
//! | `tree_visitor`, `record`, `names` | the visitor for trees, and what it keeps of an entry |
//! | `build` | from what the workers have found to a tree |
//! | `tree` | the tree |
//! | `extensions` | sums by extension |
//!
//! Invariants:
//! - the result is the same for any number of workers;
//! - unless the options say otherwise, whatever the walk comes to several times counts once, where a serial walk
//!   would come to it first: roots in the order given, names by their bytes, what is in a directory before the next
//!   name. That goes for files with several names, for roots in roots, and in a walk that follows all links for
//!   everything.
//!
//! A link that leads back to a directory that it is in is no error here: what it leads to is counted already. For the
//! walk of one worker it leads back, for that of another, who came from elsewhere, it does not.
//!
//! Not guaranteed, while others change the tree: that the sums were right at any one time.

mod build;
mod extensions;
mod inodes;
mod names;
mod options;
mod overlap;
mod record;
mod size;
#[cfg(all(test, target_os = "linux", not(heist_portable)))]
mod tests;
mod totals;
mod tree;
mod tree_visitor;

pub use options::{Detail, UsageOptions};
pub use size::Size;
pub use tree::{NodeId, UsageTree};

use crate::counters::Totals;
use crate::error::WalkError;
use crate::walk::{Symlinks, Walk, WalkStartError, Walked};
use build::build;
use heist::MetricsSnapshot;
use heist::trace::{NoTrace, Tracer};
use inodes::SharedInodes;
use overlap::Overlap;
use record::Numbers;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use totals::{SharedTotals, TotalsVisitor};
use tree_visitor::{Repeats, SharedTree, TreeVisitor};

/// What a measurement came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Usage {
    /// The roots, in the order given.
    pub roots: Vec<RootUsage>,
    /// Every directory or file, if [asked for](UsageOptions::detail).
    pub tree: Option<UsageTree>,
    /// If [asked for](UsageOptions::by_extension): each extension (in lower case; empty for files that have none), what
    /// these files take, and how many they are. Sorted by what they take on the disk, the largest first, then by name.
    pub extensions: Vec<(OsString, Size, u64)>,
    /// What the walk visited. Files with several names are in it each time.
    pub totals: Totals,
    /// Whether the walk ended early, so that this is only a part.
    pub stopped: bool,
    /// How many workers it had.
    pub threads: usize,
    /// What the executor did.
    pub metrics: MetricsSnapshot,
    /// How many errors were reported.
    pub errors: u64,
}

impl Usage {
    /// What all roots take together.
    #[must_use]
    pub fn total(&self) -> Size {
        self.roots.iter().filter_map(|root| root.size).sum()
    }
}

/// One root of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootUsage {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// What it takes; `None` if it could not be read at all, or everything in it is counted for earlier roots.
    pub size: Option<Size>,
    /// Its place in the tree, if there is one.
    pub node: Option<NodeId>,
}

/// Somebody who wants to know of errors as they come.
trait OnError: Fn(&WalkError) + Send + Sync + 'static {}

impl<F: Fn(&WalkError) + Send + Sync + 'static> OnError for F {}

/// Walks, and adds up. The walk asks for metadata, whether or not it was told to.
///
/// `on_error` is called on the workers, several of them at a time, for what could not be visited; the rest is measured.
///
/// ```
/// use heist_walk::Walk;
/// use heist_walk::usage::{Detail, UsageOptions, measure};
///
/// let options = UsageOptions::new().detail(Detail::Directories);
/// let usage = measure(Walk::new("src"), &options, |error| eprintln!("{error}"))?;
/// let tree = usage.tree.expect("asked for");
/// for root in tree.roots() {
///     for directory in tree.children(root) {
///         println!("{:10} {}", tree.size(directory).allocated, tree.path(directory).display());
///     }
/// }
/// # Ok::<(), heist_walk::WalkStartError>(())
/// ```
///
/// # Errors
/// As [`Walk::run`].
///
/// # Panics
/// Rethrows a panic of `on_error`.
pub fn measure(
    walk: Walk,
    options: &UsageOptions,
    on_error: impl Fn(&WalkError) + Send + Sync + 'static,
) -> Result<Usage, WalkStartError> {
    measure_traced(walk, options, NoTrace, on_error)
}

/// [`measure`], watched by a tracer.
///
/// # Errors
/// As [`Walk::run`].
///
/// # Panics
/// As [`measure`].
pub fn measure_traced(
    walk: Walk,
    options: &UsageOptions,
    tracer: impl Tracer,
    on_error: impl Fn(&WalkError) + Send + Sync + 'static,
) -> Result<Usage, WalkStartError> {
    // If all links are followed, and nothing counts twice, the visitors remember every directory. They have to be shown
    // all that leads to one, also from below: which of them comes first shows only at the end.
    let walk = walk.metadata(true).show_loops(!options.count_links);
    let symlinks = walk.followed_symlinks();
    let overlap =
        if options.count_links { Overlap::default() } else { Overlap::of(walk.roots(), symlinks) };
    if needs_tree(&walk, options, &overlap) {
        measure_tree(walk, options, overlap, tracer, on_error)
    } else {
        measure_totals(walk, options, overlap, tracer, on_error)
    }
}

/// Whether sums are not enough: for what the caller wants, or because only a tree tells what comes first.
fn needs_tree(walk: &Walk, options: &UsageOptions, overlap: &Overlap) -> bool {
    let roots = walk.roots().len();
    let is_followed = walk.followed_symlinks() == Symlinks::Always;
    options.detail != Detail::Total
        || options.by_extension
        || (!options.count_links
            && (overlap.any || (roots > 1 && is_followed) || u16::try_from(roots).is_err()))
}

fn measure_totals(
    walk: Walk,
    options: &UsageOptions,
    overlap: Overlap,
    tracer: impl Tracer,
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
    let walked = walk.run_traced(tracer, move |_worker| {
        TotalsVisitor::new(Arc::clone(&shared), Arc::clone(&on_error))
    })?;
    let sums = TotalsVisitor::merge(roots, &walked.visitors);
    let roots = paths.into_iter().zip(sums);
    let roots = roots.map(|(path, size)| RootUsage { path, size, node: None }).collect();
    let loops = walked.visitors.iter().map(TotalsVisitor::loops).sum();
    Ok(usage_of(walked, roots, loops))
}

fn measure_tree(
    walk: Walk,
    options: &UsageOptions,
    overlap: Overlap,
    tracer: impl Tracer,
    on_error: impl OnError,
) -> Result<Usage, WalkStartError> {
    let paths = walk.roots().to_vec();
    let has_tree = options.detail != Detail::Total;
    let shared = Arc::new(SharedTree {
        numbers: Numbers::default(),
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
    let mut walked = walk.run_traced(tracer, move |_worker| {
        TreeVisitor::new(Arc::clone(&visitors_share), Arc::clone(&on_error))
    })?;
    let found: Vec<_> = walked.visitors.drain(..).map(TreeVisitor::into_found).collect();
    let loops = found.iter().map(|found| found.loops).sum();
    let built = build(found, &shared, paths.len());
    let roots = paths.into_iter().zip(&built.roots).map(|(path, placed)| RootUsage {
        path,
        size: placed.map(|(_, size)| size),
        node: placed.filter(|_| has_tree).map(|(id, _)| NodeId(id)),
    });
    let mut usage = usage_of(walked, roots.collect(), loops);
    usage.tree = has_tree.then_some(built.tree);
    usage.extensions = built.extensions.into_sorted();
    Ok(usage)
}

/// `loops` of the walk's errors are none.
fn usage_of<V>(walked: Walked<V>, roots: Vec<RootUsage>, loops: u64) -> Usage {
    let errors = walked.totals.errors.saturating_sub(loops);
    Usage {
        roots,
        tree: None,
        extensions: Vec::new(),
        totals: Totals { errors, ..walked.totals },
        stopped: walked.stopped,
        threads: walked.threads,
        errors,
        metrics: walked.metrics,
    }
}
