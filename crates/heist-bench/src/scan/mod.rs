//! Scans of whole trees for secrets, each contender a process of its own, and how right they are.
//!
//! `contender` lists who scans and `findings` reads what they report; `corpus` plants secrets and look-alikes, and
//! `score` compares; `trees` makes what else is scanned. `library` has the contenders that are a library and need a
//! program around them; the yardstick is one: the same files read into the same buffers, and not looked at. The
//! stopwatch is that of the walks.

pub(crate) mod contender;
pub(crate) mod corpus;
pub(crate) mod findings;
pub(crate) mod library;
pub(crate) mod planted;
pub(crate) mod prose;
pub(crate) mod score;
pub(crate) mod table;
pub(crate) mod trees;
