//! Generates files of git repositories: packs, indexes, multi-pack indexes, commit-graphs, and
//! zlib streams.

use heist::rng::XorShift64;
use heist_git::{HashKind, ObjectId, ObjectKind};
use sirocco::Format;
use sirocco::deflate::Level;

/// The number of objects in each sample.
pub const SAMPLE_OBJECTS: usize = 10;

/// The number of seeds for each target.
const SEEDS: u64 = 12;

pub(super) fn packs() -> Vec<Vec<u8>> {
    (0..SEEDS).map(|number| sample(number).0).collect()
}

/// Indexes of the first sample: the right one, and some with other orders and offsets.
pub(super) fn indexes() -> Vec<Vec<u8>> {
    let right = Entries::new(0).sorted();
    (0..SEEDS)
        .map(|number| {
            let mut entries = right.clone();
            let at = number as usize % entries.len();
            match number {
                0 => {}
                1..4 => entries[at].1 = entries[at].1 + number - 2,
                4..7 => entries[at].1 = u64::MAX >> (number * 5),
                7..9 => entries.swap(at, (at + 1) % right.len()),
                _ => entries.truncate(at),
            }
            index(&entries)
        })
        .collect()
}

pub(super) fn multi_pack_indexes() -> Vec<Vec<u8>> {
    (0..SEEDS).map(|number| multi_pack_index(&Entries::new(number).sorted(), number)).collect()
}

pub(super) fn commit_graphs() -> Vec<Vec<u8>> {
    (0..SEEDS).map(commit_graph).collect()
}

pub(super) fn streams() -> Vec<Vec<u8>> {
    let mut rng = XorShift64::new(7);
    let stream = |number: u64| {
        let len = (number * number * 40) as usize;
        let content: Vec<u8> =
            (0..len).map(|_| b'a' + (rng.next_u64() % (1 + number)) as u8).collect();
        let level = Level::new((number % 10) as u8);
        let stream = sirocco::compress(Format::Zlib, level, &content);
        [&(len as u16).to_le_bytes()[..], &stream].concat()
    };
    (0..SEEDS).map(stream).collect()
}

/// Returns a pack of blobs and deltas of both kinds, and its index.
#[must_use]
pub fn sample(number: u64) -> (Vec<u8>, Vec<u8>) {
    let entries = Entries::new(number);
    let index = index(&entries.sorted());
    (entries.pack, index)
}

struct Entries {
    pack: Vec<u8>,
    places: Vec<(ObjectId, u64)>,
}

impl Entries {
    fn new(number: u64) -> Self {
        let mut rng = XorShift64::new(number + 1);
        let mut entries = Self { pack: b"PACK\0\0\0\x02\0\0\0\x0a".to_vec(), places: Vec::new() };
        let mut content: Vec<u8> = (0..40).map(|_| rng.next_u64() as u8).collect();
        let mut base = (0, entries.add(3, &[], &content, &content));
        for at in 1..SAMPLE_OBJECTS as u8 {
            let mut next = content[..20].to_vec();
            next.extend_from_slice(&[at, number as u8, at]);
            // Sizes, a copy of the first 20 bytes, and three new ones.
            let delta = [&[content.len() as u8, 23, 0x90, 20, 3], &next[20..]].concat();
            let offset = entries.pack.len() as u64;
            let id = match at % 3 {
                0 => entries.add(3, &[], &next, &next),
                1 => {
                    let distance = offset - entries.places[base.0].1;
                    let low = (distance & 0x7f) as u8;
                    let encoded = match distance >> 7 {
                        0 => vec![low],
                        high => vec![(high - 1) as u8 | 0x80, low],
                    };
                    entries.add(6, &encoded, &delta, &next)
                }
                _ => entries.add(7, base.1.as_bytes(), &delta, &next),
            };
            if rng.next_u64().is_multiple_of(2) {
                (base, content) = ((usize::from(at), id), next);
            }
        }
        let hash = [0; 20];
        entries.pack.extend_from_slice(&hash);
        entries
    }

