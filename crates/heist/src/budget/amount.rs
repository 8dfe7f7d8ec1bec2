//! Amounts of one or two units, packed so that they can be compared, added and subtracted as one
//! number.
//!
//! The word of a budget has a flag in bit 0 and one or two fields above it. Above each field is a
//! *guard* bit, which is clear in every amount. To compare all fields at once, set the guards of
//! the larger operand and subtract: a field that is too small borrows from its own guard and from
//! nothing else.
//!
//! | layout | fields (from the bottom) | largest amount |
//! |---|---|---|
//! | `Count`, `Bytes` | flag 1, amount 62, guard 1 | 4.6 · 10^18 |
//! | `CountAndBytes` | flag 1, count 20, guard 1, bytes 41, guard 1 | about a million, 2 TiB |
//!
//! Invariant: in an [`Amount`], the flag and all guards are clear. The sum of two amounts may reach
//! into the guards but never beyond. Use [`Layout::checked_add`] for amounts whose sum might not
//! fit.
//!
//! Not guaranteed: that an amount is used with the layout that packed it. Each budget has one
//! layout, and the callers must not mix them.

use super::error::{AcquireError, BudgetError};
use std::fmt;

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BudgetUnit {
    /// Individual things: files, connections, device slots, reads.
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

/// The position of one unit in a word.
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

/// The units of a budget, and their positions in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One count.
    Count,
    /// One number of bytes.
    Bytes,
    /// Both, taken in one step.
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

    /// Returns the guard bits of all fields.
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

    /// Packs one value per field, in the order of the fields.
    ///
    /// # Errors
    /// Returns the field and the value if a value is larger than its field.
    // Inlined together with its callers and callees: there the layout is a constant, and the loop
    // disappears.
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

    /// Packs the total of a budget, one value per field.
    ///
    /// # Errors
    /// Returns an error if a value is larger than its field.
    pub fn total(self, values: &[u64]) -> Result<Amount, BudgetError> {
        self.pack(values).map_err(|(field, total)| BudgetError::TotalTooLarge {
            unit: field.unit,
            total,
            most: field.most(),
        })
    }

    /// Packs the amount of a request. `total` is called only for the error.
    ///
    /// # Errors
    /// Returns an error if a value is larger than its field, and so larger than any total.
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

    /// Returns the amount of one unit, or 0 for a unit that this layout does not have.
    #[inline]
    pub fn get(self, amount: Amount, unit: BudgetUnit) -> u64 {
        let field = self.fields().iter().find(|field| field.unit == unit);
        field.map_or(0, |field| field.get(amount))
    }

    /// Returns the error for a `wanted` that is above the total.
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

    /// Subtracts each field; a field of `left` that is smaller becomes 0.
    pub fn saturating_sub(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::saturating_sub)
    }

    /// Returns the larger value of each field.
    pub fn max(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::max)
    }

    /// Returns the smaller value of each field.
    pub fn min(self, left: Amount, right: Amount) -> Amount {
        self.zip(left, right, u64::min)
    }

    /// Returns the sum, or `None` if it does not fit.
    pub fn checked_add(self, left: Amount, right: Amount) -> Option<Amount> {
        let sum = left.plus(right);
        (sum.0 & self.guards().0 == 0).then_some(sum)
    }

    /// Returns the sum, with each field limited to `most`.
    pub fn add_up_to(self, left: Amount, right: Amount, most: Amount) -> Amount {
        let room = self.saturating_sub(most, left);
        left.plus(self.min(right, room))
    }
}

/// The guard bits of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards(u64);

/// An amount of each unit that a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(u64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// One, in a layout with one field.
    pub const ONE: Self = Self(1 << Field::ALL_COUNT.shift);

    /// Returns `count` in the layout of a budget that only counts, limited to the largest value
    /// that fits.
    pub const fn counted(count: u64) -> Self {
        let most = Field::ALL_COUNT.most();
        Self((if count < most { count } else { most }) << Field::ALL_COUNT.shift)
    }

    /// Returns `true` if the amount is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if each field is at least as large as in `wanted`.
    #[inline]
    pub const fn covers(self, wanted: Self, guards: Guards) -> bool {
        (self.0 | guards.0).wrapping_sub(wanted.0) & guards.0 == guards.0
    }

    /// Like [`Amount::covers`], for a sum of two amounts. A field that reaches into its guard is
    /// larger than every amount, and would borrow from the next field.
    #[inline]
    pub const fn covers_sum(self, sum: Self, guards: Guards) -> bool {
        sum.0 & guards.0 == 0 && self.covers(sum, guards)
    }

    /// Adds each field. The sums may reach into the guards.
    #[inline]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Subtracts each field. The final result of a longer sum must not be negative, but
    /// intermediate results may be: they wrap around and come back.
    #[inline]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// Returns the bits, for an atomic that holds amounts.
    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// Converts back from [`Amount::to_bits`].
    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// The word of a budget: the available amount, and whether all changes need the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BudgetWord(u64);

impl BudgetWord {
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

    /// Returns the word with another amount and the same flag.
    #[inline]
    pub(super) const fn with_available(self, available: Amount) -> Self {
        Self(available.0 | (self.0 & Self::SLOW))
    }
}
