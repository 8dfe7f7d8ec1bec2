//! [`UsageOptions`]: what is added up, and what is kept of it.

/// What the tree of a measurement has nodes for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing: there is no tree, only a sum for each root.
    #[default]
    Total,
    /// Roots and directories.
    Directories,
    /// Every entry.
    Files,
}

/// What [`measure`](super::measure) adds up, and what it keeps.
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
    /// What the tree has nodes for.
    pub detail: Detail,
    /// Whether everything counts each time that the walk comes to it: a file with several names, and what is below
    /// several roots. If not, once.
    pub count_links: bool,
    /// Whether sizes are also summed up by extension.
    pub by_extension: bool,
}

impl UsageOptions {
    /// Sums for each root, and nothing else.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the tree has nodes for. By default there is none.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// Whether everything counts each time that the walk comes to it. Off by default.
    #[must_use]
    pub fn count_links(mut self, count: bool) -> Self {
        self.count_links = count;
        self
    }

    /// Whether sizes are also summed up by extension. Off by default.
    #[must_use]
    pub fn by_extension(mut self, by_extension: bool) -> Self {
        self.by_extension = by_extension;
        self
    }
}
