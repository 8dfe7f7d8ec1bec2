//! [`CacheTree`]: the ids of whole directories, from the extension `TREE`.
//!
//! Git writes these ids into the next commit without looking at the entries below them. So a
//! directory whose id is that of `HEAD` has no staged change.

use crate::id::{HashKind, ObjectId};
use memchr::memchr;
use std::collections::HashMap;

/// Deeper trees are not used.
const DEPTH_MAX: usize = 4096;

/// A directory of the index.
#[derive(Debug)]
pub(super) struct CachedDirectory {
    /// The name, without the directories above it.
    name: Box<[u8]>,
    /// The number of its entries, with those below it, and its tree. `None` if something in it has
    /// changed since they were known.
    pub(super) known: Option<(u32, ObjectId)>,
    /// The position behind the last directory below it.
    end: usize,
}

/// The directories of an index, each before those below it.
#[derive(Debug, Default)]
pub(super) struct CacheTree {
    directories: Vec<CachedDirectory>,
}

impl CacheTree {
    /// Parses the extension. Returns `None` if it cannot be used; it only saves work.
    pub(super) fn parse(content: &[u8], hash: HashKind, entries: u32) -> Option<Self> {
        // Each directory has an entry, or one was removed from it since.
        let most = 2 * entries as usize + 1024;
        let mut rest = content;
        let mut directories: Vec<CachedDirectory> = Vec::new();
        // The directories that are not complete, and how many below each are missing.
        let mut open: Vec<(usize, u64)> = Vec::new();
        loop {
            let name = until(&mut rest, 0)?;
            let count: i64 = number(until(&mut rest, b' ')?)?;
            let below = u64::try_from(number(until(&mut rest, b'\n')?)?).ok()?;
            let known = match u32::try_from(count) {
                Ok(count) if count <= entries => {
                    let (id, after) = rest.split_at_checked(hash.id_len())?;
                    rest = after;
                    Some((count, ObjectId::from_slice(hash, id)))
                }
                Ok(_) => return None,
                Err(_) => None,
            };
            if directories.len() == most || open.len() == DEPTH_MAX {
                return None;
            }
            open.push((directories.len(), below));
            directories.push(CachedDirectory { name: name.into(), known, end: 0 });
            while let Some((at, missing)) = open.last_mut() {
                if *missing > 0 {
                    *missing -= 1;
                    break;
                }
                directories[*at].end = directories.len();
                open.pop();
            }
            if open.is_empty() {
                return Some(Self { directories });
            }
        }
    }

    /// Returns the root.
    pub(super) fn root(&self) -> Option<usize> {
        (!self.directories.is_empty()).then_some(0)
    }

    pub(super) fn get(&self, at: usize) -> Option<&CachedDirectory> {
        self.directories.get(at)
    }

    /// Returns the directories directly below one, by name.
    pub(super) fn children(&self, parent: usize) -> HashMap<&[u8], usize> {
        let end = self.directories.get(parent).map_or(0, |parent| parent.end);
        let mut children = HashMap::new();
        let mut at = parent + 1;
        while at < end {
            let Some(child) = self.directories.get(at) else { break };
            children.insert(&*child.name, at);
            at = child.end;
        }
        children
    }
}

/// Takes the bytes before `end`, and `end`.
fn until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = memchr(end, rest)?;
    let taken = &rest[..at];
    *rest = &rest[at + 1..];
    Some(taken)
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_slice(HashKind::Sha1, &[byte; 20])
    }

    #[test]
    fn directories_are_found_by_name() {
        let mut content = b"\0-1 2\n".to_vec();
        content.extend(b"a\x003 1\n");
        content.extend([1; 20]);
        content.extend(b"b\x002 0\n");
        content.extend([2; 20]);
        content.extend(b"c\x001 0\n");
        content.extend([3; 20]);
        let tree = CacheTree::parse(&content, HashKind::Sha1, 10).expect("it is valid");
        let root = tree.root().expect("a root");
        let known = |at: Option<usize>| at.and_then(|at| tree.get(at)).map(|found| found.known);
        assert_eq!(known(Some(root)), Some(None));
        let child = |parent, name: &[u8]| tree.children(parent).get(name).copied();
        let a = child(root, b"a");
        assert_eq!(known(a), Some(Some((3, id(1)))));
        assert_eq!(known(child(a.expect("it is there"), b"b")), Some(Some((2, id(2)))));
        assert_eq!(known(child(root, b"c")), Some(Some((1, id(3)))));
        assert_eq!((child(root, b"b"), child(root, b"")), (None, None));
        for len in 0..content.len() {
            assert!(CacheTree::parse(&content[..len], HashKind::Sha1, 10).is_none(), "{len}");
        }
        assert!(CacheTree::parse(&content, HashKind::Sha1, 2).is_none(), "too many entries");
    }

    #[test]
    fn too_many_or_too_deep_directories_are_not_used() {
        let flat = [b"\0-1 9999\n".to_vec(), b"x\0-1 0\n".repeat(9999)].concat();
        assert!(CacheTree::parse(&flat, HashKind::Sha1, 1).is_none());
        assert!(CacheTree::parse(&flat, HashKind::Sha1, 9999).is_some());
        let deep = [b"x\0-1 1\n".repeat(5000), b"x\0-1 0\n".to_vec()].concat();
        assert!(CacheTree::parse(&deep, HashKind::Sha1, 9999).is_none());
    }
}
