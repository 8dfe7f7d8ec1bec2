//! Checks at compile time that every error can be shared between threads, so that it can become a
//! boxed error of any kind. The test `tidy` of the engine checks that the list is complete.

use heist_git::{FileError, HistoryError, ObjectError, RevisionError, StagedProblem};
use std::error::Error;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_is_send_sync_and_static() {
    assert_shared::<FileError>();
    assert_shared::<HistoryError>();
    assert_shared::<ObjectError>();
    assert_shared::<RevisionError>();
    assert_shared::<StagedProblem>();
}
