//! Waiting as a task that is neither in an executor's queue nor on a worker.

use super::amount::Amount;
use super::core::BudgetCore;
use super::error::AcquireError;
use super::permit::Permit;
use crate::executor::shared::PoolShared;
use crate::executor::{ExecutorHandle, SpawnError};
use crate::sync::Arc;

/// Spawns the task that `make` makes as soon as `wanted` is granted, or at once with the error if
/// it never can be.
pub(super) fn acquire_then<T, P, F>(
    core: &Arc<BudgetCore>,
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
