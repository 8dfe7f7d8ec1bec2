//! Errors that name the address they are about.
//!
//! Invariant: the error has the kind of its source, so code that checks kinds works as with the
//! plain error.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

/// The attempt that failed, and the system's error.
#[derive(Debug)]
struct Failed {
    /// `could not connect to 127.0.0.1:9`
    attempt: String,
    source: io::Error,
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.attempt, self.source)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Creates the error `could not {action} {address}: {source}`, with the kind of `source`.
pub(super) fn could_not(action: &str, address: impl Display, source: io::Error) -> io::Error {
    let attempt = format!("could not {action} {address}");
    io::Error::new(source.kind(), Failed { attempt, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_text_and_code() {
        let refused = io::Error::from_raw_os_error(1);
        let (kind, text) = (refused.kind(), refused.to_string());
        let error = could_not("connect to", "127.0.0.1:9", refused);
        assert_eq!(error.kind(), kind);
        assert_eq!(error.to_string(), format!("could not connect to 127.0.0.1:9: {text}"));
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.and_then(io::Error::raw_os_error), Some(1));
    }
}
