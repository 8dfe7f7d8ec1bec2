//! The four kinds of objects, and an object as it is read.

use crate::id::ObjectId;
use std::fmt;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A commit: see [`Commit`](crate::Commit).
    Commit,
    /// A directory: see [`Tree`](crate::Tree).
    Tree,
    /// The content of a file.
    Blob,
    /// An annotated tag: see [`Tag`](crate::Tag).
    Tag,
}

impl ObjectKind {
    /// All kinds, in the order of their numbers in packs.
    pub const ALL: [Self; 4] = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];

    /// Returns the name that git uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An object with its content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// The id by which it was read. It is not compared with the content's hash: call
    /// [`Object::is_intact`] where that matters.
    pub id: ObjectId,
    /// What it is.
    pub kind: ObjectKind,
    /// The content, without a header.
    pub content: Vec<u8>,
}

impl Object {
    /// Returns `true` if the content has the id that the object was found by. This hashes all of
    /// it.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.id.hash_kind().hash_object(self.kind, &self.content) == self.id
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Contents may be secrets.
        f.debug_struct("Object")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("len", &self.content.len())
            .finish()
    }
}
