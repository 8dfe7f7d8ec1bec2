//! The setters of [`DetectorOptions`].

use crate::secrets::{DetectorOptions, PrefilterKind};

/// Start from [`DetectorOptions::default`] and change what you need:
///
/// ```
/// use heist_scan::DetectorOptions;
///
/// let options = DetectorOptions::default().generic(false).decode(false);
/// assert!(options.noise_filter && !options.generic);
/// ```
impl DetectorOptions {
    /// Sets whether matches that look like noise are dropped or get less confidence.
    #[must_use]
    pub fn noise_filter(mut self, noise_filter: bool) -> Self {
        self.noise_filter = noise_filter;
        self
    }

    /// Sets whether the detector also searches decoded text, such as the content of base64.
    #[must_use]
    pub fn decode(mut self, decode: bool) -> Self {
        self.decode = decode;
        self
    }

    /// Sets whether the detector searches for [generic](crate::rules::Rule::generic) secrets and
    /// passwords.
    #[must_use]
    pub fn generic(mut self, generic: bool) -> Self {
        self.generic = generic;
        self
    }

    /// Sets the prefilter. All of them find the same.
    #[must_use]
    pub fn prefilter(mut self, prefilter: PrefilterKind) -> Self {
        self.prefilter = prefilter;
        self
    }
}
