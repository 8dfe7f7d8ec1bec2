//! Amounts of one or two units, packed so that they are compared, added and subtracted as one number.
//!
//! A budget's word has a flag in bit 0 and one or two fields above it. Above each field is a *guard* bit, which is
//! clear in every amount. To compare all fields at once, set the guards of the larger operand and subtract: a field
//! that is too small borrows from its own guard, and from nothing else.
//!
//! | layout | fields (from the bottom) | most |
//! |---|---|---|
//! | `Count`, `Bytes` | flag 1, amount 62, guard 1 | 4.6 · 10^18 |
//! | `CountAndBytes` | flag 1, count 20, guard 1, bytes 41, guard 1 | about a million, 2 TiB |
//!
//! Invariant: an [`Amount`] has the flag and all guards clear. Sums of two amounts may reach into the guards, never
//! beyond; who adds amounts that might not fit asks [`Layout::checked_add`].
//!
//! Not guaranteed: that an amount is used with the layout that it was packed with. Nothing but this module's care
//! and that of the budgets, which have one layout each, sees to that.

use super::error::{AcquireError, BudgetError};
use std::fmt;

/// What is counted in a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BudgetUnit {
    /// Things: files, connections, slots, reads.
    Count,
    /// Bytes.
    Bytes,
}

impl fmt::Display for BudgetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
        })
    }
}

/// Where one unit is in a word.
#[derive(Clone, Copy, Debug)]
struct Field {
    unit: BudgetUnit,
    shift: u32,
    bits: u32,
}

impl Field {
    const ALL_COUNT: Self = Self { unit: BudgetUnit::Count, shift: 1, bits: 62 };
    const ALL_BYTES: Self = Self { unit: BudgetUnit::Bytes, shift: 1, bits: 62 };
    const READ_COUNT: Self = Self { unit: BudgetUnit::Count, shift: 1, bits: 20 };
    const READ_BYTES: Self = Self { unit: BudgetUnit::Bytes, shift: 22, bits: 41 };

    #[inline]
    const fn most(self) -> u64 {
        (1 << self.bits) - 1
    }

    const fn guard(self) -> u64 {
        1 << (self.shift + self.bits)
    }

    #[inline]
    const fn get(self, amount: Amount) -> u64 {
        (amount.0 >> self.shift) & self.most()
    }
}

/// Which units a budget has, and where they are in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One count.
    Count,
    /// One number of bytes.
    Bytes,
    /// Both, taken as one.
    CountAndBytes,
}

