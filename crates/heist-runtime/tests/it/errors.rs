//! Proves that every error can be shared between threads, and so become a boxed error of any kind.
//! `tidy` requires that none is left out.

use heist_runtime::{GroupError, RuntimeJoinTimeout, ShutdownTimeout};
use std::error::Error;
use std::io;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<GroupError<io::Error>>();
    assert_shared::<RuntimeJoinTimeout>();
    assert_shared::<ShutdownTimeout>();
    #[cfg(all(feature = "io", not(heist_tsan)))]
    assert_shared::<heist_runtime::time::Elapsed>();
}
