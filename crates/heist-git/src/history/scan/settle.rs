//! [`Settling`]: turns kept objects and their places into findings.
//!
//! One secret in a hundred versions of a file is one finding. So the kept objects are reported
//! twice: the first time to learn which version of each secret counts and what became of it, the
//! second time to pass that version on. Nothing but a few numbers per secret is kept in between.

use heist_scan::{Confidence, Finding, Fingerprint, HistoryPlace, ObjectOutcome, Outcome, Sink};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A secret at a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SecretAt {
    path: Arc<[u8]>,
    fingerprint: Fingerprint,
    /// Allowed, hidden and other findings are reported separately, so they are chosen separately.
    allowed: bool,
    hidden: bool,
}

/// Which version of a secret counts, and all versions that have it.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) confidence: Confidence,
    /// The number of the place.
    pub(super) place: usize,
    /// The numbers of all places with the secret at the same path.
    pub(super) places: Vec<u32>,
}

/// The place that is reported at the moment.
#[derive(Clone, Debug, Default)]
struct Current {
    number: usize,
    path: Option<Arc<[u8]>>,
    /// Given in the second pass.
    history: Option<Arc<HistoryPlace>>,
}

#[derive(Default)]
struct State {
    current: Current,
    chosen: HashMap<SecretAt, Chosen>,
    /// The secrets that messages have.
    in_messages: HashSet<(Fingerprint, bool, bool)>,
    emitted: u64,
    left_out: u64,
}

/// A sink between the scan and the caller's sink.
pub(super) struct Settling {
    sink: Arc<dyn Sink>,
    state: Mutex<State>,
}

impl Settling {
    pub(super) fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says which place the following findings have. In the second pass, `history` is given.
    pub(super) fn set_place(
        &self,
        number: usize,
        path: Option<Arc<[u8]>>,
        history: Option<Arc<HistoryPlace>>,
    ) {
        self.state().current = Current { number, path, history };
    }

    /// Returns what the first pass has found out.
    pub(super) fn chosen(&self) -> Vec<Chosen> {
        let mut chosen: Vec<Chosen> = self.state().chosen.values().cloned().collect();
        chosen.sort_unstable_by_key(|chosen| chosen.place);
        chosen
    }

    /// Returns the number of findings that were passed on, and of those that were left out.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.state();
        (state.emitted, state.left_out)
    }
}

impl Sink for Settling {
    fn finding(&self, mut finding: Finding) {
        // Rules about names alone have matches without a text. A history has too many names.
        if finding.offset.is_empty() {
            return;
        }
        let mut state = self.state();
        let (allowed, hidden) = (finding.allowed, finding.standing.is_hidden());
        let Current { number, path, history } = state.current.clone();
        let is_chosen = match (path, &history) {
            (Some(path), None) => {
                let at = SecretAt { path, fingerprint: finding.fingerprint, allowed, hidden };
                let chosen = state.chosen.entry(at).or_insert(Chosen {
                    confidence: finding.confidence,
                    place: number,
                    places: Vec::new(),
                });
                if finding.confidence > chosen.confidence {
                    (chosen.confidence, chosen.place) = (finding.confidence, number);
                }
                if chosen.places.last() != Some(&(number as u32)) {
                    chosen.places.push(number as u32);
                }
                false
            }
            (Some(path), Some(_)) => {
                let at = SecretAt { path, fingerprint: finding.fingerprint, allowed, hidden };
                // Removed, so that a second occurrence in the same version is not a second finding.
                let is_chosen = state.chosen.get(&at).is_some_and(|chosen| {
                    chosen.place == number && chosen.confidence == finding.confidence
                });
                if is_chosen {
                    state.chosen.remove(&at);
                }
                is_chosen
            }
            (None, _) => state.in_messages.insert((finding.fingerprint, allowed, hidden)),
        };
        if is_chosen {
            state.emitted += 1;
            drop(state);
            finding.history = history;
            self.sink.finding(finding);
        }
    }

    fn object(&self, outcome: &ObjectOutcome<'_>) {
        let mut state = self.state();
        if let (Outcome::FindingsCut { left_out }, Some(_)) =
            (outcome.outcome, &state.current.history)
        {
            state.left_out += left_out;
        }
    }
}
