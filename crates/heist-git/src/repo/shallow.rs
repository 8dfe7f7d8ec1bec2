//! Shallow clones: the commits whose parents were not fetched.

use super::layout::Layout;
use crate::access::Access;
use crate::bytes::lines;
use crate::id::ObjectId;
use crate::problem::{FileError, FileProblem};

const FILE_MAX: u64 = 64 << 20;

impl Layout {
    /// Returns the commits at which a shallow clone ends: their parents are missing. Empty if the
    /// clone is not shallow.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has a line that is not an id.
    pub fn shallow_commits(&self, access: &Access) -> Result<Vec<ObjectId>, FileError> {
        let path = self.common_dir().join("shallow");
        let text = access.read(&path, FILE_MAX)?.unwrap_or_default();
        let ids = lines(&text).filter(|line| !line.is_empty()).map(|line| {
            ObjectId::from_hex(line.trim_ascii()).filter(|id| id.hash_kind() == self.hash_kind())
        });
        ids.collect::<Option<_>>().ok_or_else(|| {
            FileError::new(path, FileProblem::Malformed("it has a line that is not an id"))
        })
    }
}
