//! [`CommitWalk`]: the commits that refs reach, in an order that never changes.
//!
//! Invariants: a commit comes after its parents. Of commits that could come next, the one with the
//! earlier time comes first, then the one with the smaller id. So the order depends on the commits
//! alone, and not on the names of refs or on how objects are stored.
//!
//! Every commit is read, because a commit-graph file is a cache that a repository brings along and
//! may say anything. Not guaranteed: that a parent is earlier in time. Clocks are often wrong.

use super::tips::{Target, Tip, Tips};
use crate::id::{HashKind, ObjectId};
use crate::object::ObjectKind;
use crate::parse::Commit;
use crate::problem::ObjectError;
use crate::store::ObjectReader;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// The number of a commit in the order of its walk: the oldest is 0.
pub type CommitNumber = u32;

/// A larger commit object is not read. The largest merges have a few thousand parents.
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// The most objects that are listed as unreadable. All are counted.
const UNREADABLE_LISTED: usize = 100;

/// A commit of a walk.
#[derive(Clone, Debug)]
pub(crate) struct WalkedCommit {
    pub(crate) id: ObjectId,
    pub(crate) tree: ObjectId,
    /// When it was committed, in seconds since 1970.
    pub(crate) seconds: i64,
    parents: Range<u32>,
    /// Whether parents that it names are missing.
    pub(crate) is_cut: bool,
}

/// What a walk needs of a commit besides its parents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitFacts {
    pub(crate) tree: ObjectId,
    pub(crate) seconds: i64,
}

impl CommitFacts {
    pub(crate) fn of(commit: &Commit<'_>) -> Self {
        let seconds = commit.committer.map_or(0, |committer| committer.seconds);
        Self { tree: commit.tree, seconds }
    }
}

/// Objects that a walk needed and could not read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UnreadableObjects {
    /// The number of objects that the repository does not have.
    pub missing: u64,
    /// The number of objects that are damaged, too large or of the wrong kind.
    pub damaged: u64,
    /// The first of them, each with the reason.
    pub listed: Vec<(ObjectId, ObjectError)>,
}

impl UnreadableObjects {
    pub(crate) fn add(&mut self, id: ObjectId, error: ObjectError) {
        match error {
            ObjectError::Missing | ObjectError::MissingBase(_) => self.missing += 1,
            _ => self.damaged += 1,
        }
        if self.listed.len() < UNREADABLE_LISTED {
            self.listed.push((id, error));
        }
    }

    /// Returns `true` if everything could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.missing == 0 && self.damaged == 0
    }
}

/// The commits that refs reach.
#[derive(Clone, Debug)]
pub struct CommitWalk {
    hash: HashKind,
    /// The oldest first.
    pub(crate) commits: Vec<WalkedCommit>,
    parents: Vec<CommitNumber>,
    numbers: HashMap<ObjectId, CommitNumber>,
    /// The names that lead to these commits.
    pub(crate) tips: Vec<Tip>,
    head: Option<CommitNumber>,
    unreadable: UnreadableObjects,
    in_cycles: u64,
}

/// What the first half of the walk has found.
struct Found {
    commits: Vec<WalkedCommit>,
    parents: Vec<u32>,
    numbers: HashMap<ObjectId, u32>,
    unreadable: UnreadableObjects,
}

