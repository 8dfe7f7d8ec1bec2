//! [`DiffSource`]: the objects of a diff.

use super::places::{FilePlaces, TextPlaces};
use super::reader::{DiffReader, Piece};
use crate::placement::Placement;
use crate::source::{Object, Source, SourceError};
use heist_device::IoModel;
use std::fmt;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The size up to which a piece of the diff is held in memory, with its places. A larger one is
/// streamed.
const HELD_BYTES: usize = 128 << 10;

/// What a [`DiffSource`] has met so far. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct DiffCounts {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    binary_files: AtomicU64,
    texts: AtomicU64,
    files: AtomicU64,
}

impl DiffCounts {
    /// Returns the number of files whose content the diff does not show as text.
    #[must_use]
    pub fn binary_files(&self) -> u64 {
        self.counts.binary_files.load(Ordering::Relaxed)
    }

    /// Returns the number of objects that are text between the files, or around them.
    #[must_use]
    pub fn texts(&self) -> u64 {
        self.counts.texts.load(Ordering::Relaxed)
    }

    /// Returns the number of objects that are files of the diff.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.counts.files.load(Ordering::Relaxed)
    }
}

/// A source of what a diff adds. See the [module](super).
///
/// An input that is not a diff, or only in part, is scanned as text under the name of the source.
///
/// # Examples
/// ```
/// use heist_scan::diff::DiffSource;
/// use heist_scan::rules::RuleSet;
/// use heist_scan::{DetectorOptions, Scan, SecretDetector};
/// use std::sync::{Arc, Mutex};
///
/// let diff = "\
/// --- a/app.ini
/// +++ b/app.ini
/// @@ -7,2 +7,2 @@
/// -password = \"old\"
/// +password = \"7tRmq!x2Lw9z\" # heist:allow
///  user = app
/// ";
/// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
/// let findings = Arc::new(Mutex::new(Vec::new()));
/// let source = DiffSource::new("stdin", diff.as_bytes());
/// Scan::new(detector).source(source).run(Arc::clone(&findings))?;
/// let findings = findings.lock().unwrap();
/// assert_eq!((&*findings[0].path, findings[0].line), ("app.ini".as_ref(), 7));
/// # Ok::<(), heist_scan::ScanError>(())
/// ```
pub struct DiffSource<R> {
    name: PathBuf,
    reader: Arc<Mutex<DiffReader<R>>>,
    wants: Box<dyn FnMut(&Path) -> bool + Send>,
    counts: DiffCounts,
    /// Ends when the worker that reads the diff is done with it.
    streamed: Option<Receiver<()>>,
}

impl<R: Read + Send + 'static> DiffSource<R> {
    /// Creates a source of a diff. `name` is the name of the text that is not part of a file.
    pub fn new(name: impl Into<PathBuf>, reader: R) -> Self {
        Self {
            name: name.into(),
            reader: Arc::new(Mutex::new(DiffReader::new(reader))),
            wants: Box::new(|_| true),
            counts: DiffCounts::default(),
            streamed: None,
        }
    }

    /// Leaves out the files for whose paths `wants` returns `false`.
    #[must_use]
    pub fn only(mut self, wants: impl FnMut(&Path) -> bool + Send + 'static) -> Self {
        self.wants = Box::new(wants);
        self
    }

    /// Returns the counts of this source, which can be read during the scan and after it.
    #[must_use]
    pub fn counts(&self) -> DiffCounts {
        self.counts.clone()
    }

    /// Returns the next object, or `None` at the end.
    fn advance(&mut self) -> io::Result<Option<Object>> {
        if let Some(streamed) = self.streamed.take() {
            // Always an error: the worker sends nothing, and drops its end when it is done.
            let _ = streamed.recv();
        }
        let mut reader = lock(&self.reader);
        let mut held = Vec::new();
        // Whatever is left of a piece that its worker did not read to the end.
        while reader.pull(&mut held)? {
            held.clear();
        }
        loop {
            let piece = reader.next()?;
            self.counts.counts.binary_files.store(reader.binary_files(), Ordering::Relaxed);
            let Some(piece) = piece else { return Ok(None) };
            let is_wanted = match &piece {
                Piece::Text { .. } => true,
                Piece::File { path, .. } => (self.wants)(path),
            };
            held.clear();
            let mut is_text = false;
            let mut has_more = true;
            while has_more && held.len() + memory(&piece) < HELD_BYTES {
                let from = held.len();
                has_more = reader.pull(&mut held)?;
                is_text |= !held[from..].trim_ascii().is_empty();
                if !is_wanted {
                    held.clear();
                }
            }
            if !is_wanted {
                while has_more {
                    held.clear();
                    has_more = reader.pull(&mut held)?;
                }
                continue;
            }
            // A file from which lines are only removed, and the empty line between two files.
            if !has_more && !is_text {
                continue;
            }
            let (name, count, placement): (_, _, Arc<dyn Placement>) = match piece {
                Piece::Text { newlines, offset } => {
                    let places = Arc::new(TextPlaces { newlines, offset });
                    (self.name.clone(), &self.counts.counts.texts, places)
                }
                Piece::File { path, places } => (path, &self.counts.counts.files, places),
            };
            count.fetch_add(1, Ordering::Relaxed);
            let object = if has_more {
                let (done, streamed) = channel();
                self.streamed = Some(streamed);
                let reader = Arc::clone(&self.reader);
                Object::stream(
                    name,
                    Rest { held: Cursor::new(held), reader, failed: None, _done: done },
                )
            } else {
                Object::stream(name, Cursor::new(held))
            };
            return Ok(Some(object.with_placement(placement)));
        }
    }
}

impl<R> fmt::Debug for DiffSource<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiffSource").field("name", &self.name).finish_non_exhaustive()
    }
}

fn memory(piece: &Piece) -> usize {
    match piece {
        Piece::Text { .. } => 0,
        Piece::File { places, .. } => FilePlaces::memory(places),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Read + Send + 'static> Source for DiffSource<R> {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        let next = self.advance();
        next.map_err(|error| SourceError::new(self.name.clone(), error)).transpose()
    }
}

/// A piece of the diff that is too large to be held: its first bytes, and the reader of the rest.
struct Rest<R> {
    held: Cursor<Vec<u8>>,
    reader: Arc<Mutex<DiffReader<R>>>,
    /// Why reading failed, behind what is held.
    failed: Option<io::Error>,
    /// Dropped when the worker does not need the reader any more.
    _done: Sender<()>,
}

impl<R: Read> Read for Rest<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.held.read(into)?;
        if count > 0 || into.is_empty() {
            return Ok(count);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut held = std::mem::take(&mut self.held).into_inner();
        held.clear();
        let mut reader = lock(&self.reader);
        while held.len() < into.len().min(HELD_BYTES) {
            match reader.pull(&mut held) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        drop(reader);
        self.held = Cursor::new(held);
        if self.held.get_ref().is_empty()
            && let Some(error) = self.failed.take()
        {
            return Err(error);
        }
        self.held.read(into)
    }
}
