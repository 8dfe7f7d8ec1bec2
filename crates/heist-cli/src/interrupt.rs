//! [`Interrupt`]: Ctrl-C.
//!
//! The first Ctrl-C ends the walk, and heist prints the results so far. A second one, or one that
//! arrives while heist writes its output, ends the process immediately. A process that was started
//! with SIGINT ignored (a background job of a script) keeps ignoring it.

use crate::exit::Exit;
use crate::messages::Messages;
use heist::CancelToken;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Cancels the walk, or ends the process, on Ctrl-C.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    cancel: CancelToken,
    /// Whether the next Ctrl-C cancels the walk; if not, it ends the process.
    can_end_walk: Arc<AtomicBool>,
    /// An unfinished file, which the handler removes before it ends the process.
    unfinished: Arc<Mutex<Option<PathBuf>>>,
}

impl Interrupt {
    /// Installs the handler. Call this at most once per process.
    pub(crate) fn listen(messages: &Arc<Messages>) -> Self {
        let interrupt = Self {
            cancel: CancelToken::new(),
            can_end_walk: Arc::new(AtomicBool::new(true)),
            unfinished: Arc::default(),
        };
        let (heard, messages) = (interrupt.clone(), Arc::clone(messages));
        // This fails if SIGINT is ignored, which must stay so, or if the handler's thread cannot be
        // started; then Ctrl-C ends heist as it ends any process.
        let _ = ctrlc::try_set_handler(move || {
            if heard.can_end_walk.swap(false, Ordering::AcqRel) {
                heard.cancel.cancel();
            } else {
                messages.erase_without_waiting();
                let unfinished = heard.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(path) = &*unfinished {
                    let _ = std::fs::remove_file(path);
                }
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
        });
        interrupt
    }

    /// Sets the unfinished file that is removed if Ctrl-C ends the process.
    pub(crate) fn remove_unfinished(&self, path: Option<&Path>) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_owned);
    }

    /// Returns the token that the first Ctrl-C cancels.
    pub(crate) fn token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// From now on, Ctrl-C ends the process.
    pub(crate) fn walk_is_over(&self) {
        self.can_end_walk.store(false, Ordering::Release);
    }
}
