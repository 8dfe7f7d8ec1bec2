//! What a Chrome trace says about a run: what each worker did, from when to when.

use crate::scan::{SEARCH_FILE, SEARCH_OBJECT, WRITE};
use serde_json::Value;
use std::error::Error;

/// What a worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Object,
    Poll,
    Turn,
    Parked,
}

/// Times are in milliseconds since the run began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) worker: usize,
    pub(crate) kind: Kind,
    pub(crate) start: f64,
    pub(crate) end: f64,
}

/// A run: from its first task or poll to the end of its last.
pub(crate) struct Slices {
    pub(crate) all: Vec<Slice>,
    pub(crate) end: f64,
}

impl Slices {
    /// Reads a trace.
    pub(crate) fn read(json: &[u8]) -> Result<Self, Box<dyn Error>> {
        let events: Vec<Value> = serde_json::from_slice(json)?;
        let mut all: Vec<Slice> = events.iter().filter_map(slice).collect();
        let work = || all.iter().filter(|slice| slice.kind != Kind::Parked);
        let began = work().map(|slice| slice.start).fold(f64::INFINITY, f64::min);
        let ended = work().map(|slice| slice.end).fold(0.0, f64::max);
        if began > ended {
            return Err("the trace has no task in it".into());
        }
        for slice in &mut all {
            // Workers are parked before the run begins, and one of them after it.
            slice.start = slice.start.clamp(began, ended) - began;
            slice.end = slice.end.clamp(began, ended) - began;
        }
        all.retain(|slice| slice.end > slice.start);
        all.sort_by(|one, other| one.start.total_cmp(&other.start));
        Ok(Self { all, end: ended - began })
    }

    pub(crate) fn of(&self, worker: usize, kind: Kind) -> impl Iterator<Item = &Slice> {
        self.all.iter().filter(move |slice| slice.worker == worker && slice.kind == kind)
    }

    /// The time that a worker spent with something, and how many slices that was.
    pub(crate) fn total(&self, worker: usize, kind: Kind) -> (f64, usize) {
        let time = self.of(worker, kind).map(|slice| slice.end - slice.start).sum();
        (time, self.of(worker, kind).count())
    }
}

/// What an event says, if it is a slice.
fn slice(event: &Value) -> Option<Slice> {
    let (category, name) = (event["cat"].as_str()?, event["name"].as_str()?);
    let kind = match category {
        "parked" => Kind::Parked,
        "poll" => Kind::Poll,
        _ if name.starts_with(SEARCH_FILE) => Kind::File,
        _ if name.starts_with(SEARCH_OBJECT) => Kind::Object,
        _ if name.starts_with(WRITE) => Kind::Turn,
        _ => return None,
    };
    let start = event["ts"].as_f64()? / 1e3;
    let end = start + event["dur"].as_f64()? / 1e3;
    Some(Slice { worker: event["tid"].as_u64()? as usize, kind, start, end })
}
