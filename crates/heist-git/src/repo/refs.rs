//! Refs: loose ones, packed ones, and `HEAD`. They are needed for names only; objects are found
//! without them.

use super::layout::Layout;
use crate::access::Access;
use crate::bytes::{lines, split_once};
use crate::id::ObjectId;
use crate::problem::{FileError, FileProblem};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A loose ref is an id, or `ref: ` and a name.
const LOOSE_MAX: u64 = 4096;

const PACKED_MAX: u64 = 256 << 20;

/// The most loose refs that are read.
const REFS_MAX: usize = 1_000_000;

/// How many symbolic refs may refer to the next; git has the same limit.
const SYMBOLIC_MAX: usize = 5;

/// A ref and what it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ref {
    /// The whole name, such as `refs/heads/main`, in any bytes.
    pub name: Vec<u8>,
    /// The object: of an annotated tag, the tag.
    pub target: ObjectId,
    /// What the annotated tag points to, if `packed-refs` says so.
    pub peeled: Option<ObjectId>,
}

/// What `HEAD` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Head {
    /// A branch, which may not exist yet.
    Branch(Vec<u8>),
    /// A commit.
    Detached(ObjectId),
    /// Nothing that can be read.
    #[default]
    Unknown,
}

/// The refs of a repository.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Refs {
    /// Sorted by name.
    pub refs: Vec<Ref>,
    /// What `HEAD` says.
    pub head: Head,
    /// What could not be read. The names in it are missing; the objects are not.
    pub problems: Vec<FileError>,
}

/// A ref as it is written: the object or the name of another.
enum Value {
    Direct(ObjectId, Option<ObjectId>),
    Symbolic(Vec<u8>),
}

impl Refs {
    /// Reads all refs of a repository. Damaged ones are among the problems.
    #[must_use]
    pub fn read(layout: &Layout, access: &Access) -> Self {
        let mut reader = RefReader { layout, access, values: BTreeMap::new(), problems: vec![] };
        if layout.has_reftable() {
            let problem = FileProblem::Unsupported("refs in reftable files");
            let path = layout.common_dir().join("reftable");
            reader.problems.push(FileError::new(path, problem));
        }
        reader.read_packed();
        reader.read_loose();
        let head = match reader.read_value(&layout.git_dir().join("HEAD")) {
            Some(Value::Symbolic(name)) => Head::Branch(name),
            Some(Value::Direct(id, _)) => Head::Detached(id),
            None => Head::Unknown,
        };
        let resolved = reader.values.keys().filter_map(|name| reader.resolve(name));
        Self { refs: resolved.collect(), head, problems: reader.problems }
    }

    /// Returns the object of the ref with this name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<ObjectId> {
        let at =
            self.refs.binary_search_by(|candidate| candidate.name.as_slice().cmp(name)).ok()?;
        Some(self.refs[at].target)
    }

    /// Returns the commit that is checked out, if there is one.
    #[must_use]
    pub fn head_commit(&self) -> Option<ObjectId> {
        match &self.head {
            Head::Branch(name) => self.find(name),
            Head::Detached(id) => Some(*id),
            Head::Unknown => None,
        }
    }
}

struct RefReader<'a> {
    layout: &'a Layout,
    access: &'a Access,
    values: BTreeMap<Vec<u8>, Value>,
    problems: Vec<FileError>,
}

impl RefReader<'_> {
    fn read_packed(&mut self) {
        let path = self.layout.common_dir().join("packed-refs");
        let text = match self.access.read(&path, PACKED_MAX) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return self.problems.push(error),
        };
        let mut last: Option<Vec<u8>> = None;
        for line in lines(&text) {
            if line.starts_with(b"#") || line.is_empty() {
                continue;
            }
            let id = |hex| ObjectId::from_hex(hex).filter(|id| self.is_own(id));
            if let Some(peeled) = line.strip_prefix(b"^").and_then(id) {
                if let Some(Value::Direct(_, of)) =
                    last.take().and_then(|name| self.values.get_mut(&name))
                {
                    *of = Some(peeled);
                }
            } else if let Some((target, name)) = split_once(line, b' ')
                && let Some(target) = id(target)
            {
                last = Some(name.to_vec());
                self.values.insert(name.to_vec(), Value::Direct(target, None));
            } else {
                self.problems.push(FileError::new(
                    path,
                    FileProblem::Malformed("a line is neither a ref nor a comment"),
                ));
                return;
            }
        }
    }

    fn is_own(&self, id: &ObjectId) -> bool {
        id.hash_kind() == self.layout.hash_kind()
    }

    /// Reads `refs`, without following links to directories. Each overrides the packed one.
    fn read_loose(&mut self) {
        let mut left = REFS_MAX;
        let mut places: Vec<(PathBuf, Vec<u8>)> =
            vec![(self.layout.common_dir().join("refs"), b"refs".to_vec())];
        while let Some((place, name)) = places.pop() {
            let entries = match self.access.list(&place, left) {
                Ok(entries) => entries,
                Err(error) => {
                    self.problems.push(error);
                    continue;
                }
            };
            left = left.saturating_sub(entries.len());
            for entry in entries {
                let name = [&name, b"/".as_slice(), entry.name()].concat();
                if entry.is_dir {
                    places.push((entry.path, name));
                } else if !name.ends_with(b".lock")
                    && let Some(value) = self.read_value(&entry.path)
                {
                    self.values.insert(name, value);
                }
            }
        }
    }

    fn read_value(&mut self, path: &Path) -> Option<Value> {
        let text = match self.access.read(path, LOOSE_MAX) {
            Ok(text) => text?,
            Err(error) => {
                self.problems.push(error);
                return None;
            }
        };
        let line = lines(&text).next().unwrap_or_default().trim_ascii();
        if let Some(name) = line.strip_prefix(b"ref:") {
            return Some(Value::Symbolic(name.trim_ascii().to_vec()));
        }
        let id = ObjectId::from_hex(line).filter(|id| self.is_own(id));
        if id.is_none() {
            let problem = FileProblem::Malformed("it is neither an id nor a name");
            self.problems.push(FileError::new(path, problem));
        }
        id.map(|id| Value::Direct(id, None))
    }

    fn resolve(&self, name: &[u8]) -> Option<Ref> {
        let mut at = name;
        for _ in 0..=SYMBOLIC_MAX {
            match self.values.get(at)? {
                Value::Direct(target, peeled) => {
                    return Some(Ref { name: name.to_vec(), target: *target, peeled: *peeled });
                }
                Value::Symbolic(next) => at = next,
            }
        }
        None
    }
}
