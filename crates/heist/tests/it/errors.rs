//! Proves that every error is `Send` and `Sync`, and so can become a boxed error of any kind. The
//! test `tidy` requires that no error is left out.

use heist::budget::BudgetError;
use heist::signal::SignalIndexError;
use heist::{
    AcquireError, ConfigError, ExecutorConfig, JoinError, JoinTimeout, PushError, PushErrorKind,
    RunError, SpawnError, SpawnErrorKind, StartError, TaskPanic,
};
use std::error::Error;

/// `Send` but not `Sync`, as many tasks are.
type Closure = Box<dyn FnOnce() + Send>;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<AcquireError>();
    assert_shared::<BudgetError>();
    assert_shared::<ConfigError>();
    assert_shared::<JoinError>();
    assert_shared::<JoinTimeout<Closure>>();
    assert_shared::<PushError<Closure>>();
    assert_shared::<PushErrorKind>();
    assert_shared::<RunError>();
    assert_shared::<SignalIndexError>();
    assert_shared::<SpawnError<Closure>>();
    assert_shared::<SpawnError<Vec<Closure>>>();
    assert_shared::<SpawnErrorKind>();
    assert_shared::<StartError>();
    assert_shared::<TaskPanic>();
}

/// Returns a boxed error, as many programs do.
fn run_and_refuse() -> Result<(), Box<dyn Error + Send + Sync>> {
    heist::run(ExecutorConfig::default(), [1], |_worker| (), |_task: u32, _ctx| {})?;
    let config = ExecutorConfig::new(1);
    let executor = heist::Executor::new(config, |_worker| (), |task: Closure, _ctx| task())?;
    let handle = executor.handle();
    executor.join();
    handle.spawn(Box::new(|| ()))?;
    Ok(())
}

#[test]
fn a_refused_closure_is_an_error_like_any_other() {
    let error = run_and_refuse().unwrap_err();
    let refused = error.downcast::<SpawnError<Closure>>().expect("the refusal");
    assert_eq!(refused.kind(), SpawnErrorKind::Closed);
    // It is still there, and can be called.
    refused.into_inner()();
}