impl CommitWalk {
    /// Reads all commits that the tips reach. `visit` gets each commit object once, in any order.
    #[must_use]
    pub fn read(
        tips: Tips,
        hash: HashKind,
        reader: &mut ObjectReader<'_>,
        mut visit: impl FnMut(&ObjectId, &Commit<'_>),
    ) -> Self {
        let mut content = Vec::new();
        Self::read_with(tips, hash, |id, parents| {
            let commit = read_commit(id, hash, reader, &mut content)?;
            visit(id, &commit);
            parents.extend(commit.parents());
            Ok(CommitFacts::of(&commit))
        })
    }

    /// Does the same with a function that adds the parents of a commit and returns the rest.
    pub(crate) fn read_with(
        tips: Tips,
        hash: HashKind,
        look_up: impl FnMut(&ObjectId, &mut Vec<ObjectId>) -> Result<CommitFacts, ObjectError>,
    ) -> Self {
        let Tips { tips, head, shallow, unreadable } = tips;
        let mut starts: Vec<ObjectId> = tips.iter().filter_map(Tip::commit).collect();
        starts.extend(head);
        let found = Found::read(&starts, &shallow, unreadable, look_up);
        Self::order(found, tips, head, hash)
    }

    /// Numbers the commits in their order, the oldest first.
    fn order(found: Found, tips: Vec<Tip>, head: Option<ObjectId>, hash: HashKind) -> Self {
        let Found { commits, parents, mut numbers, unreadable } = found;
        let range =
            |commit: &WalkedCommit| commit.parents.start as usize..commit.parents.end as usize;
        let mut waits_for: Vec<u32> = commits.iter().map(|one| one.parents.len() as u32).collect();
        // The children of each commit, as a linked list in two arrays.
        let mut first_child = vec![u32::MAX; commits.len()];
        let mut next_child = vec![u32::MAX; parents.len()];
        let mut child_of_edge = vec![0; parents.len()];
        for (number, commit) in (0..).zip(&commits) {
            for edge in range(commit) {
                let parent = parents[edge] as usize;
                child_of_edge[edge] = number;
                next_child[edge] = std::mem::replace(&mut first_child[parent], edge as u32);
            }
        }
        let key = |number: u32| {
            let commit = &commits[number as usize];
            Reverse((commit.seconds, commit.id, number))
        };
        let mut ready: BinaryHeap<_> =
            (0..commits.len() as u32).filter(|&at| waits_for[at as usize] == 0).map(key).collect();
        let mut new_number = vec![u32::MAX; commits.len()];
        let mut order = Vec::with_capacity(commits.len());
        while let Some(Reverse((_, _, number))) = ready.pop() {
            new_number[number as usize] = order.len() as u32;
            order.push(number);
            let mut edge = first_child[number as usize];
            while edge != u32::MAX {
                let child = child_of_edge[edge as usize];
                waits_for[child as usize] -= 1;
                if waits_for[child as usize] == 0 {
                    ready.push(key(child));
                }
                edge = next_child[edge as usize];
            }
        }
        let mut in_cycles: Vec<u32> =
            (0..commits.len() as u32).filter(|&at| new_number[at as usize] == u32::MAX).collect();
        in_cycles.sort_by_key(|&number| Reverse(key(number)));
        for &number in &in_cycles {
            new_number[number as usize] = order.len() as u32;
            order.push(number);
        }
        let mut ordered_parents = Vec::with_capacity(parents.len());
        let mut ordered = Vec::with_capacity(commits.len());
        for number in order {
            let commit = &commits[number as usize];
            let from = ordered_parents.len() as u32;
            ordered_parents
                .extend(parents[range(commit)].iter().map(|&at| new_number[at as usize]));
            let parents = from..ordered_parents.len() as u32;
            ordered.push(WalkedCommit { parents, ..commit.clone() });
        }
        numbers.values_mut().for_each(|number| *number = new_number[*number as usize]);
        let commits = ordered;
        let head = head.and_then(|id| numbers.get(&id).copied());
        let in_cycles = in_cycles.len() as u64;
        Self { hash, commits, parents: ordered_parents, numbers, tips, head, unreadable, in_cycles }
    }

    /// Returns the number of commits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commits.len()
    }

    /// Returns `true` if the refs reach no commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Returns the hash function of the ids.
    #[must_use]
    pub const fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// Returns the commit that is checked out.
    #[must_use]
    pub const fn head(&self) -> Option<CommitNumber> {
        self.head
    }

    /// Returns what could not be read.
    #[must_use]
    pub const fn unreadable(&self) -> &UnreadableObjects {
        &self.unreadable
    }

    /// Returns the number of commits that are their own ancestors, which only a forged index can
    /// make. They come last, in the order of their times.
    #[must_use]
    pub const fn in_cycles(&self) -> u64 {
        self.in_cycles
    }

    /// Returns the id of a commit.
    ///
    /// # Panics
    /// If the walk has no commit with this number.
    #[must_use]
    pub fn id(&self, number: CommitNumber) -> ObjectId {
        self.commits[number as usize].id
    }

    /// Returns the number of a commit.
    #[must_use]
    pub fn number(&self, id: &ObjectId) -> Option<CommitNumber> {
        self.numbers.get(id).copied()
    }

