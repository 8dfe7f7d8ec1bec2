//! The n-queens puzzle: in how many ways can `size` queens stand on a board of that size, with no
//! two of them in one row, column or diagonal?
//!
//! A task is a board whose first rows have their queens. It spawns one task for each free square of
//! the next row, so unlike in `tree` the number of children varies, and many boards have none.
//! There is no cutoff below which a task computes the rest by itself: as in `tree`, the scheduling
//! is what is measured.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// The largest board whose columns and shifted diagonals fit into [`Board`].
const SIZE_MAX: u32 = 15;

/// A puzzle to solve, and the solutions that tasks have found.
///
/// Tasks are `Copy` and refer to it by a `'static` reference, so it is never freed: a case creates
/// one and uses it for all its samples.
#[derive(Debug)]
pub(crate) struct Puzzle {
    /// A bit for each column.
    columns: u16,
    /// One board in sixty is a solution, so tasks that share this counter hardly contend for it.
    solutions: CachePadded<AtomicU64>,
}

impl Puzzle {
    pub(crate) fn leak(size: u32) -> &'static Self {
        assert!(size <= SIZE_MAX, "a board of {size} rows");
        let solutions = CachePadded::new(AtomicU64::new(0));
        Box::leak(Box::new(Self { columns: (1 << size) - 1, solutions }))
    }

    pub(crate) fn report_solutions(&self, found: u64) {
        self.solutions.fetch_add(found, Ordering::Relaxed);
    }

    /// Returns the solutions that were reported since the last call. No task may be running.
    #[cfg(test)]
    pub(crate) fn take_solutions(&self) -> u64 {
        self.solutions.swap(0, Ordering::Relaxed)
    }

    /// Returns how many boards the search visits, this one included.
    pub(super) fn boards_from(&self, board: Board) -> u64 {
        1 + board.free_squares(self).map(|square| self.boards_from(board.with(square))).sum::<u64>()
    }
}

/// The first rows of a board as the next row sees them, with a bit for each column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Board {
    columns: u16,
    /// Columns that a diagonal from above reaches, one field per direction.
    rising: u16,
    falling: u16,
}

impl Board {
    #[inline]
    pub(crate) fn is_complete(self, puzzle: &Puzzle) -> bool {
        self.columns == puzzle.columns
    }

    /// Returns the squares of the next row on which a queen can stand.
    #[inline]
    pub(crate) fn free_squares(self, puzzle: &Puzzle) -> Squares {
        Squares(puzzle.columns & !(self.columns | self.rising | self.falling))
    }

    /// Returns the board with a queen on that square of the next row.
    #[inline]
    pub(crate) fn with(self, square: Square) -> Self {
        Self {
            columns: self.columns | square.0,
            rising: (self.rising | square.0) << 1,
            falling: (self.falling | square.0) >> 1,
        }
    }
}

/// One square of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Square(u16);

/// Squares of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Squares(u16);

impl Squares {
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Squares {
    type Item = Square;

    #[inline]
    fn next(&mut self) -> Option<Square> {
        let lowest = self.0 & self.0.wrapping_neg();
        self.0 ^= lowest;
        (lowest != 0).then_some(Square(lowest))
    }
}
