//! The methods that all budgets and all permits share, whatever they count. They are written once,
//! so that they cannot drift apart.
//!
//! They are macros and not a trait, because callers would have to import the trait to ask a budget
//! for its total.

/// Defines a budget's getters and `close`. `$value` is the type that callers use for amounts, and
/// `$of` creates it.
macro_rules! budget_accessors {
    ($budget:ident, $value:ty, $of:path) => {
        impl $budget {
            /// Closes the budget for good, which refuses all waiting and all future requests.
            /// Existing permits stay valid and can be given back.
            pub fn close(&self) {
                self.core.close();
            }

            /// Returns `true` if the budget was closed.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.core.is_closed()
            }

            /// Returns the available amount. While requests wait, it is reserved for them.
            #[must_use]
            pub fn available(&self) -> $value {
                $of(self.core.available())
            }

            /// Returns the amount that may be in use at a time.
            #[must_use]
            pub fn total(&self) -> $value {
                $of(self.core.total())
            }

            /// Returns the amount that permits hold. After the total was lowered this may be above
            /// the total, until enough has come back.
            #[must_use]
            pub fn in_use(&self) -> $value {
                $of(self.core.in_use())
            }

            /// Returns the largest amount that was ever in use, separately for each unit. (A peak
            /// at the very moment of a `set_total` may be missed.)
            #[must_use]
            pub fn high_water(&self) -> $value {
                $of(self.core.high_water())
            }

            /// Returns the number of waiting requests.
            #[must_use]
            pub fn waiting(&self) -> usize {
                self.core.waiting()
            }

            /// Returns the amount that forgotten permits held. It is part of the total but never
            /// available again: a request for more than the rest waits until the total is raised.
            #[must_use]
            pub fn forgotten(&self) -> $value {
                $of(self.core.forgotten())
            }

            /// Returns the inside of the budget, without its units.
            pub fn core(&self) -> &Arc<BudgetCore> {
                &self.core
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

/// Defines the methods of a permit of a budget with `$layout`. `$held` is the method that returns
/// what the permit holds.
macro_rules! permit_methods {
    ($permit:ident, $layout:expr, $held:ident) => {
        impl $permit {
            /// Adds what `other` holds to this permit.
            ///
            /// # Errors
            /// Returns `other` if it belongs to another budget.
            pub fn merge(&mut self, other: Self) -> Result<(), Self> {
                self.0.merge(other.0).map_err(Self)
            }

            /// Consumes the permit and never gives it back. The budget is smaller from now on, and
            /// reports the amount as `forgotten`.
            pub fn forget(self) {
                self.0.forget();
            }

            /// Wraps a permit of a budget of this unit.
            #[inline]
            pub(crate) fn from_core(permit: Permit) -> Self {
                debug_assert_eq!(permit.core().layout(), $layout);
                Self(permit)
            }

            /// Returns the permit without its unit.
            #[inline]
            pub fn into_core(self) -> Permit {
                self.0
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
