//! [`Tips`]: where the walk of a history begins: what refs and `HEAD`s point to, with tags peeled.

use super::graph::UnreadableObjects;
use crate::access::Access;
use crate::bytes::lines;
use crate::id::ObjectId;
use crate::object::ObjectKind;
use crate::parse::Tag;
use crate::problem::{FileError, ObjectError};
use crate::repo::layout::Layout;
use crate::repo::refs::{Head, Refs};
use crate::store::ObjectReader;
use std::path::Path;
use std::sync::Arc;

/// How many annotated tags may lead to each other.
const TAGS_DEEP_MAX: usize = 16;

/// A `HEAD` is an id, or `ref: ` and a name.
const HEAD_BYTES_MAX: u64 = 4096;

/// What a ref points to in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Commit(ObjectId),
    /// A tree or a blob.
    Other(ObjectKind, ObjectId),
}

/// A name and what it points to.
#[derive(Clone, Debug)]
pub(crate) struct Tip {
    /// As git writes it: `refs/heads/main`.
    pub(crate) full_name: Arc<[u8]>,
    pub(crate) target: Target,
    rank: Rank,
}

/// Which names are shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Head,
    Branch,
    Tag,
    Remote,
    Other,
}

impl Tip {
    /// Returns the name as people write it: `main`, `v1.0`, `origin/main`, `HEAD`.
    pub(crate) fn name(&self) -> &[u8] {
        short_name(&self.full_name).0
    }

    pub(crate) fn commit(&self) -> Option<ObjectId> {
        match self.target {
            Target::Commit(id) => Some(id),
            Target::Other(..) => None,
        }
    }
}

/// An annotated tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagObject {
    /// The tag object.
    pub id: ObjectId,
    /// The ref that leads to it, as people write it.
    pub name: Arc<[u8]>,
}

/// Where the walk of a history begins.
#[derive(Clone, Debug, Default)]
pub struct Tips {
    /// Branches first, then tags, remotes and the rest, by name.
    pub(crate) tips: Vec<Tip>,
    pub(crate) head: Option<ObjectId>,
    /// The commits whose parents were not fetched.
    pub(crate) shallow: Vec<ObjectId>,
    pub(crate) unreadable: UnreadableObjects,
}

impl Tips {
    /// Reads the refs of a repository, the `HEAD`s of its linked work trees, and where a shallow
    /// clone ends. `visit_tag` gets each annotated tag. Returns the files that could not be read,
    /// too.
    #[must_use]
    pub fn read(
        layout: &Layout,
        access: &Access,
        refs: &Refs,
        reader: &mut ObjectReader<'_>,
        mut visit_tag: impl FnMut(&TagObject, &Tag<'_>),
    ) -> (Self, Vec<FileError>) {
        let mut tips = Self { head: refs.head_commit(), ..Self::default() };
        let mut problems = refs.problems.clone();
        for reference in &refs.refs {
            let (_, rank) = short_name(&reference.name);
            let name = reference.name.as_slice().into();
            tips.add(name, rank, reference.target, reader, &mut visit_tag);
        }
        if let Head::Detached(head) = refs.head {
            let name: Arc<[u8]> = (*b"HEAD").into();
            tips.add(name, Rank::Head, head, reader, &mut visit_tag);
        }
        match layout.linked_work_trees(access) {
            Ok(linked) => {
                for private in linked {
                    let Some(head) = head_of(&private, access, refs, &mut problems) else {
                        continue;
                    };
                    let name = private.file_name().unwrap_or_default().as_encoded_bytes();
                    let name: Arc<[u8]> = [b"worktree ", name].concat().into();
                    tips.add(name, Rank::Other, head, reader, &mut visit_tag);
                }
            }
            Err(error) => problems.push(error),
        }
        match layout.shallow_commits(access) {
            Ok(shallow) => tips.shallow = shallow,
            Err(error) => problems.push(error),
        }
        tips.tips.sort_by(|a, b| (a.rank, &a.full_name).cmp(&(b.rank, &b.full_name)));
        (tips, problems)
    }

    /// Adds a commit that no ref reaches, such as one that a push brings.
    pub fn add_commit(&mut self, id: ObjectId) {
        let full_name = id.to_string().into_bytes().into();
        self.tips.push(Tip { full_name, target: Target::Commit(id), rank: Rank::Other });
    }

    fn add(
        &mut self,
        full_name: Arc<[u8]>,
        rank: Rank,
        id: ObjectId,
        reader: &mut ObjectReader<'_>,
        visit_tag: &mut impl FnMut(&TagObject, &Tag<'_>),
    ) {
        match peel(&full_name, id, reader, visit_tag) {
            Ok(target) => self.tips.push(Tip { full_name, target, rank }),
            Err(error) => self.unreadable.add(id, error),
        }
    }
}

/// Returns the commit that is checked out in a linked work tree.
fn head_of(
    private: &Path,
    access: &Access,
    refs: &Refs,
    problems: &mut Vec<FileError>,
) -> Option<ObjectId> {
    let text = access.read(&private.join("HEAD"), HEAD_BYTES_MAX);
    let text = text.map_err(|error| problems.push(error)).ok()??;
    let line = lines(&text).next().unwrap_or_default().trim_ascii();
    match line.strip_prefix(b"ref:") {
        Some(name) => refs.find(name.trim_ascii()),
        None => ObjectId::from_hex(line),
    }
}

/// Follows annotated tags to what they tag.
fn peel(
    name: &Arc<[u8]>,
    mut id: ObjectId,
    reader: &mut ObjectReader<'_>,
    visit_tag: &mut impl FnMut(&TagObject, &Tag<'_>),
) -> Result<Target, ObjectError> {
    let mut content = Vec::new();
    for _ in 0..TAGS_DEEP_MAX {
        let (kind, _) = reader.header(&id)?;
        match kind {
            ObjectKind::Commit => return Ok(Target::Commit(id)),
            ObjectKind::Tree | ObjectKind::Blob => return Ok(Target::Other(kind, id)),
            ObjectKind::Tag => {}
        }
        reader.read_into(&id, &mut content)?;
        let tag = Tag::parse(id.hash_kind(), &content);
        let tag = tag.ok_or(ObjectError::Corrupt("a tag that tags nothing"))?;
        visit_tag(&TagObject { id, name: short_name(name).0.into() }, &tag);
        id = tag.target;
    }
    Err(ObjectError::EndlessChain)
}

/// Returns a ref's name as people write it.
fn short_name(name: &[u8]) -> (&[u8], Rank) {
    for (prefix, rank) in [
        (&b"refs/heads/"[..], Rank::Branch),
        (b"refs/tags/", Rank::Tag),
        (b"refs/remotes/", Rank::Remote),
    ] {
        if let Some(short) = name.strip_prefix(prefix) {
            return (short, rank);
        }
    }
    (name.strip_prefix(b"refs/").unwrap_or(name), Rank::Other)
}
