//! What a worker does with loose objects.

use super::memory::SMALL;
use super::tasks::{LargeLooseTask, Task};
use super::visitor::{ObjectVisitor, Visit};
use super::worker::{Queue, Worker};
use crate::loose::{self, LooseObject, PIECE};
use crate::problem::ObjectError;
use heist::BytePermit;
use std::ops::Range;
use std::sync::Arc;

/// Longer ranges are halved.
const LOOSE_MAX: u32 = 64;

/// Why an object was not read: it is unreadable, or it waits for memory.
enum NotRead {
    Object(ObjectError),
    Waits(u64),
}

impl<V: ObjectVisitor> Worker<V> {
    /// Reads loose objects. `permit` is memory for the first one.
    pub(super) fn loose(
        &mut self,
        mut range: Range<u32>,
        mut permit: Option<BytePermit>,
        queue: &mut Queue<'_, V>,
    ) {
        while range.end - range.start > LOOSE_MAX {
            let middle = range.start + (range.end - range.start) / 2;
            queue.spawn_local(Task::Loose(middle..range.end));
            range.end = middle;
        }
        let context = Arc::clone(&self.context);
        while let Some(place) = range.next() {
            let (dir, id) = context.loose[place as usize];
            let objects = &context.store.object_dirs()[dir as usize];
            let opened = loose::open(objects, &id, context.store.access());
            let opened = opened.and_then(|file| file.ok_or(ObjectError::Missing));
            let read = opened.map_err(NotRead::Object).and_then(|file| {
                let piece = &mut self.decoder.input[..PIECE];
                let object = LooseObject::new(file, &mut self.decoder.inflater, piece)
                    .map_err(NotRead::Object)?;
                if !self.wants(object.header.kind) {
                    self.counts.unwanted += 1;
                    return Ok(());
                }
                self.read_loose(place, &object, permit.take())
            });
            match read {
                Ok(()) => {}
                Err(NotRead::Object(error)) => self.unreadable(Some(id), None, error),
                Err(NotRead::Waits(bytes)) => {
                    let objects = place..range.end;
                    let task = move |permit| {
                        Task::LargeLoose(Box::new(LargeLooseTask { objects, permit }))
                    };
                    let executor = context.executor.get();
                    let trees = &context.memory.trees;
                    let _ = executor.map(|executor| trees.acquire_then(bytes, executor, task));
                    return;
                }
            }
            if self.has_done_enough() && !range.is_empty() {
                queue.spawn_yielded(Task::Loose(range));
                return;
            }
        }
    }

    fn read_loose(
        &mut self,
        place: u32,
        object: &LooseObject,
        permit: Option<BytePermit>,
    ) -> Result<(), NotRead> {
        let context = Arc::clone(&self.context);
        let id = context.loose[place as usize].1;
        let size_max = context.store.limits().object_bytes;
        let size = usize::try_from(object.header.size.min(size_max)).unwrap_or(usize::MAX);
        let mut permit = permit;
        if size > SMALL && permit.is_none() {
            let bytes = context.memory.of_tree(size, 1);
            match context.memory.trees.try_acquire(bytes) {
                Ok(granted) => permit = Some(granted),
                Err(_) => return Err(NotRead::Waits(bytes)),
            }
        }
        // Falls short only while something that was put off has all memory, which ends.
        let Ok(reserved) = context.memory.reserve(size) else {
            drop(permit);
            return Err(NotRead::Waits(context.memory.trees.total()));
        };
        let mut content = self.decoder.pool.take(size);
        let piece = &mut self.decoder.input[..PIECE];
        let read = object.read(&mut self.decoder.inflater, piece, size_max, &mut content);
        match read {
            Ok(kind) => {
                self.decoder.decoded += content.len() as u64;
                let content = &content[..];
                self.visit_object(&Visit { id, kind, content, delta: None, is_base: false });
            }
            Err(error) => return Err(NotRead::Object(error)),
        }
        self.decoder.pool.give(content);
        drop((permit, reserved));
        Ok(())
    }
}
