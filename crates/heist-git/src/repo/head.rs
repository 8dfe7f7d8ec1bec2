//! The commit that `HEAD` names, without reading the other refs.

use super::layout::Layout;
use crate::access::Access;
use crate::bytes::{lines, split_once, to_path};
use crate::id::ObjectId;
use crate::problem::{FileError, FileProblem};
use std::path::{Component, Path};

/// A ref is an id, or `ref: ` and a name.
const REF_BYTES_MAX: u64 = 4096;

const PACKED_BYTES_MAX: u64 = 256 << 20;

/// How many symbolic refs may refer to the next; git has the same limit.
const SYMBOLIC_MAX: usize = 5;

/// The refs that each work tree has for itself.
const OWN_REFS: [&[u8]; 3] = [b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/"];

impl Layout {
    /// Returns the commit that `HEAD` names, or `None` if there is no commit yet.
    ///
    /// # Errors
    /// Fails if `HEAD`, or what it refers to, cannot be read or is not a ref.
    pub fn head_commit(&self, access: &Access) -> Result<Option<ObjectId>, FileError> {
        let path = self.git_dir().join("HEAD");
        if self.has_reftable() {
            let problem = FileProblem::Unsupported("refs in reftable files");
            return Err(FileError::new(self.common_dir().join("reftable"), problem));
        }
        let Some(mut text) = access.read(&path, REF_BYTES_MAX)? else { return Ok(None) };
        for _ in 0..=SYMBOLIC_MAX {
            let value = text.trim_ascii_end();
            let Some(name) = value.strip_prefix(b"ref:") else {
                let id = ObjectId::from_hex(value).filter(|id| id.hash_kind() == self.hash_kind());
                let damaged = || FileError::new(path, FileProblem::Malformed("it is not a ref"));
                return id.map(Some).ok_or_else(damaged);
            };
            let name = name.trim_ascii();
            if !is_name(name) {
                let problem = FileProblem::Malformed("it refers to something that is not a ref");
                return Err(FileError::new(path, problem));
            }
            let is_own = OWN_REFS.iter().any(|own| name.starts_with(own));
            let directory = if is_own { self.git_dir() } else { self.common_dir() };
            match access.read(&directory.join(to_path(name)), REF_BYTES_MAX) {
                Ok(Some(next)) => text = next,
                // A directory of branches may have the name of one that is packed.
                Ok(None) => return self.packed(name, access),
                Err(error) if *error.problem() == FileProblem::WrongType => {
                    return self.packed(name, access);
                }
                Err(error) => return Err(error),
            }
        }
        Err(FileError::new(path, FileProblem::Malformed("it refers to refs without end")))
    }

    /// Returns the id of a ref in `packed-refs`.
    fn packed(&self, name: &[u8], access: &Access) -> Result<Option<ObjectId>, FileError> {
        let path = self.common_dir().join("packed-refs");
        let text = access.read(&path, PACKED_BYTES_MAX)?.unwrap_or_default();
        let found = lines(&text).find_map(|line| {
            let (id, packed) = split_once(line, b' ')?;
            ObjectId::from_hex(id).filter(|_| packed == name)
        });
        Ok(found)
    }
}

/// Returns `true` for a name below `refs`, which leads to no other place.
fn is_name(name: &[u8]) -> bool {
    let path = to_path(name);
    let parts = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
    name.starts_with(b"refs/") && !name.contains(&0) && parts
}
