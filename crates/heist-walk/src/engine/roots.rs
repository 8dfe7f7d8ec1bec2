//! Where a walk starts.

use super::{DirNode, Engine, Handle, Hands, OpenDir, Parent, Spawn, WalkTask};
use crate::Symlinks;
use crate::entry::Entry;
use crate::error::{Operation, WalkError};
use crate::filter::DirRules;
use crate::sys::{self, Dir};
use crate::visitor::{Flow, Visitor};
use std::sync::Arc;

impl Engine {
    /// Visits a root: a directory is entered and read, anything else is a file.
    pub(super) fn start_root<V: Visitor>(
        &self,
        root: usize,
        hands: &mut Hands<V>,
        queue: &mut impl Spawn<V::Dir>,
    ) {
        let path = &self.roots[root];
        let follow = self.symlinks != Symlinks::Never;
        let fail = |operation, source| WalkError::new(path, 0, operation, source);
        let metadata = match sys::metadata_of_root(path, follow) {
            Ok(metadata) => metadata,
            Err(source) => {
                return self.report(fail(Operation::ReadMetadata, source), None, hands);
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
            self.count_file(&entry, hands);
            match hands.visitor.file(&entry, None) {
                Flow::Continue | Flow::Skip => {}
                Flow::Quit => self.stop.cancel(),
                Flow::Later => {
                    let disk = self.disks.disk_of(metadata.device);
                    self.take_root_file(root, disk, hands, queue);
                }
            }
            return;
        }
        let opened = if self.max_depth > 0 {
            match self.descriptors.opened_or_later(Dir::open_root(path, follow)) {
                Ok(Some(dir)) => Some(Ok(dir)),
                Ok(None) => return queue.put_off(WalkTask::Root(root)),
                Err(source) => Some(Err(source)),
            }
        } else {
            None
        };
        // What was opened may be another one by now. What is said about it has to be true of what is walked.
        let opened_metadata = match &opened {
            Some(Ok(dir)) => dir.metadata(),
            _ => Ok(metadata),
        };
        let metadata = match opened_metadata {
            Ok(metadata) => metadata,
            Err(source) => {
                return self.report(fail(Operation::ReadMetadata, source), None, hands);
            }
        };
        entry.metadata = Some(&metadata).filter(|_| self.metadata);
        let Some(kept) = self.ask_to_enter(&entry, None, hands) else { return };
        let mut rule_errors = Vec::new();
        let rules = match &opened {
            Some(Ok(dir)) if self.filter.is_active() => {
                self.filter.rules_in_root(path, dir, &mut rule_errors)
            }
            _ => DirRules::default(),
        };
        let node = DirNode {
            parent: Parent::new(None),
            name: None,
            depth: 0,
            root: u32::try_from(root).expect("roots are fewer than 2^32"),
            followed: false,
            identity: metadata.identity(),
            disk: self.disks.disk_of(metadata.device),
            rules,
            kept,
        };
        self.report_rules(rule_errors, &node, hands);
        match opened {
            None => self.leave(Arc::new(node), hands),
            Some(Err(source)) => {
                self.report(fail(Operation::OpenDirectory, source), Some(&node.kept), hands);
                self.leave(Arc::new(node), hands);
            }
            Some(Ok(dir)) => {
                let open = Arc::new(OpenDir::new(Arc::new(node), Handle::Open(dir)));
                queue.spawn(WalkTask::Arrived(open));
            }
        }
    }
}
