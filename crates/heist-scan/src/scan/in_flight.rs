//! Objects in flight: the source has handed them out, and their scan is not done yet.
//!
//! The thread that asks the source counts these objects and waits for room before it asks for the
//! next one. Each object carries an [`InFlightGuard`]. Dropping the guard reports to that thread,
//! wherever it happens: after the scan of the object, with the last range of a large file, or with
//! a task that a stopped executor drops. If no worker has started the object by then, the guard
//! reports its name, so that every object gets an outcome.
//!
//! The thread waits on a channel and not on a budget, because a budget refuses to block a worker of
//! an executor. Here blocking is safe: the guards are dropped on the scan's own executor, whose
//! workers never wait for the calling thread.

use crate::source::Object;
use heist_device::DeviceId;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a guard reports when it is dropped: the name of its object if no worker has started it.
type NotStarted = Option<PathBuf>;

/// Counts the objects in flight. Used by the thread that asks the source.
pub(super) struct ObjectsInFlight {
    count: usize,
    max: usize,
    reports: Sender<NotStarted>,
    ended: Receiver<NotStarted>,
}

impl ObjectsInFlight {
    /// Allows at most `max` objects at a time.
    pub(super) fn new(max: usize) -> Self {
        let (reports, ended) = channel();
        Self { count: 0, max: max.max(1), reports, ended }
    }

    /// Blocks until there is room for one more object. Calls `not_started` with the name of each
    /// object that ended without having been started.
    pub(super) fn wait_for_room(&mut self, mut not_started: impl FnMut(PathBuf)) {
        while self.count >= self.max {
            // This cannot fail: `self` holds a sender.
            let Ok(name) = self.ended.recv() else { return };
            self.count -= 1;
            name.into_iter().for_each(&mut not_started);
            self.count_ended(&mut not_started);
        }
    }

    /// Counts the objects that have ended, without blocking. Calls `not_started` as
    /// [`wait_for_room`](Self::wait_for_room) does.
    pub(super) fn count_ended(&mut self, mut not_started: impl FnMut(PathBuf)) {
        while let Ok(name) = self.ended.try_recv() {
            self.count -= 1;
            name.into_iter().for_each(&mut not_started);
        }
    }

    /// Counts an object and makes it ready for a worker.
    pub(super) fn add(&mut self, mut object: Object) -> PendingObject {
        self.count += 1;
        let name = Some(std::mem::take(&mut object.name));
        PendingObject { object, guard: InFlightGuard { name, reports: self.reports.clone() } }
    }
}

/// An object on its way to a worker.
pub(super) struct PendingObject {
    /// Without its name, which the guard holds until a worker starts the object.
    object: Object,
    guard: InFlightGuard,
}

impl PendingObject {
    /// Returns the device that holds the object.
    pub(super) fn device(&self) -> DeviceId {
        self.object.device
    }

    /// Starts the object. From here on, the worker reports its outcome.
    pub(super) fn start(self) -> (Object, InFlightGuard) {
        let Self { mut object, mut guard } = self;
        object.name = guard.name.take().unwrap_or_default();
        (object, guard)
    }
}

/// Keeps an object counted as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    name: Option<PathBuf>,
    reports: Sender<NotStarted>,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        // Fails only if the calling thread has panicked. Then nothing is counted any more.
        let _ = self.reports.send(self.name.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_counted_and_those_not_started_are_named() {
        let mut in_flight = ObjectsInFlight::new(3);
        let mut pending: Vec<PendingObject> =
            ["a", "b", "c"].map(|name| in_flight.add(Object::file(name))).into_iter().collect();
        let mut not_started = Vec::new();
        let (object, guard) = pending.remove(1).start();
        assert_eq!(object.name(), "b");
        in_flight.count_ended(|name| not_started.push(name));
        assert_eq!((in_flight.count, not_started.len()), (3, 0));
        drop(guard);
        in_flight.wait_for_room(|name| not_started.push(name));
        assert_eq!((in_flight.count, not_started.len()), (2, 0));
        drop(pending);
        in_flight.count_ended(|name| not_started.push(name));
        assert_eq!((in_flight.count, not_started), (0, vec!["a".into(), "c".into()]));
    }
}
