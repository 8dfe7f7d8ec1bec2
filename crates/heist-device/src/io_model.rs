//! How a data source reads, and so what it must acquire before it reads.

/// How a source of data reaches the disk.
///
/// A source that reads explicitly takes read tokens for each read. A source that maps its files
/// cannot do that, because its reads are page faults: it takes a slot of its device while it uses
/// the mapping. No source takes both.
///
/// A walk over directories is not such a source. Its workers hold slots for everything they do on a
/// disk, including reading the files that they find; see [`crate::DeviceSlots`].
///
/// ```
/// use heist_device::IoModel;
///
/// assert!(IoModel::MmapImplicit.uses_device_slots());
/// assert!(IoModel::ExplicitReads.uses_read_tokens());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoModel {
    /// `read`, `pread`, or requests to a remote store: [`heist::ReadTokens`] bound their number and
    /// their bytes.
    ExplicitReads,
    /// Memory-mapped files: [`crate::DeviceSlots`] bound how many jobs fault pages in at the same
    /// time.
    MmapImplicit,
}

impl IoModel {
    /// Returns `true` if such a source takes a slot of its device.
    #[must_use]
    pub fn uses_device_slots(self) -> bool {
        self == Self::MmapImplicit
    }

    /// Returns `true` if such a source takes read tokens for each read.
    #[must_use]
    pub fn uses_read_tokens(self) -> bool {
        self == Self::ExplicitReads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_uses_either_slots_or_tokens() {
        for model in [IoModel::ExplicitReads, IoModel::MmapImplicit] {
            assert_ne!(model.uses_device_slots(), model.uses_read_tokens());
        }
    }
}
