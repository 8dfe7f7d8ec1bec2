//! The commit-graph: parents, trees and times of commits without reading them.
//!
//! It is a cache that the repository brings along, so in a hostile one it may say anything. What
//! must be right reads the commits; what must be fast may use this and say so.

use super::midx::Chunks;
use super::window::{FanOut, IdTable, IndexBytes, find_id};
use crate::access::Access;
use crate::bytes::{lines, u32_at};
use crate::id::{HashKind, ObjectId};
use crate::problem::{FileError, FileProblem};
use crate::repo::layout::Layout;
use std::io;
use std::path::Path;

/// Where a commit is in a [`CommitGraph`].
pub type GraphPosition = u32;

const NO_PARENT: u32 = 0x7000_0000;
const MORE_PARENTS: u32 = 0x8000_0000;

/// The longest chain of files that is read.
const CHAIN_MAX: usize = 1000;

/// The most parents of one commit that are read.
const PARENTS_MAX: usize = 1 << 16;

/// The commits of all files of a commit-graph.
#[derive(Debug)]
pub struct CommitGraph {
    /// The base first.
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    bytes: IndexBytes,
    hash: HashKind,
    fan_out: FanOut,
    /// The number of commits in the layers below.
    first: u32,
    ids_at: u64,
    data_at: u64,
    edges: Option<u64>,
    edge_count: u64,
}

/// A commit as the graph has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphCommit {
    /// The tree.
    pub tree: ObjectId,
    /// The parents, in order.
    pub parents: Vec<GraphPosition>,
    /// One more than the highest generation of the parents; 0 if the graph does not know it.
    pub generation: u32,
    /// Seconds since 1970.
    pub seconds: u64,
}

impl CommitGraph {
    /// Opens the commit-graph of a repository: a single file or a chain. Returns `None` if there is
    /// none.
    ///
    /// # Errors
    /// Fails if a file is damaged or lies outside the roots.
    pub fn open(layout: &Layout, access: &Access) -> Result<Option<Self>, FileError> {
        let info = layout.objects_dir().join("info");
        let single = info.join("commit-graph");
        let mut graph = Self { layers: Vec::new() };
        if access.exists(&single) {
            graph.push(access, &single, layout.hash_kind())?;
            return Ok(Some(graph));
        }
        let folder = info.join("commit-graphs");
        let chain = folder.join("commit-graph-chain");
        let Some(names) = access.read(&chain, 1 << 20)? else { return Ok(None) };
        for name in lines(&names) {
            let id = ObjectId::from_hex(name).filter(|_| graph.layers.len() < CHAIN_MAX);
            let Some(id) = id else {
                return Err(FileError::new(chain, FileProblem::Malformed("a line is no id")));
            };
            graph.push(access, &folder.join(format!("graph-{id}.graph")), layout.hash_kind())?;
        }
        Ok(Some(graph))
    }

    #[cfg(test)]
    pub(crate) fn from_bytes(bytes: Vec<u8>, hash: HashKind) -> Result<Self, FileError> {
        let layer = Layer::new(IndexBytes::Memory(bytes), Path::new("graph"), hash, 0)?;
        Ok(Self { layers: vec![layer] })
    }

    fn push(&mut self, access: &Access, path: &Path, hash: HashKind) -> Result<(), FileError> {
        let first = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.layers.push(Layer::new(IndexBytes::File(access.open(path)?), path, hash, first)?);
        Ok(())
    }

    /// Returns the number of commits.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.layers.iter().map(|layer| u64::from(layer.fan_out.count())).sum()
    }

    /// Returns `true` if there are no commits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns where a commit is.
    ///
    /// # Errors
    /// Fails if the system refuses to read.
    pub fn find(&self, id: &ObjectId) -> io::Result<Option<GraphPosition>> {
        for layer in &self.layers {
            let table = IdTable { at: layer.ids_at, record: layer.hash.id_len(), id_at: 0 };
            if id.hash_kind() == layer.hash
                && let Some(at) = find_id(&layer.bytes, &layer.fan_out, table, id.as_bytes())?
            {
                return Ok(Some(layer.first + at));
            }
        }
        Ok(None)
    }

    fn layer(&self, position: GraphPosition) -> io::Result<(&Layer, u64)> {
        let after = self.layers.partition_point(|layer| layer.first <= position);
        let layer = after.checked_sub(1).map(|at| &self.layers[at]);
        let layer = layer.filter(|layer| position - layer.first < layer.fan_out.count());
        let layer = layer.ok_or(io::ErrorKind::InvalidData)?;
        Ok((layer, u64::from(position - layer.first)))
    }

    /// Returns the id of a commit.
    ///
    /// # Errors
    /// Fails if there is no such position or the system refuses to read.
    pub fn id_at(&self, position: GraphPosition) -> io::Result<ObjectId> {
        let (layer, at) = self.layer(position)?;
        let mut id = [0; 32];
        let id = &mut id[..layer.hash.id_len()];
        layer.bytes.read_exact_at(layer.ids_at + at * id.len() as u64, id)?;
        Ok(ObjectId::from_slice(layer.hash, id))
    }

    /// Returns a commit.
    ///
    /// # Errors
    /// Fails if there is no such position, if its parents do not exist, or if the system refuses to
    /// read.
    pub fn commit_at(&self, position: GraphPosition) -> io::Result<GraphCommit> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let (layer, at) = self.layer(position)?;
        let len = layer.hash.id_len();
        let mut record = [0; 32 + 16];
        let record = &mut record[..len + 16];
        layer.bytes.read_exact_at(layer.data_at + at * record.len() as u64, record)?;
        let field = |at| u32_at(record, len + at).ok_or_else(invalid);
        let (first, second, times, low) = (field(0)?, field(4)?, field(8)?, field(12)?);
        let mut parents = Vec::new();
        if first != NO_PARENT {
            parents.push(first);
        }
        if second & MORE_PARENTS != 0 {
            let mut edge = u64::from(second & !MORE_PARENTS);
            loop {
                let edges = layer.edges.filter(|_| edge < layer.edge_count);
                let parent = layer.bytes.u32_at(edges.ok_or_else(invalid)? + 4 * edge)?;
                parents.push(parent & !MORE_PARENTS);
                if parent & MORE_PARENTS != 0 {
                    break;
                }
                if parents.len() == PARENTS_MAX {
                    return Err(invalid());
                }
                edge += 1;
            }
        } else if second != NO_PARENT {
            parents.push(second);
        }
        if parents.iter().any(|parent| u64::from(*parent) >= self.len()) {
            return Err(invalid());
        }
        Ok(GraphCommit {
            tree: ObjectId::from_slice(layer.hash, &record[..len]),
            parents,
            generation: times >> 2,
            seconds: u64::from(times & 3) << 32 | u64::from(low),
        })
    }
}