    /// Returns `true` if the repository does not have all parents of a commit, as at the end of a
    /// shallow clone. What such a commit has may be older.
    ///
    /// # Panics
    /// If the walk has no commit with this number.
    #[must_use]
    pub fn is_boundary(&self, number: CommitNumber) -> bool {
        self.commits[number as usize].is_cut
    }

    /// Returns the parents of a commit, as far as the repository has them.
    ///
    /// # Panics
    /// If the walk has no commit with this number.
    #[must_use]
    pub fn parents(&self, number: CommitNumber) -> &[CommitNumber] {
        let Range { start, end } = self.commits[number as usize].parents;
        &self.parents[start as usize..end as usize]
    }
}

impl Found {
    fn read(
        starts: &[ObjectId],
        shallow: &[ObjectId],
        unreadable: UnreadableObjects,
        mut look_up: impl FnMut(&ObjectId, &mut Vec<ObjectId>) -> Result<CommitFacts, ObjectError>,
    ) -> Self {
        let shallow: std::collections::HashSet<&ObjectId> = shallow.iter().collect();
        let mut found =
            Self { commits: vec![], parents: vec![], numbers: HashMap::new(), unreadable };
        // `None` for what cannot be read.
        let mut numbers: HashMap<ObjectId, Option<u32>> = HashMap::new();
        let mut parent_ids: Vec<ObjectId> = Vec::new();
        let mut open: Vec<ObjectId> = starts.iter().rev().copied().collect();
        let mut named = Vec::new();
        while let Some(id) = open.pop() {
            if numbers.contains_key(&id) {
                continue;
            }
            named.clear();
            let CommitFacts { tree, seconds } = match look_up(&id, &mut named) {
                Ok(commit) => commit,
                Err(error) => {
                    found.unreadable.add(id, error);
                    numbers.insert(id, None);
                    continue;
                }
            };
            let from = parent_ids.len();
            let mut is_cut = shallow.contains(&id);
            if !is_cut {
                for parent in &named {
                    // The same parent twice is one parent.
                    if !parent_ids[from..].contains(parent) || parent_ids.len() - from > 64 {
                        parent_ids.push(*parent);
                    }
                }
            }
            // In the order of git: the first parent is read next.
            open.extend(parent_ids[from..].iter().rev().filter(|id| !numbers.contains_key(id)));
            is_cut &= !named.is_empty();
            numbers.insert(id, Some(found.commits.len() as u32));
            found.commits.push(WalkedCommit {
                id,
                tree,
                seconds,
                parents: from as u32..parent_ids.len() as u32,
                is_cut,
            });
        }
        // Now that every parent was tried, keep those that exist.
        for commit in &mut found.commits {
            let Range { start, end } = commit.parents;
            let from = found.parents.len() as u32;
            for id in &parent_ids[start as usize..end as usize] {
                match numbers.get(id) {
                    Some(Some(number)) => found.parents.push(*number),
                    _ => commit.is_cut = true,
                }
            }
            commit.parents = from..found.parents.len() as u32;
        }
        let known = numbers.into_iter().filter_map(|(id, number)| Some((id, number?)));
        found.numbers = known.collect();
        found
    }
}

/// Reads a commit into `content` and parses it.
pub(crate) fn read_commit<'a>(
    id: &ObjectId,
    hash: HashKind,
    reader: &mut ObjectReader<'_>,
    content: &'a mut Vec<u8>,
) -> Result<Commit<'a>, ObjectError> {
    let kind = reader.read_into(id, content)?;
    if kind != ObjectKind::Commit {
        return Err(ObjectError::Corrupt("it is not a commit"));
    }
    if content.len() > COMMIT_BYTES_MAX {
        return Err(ObjectError::TooLarge { size: content.len() as u64 });
    }
    Commit::parse(hash, content).ok_or(ObjectError::Corrupt("it has no tree"))
}

/// Which of the tips lead to objects that are not commits.
impl CommitWalk {
    /// Returns the trees and blobs that refs point to without a commit, each with the ref's name.
    pub(crate) fn bare_tips(&self) -> impl Iterator<Item = (&[u8], ObjectKind, ObjectId)> {
        self.tips.iter().filter_map(|tip| match tip.target {
            Target::Other(kind, id) => Some((tip.name(), kind, id)),
            Target::Commit(_) => None,
        })
    }
}
