//! Reads a Chrome trace: what each worker did, and when.

use crate::scan::{SEARCH_FILE, SEARCH_OBJECT, WRITE};
use serde_json::Value;
use std::error::Error;

/// What a worker did in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SliceKind {
    File,
    Object,
    Poll,
    Turn,
    Parked,
}

/// A slice of a worker's time, in milliseconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) worker: usize,
    pub(crate) kind: SliceKind,
    pub(crate) start: f64,
    pub(crate) end: f64,
}

/// The slices of a run, from its first task or poll to the end of its last.
pub(crate) struct Slices {
    pub(crate) all: Vec<Slice>,
    pub(crate) end: f64,
}

impl Slices {
    /// Reads a trace.
    pub(crate) fn read(json: &[u8]) -> Result<Self, Box<dyn Error>> {
        let events: Vec<Value> = serde_json::from_slice(json)?;
        let mut all: Vec<Slice> = events.iter().filter_map(slice).collect();
        let work = || all.iter().filter(|slice| slice.kind != SliceKind::Parked);
        let began = work().map(|slice| slice.start).fold(f64::INFINITY, f64::min);
        let ended = work().map(|slice| slice.end).fold(0.0, f64::max);
        if began > ended {
            return Err("the trace contains no task".into());
        }
        for slice in &mut all {
            // Workers are parked before the run begins, and one of them after it ends.
            slice.start = slice.start.clamp(began, ended) - began;
            slice.end = slice.end.clamp(began, ended) - began;
        }
        all.retain(|slice| slice.end > slice.start);
        all.sort_by(|one, other| one.start.total_cmp(&other.start));
        Ok(Self { all, end: ended - began })
    }

    pub(crate) fn of(&self, worker: usize, kind: SliceKind) -> impl Iterator<Item = &Slice> {
        self.all.iter().filter(move |slice| slice.worker == worker && slice.kind == kind)
    }

    /// Returns the time that a worker spent in slices of this kind, and their number.
    pub(crate) fn total(&self, worker: usize, kind: SliceKind) -> (f64, usize) {
        let time = self.of(worker, kind).map(|slice| slice.end - slice.start).sum();
        (time, self.of(worker, kind).count())
    }
}

/// Converts an event, if it is a slice.
fn slice(event: &Value) -> Option<Slice> {
    let (category, name) = (event["cat"].as_str()?, event["name"].as_str()?);
    let kind = match category {
        "parked" => SliceKind::Parked,
        "poll" => SliceKind::Poll,
        _ if name.starts_with(SEARCH_FILE) => SliceKind::File,
        _ if name.starts_with(SEARCH_OBJECT) => SliceKind::Object,
        _ if name.starts_with(WRITE) => SliceKind::Turn,
        _ => return None,
    };
    let start = event["ts"].as_f64()? / 1e3;
    let end = start + event["dur"].as_f64()? / 1e3;
    Some(Slice { worker: event["tid"].as_u64()? as usize, kind, start, end })
}