impl Layer {
    fn new(bytes: IndexBytes, path: &Path, hash: HashKind, first: u32) -> Result<Self, FileError> {
        let malformed = |what| FileError::new(path, FileProblem::Malformed(what));
        let mut header = [0; 8];
        bytes.read_exact_at(0, &mut header).map_err(|_| malformed("it is cut"))?;
        let expected = if hash == HashKind::Sha1 { 1 } else { 2 };
        if &header[..4] != b"CGPH" || header[4] != 1 || header[5] != expected {
            return Err(malformed("it does not begin like a commit-graph of this repository"));
        }
        let chunks = Chunks::read(&bytes, 8, header[6])
            .ok_or_else(|| malformed("its table of chunks leads out of it"))?;
        let missing = || malformed("one of its tables is missing or cut");
        let fan_out_at = chunks.get(b"OIDF", FanOut::LEN).ok_or_else(missing)?;
        let fan_out = FanOut::read(&bytes, fan_out_at, path)?;
        let count = fan_out.count();
        // Above this, numbers of commits mean something else.
        if first.checked_add(count).is_none_or(|all| all >= NO_PARENT) {
            return Err(malformed("it states more commits than it can number"));
        }
        let (len, count) = (hash.id_len() as u64, u64::from(count));
        Ok(Self {
            hash,
            fan_out,
            first,
            ids_at: chunks.get(b"OIDL", count * len).ok_or_else(missing)?,
            data_at: chunks.get(b"CDAT", count * (len + 16)).ok_or_else(missing)?,
            edges: chunks.get(b"EDGE", 0),
            edge_count: chunks.size(b"EDGE") / 4,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of three commits: a root, its child, and a merge of both and the child again.
    fn graph() -> Vec<u8> {
        let mut fan_out = [0_u32; 256];
        fan_out[1] = 1;
        fan_out[2] = 2;
        fan_out[3..].fill(3);
        let fan_out: Vec<u8> = fan_out.iter().flat_map(|n| n.to_be_bytes()).collect();
        let ids: Vec<u8> = [1_u8, 2, 3].iter().flat_map(|&id| [id; 20]).collect();
        let mut data = Vec::new();
        for parents in [[NO_PARENT, NO_PARENT], [0, NO_PARENT], [0, MORE_PARENTS]] {
            data.extend_from_slice(&[9; 20]);
            data.extend(parents.iter().flat_map(|n| n.to_be_bytes()));
            data.extend([5_u32 << 2 | 1, 7].iter().flat_map(|n| n.to_be_bytes()));
        }
        let edges: Vec<u8> = [1, 1 | MORE_PARENTS].iter().flat_map(|n| n.to_be_bytes()).collect();
        let chunks: [(&[u8; 4], Vec<u8>); 4] =
            [(b"OIDF", fan_out), (b"OIDL", ids), (b"CDAT", data), (b"EDGE", edges)];
        let mut file = b"CGPH\x01\x01\x04\x00".to_vec();
        let mut at = 8 + 12 * 5;
        for (name, content) in &chunks {
            file.extend_from_slice(*name);
            file.extend_from_slice(&(at as u64).to_be_bytes());
            at += content.len();
        }
        file.extend_from_slice(&[0; 4]);
        file.extend_from_slice(&(at as u64).to_be_bytes());
        chunks.iter().for_each(|(_, content)| file.extend_from_slice(content));
        file
    }

    #[test]
    fn parents_follow_the_edges() {
        let graph = CommitGraph::from_bytes(graph(), HashKind::Sha1).unwrap();
        let merge = ObjectId::from_bytes(&[3; 20]).unwrap();
        let position = graph.find(&merge).unwrap().unwrap();
        assert_eq!(graph.id_at(position).unwrap(), merge);
        let commit = graph.commit_at(position).unwrap();
        assert_eq!(commit.parents, [0, 1, 1]);
        assert_eq!((commit.generation, commit.seconds), (5, 1 << 32 | 7));
        assert!(graph.commit_at(3).is_err());
        assert_eq!(graph.find(&ObjectId::from_bytes(&[4; 20]).unwrap()).unwrap(), None);
    }

    #[test]
    fn damage_anywhere_is_an_error_or_another_answer() {
        let whole = graph();
        for cut in 0..whole.len() {
            let cut = CommitGraph::from_bytes(whole[..cut].to_vec(), HashKind::Sha1);
            assert!(cut.is_err());
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let Ok(graph) = CommitGraph::from_bytes(bytes, HashKind::Sha1) else { continue };
                for position in 0..4 {
                    let _ = (graph.commit_at(position), graph.id_at(position));
                }
                let _ = graph.find(&ObjectId::from_bytes(&[2; 20]).unwrap());
            }
        }
    }
}
