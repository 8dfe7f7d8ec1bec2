//! Proves that `in_flight` counts the futures and blocking calls that have not ended.

use crate::support::{Latch, silence_panics, watched};
use heist_runtime::Runtime;
use std::future::pending;

#[test]
fn a_runtime_counts_futures_and_blocking_calls() {
    silence_panics();
    watched(|| {
        let runtime = Runtime::builder().threads(2).build().unwrap();
        let latch = Latch::default();
        let waits = latch.clone();
        let call = runtime.spawn_blocking(move || waits.wait());
        let panics = runtime.spawn(async { assert_eq!(1, 2, "on purpose") });
        assert!(runtime.block_on(panics).unwrap_err().is_panic());
        runtime.spawn(pending::<()>()).detach();
        assert_eq!((runtime.in_flight(), runtime.handle().in_flight()), (2, 2));
        latch.open();
        runtime.block_on(call).unwrap();
        assert_eq!(runtime.in_flight(), 1, "a call that was awaited has ended");
        let handle = runtime.handle();
        drop(runtime);
        assert_eq!(handle.in_flight(), 0);
    });
}
