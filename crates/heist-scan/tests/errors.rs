//! Proves that every error can be shared between threads, and so become a boxed error of any kind. The engine's `tidy`
//! requires that none is left out.

use heist_scan::rules::{RuleError, UnknownParserKind, syntax::SyntaxError};
use heist_scan::suppress::BaselineError;
use heist_scan::{ScanError, SourceError, UnknownChecksum, UnknownConfidence};
use std::error::Error;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<BaselineError>();
    assert_shared::<RuleError>();
    assert_shared::<ScanError>();
    assert_shared::<SourceError>();
    assert_shared::<SyntaxError>();
    assert_shared::<UnknownChecksum>();
    assert_shared::<UnknownConfidence>();
    assert_shared::<UnknownParserKind>();
}
