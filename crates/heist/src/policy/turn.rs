//! Who goes first where typed tasks and futures wait for the same worker.

/// So many in a row of one kind while the other waits: enough to stay in the cache, few enough not to be noticed.
const RUN: u32 = 16;

/// Typed tasks and futures take turns, so that neither starves the other. Where only one kind waits, it goes whosever
/// turn it is.
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
    /// Whether it is the futures' turn; counts it as taken.
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
