//! How a worker of the rejected idle protocol looks for work: see `RoundRobinWake`.

use super::Context;
use super::pop::{Popped, PoppedFor, steal_from};

/// The number of victims that one look tries.
const VICTIMS: usize = 4;

/// Tries a few random victims, some of them perhaps twice. `others` is the number of other workers.
pub(super) fn steal_from_a_few<C: Context>(ctx: &mut C, others: usize) -> Option<PoppedFor<C>> {
    let victims: [usize; VICTIMS] = std::array::from_fn(|_| {
        let victim = ctx.random_below(others);
        victim + usize::from(victim >= ctx.worker())
    });
    victims
        .into_iter()
        .find_map(|victim| steal_from(ctx, victim).map(|work| Popped::stolen(work, victim)))
}
