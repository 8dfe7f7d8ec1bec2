//! draft

#![allow(dead_code, reason = "draft")]
mod anchors;
mod frequency;
mod literal;
mod prefilter;
