//! The locks of the tests: std's, or under ThreadSanitizer, which cannot see std's locks wait,
//! locks that it understands.

#[cfg(not(heist_tsan))]
pub(crate) use std::sync::{Condvar, Mutex};

#[cfg(heist_tsan)]
pub(crate) use visible::{Condvar, Mutex};

/// `parking_lot`'s locks with std's API. They are never poisoned.
#[cfg(heist_tsan)]
mod visible {
    use parking_lot::MutexGuard;
    use std::sync::LockResult;

    #[derive(Default)]
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            Ok(self.0.lock())
        }

        pub(crate) fn get_mut(&mut self) -> LockResult<&mut T> {
            Ok(self.0.get_mut())
        }

        pub(crate) fn into_inner(self) -> LockResult<T> {
            Ok(self.0.into_inner())
        }
    }

    #[derive(Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) const fn new() -> Self {
            Self(parking_lot::Condvar::new())
        }

        pub(crate) fn wait_while<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            condition: impl FnMut(&mut T) -> bool,
        ) -> LockResult<MutexGuard<'a, T>> {
            self.0.wait_while(&mut guard, condition);
            Ok(guard)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
