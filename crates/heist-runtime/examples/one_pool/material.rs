//! The material to search: generated or given files, and generated remote objects, with keys hidden
//! in them. The same seed always generates the same material.

use crate::search::{KEY_BYTES, KEY_PREFIX};
use heist::rng::XorShift64;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, process};

const SEED: u64 = 5;

/// A few long files, which are searched in slices, and some short ones.
const LONG_FILES: usize = 4;
const LONG_FILE_BYTES: usize = 4 << 20;
const SHORT_FILES: usize = 20;
const SHORT_FILE_BYTES: usize = 256 << 10;
const KEYS_PER_FILE: usize = 3;

const OBJECTS: usize = 400;
/// The average size of an object; the sizes range from half of this to one and a half.
const OBJECT_BYTES: usize = 32 << 10;
const LATENCY_MAX_US: u32 = 60_000;

/// A remote object.
pub(crate) struct Object {
    pub(crate) body: Vec<u8>,
    /// How long the server takes to answer.
    pub(crate) latency: Duration,
}

pub(crate) struct Material {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) objects: Arc<[Object]>,
    /// All hidden keys, if they are known.
    pub(crate) keys: Option<BTreeSet<String>>,
    _directory: Option<TemporaryDirectory>,
}

impl Material {
    /// Generates objects, and files in a temporary directory that is removed when this is dropped.
    pub(crate) fn make() -> Result<Self, String> {
        let mut maker = Maker { random: XorShift64::new(SEED), keys: BTreeSet::new() };
        let objects = maker.objects();
        let directory = TemporaryDirectory::make()
            .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
        let long = [LONG_FILE_BYTES; LONG_FILES];
        let short = [SHORT_FILE_BYTES; SHORT_FILES];
        let mut files = Vec::new();
        for (number, bytes) in long.into_iter().chain(short).enumerate() {
            let path = directory.0.join(format!("{number}.log"));
            fs::write(&path, maker.text(bytes, KEYS_PER_FILE))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            files.push(path);
        }
        Ok(Self { files, objects, keys: Some(maker.keys), _directory: Some(directory) })
    }

    /// Generates the same objects, and uses every file below these paths.
    pub(crate) fn with_files_of(paths: &[PathBuf]) -> Result<Self, String> {
        let mut maker = Maker { random: XorShift64::new(SEED), keys: BTreeSet::new() };
        let mut files = Vec::new();
        let mut folders = paths.to_vec();
        while let Some(path) = folders.pop() {
            let cannot_look = |error| format!("cannot read {}: {error}", path.display());
            let metadata = fs::symlink_metadata(&path).map_err(cannot_look)?;
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).map_err(cannot_look)?;
                folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            } else if metadata.is_file() {
                files.push(path);
            }
        }
        Ok(Self { files, objects: maker.objects(), keys: None, _directory: None })
    }
}

/// Generates text and hides keys in it. Nothing else in the text looks like a key, because it has
/// no capitals.
struct Maker {
    random: XorShift64,
    keys: BTreeSet<String>,
}

impl Maker {
    fn objects(&mut self) -> Arc<[Object]> {
        let object = |_| {
            let bytes = OBJECT_BYTES / 2 + self.random.below_usize(OBJECT_BYTES);
            let body = {
                let keys = self.random.below_usize(2);
                self.text(bytes, keys)
            };
            let latency_us = 1_000 + self.random.below(LATENCY_MAX_US - 1_000);
            Object { body, latency: Duration::from_micros(latency_us.into()) }
        };
        (0..OBJECTS).map(object).collect()
    }

    fn text(&mut self, bytes: usize, keys: usize) -> Vec<u8> {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz =:./\n";
        let mut text: Vec<u8> =
            (0..bytes).map(|_| LETTERS[self.random.below_usize(LETTERS.len())]).collect();
        // Each key is in its own part, because overlapping keys would destroy each other.
        for part in 0..keys {
            let part_bytes = bytes / keys;
            let place = part * part_bytes + self.random.below_usize(part_bytes - KEY_BYTES);
            let key = self.key();
            text[place..][..KEY_BYTES].copy_from_slice(key.as_bytes());
            self.keys.insert(key);
        }
        text
    }

    fn key(&mut self) -> String {
        const CAPITALS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let rest = (KEY_PREFIX.len()..KEY_BYTES)
            .map(|_| CAPITALS[self.random.below_usize(CAPITALS.len())]);
        KEY_PREFIX.iter().copied().chain(rest).map(char::from).collect()
    }
}

/// A directory among the system's temporary files. Dropping it removes the directory and its
/// contents.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn make() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("heist-one-pool-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // Nothing can be done if the directory cannot be removed.
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}
