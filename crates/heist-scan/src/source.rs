//! [`Source`]: where objects come from that are not found by walking a tree.

use heist_device::{DeviceId, IoModel};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Something to be scanned: a file, or a stream of bytes.
pub struct Object {
    pub(crate) name: PathBuf,
    pub(crate) contents: Contents,
    pub(crate) size_hint: Option<u64>,
    pub(crate) device: DeviceId,
}

/// What is in an object.
pub(crate) enum Contents {
    /// Opened by the worker that scans it: large ones are read by several.
    File,
    Stream(Box<dyn Read + Send>),
}

impl Object {
    /// A file, which is also its name. It is opened when its turn comes.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            name: path.into(),
            contents: Contents::File,
            size_hint: None,
            device: DeviceId::UNKNOWN,
        }
    }

    /// A stream: read from the beginning to the end, by one worker.
    #[must_use]
    pub fn stream(name: impl Into<PathBuf>, stream: impl Read + Send + 'static) -> Self {
        let contents = Contents::Stream(Box::new(stream));
        Self { name: name.into(), contents, size_hint: None, device: DeviceId::UNKNOWN }
    }

    /// How large it is, if the source knows.
    #[must_use]
    pub fn with_size_hint(mut self, size: u64) -> Self {
        self.size_hint = Some(size);
        self
    }

    /// Where it is, for a source that maps its files ([`IoModel::MmapImplicit`]).
    #[must_use]
    pub fn on_device(mut self, device: DeviceId) -> Self {
        self.device = device;
        self
    }

    /// What it is called.
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

/// An object that a source could not get at. The scan goes on.
#[derive(Debug)]
pub struct SourceError {
    /// Which one.
    pub name: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot get at '{}': {}", self.name.display(), self.source)
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Gives out objects, one after the other.
///
/// It is asked on the thread that called the scan, and no faster than objects are scanned: while
/// [as many as may](crate::ScanConfig::max_objects_in_flight) are in flight, it is not asked. Each object that it gives
/// out has an [outcome](crate::Outcome), also if the scan is stopped.
pub trait Source {
    /// How its objects are read: what they have to ask for first.
    fn io_model(&self) -> IoModel;

    /// The next object; `None` at the end.
    fn next_object(&mut self) -> Option<Result<Object, SourceError>>;
}

/// The files of a list.
///
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
    /// Of these paths. The list may be longer than memory: it is asked for one at a time.
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

/// One stream, whose length nobody knows.
#[derive(Debug)]
pub struct ReaderSource<R> {
    stream: Option<(PathBuf, R)>,
}

impl<R: Read + Send + 'static> ReaderSource<R> {
    /// Of `reader`, called `name`.
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

/// The standard input, called `-`.
#[derive(Debug, Default)]
pub struct StdinSource {
    is_done: bool,
}

impl StdinSource {
    /// To be scanned once.
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
        // `Stdin` locks for each read, which is large here.
        let first = !std::mem::replace(&mut self.is_done, true);
        first.then(|| Ok(Object::stream("-", io::stdin())))
    }
}
