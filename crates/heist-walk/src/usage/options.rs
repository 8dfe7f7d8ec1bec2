//! [`UsageOptions`]: what a measurement adds up and what it keeps.

/// What the tree of a measurement contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Detail {
    /// No tree, only a sum for each root.
    #[default]
    Total,
    /// Roots and directories.
    Directories,
    /// Every entry.
    Files,
}

/// What [`measure`](super::measure) adds up and what it keeps.
///
/// ```
/// use heist_walk::usage::{Detail, UsageOptions};
///
/// let options = UsageOptions::new().detail(Detail::Directories).by_extension(true);
/// assert!(!options.count_links);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageOptions {
    /// What the tree contains.
    pub detail: Detail,
    /// Whether everything counts each time the walk reaches it: a file once for each of its names,
    /// and a directory once for each root that contains it.
    pub count_links: bool,
    /// Whether to add up sizes by extension as well.
    pub by_extension: bool,
}

impl UsageOptions {
    /// Creates options that request a sum for each root and nothing else.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the tree contains. By default there is no tree.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// Sets whether everything counts each time the walk reaches it. Off by default.
    #[must_use]
    pub fn count_links(mut self, count: bool) -> Self {
        self.count_links = count;
        self
    }

    /// Sets whether to add up sizes by extension as well. Off by default.
    #[must_use]
    pub fn by_extension(mut self, by_extension: bool) -> Self {
        self.by_extension = by_extension;
        self
    }
}
