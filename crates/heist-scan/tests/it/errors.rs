//! Proves that every error is `Send`, `Sync` and `'static`, so that it can become any boxed error.
//! The engine's `tidy` test requires that no error is missing here.

use heist_scan::rules::{RuleError, UnknownParserKind, syntax::SyntaxError};
use heist_scan::suppress::BaselineError;
use heist_scan::{OutputPathError, ScanError, SourceError, UnknownChecksum, UnknownConfidence};
use std::error::Error;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<BaselineError>();
    assert_shared::<OutputPathError>();
    assert_shared::<RuleError>();
    assert_shared::<ScanError>();
    assert_shared::<SourceError>();
    assert_shared::<SyntaxError>();
    assert_shared::<UnknownChecksum>();
    assert_shared::<UnknownConfidence>();
    assert_shared::<UnknownParserKind>();
}
