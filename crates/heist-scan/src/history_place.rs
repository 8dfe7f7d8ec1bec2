//! [`HistoryPlace`]: where in a git history a finding is.

use std::path::Path;
use std::sync::Arc;

/// Where in a git history a finding is.
///
/// All texts come from the repository, so they may contain anything, even the secret itself. Escape
/// and mask them before you show them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryPlace {
    /// The repository, in the form the scan was given it.
    pub repository: Arc<Path>,
    /// The path in the repository, with `/` between the names. Empty for a message.
    pub path: Arc<[u8]>,
    /// What contains the secret.
    pub text: HistoryText,
    /// The id of the object that contains the secret: a blob, a commit or a tag.
    pub object: Box<str>,
    /// The commit that introduced the secret at this path, or whose message has it.
    pub introduced: Option<Arc<CommitInfo>>,
    /// Whether parents of that commit are missing, so that the secret may be older.
    pub may_be_older: bool,
    /// What became of it.
    pub fate: HistoryFate,
    /// The first names of branches and tags that lead to the commit.
    pub refs: Vec<String>,
    /// The number of all such names; `None` if they were not counted.
    pub ref_count: Option<u64>,
}

/// What contains a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryText {
    /// A version of a file.
    File,
    /// The message of a commit.
    CommitMessage,
    /// The message of an annotated tag.
    TagMessage,
}

/// What became of a secret in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryFate {
    /// The checked-out commit still has it.
    InHead,
    /// This commit removed it.
    Removed(Arc<CommitInfo>),
    /// The checked-out commit does not have it, and no single commit removed it: it is on another
    /// branch, or a merge left it out.
    NotInHead,
    /// No branch and no tag leads to it.
    Unreachable,
}

/// A commit, as findings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitInfo {
    /// The id, in hexadecimal digits.
    pub id: Box<str>,
    /// When it was committed, in seconds since 1970.
    pub seconds: i64,
    /// The author's name.
    pub author: String,
    /// The author's mail address.
    pub email: String,
    /// The first line of the message.
    pub subject: String,
}

impl CommitInfo {
    /// Creates a commit without texts.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, seconds: i64) -> Self {
        let (author, email, subject) = (String::new(), String::new(), String::new());
        Self { id: id.into(), seconds, author, email, subject }
    }
}

impl HistoryPlace {
    /// Creates the place of an object about which nothing else is known.
    #[must_use]
    pub fn new(repository: Arc<Path>, text: HistoryText, object: impl Into<Box<str>>) -> Self {
        Self {
            repository,
            path: Arc::new([]),
            text,
            object: object.into(),
            introduced: None,
            may_be_older: false,
            fate: HistoryFate::NotInHead,
            refs: Vec::new(),
            ref_count: None,
        }
    }
}