impl Layout {
    #[inline]
    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Count => &[Field::ALL_COUNT],
            Self::Bytes => &[Field::ALL_BYTES],
            Self::CountAndBytes => &[Field::READ_COUNT, Field::READ_BYTES],
        }
    }

    /// The guard bits of all fields.
    pub const fn guards(self) -> Guards {
        let fields = self.fields();
        let mut guards = 0;
        let mut index = 0;
        while index < fields.len() {
            guards |= fields[index].guard();
            index += 1;
        }
        Guards(guards)
    }

    /// Packs a value per field, in the order of the fields.
    ///
    /// # Errors
    /// A value is larger than its field: which, and the most there is room for.
    // Inlined, with what calls it and is called by it: the layout is a constant there, and the loop no loop.
    #[inline]
    fn pack(self, values: &[u64]) -> Result<Amount, (Field, u64)> {
        debug_assert_eq!(values.len(), self.fields().len());
        let mut packed = 0;
        for (field, &value) in self.fields().iter().zip(values) {
            if value > field.most() {
                return Err((*field, value));
            }
            packed |= value << field.shift;
        }
        Ok(Amount(packed))
    }

    /// Packs a budget's total, a value per field.
    ///
    /// # Errors
    /// A value is larger than its field.
    pub fn total(self, values: &[u64]) -> Result<Amount, BudgetError> {
        self.pack(values).map_err(|(field, total)| BudgetError::TotalTooLarge {
            unit: field.unit,
            total,
            most: field.most(),
        })
    }

    /// Packs what somebody wants from a budget, whose `total` is asked for only if it is in vain.
    ///
    /// # Errors
    /// A value is larger than its field, and so than any total.
    #[inline]
    pub fn wanted(
        self,
        values: &[u64],
        total: impl FnOnce() -> Amount,
    ) -> Result<Amount, AcquireError> {
        self.pack(values).map_err(|(field, wanted)| AcquireError::TooLarge {
            unit: field.unit,
            wanted,
            total: field.get(total()),
        })
    }

    /// The amount of one unit; 0 for a unit that this layout does not have.
    #[inline]
    pub fn get(self, amount: Amount, unit: BudgetUnit) -> u64 {
        let field = self.fields().iter().find(|field| field.unit == unit);
        field.map_or(0, |field| field.get(amount))
    }

    /// Why `wanted` can never be granted, if it is above the total.
    pub fn too_large(self, wanted: Amount, total: Amount) -> Option<AcquireError> {
        let field =
            self.fields().iter().find(|field| field.get(wanted) > field.get(total)).copied()?;
        Some(AcquireError::TooLarge {
            unit: field.unit,
            wanted: field.get(wanted),
            total: field.get(total),
        })
    }

    fn zip(self, left: Amount, right: Amount, with: impl Fn(u64, u64) -> u64) -> Amount {
        let field_by_field = self
            .fields()
            .iter()
            .map(|field| with(field.get(left), field.get(right)) << field.shift);
        Amount(field_by_field.fold(0, |packed, field| packed | field))
    }

    /// What is left of `left` in each field, nothing if `right` is larger.
    pub fn saturating_sub(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::saturating_sub)
    }

    /// The larger value of each field.
    pub fn max(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::max)
    }

    /// The smaller value of each field.
    pub fn min(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::min)
    }

    /// The sum, if there is room for it.
    pub fn checked_add(self, left: Amount, right: Amount) -> Option<Amount> {
        let sum = left.plus(right);
        (sum.0 & self.guards().0 == 0).then_some(sum)
    }

    /// The sum, but no field above `most`.
    pub fn add_up_to(self, left: Amount, right: Amount, most: Amount) -> Amount {
        let room = self.saturating_sub(most, left);
        left.plus(self.min(right, room))
    }
}

/// The guard bits of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards(u64);

/// An amount of everything that a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(u64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// One, in the layouts with one field.
    pub const ONE: Self = Self(1 << Field::ALL_COUNT.shift);

    /// So many of a budget that only counts; the most that fits if it is more.
    pub const fn counted(count: u64) -> Self {
        let most = Field::ALL_COUNT.most();
        Self((if count < most { count } else { most }) << Field::ALL_COUNT.shift)
    }

    /// Whether it is nothing.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether there is as much of everything here as in `wanted`.
    #[inline]
    pub const fn covers(self, wanted: Self, guards: Guards) -> bool {
        (self.0 | guards.0).wrapping_sub(wanted.0) & guards.0 == guards.0
    }

    /// [`Amount::covers`] for a sum of two amounts. A field that reaches into its guard is above every amount, and
    /// would borrow from the next field.
    #[inline]
    pub const fn covers_sum(self, sum: Self, guards: Guards) -> bool {
        sum.0 & guards.0 == 0 && self.covers(sum, guards)
    }

    /// The sum of all fields. They may reach into their guards.
    #[inline]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// The difference of all fields; `other` must be covered in the end, but not at every step of a longer sum:
    /// numbers wrap round, and come back.
    #[inline]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// For an atomic that holds amounts.
    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// Back from [`Amount::to_bits`].
    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// A budget's word: what is available, and whether everybody has to go through the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    /// The flag: the word changes only under the lock.
    pub(super) const SLOW: u64 = 1;

    #[inline]
    pub(super) const fn new(available: Amount, slow: bool) -> Self {
        Self(available.0 | if slow { Self::SLOW } else { 0 })
    }

    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) const fn is_slow(self) -> bool {
        self.0 & Self::SLOW != 0
    }

    #[inline]
    pub(super) const fn available(self) -> Amount {
        Amount(self.0 & !Self::SLOW)
    }

    /// The word with another amount and the same flag.
    #[inline]
    pub(super) const fn with_available(self, available: Amount) -> Self {
        Self(available.0 | (self.0 & Self::SLOW))
    }
}
