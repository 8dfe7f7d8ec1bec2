//! Objects in flight: those that a source has given out and that are not done yet.
//!
//! The thread that asks the source counts them, and waits for room before it asks for the next one. Each object
//! carries a [`Flight`], which reports to that thread when it is dropped, wherever that happens: after the scan of its
//! object, with the last range of a large file, or with a task that a stopped executor drops. A flight that ends before
//! a worker has begun with its object reports the object's name, so that every object has an outcome.
//!
//! The wait is a channel's and not a budget's, because a budget refuses to let a worker of an executor wait. Here it
//! may: the flights end on the scan's own executor, whose workers never wait for the calling thread.

use crate::source::Object;
use heist_device::DeviceId;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a flight reports at its end: the name of its object, if no worker has begun with it.
type Ending = Option<PathBuf>;

/// The objects in flight, counted by the thread that asks the source.
pub(super) struct Flights {
    in_flight: usize,
    most: usize,
    reports: Sender<Ending>,
    endings: Receiver<Ending>,
}

impl Flights {
    /// At most `most` at a time.
    pub(super) fn new(most: usize) -> Self {
        let (reports, endings) = channel();
        Self { in_flight: 0, most: most.max(1), reports, endings }
    }

    /// Blocks until there is room for one more. Calls `never_begun` for each object that no worker has begun with.
    pub(super) fn wait_for_room(&mut self, mut never_begun: impl FnMut(PathBuf)) {
        while self.in_flight >= self.most {
            // It cannot fail: the other end is here, too.
            let Ok(ending) = self.endings.recv() else { return };
            self.in_flight -= 1;
            ending.into_iter().for_each(&mut never_begun);
            self.count_ended(&mut never_begun);
        }
    }

    /// Counts the flights that have ended, without waiting for others. Calls `never_begun` as
    /// [`wait_for_room`](Self::wait_for_room) does.
    pub(super) fn count_ended(&mut self, mut never_begun: impl FnMut(PathBuf)) {
        while let Ok(ending) = self.endings.try_recv() {
            self.in_flight -= 1;
            ending.into_iter().for_each(&mut never_begun);
        }
    }

    /// Sends an object off.
    pub(super) fn begin(&mut self, mut object: Object) -> Job {
        self.in_flight += 1;
        let name = Some(std::mem::take(&mut object.name));
        Job { object, flight: Flight { name, reports: self.reports.clone() } }
    }
}

/// An object on its way to a worker.
pub(super) struct Job {
    /// Its name is the flight's until a worker begins with it.
    object: Object,
    flight: Flight,
}

impl Job {
    /// Where its object is.
    pub(super) fn device(&self) -> DeviceId {
        self.object.device
    }

    /// Begins with the object: from here on the worker says what becomes of it.
    pub(super) fn begin(self) -> (Object, Flight) {
        let Self { mut object, mut flight } = self;
        object.name = flight.name.take().unwrap_or_default();
        (object, flight)
    }
}

/// An object's place among those in flight: free when this is dropped.
#[derive(Debug)]
pub(crate) struct Flight {
    name: Option<PathBuf>,
    reports: Sender<Ending>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        // Refused only if the calling thread is gone, by a panic: then nothing is counted any more.
        let _ = self.reports.send(self.name.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flight_is_counted_and_those_that_were_never_begun_are_named() {
        let mut flights = Flights::new(3);
        let mut jobs: Vec<Job> =
            ["a", "b", "c"].map(|name| flights.begin(Object::file(name))).into_iter().collect();
        let mut never_begun = Vec::new();
        let (object, flight) = jobs.remove(1).begin();
        assert_eq!(object.name(), "b");
        flights.count_ended(|name| never_begun.push(name));
        assert_eq!((flights.in_flight, never_begun.len()), (3, 0));
        drop(flight);
        flights.wait_for_room(|name| never_begun.push(name));
        assert_eq!((flights.in_flight, never_begun.len()), (2, 0));
        drop(jobs);
        flights.count_ended(|name| never_begun.push(name));
        assert_eq!((flights.in_flight, never_begun), (0, vec!["a".into(), "c".into()]));
    }
}
