//! The files of a repository around its objects.

pub(crate) mod alternates;
pub(crate) mod config;
pub(crate) mod find;
mod head;
pub(crate) mod layout;
pub(crate) mod nested;
pub(crate) mod reflog;
pub(crate) mod refs;
pub(crate) mod shallow;
