//! [`BlobSource`]: blobs as objects of a scan.

use super::changes::Version;
use heist_device::IoModel;
use heist_git::{ObjectId, ObjectStore};
use heist_scan::{Object, Placement, RootPlace, Source, SourceError};
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::vec::IntoIter;

/// Blobs of a repository. A worker reads each one when it scans it.
pub(super) struct BlobSource {
    pub(super) store: Arc<ObjectStore>,
    pub(super) versions: IntoIter<Version>,
    /// The root of the work tree, as reports show it, and where it is in its project.
    pub(super) root: PathBuf,
    pub(super) place: RootPlace,
    pub(super) placement: Option<Arc<dyn Placement>>,
}

impl Source for BlobSource {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        let Version { path, id } = self.versions.next()?;
        let rule_path = self.place.path_in_project(&path).into_owned();
        let blob = Blob { store: Arc::clone(&self.store), id, content: None };
        let object = Object::stream(self.root.join(path), blob).with_rule_path(rule_path);
        Some(Ok(match &self.placement {
            Some(placement) => object.with_placement(Arc::clone(placement)),
            None => object,
        }))
    }
}

/// A blob, which is read when its first bytes are needed.
struct Blob {
    store: Arc<ObjectStore>,
    id: ObjectId,
    content: Option<Cursor<Vec<u8>>>,
}

impl Read for Blob {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let content = match &mut self.content {
            Some(content) => content,
            None => {
                let object = self.store.read(&self.id).map_err(io::Error::other)?;
                self.content.insert(Cursor::new(object.content))
            }
        };
        content.read(into)
    }
}
