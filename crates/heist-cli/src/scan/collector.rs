//! [`Collector`]: takes the findings of a scan, from all workers at once, and keeps or writes those that are reported.
//!
//! Invariants: what is less sure than wanted or known already is counted, not kept. Lines that are streamed are taken
//! whole, so those of several workers do not mix. When the output fails, the scan is ended: nobody would hear of the
//! rest.
//!
//! What is kept grows with the findings that are reported, up to a limit, and not with the tree. Secrets are not kept,
//! but for `--show-secrets`.

use super::format::jsonl;
use super::kept::Kept;
use super::masker::Masker;
use super::output::Output;
use super::place::Place;
use super::stream::Stream;
use super::summary::Unreported;
use super::suppression::{Known, Suppression};
use heist::CancelToken;
use heist_scan::{Confidence, Finding, Sink};
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is done with findings.
#[derive(Debug)]
pub(crate) struct Collector {
    suppression: Suppression,
    confidence: Confidence,
    show_secrets: bool,
    /// Hides in excerpts what was not looked for.
    masker: Option<Masker>,
    /// Whether a `./` before paths is left out: nobody asked for it.
    strips_dot: bool,
    /// Whether findings are written as they come.
    streams: bool,
    /// Ends the scan.
    cancel: CancelToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    target: Target,
    unreported: Unreported,
    /// How many places are reported.
    reported: u64,
}

#[derive(Debug)]
enum Target {
    Kept(Kept),
    Streamed(Stream),
    /// Nothing more can be written.
    Failed(io::Error),
}

/// What came of a scan.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) unreported: Unreported,
    pub(crate) reported: u64,
    /// In order. Empty if they were streamed.
    pub(crate) places: Vec<Place>,
    /// What they were streamed to, or why it failed.
    pub(crate) streamed: Option<io::Result<Output>>,
}

impl Collector {
    /// Keeps findings, or writes each to `stream` as soon as it is there. `looks_for_less`: there may be secrets beside
    /// them that were not looked for.
    pub(crate) fn new(
        suppression: Suppression,
        confidence: Confidence,
        show_secrets: bool,
        looks_for_less: bool,
        strips_dot: bool,
        stream: Option<Stream>,
        cancel: CancelToken,
    ) -> Self {
        let streams = stream.is_some();
        let target = match stream {
            None => Target::Kept(Kept::default()),
            Some(stream) => Target::Streamed(stream),
        };
        let state = State { target, unreported: Unreported::default(), reported: 0 };
        let state = Mutex::new(state);
        let masker = (looks_for_less && !show_secrets).then(Masker::default);
        Self { suppression, confidence, show_secrets, masker, strips_dot, streams, cancel, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is behind the lock is right after each step, whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, place: &Place, line: &mut Vec<u8>) {
        line.clear();
        let made = jsonl::write(place, line);
        let mut state = self.state();
        if let Target::Streamed(stream) = &mut state.target {
            let written = made.and_then(|()| stream.push(line));
            state.reported += 1;
            self.end_if_failed(&mut state, written);
        }
    }

    /// Writes what waits to be written.
    pub(super) fn flush(&self) {
        let mut state = self.state();
        if let Target::Streamed(stream) = &mut state.target {
            let written = stream.flush();
            self.end_if_failed(&mut state, written);
        }
    }

    /// From now on nothing waits to be written.
    pub(super) fn write_through(&self) {
        if let Target::Streamed(stream) = &mut self.state().target {
            stream.write_through();
        }
    }

    fn end_if_failed(&self, state: &mut State, written: io::Result<()>) {
        if let Err(error) = written {
            state.target = Target::Failed(error);
            self.cancel.cancel();
        }
    }

    /// What came of it; for when the scan is over.
    pub(crate) fn take(&self) -> Collected {
        let mut state = self.state();
        let target = std::mem::replace(&mut state.target, Target::Kept(Kept::default()));
        let (places, streamed) = match target {
            Target::Kept(kept) => {
                let (places, left_out) = kept.into_sorted();
                state.unreported.too_many = left_out;
                (places, None)
            }
            Target::Streamed(stream) => (Vec::new(), Some(stream.finish())),
            Target::Failed(error) => (Vec::new(), Some(Err(error))),
        };
        Collected { unreported: state.unreported, reported: state.reported, places, streamed }
    }
}

impl Sink for Collector {
    fn finding(&self, mut finding: Finding) {
        // Known ones first: what is allowed is not a thing to be looked at with `--confidence low`.
        let known = self.suppression.check(&finding);
        if known.is_some() || finding.confidence < self.confidence {
            let unreported = &mut self.state().unreported;
            match known {
                None => unreported.unsure += 1,
                Some(Known::Allowed) => unreported.allowed += 1,
                Some(Known::InBaseline) => unreported.in_baseline += 1,
                Some(Known::Ignored) => unreported.ignored += 1,
                Some(Known::Own) => unreported.own += 1,
            }
            return;
        }
        let path = match finding.path.strip_prefix(".") {
            Ok(below) if self.strips_dot && !below.as_os_str().is_empty() => {
                Arc::<Path>::from(below)
            }
            _ => Arc::clone(&finding.path),
        };
        if let Some(masker) = &self.masker {
            finding.excerpt = masker.mask(&finding);
        }
        let place = Place::new(finding, path, self.show_secrets);
        if self.streams {
            LINE.with_borrow_mut(|line| self.write(&place, line));
            return;
        }
        let mut state = self.state();
        if let Target::Kept(kept) = &mut state.target {
            kept.push(place);
            state.reported += 1;
        }
    }
}

thread_local! {
    /// Each worker makes its lines in its own time, before it asks for the lock.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
