//! [`Revisions`]: the commits that `A..B`, a branch, a date or an id stand for.
//!
//! Names are those of refs, and ids or their beginnings. `~2` and `^` after a name go back by first
//! parents. There is no other syntax, so what a name means never depends on a reflog or on a
//! configuration.

use super::graph::{CommitNumber, CommitWalk};
use crate::id::ObjectId;
use std::fmt;

/// The shortest beginning of an id.
const PREFIX_MIN: usize = 4;

/// Which commits of a history are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revisions {
    /// The commits that these names reach; all commits if it is empty.
    pub include: Vec<String>,
    /// But not those that these names reach.
    pub exclude: Vec<String>,
    /// Only these commits themselves, if there are any.
    pub only: Vec<String>,
    /// Only commits that were committed at this time or later, in seconds since 1970.
    pub since: Option<i64>,
    /// Ids of commits that are excluded with all that they reach, if the repository has them.
    pub exclude_ids: Vec<ObjectId>,
    /// Ids of commits that are included, beside the names.
    pub include_ids: Vec<ObjectId>,
}

/// Why revisions do not stand for commits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevisionError {
    /// There is no ref and no commit with this name.
    Unknown(String),
    /// Several commits have ids with this beginning.
    Ambiguous(String),
    /// The commit has no such ancestor.
    NoAncestor(String),
    /// A range does not have the form `A..B`.
    NotARange(String),
}

impl fmt::Display for RevisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "no branch, tag or commit is called `{name}`"),
            Self::Ambiguous(name) => write!(f, "the ids of several commits begin with `{name}`"),
            Self::NoAncestor(name) => write!(f, "`{name}` goes back beyond the first commit"),
            Self::NotARange(text) => write!(f, "`{text}` is not a range; write A..B"),
        }
    }
}

impl std::error::Error for RevisionError {}

impl Revisions {
    /// Returns `true` if all commits are looked at.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Adds `A..B`: what `B` reaches and `A` does not. A side that is left out is `HEAD`.
    ///
    /// # Errors
    /// The text is not a range.
    pub fn add_range(&mut self, text: &str) -> Result<(), RevisionError> {
        let error = || RevisionError::NotARange(text.to_owned());
        let (from, to) = text.split_once("..").ok_or_else(error)?;
        if from.ends_with('.') || to.starts_with('.') || (from.is_empty() && to.is_empty()) {
            return Err(error());
        }
        let or_head = |name: &str| if name.is_empty() { "HEAD".into() } else { name.to_owned() };
        self.exclude.push(or_head(from));
        self.include.push(or_head(to));
        Ok(())
    }

    /// Returns the commits, the oldest first.
    ///
    /// # Errors
    /// A name stands for no commit.
    pub fn resolve(&self, walk: &CommitWalk) -> Result<Vec<CommitNumber>, RevisionError> {
        let names = |names: &[String]| {
            names.iter().map(|name| walk.find_commit(name)).collect::<Result<Vec<_>, _>>()
        };
        let (mut include, mut exclude) = (names(&self.include)?, names(&self.exclude)?);
        let only = names(&self.only)?;
        exclude.extend(self.exclude_ids.iter().filter_map(|id| walk.number(id)));
        for id in &self.include_ids {
            include.push(walk.number(id).ok_or_else(|| RevisionError::Unknown(id.to_string()))?);
        }
        let included = match include.is_empty() && only.is_empty() {
            true => vec![true; walk.len()],
            false => walk.reached(&include),
        };
        let excluded = walk.reached(&exclude);
        let is_recent = |number: CommitNumber| {
            self.since.is_none_or(|since| walk.commits[number as usize].seconds >= since)
        };
        let is_wanted = |number: &CommitNumber| {
            let at = *number as usize;
            (included[at] && !excluded[at] || only.contains(number)) && is_recent(*number)
        };
        Ok((0..walk.len() as u32).filter(is_wanted).collect())
    }
}

impl CommitWalk {
    /// Returns which commits these reach, themselves included.
    fn reached(&self, starts: &[CommitNumber]) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        for &start in starts {
            reached[start as usize] = true;
        }
        // Parents come before children, unless they are in a cycle.
        for number in (0..self.len() as u32).rev().filter(|_| !starts.is_empty()) {
            if reached[number as usize] {
                self.parents(number).iter().for_each(|&parent| reached[parent as usize] = true);
            }
        }
        reached
    }

    /// Returns the commit that a name stands for.
    ///
    /// # Errors
    /// It stands for none, or for several.
    pub fn find_commit(&self, name: &str) -> Result<CommitNumber, RevisionError> {
        let base = name.find(['~', '^']).unwrap_or(name.len());
        let (base, mut steps) = name.split_at(base);
        let mut number = self.find_base(base)?;
        while let Some(step) = steps.chars().next() {
            let rest = &steps[1..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let count = match rest[..digits].parse::<u64>() {
                Ok(count) => count,
                Err(_) if digits == 0 => 1,
                Err(_) => return Err(RevisionError::NoAncestor(name.to_owned())),
            };
            let back = |number: CommitNumber, parent: usize| {
                let parent = self.parents(number).get(parent).copied();
                parent.ok_or_else(|| RevisionError::NoAncestor(name.to_owned()))
            };
            match step {
                '~' if count as usize <= self.len() => {
                    for _ in 0..count {
                        number = back(number, 0)?;
                    }
                }
                '^' if count > 0 => number = back(number, count as usize - 1)?,
                '^' => {}
                '~' => return Err(RevisionError::NoAncestor(name.to_owned())),
                _ => return Err(RevisionError::Unknown(name.to_owned())),
            }
            steps = &rest[digits..];
        }
        Ok(number)
    }

    fn find_base(&self, name: &str) -> Result<CommitNumber, RevisionError> {
        let unknown = || RevisionError::Unknown(name.to_owned());
        if matches!(name, "HEAD" | "@") {
            return self.head().ok_or_else(unknown);
        }
        for prefix in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            if let Some(tip) = self.tip(&[prefix, name].concat()) {
                return Ok(tip);
            }
        }
        self.find_id(name)?.ok_or_else(unknown)
    }

    /// Returns the commit of a ref by its whole name.
    fn tip(&self, full_name: &str) -> Option<CommitNumber> {
        let tip = self.tips.iter().find(|tip| *tip.full_name == *full_name.as_bytes())?;
        self.number(&tip.commit()?)
    }

    /// Returns the commit whose id begins with these digits.
    fn find_id(&self, digits: &str) -> Result<Option<CommitNumber>, RevisionError> {
        if digits.len() < PREFIX_MIN || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let digits = digits.to_ascii_lowercase();
        let mut found = None;
        for number in 0..self.len() as u32 {
            // Compare the first bytes before anything is formatted.
            let id = self.id(number);
            let first = u8::from_str_radix(&digits[..2], 16).ok();
            if id.as_bytes().first().copied() == first && id.to_string().starts_with(&digits) {
                if found.is_some() {
                    return Err(RevisionError::Ambiguous(digits));
                }
                found = Some(number);
            }
        }
        Ok(found)
    }
}
