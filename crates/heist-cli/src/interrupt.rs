//! [`Interrupt`]: Ctrl-C. The first one ends the walk, and what is known by then is printed; the second one, or one
//! that comes while output is written, ends the process at once.
//!
//! A process that was started with SIGINT ignored (in the background of a script) goes on ignoring it.

use crate::exit::Exit;
use crate::messages::Messages;
use heist::CancelToken;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    cancel: CancelToken,
    /// Whether there is a walk to be ended, and nobody has ended it yet.
    can_end_walk: Arc<AtomicBool>,
    /// What is removed before the process is ended at once.
    unfinished: Arc<Mutex<Option<PathBuf>>>,
}

impl Interrupt {
    /// Starts to listen. To be called once in a process.
    pub(crate) fn listen(messages: &Arc<Messages>) -> Self {
        let interrupt = Self {
            cancel: CancelToken::new(),
            can_end_walk: Arc::new(AtomicBool::new(true)),
            unfinished: Arc::default(),
        };
        let (heard, messages) = (interrupt.clone(), Arc::clone(messages));
        // It fails if SIGINT is ignored, which is to stay so, or if there is no thread to be had: then Ctrl-C does what
        // it does to any process.
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

    /// A file that is of no use unless it is finished: removed if Ctrl-C ends the process.
    pub(crate) fn remove_unfinished(&self, path: Option<&Path>) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_owned);
    }

    /// What ends the walk.
    pub(crate) fn token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// From here on, Ctrl-C ends the process.
    pub(crate) fn walk_is_over(&self) {
        self.can_end_walk.store(false, Ordering::Release);
    }
}
