//! Which kind goes first when typed tasks and futures wait for the same worker.

/// The number of one kind that run in a row while the other waits: enough to stay in the cache, few
/// enough to cause no noticeable delay.
const RUN: u32 = 16;

/// Lets typed tasks and futures take turns, so that neither starves the other. If only one kind
/// waits, it goes regardless of the turn.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    futures: bool,
    left: u32,
}

impl Default for Turn {
    fn default() -> Self {
        Self { futures: false, left: RUN }
    }
}

impl Turn {
    /// Returns `true` if it is the futures' turn, and counts the turn as taken.
    #[inline]
    pub(crate) fn is_futures(&mut self) -> bool {
        if self.left == 0 {
            self.futures = !self.futures;
            self.left = RUN;
        }
        self.left -= 1;
        self.futures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turns_alternate_by_runs() {
        let mut turn = Turn::default();
        let turns: Vec<bool> = (0..64).map(|_| turn.is_futures()).collect();
        let run = |futures| vec![futures; 16];
        assert_eq!(turns, [run(false), run(true), run(false), run(true)].concat());
    }
}
