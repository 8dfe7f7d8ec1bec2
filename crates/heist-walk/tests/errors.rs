//! Proves that every error can be shared between threads, and so become a boxed error of any kind. The engine's `tidy`
//! requires that none is left out.

use heist_walk::{FilterError, WalkError};
use std::error::Error;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<FilterError>();
    assert_shared::<WalkError>();
}
