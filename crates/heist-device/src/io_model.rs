//! How a source reads, which decides what it has to ask for first.

/// How a source of data reaches the disk.
///
/// A source that reads explicitly is held back read by read; one that maps its files cannot be, because its reads are
/// page faults that nobody announces. So the first takes tokens for each read, and the second a slot of its device for
/// as long as it touches the mapping. Neither takes both.
///
/// A walk over directories is not such a source. Its workers hold slots for what they do on a disk, reading the files
/// that they find included; see [`crate::DeviceSlots`].
///
/// ```
/// use heist_device::IoModel;
///
/// assert!(IoModel::MmapImplicit.uses_device_slots());
/// assert!(IoModel::ExplicitReads.uses_read_tokens());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoModel {
    /// `read`, `pread`, a request to a remote store: [`heist::ReadTokens`] bound how many are under way, and how many
    /// bytes they ask for.
    ExplicitReads,
    /// Memory-mapped files: [`crate::DeviceSlots`] bound how many jobs fault pages in at the same time.
    MmapImplicit,
}

impl IoModel {
    /// Whether such a source takes a slot of its device.
    #[must_use]
    pub fn uses_device_slots(self) -> bool {
        self == Self::MmapImplicit
    }

    /// Whether such a source takes a token for each read.
    #[must_use]
    pub fn uses_read_tokens(self) -> bool {
        self == Self::ExplicitReads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_asks_for_exactly_one_thing() {
        for model in [IoModel::ExplicitReads, IoModel::MmapImplicit] {
            assert_ne!(model.uses_device_slots(), model.uses_read_tokens());
        }
    }
}
