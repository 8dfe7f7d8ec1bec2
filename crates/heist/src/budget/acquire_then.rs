//! Waiting as a task: in no queue, and on no worker.

use super::amount::Amount;
use super::core::Core;
use super::error::AcquireError;
use super::permit::Permit;
use crate::executor::shared::PoolShared;
use crate::executor::{ExecutorHandle, SpawnError};
use crate::sync::Arc;

/// Spawns the task that `make` makes as soon as `wanted` is granted; with the error, at once, if it never will be.
pub(super) fn acquire_then<T, P, F>(
    core: &Arc<Core>,
    wanted: Result<Amount, AcquireError>,
    executor: &ExecutorHandle<T>,
    make: F,
    permit: fn(Permit) -> P,
) -> Result<(), SpawnError<F>>
where
    T: Send + 'static,
    P: 'static,
    F: FnOnce(Result<P, AcquireError>) -> T + Send + 'static,
{
    let shared = executor.shared();
    if let Err(kind) = shared.count_now() {
        return Err(SpawnError::new(kind, make));
    }
    match wanted {
        Ok(wanted) => {
            PoolShared::spawn_when_granted(shared, core, wanted, move |granted| {
                make(granted.map(permit))
            });
        }
        Err(error) => shared.spawn_made(make, Err(error)),
    }
    Ok(())
}
