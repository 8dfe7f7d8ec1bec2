//! Visiting the roots of a walk.

use super::{DirAccess, DirHandle, DirNode, Engine, ParentLink, TaskQueue, WalkScratch, WalkTask};
use crate::Symlinks;
use crate::entry::Entry;
use crate::error::{Operation, WalkError};
use crate::filter::DirRules;
use crate::sys::{self, Dir};
use crate::visitor::{Flow, Visitor};
use std::sync::Arc;

impl Engine {
    /// Visits a root: enters and reads a directory, or visits anything else as a file.
    pub(super) fn start_root<V: Visitor>(
        &self,
        root: usize,
        scratch: &mut WalkScratch<V>,
        queue: &mut impl TaskQueue<V::Dir, V::Task>,
    ) {
        let path = &self.roots[root];
        let follow = self.symlinks != Symlinks::Never;
        let fail = |operation, source| WalkError::new(path, 0, operation, source);
        let metadata = match sys::metadata_of_root(path, follow) {
            Ok(metadata) => metadata,
            Err(source) => {
                return self.report(fail(Operation::ReadMetadata, source), None, scratch);
            }
        };
        let mut entry = Entry {
            name: path.as_os_str(),
            kind: metadata.kind,
            depth: 0,
            root,
            metadata: Some(&metadata).filter(|_| self.metadata),
            within: None,
            followed: false,
        };
        if !metadata.kind.is_dir() {
            self.count_file(&entry, scratch);
            match scratch.visitor.file(&entry, None) {
                Flow::Continue | Flow::Skip => {}
                Flow::Quit => self.stop.cancel(),
                Flow::Later => {
                    let disk = self.disks.disk_of(metadata.device);
                    self.take_root_file(root, disk, scratch, queue);
                }
            }
            return;
        }
        let opened = if self.max_depth > 0 {
            match self.descriptors.opened_or_put_off(Dir::open_root(path, follow)) {
                Ok(Some(dir)) => Some(Ok(dir)),
                Ok(None) => return queue.put_off(WalkTask::Root(root)),
                Err(source) => Some(Err(source)),
            }
        } else {
            None
        };
        // The path may lead somewhere else by now. The visitor gets the metadata of the directory
        // that was opened, because that is the one being walked.
        let opened_metadata = match &opened {
            Some(Ok(dir)) => dir.metadata(),
            _ => Ok(metadata),
        };
        let metadata = match opened_metadata {
            Ok(metadata) => metadata,
            Err(source) => {
                return self.report(fail(Operation::ReadMetadata, source), None, scratch);
            }
        };
        entry.metadata = Some(&metadata).filter(|_| self.metadata);
        if matches!(&opened, Some(Ok(dir)) if dir.is_pseudo_file_system()) {
            let _ = scratch.visitor.pseudo_file_system(&entry, None);
        }
        let Some(kept) = self.ask_to_enter(&entry, None, scratch) else { return };
        let mut rule_errors = Vec::new();
        let rules = match &opened {
            Some(Ok(dir)) if self.filter.is_active() => {
                self.filter.rules_in_root(path, dir, &mut rule_errors)
            }
            _ => DirRules::default(),
        };
        let node = DirNode {
            parent: ParentLink::new(None),
            name: None,
            depth: 0,
            root: u32::try_from(root).expect("there are fewer than 2^32 roots"),
            followed: false,
            identity: metadata.identity(),
            disk: self.disks.disk_of(metadata.device),
            rules,
            kept,
        };
        self.report_rules(rule_errors, &node, scratch);
        match opened {
            None => self.leave(Arc::new(node), scratch),
            Some(Err(source)) => {
                self.report(fail(Operation::OpenDirectory, source), Some(&node.kept), scratch);
                self.leave(Arc::new(node), scratch);
            }
            Some(Ok(dir)) => {
                let open = Arc::new(DirAccess::new(Arc::new(node), DirHandle::Open(dir)));
                queue.spawn(WalkTask::ReadFirst(open));
            }
        }
    }
}