    fn add(&mut self, kind: u8, base: &[u8], data: &[u8], content: &[u8]) -> ObjectId {
        let id = HashKind::Sha1.hash_object(ObjectKind::Blob, content);
        self.places.push((id, self.pack.len() as u64));
        let size = data.len() as u8;
        self.pack.extend_from_slice(&[0x80 | kind << 4 | size & 15, size >> 4]);
        self.pack.extend_from_slice(base);
        self.pack.extend_from_slice(&sirocco::compress(Format::Zlib, Level::DEFAULT, data));
        id
    }

    fn sorted(&self) -> Vec<(ObjectId, u64)> {
        let mut places = self.places.clone();
        places.sort_unstable();
        places
    }
}

fn fan_out(entries: &[(ObjectId, u64)]) -> Vec<u8> {
    let up_to = |byte: u8| entries.iter().filter(|(id, _)| id.as_bytes()[0] <= byte).count();
    (0..=u8::MAX).flat_map(|byte| (up_to(byte) as u32).to_be_bytes()).collect()
}

fn ids(entries: &[(ObjectId, u64)]) -> Vec<u8> {
    entries.iter().flat_map(|(id, _)| id.as_bytes().to_vec()).collect()
}

fn index(entries: &[(ObjectId, u64)]) -> Vec<u8> {
    let small = |offset: u64| if offset >> 31 == 0 { offset as u32 } else { 1 << 31 };
    let offsets = entries.iter().flat_map(|(_, offset)| small(*offset).to_be_bytes());
    [
        b"\xfftOc\0\0\0\x02".to_vec(),
        fan_out(entries),
        ids(entries),
        vec![0; 4 * entries.len()],
        offsets.collect(),
        (1_u64 << 33).to_be_bytes().to_vec(),
        vec![0; 40],
    ]
    .concat()
}

/// Joins chunks into a file with a table of them.
fn chunked(header: &[u8], chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = header.to_vec();
    let mut at = header.len() + 12 * (chunks.len() + 1);
    for (name, content) in chunks {
        file.extend_from_slice(*name);
        file.extend_from_slice(&(at as u64).to_be_bytes());
        at += content.len();
    }
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&(at as u64).to_be_bytes());
    chunks.iter().for_each(|(_, content)| file.extend_from_slice(content));
    file
}

fn multi_pack_index(entries: &[(ObjectId, u64)], number: u64) -> Vec<u8> {
    let places = entries.iter().flat_map(|(_, offset)| {
        [(number as u32 % 3).to_be_bytes(), (*offset as u32).to_be_bytes()].concat()
    });
    let names = [&b"pack-1.idx\0"[..], b"pack-2.idx\0", b"\0\0"].concat();
    chunked(
        b"MIDX\x01\x01\x04\x00\0\0\0\x02",
        &[
            (b"PNAM", names),
            (b"OIDF", fan_out(entries)),
            (b"OIDL", ids(entries)),
            (b"OOFF", places.collect()),
        ],
    )
}

fn commit_graph(number: u64) -> Vec<u8> {
    let commits = Entries::new(number).sorted();
    let last = commits.len() as u32 - 1;
    let record = |(at, (id, offset)): (usize, &(ObjectId, u64))| {
        let at = at as u32;
        let parents = match at {
            0 => [0x7000_0000, 0x7000_0000],
            1 => [0, 0x7000_0000],
            _ if at == last => [1, 0x8000_0000],
            _ => [at - 1, at - 2],
        };
        let numbers = [parents[0], parents[1], at << 2, *offset as u32 * 1000];
        [id.as_bytes().to_vec(), numbers.iter().flat_map(|n| n.to_be_bytes()).collect()].concat()
    };
    let data = commits.iter().enumerate().flat_map(record).collect();
    let edges = [2_u32, 3, 0x8000_0004].iter().flat_map(|n| n.to_be_bytes()).collect();
    chunked(
        b"CGPH\x01\x01\x04\x00",
        &[
            (b"OIDF", fan_out(&commits)),
            (b"OIDL", ids(&commits)),
            (b"CDAT", data),
            (b"EDGE", edges),
        ],
    )
}
