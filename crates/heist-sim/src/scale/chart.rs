//! The report as a picture.
