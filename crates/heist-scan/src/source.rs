//! [`Source`]: gives a scan objects that it does not find by walking a tree.

use crate::placement::Placement;
use heist_device::{DeviceId, IoModel};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An object to scan: a file, or a stream of bytes.
pub struct Object {
    pub(crate) name: PathBuf,
    pub(crate) contents: Contents,
    pub(crate) size_hint: Option<u64>,
    pub(crate) device: DeviceId,
    /// The path that rules see, if it is not the name.
    pub(crate) rule_path: Option<PathBuf>,
    pub(crate) placement: Option<Arc<dyn Placement>>,
}

/// Where the bytes of an object come from.
pub(crate) enum Contents {
    /// The file that the object is named after. The worker that scans it opens it, and several
    /// workers read a large one.
    File,
    Stream(Box<dyn Read + Send>),
}

impl Object {
    /// Creates an object from a file. Its path is the object's name; a worker opens it later.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), Contents::File)
    }

    /// Creates an object from a stream, which one worker reads from beginning to end.
    #[must_use]
    pub fn stream(name: impl Into<PathBuf>, stream: impl Read + Send + 'static) -> Self {
        Self::new(name.into(), Contents::Stream(Box::new(stream)))
    }

    fn new(name: PathBuf, contents: Contents) -> Self {
        Self {
            name,
            contents,
            size_hint: None,
            device: DeviceId::UNKNOWN,
            rule_path: None,
            placement: None,
        }
    }

    /// Sets the path that rules see, if it is not the name that findings show. A file is still
    /// opened by its name.
    #[must_use]
    pub fn with_rule_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.rule_path = Some(path.into());
        self
    }

    /// Sets what moves the findings to where they belong, or declines them. Has an effect on
    /// streams only, which one worker scans from beginning to end.
    #[must_use]
    pub fn with_placement(mut self, placement: Arc<dyn Placement>) -> Self {
        self.placement = Some(placement);
        self
    }

    /// Sets the size of the object in bytes, if the source knows it. A scan with a size limit then
    /// skips a larger object without opening it.
    #[must_use]
    pub fn with_size_hint(mut self, size: u64) -> Self {
        self.size_hint = Some(size);
        self
    }

    /// Sets the device that holds the object, for a source that maps its files
    /// ([`IoModel::MmapImplicit`]).
    #[must_use]
    pub fn on_device(mut self, device: DeviceId) -> Self {
        self.device = device;
        self
    }

    /// Returns the name of the object.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("name", &self.name)
            .field("size_hint", &self.size_hint)
            .finish_non_exhaustive()
    }
}

/// The error for an object that a source could not provide. The scan continues.
#[derive(Debug)]
#[non_exhaustive]
pub struct SourceError {
    /// The name of the object.
    pub name: PathBuf,
    /// What failed.
    pub source: io::Error,
}

impl SourceError {
    /// Creates the error for the object `name`.
    #[must_use]
    pub fn new(name: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { name: name.into(), source }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open '{}': {}", self.name.display(), self.source)
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Gives a scan one object after the other.
///
/// The thread that called [`Scan::run`](crate::Scan::run) asks the source for objects, and stops
/// asking while [too many objects](crate::Scan::max_objects_in_flight) are in flight. Each object
/// that the source returns gets an [outcome](crate::Outcome), even if the scan is stopped.
pub trait Source {
    /// Returns how workers read the objects, which decides what they must acquire first: read
    /// tokens or device slots.
    fn io_model(&self) -> IoModel;

    /// Returns the next object, or `None` at the end.
    fn next_object(&mut self) -> Option<Result<Object, SourceError>>;
}

/// A source of files, given by their paths.
///
/// # Examples
/// ```
/// use heist_scan::{FileSource, Source};
///
/// let mut files = FileSource::new(["Cargo.toml", "README.md"]);
/// assert_eq!(files.next_object().unwrap().unwrap().name(), "Cargo.toml");
/// ```
#[derive(Debug)]
pub struct FileSource<I> {
    paths: I,
}

impl FileSource<()> {
    /// Creates a source of the files at `paths`. The scan takes one path at a time from the
    /// iterator, so the list need not fit into memory.
    pub fn new<P: IntoIterator>(paths: P) -> FileSource<P::IntoIter>
    where
        P::Item: Into<PathBuf>,
    {
        FileSource { paths: paths.into_iter() }
    }
}

impl<P: Into<PathBuf>, I: Iterator<Item = P>> Source for FileSource<I> {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        self.paths.next().map(|path| Ok(Object::file(path)))
    }
}

/// A source of one stream of unknown length.
#[derive(Debug)]
pub struct ReaderSource<R> {
    stream: Option<(PathBuf, R)>,
}

impl<R: Read + Send + 'static> ReaderSource<R> {
    /// Creates a source of `reader`, under the name `name`.
    pub fn new(name: impl Into<PathBuf>, reader: R) -> Self {
        Self { stream: Some((name.into(), reader)) }
    }
}

impl<R: Read + Send + 'static> Source for ReaderSource<R> {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        let (name, reader) = self.stream.take()?;
        Some(Ok(Object::stream(name, reader)))
    }
}

/// A source of the standard input, under the name `-`.
#[derive(Debug, Default)]
pub struct StdinSource {
    is_done: bool,
}

impl StdinSource {
    /// Creates a source that provides the standard input once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Source for StdinSource {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        // `Stdin` locks for each read. The reads here are large, so that costs little.
        let first = !std::mem::replace(&mut self.is_done, true);
        first.then(|| Ok(Object::stream("-", io::stdin())))
    }
}
