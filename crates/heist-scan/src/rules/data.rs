//! The built-in rules: the files in `data/`, in this order. Nothing else lists them.
//!
//! They have the same format as users' files. What they may rely on: they are not checked when they are read, but by
//! the tests, so that a start costs little.

/// Name and text of each.
pub(super) const FILES: [(&str, &str); 1] = [("generic.toml", include_str!("data/generic.toml"))];
