//! [`WalkSettings`]: what a [`Walk`](super::Walk) was told, and the engine that follows from it.

use super::Symlinks;
use crate::counters::Progress;
use crate::disks::Disks;
use crate::engine::{DescriptorBudget, Engine, LEFT_FOR_PROGRAM};
use crate::error::WalkStartError;
use crate::filter::Filter;
use crate::sys;
use heist::{CountBudget, ExecutorConfig, OnPanic, StartError};
use std::path::PathBuf;

/// How many files may wait for [`Visitor::files`](crate::Visitor::files) by default.
const WAITING_FILES: usize = 1024;

/// The walk itself does not recurse, so nearly all of this is for the visitor. A walk may have many
/// threads, so it is not more.
const STACK_BYTES: usize = 1 << 20;

/// The settings of a walk. See the methods of [`Walk`](super::Walk).
#[derive(Debug)]
pub(crate) struct WalkSettings {
    pub(super) roots: Vec<PathBuf>,
    pub(crate) threads: Option<usize>,
    pub(super) max_threads: usize,
    pub(super) metadata: bool,
    pub(super) symlinks: Symlinks,
    pub(super) show_loops: bool,
    pub(super) same_file_system: bool,
    pub(super) max_depth: Option<usize>,
    pub(super) filter: Filter,
    pub(crate) progress: Progress,
    pub(super) raise_limit: bool,
    pub(super) max_descriptors: Option<usize>,
    pub(super) max_waiting_files: usize,
    /// The walk uses its token as its own, and sets `threads` and `on_panic` when it starts.
    pub(super) executor: ExecutorConfig,
}

/// The clone has progress counters of its own.
impl Clone for WalkSettings {
    fn clone(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            filter: self.filter.clone(),
            progress: Progress::default(),
            executor: self.executor.clone(),
            ..*self
        }
    }
}

impl WalkSettings {
    pub(super) fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots,
            threads: None,
            max_threads: usize::MAX,
            metadata: false,
            symlinks: Symlinks::default(),
            show_loops: false,
            same_file_system: false,
            max_depth: None,
            filter: Filter::default(),
            progress: Progress::default(),
            raise_limit: true,
            max_descriptors: None,
            max_waiting_files: WAITING_FILES,
            executor: ExecutorConfig::default()
                .thread_name("heist-walk")
                .stack_size(Some(STACK_BYTES)),
        }
    }

    /// Returns the executor's settings, checked, or an error. The caller still has to set
    /// `threads`.
    pub(crate) fn checked_executor(&self) -> Result<ExecutorConfig, WalkStartError> {
        let config =
            self.executor.clone().threads(self.threads.unwrap_or(1)).on_panic(OnPanic::StopPool);
        let refused =
            |error| WalkStartError::from_executor(StartError::Config(error), self.threads);
        config.validate().map_err(refused)?;
        Ok(config)
    }

    /// Turns the description into an engine, and returns how many threads the engine should have.
    pub(crate) fn into_engine(self) -> (Engine, usize) {
        if self.raise_limit {
            sys::raise_descriptor_limit();
        }
        let (disks, threads) = Disks::new(&self.roots, self.threads);
        let available = sys::descriptors_available().saturating_sub(LEFT_FOR_PROGRAM);
        let available = self.max_descriptors.map_or(available, |most| most.min(available));
        let (descriptors, affordable) = DescriptorBudget::new(available, threads);
        let most = if self.threads.is_some() { usize::MAX } else { self.max_threads };
        let threads = threads.min(affordable).min(most);
        let identify = self.same_file_system
            || self.symlinks == Symlinks::Always
            || Disks::has_mounts_below(&self.roots);
        let engine = Engine {
            roots: self.roots,
            filter: self.filter,
            symlinks: self.symlinks,
            max_depth: self
                .max_depth
                .map_or(u32::MAX, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
            same_file_system: self.same_file_system,
            metadata: self.metadata,
            identify,
            show_loops: self.show_loops,
            descriptors,
            disks,
            waiting_files: CountBudget::new(
                (self.max_waiting_files as u64).min(u64::from(u32::MAX)),
            )
            .expect("a budget of up to 2^32 is allowed"),
            // A child token: a visitor that stops the walk must not cancel everything else that
            // uses the caller's token.
            stop: self.executor.cancel.child(),
        };
        (engine, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::THREADS_MAX;
    use crate::walk::Walk;
    use heist::CancelToken;
    use std::time::Duration;

    #[test]
    fn the_limit_on_threads_is_the_one_in_the_error_message() {
        let with = |threads| Walk::new(".").threads(Some(threads)).settings.checked_executor();
        assert!(with(THREADS_MAX).is_ok());
        assert!(matches!(with(THREADS_MAX + 1), Err(WalkStartError::Threads { .. })));
    }

    #[test]
    fn the_walk_changes_only_threads_and_on_panic_of_the_executor_settings() {
        let cancel = CancelToken::new();
        let changed = ExecutorConfig::new(7)
            .seed(1)
            .steal_tries(2)
            .spin_iters(3)
            .pin_threads(true)
            .stealing(false)
            .steal_batch(4)
            .injector_batch(5)
            .lifo_slot(false)
            .lifo_stealing(false)
            .injector_interval(Some(6))
            .on_panic(OnPanic::Isolate)
            .park_backstop(Some(Duration::from_secs(8)))
            .thread_name("name")
            .stack_size(Some(1 << 21))
            .cancel(cancel.clone());
        let walk = Walk::new(".").threads(Some(3)).executor(|config| *config = changed.clone());
        let kept = walk.settings.checked_executor().unwrap();
        let expected = changed.threads(3).on_panic(OnPanic::StopPool);
        assert_eq!(format!("{kept:?}"), format!("{expected:?}"));
        cancel.cancel();
        assert!(kept.cancel.is_cancelled());
    }
}
