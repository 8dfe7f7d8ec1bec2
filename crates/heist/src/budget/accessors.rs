//! What all budgets and all permits have, whatever they count: written once, so that they cannot drift apart.
//!
//! They are macros and no trait, because a trait would have to be imported to ask a budget for its total.

/// What can be asked of a budget, and closing it. `$value` is what amounts are to the caller, `$of` makes it.
macro_rules! budget_accessors {
    ($budget:ident, $value:ty, $of:path) => {
        impl $budget {
            /// Closes the budget for good: whoever waits is refused, and whoever asks from now on. Permits stay valid
            /// and may come back.
            pub fn close(&self) {
                self.core.close();
            }

            /// Whether it was closed.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.core.is_closed()
            }

            /// How much is available now. If others wait, it is theirs.
            #[must_use]
            pub fn available(&self) -> $value {
                $of(self.core.available())
            }

            /// How much may be in use at a time.
            #[must_use]
            pub fn total(&self) -> $value {
                $of(self.core.total())
            }

            /// How much is held by permits. It is above the total after that was lowered, until enough came back.
            #[must_use]
            pub fn in_use(&self) -> $value {
                $of(self.core.in_use())
            }

            /// The most that was ever in use; where several things are counted, of each for itself. (A peak at the very
            /// moment of a `set_total` may be missed.)
            #[must_use]
            pub fn high_water(&self) -> $value {
                $of(self.core.high_water())
            }

            /// How many requests wait.
            #[must_use]
            pub fn waiting(&self) -> usize {
                self.core.waiting()
            }

            /// How much was held by permits that were forgotten. It is part of the total, and never available again: a
            /// request for more than the rest waits until the total is raised.
            #[must_use]
            pub fn forgotten(&self) -> $value {
                $of(self.core.forgotten())
            }
        }

        impl fmt::Debug for $budget {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($budget))
                    .field("total", &self.total())
                    .field("available", &self.available())
                    .field("waiting", &self.waiting())
                    .field("closed", &self.is_closed())
                    .finish_non_exhaustive()
            }
        }
    };
}

/// What can be done with a permit of a budget of `$layout`. `$held` is the method that says what it is for.
macro_rules! permit_methods {
    ($permit:ident, $layout:expr, $held:ident) => {
        impl $permit {
            /// Takes what `other` holds.
            ///
            /// # Errors
            /// Gives `other` back if it is of another budget.
            pub fn merge(&mut self, other: Self) -> Result<(), Self> {
                self.0.merge(other.0).map_err(Self)
            }

            /// Never gives back what it holds: the budget is smaller by that from now on, and says so in `forgotten`.
            pub fn forget(self) {
                self.0.forget();
            }

            /// A permit of a budget of this unit.
            #[inline]
            pub(crate) fn from_core(permit: Permit) -> Self {
                debug_assert_eq!(permit.core().layout(), $layout);
                Self(permit)
            }
        }

        impl fmt::Debug for $permit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($permit)).field(&self.$held()).finish()
            }
        }
    };
}

pub(super) use {budget_accessors, permit_methods};
