//! The setters of [`ExecutorConfig`](super::config::ExecutorConfig), declared once for it and for
//! every builder that contains it.

/// Declares one setter for each setting of an executor, or for the fields named. The type has a
/// method `configure(self, impl FnOnce(&mut ExecutorConfig)) -> Self`.
#[doc(hidden)]
#[macro_export]
macro_rules! __executor_setters {
    () => {
        $crate::__executor_setters!(futures);
        $crate::__executor_setters! {
            on_panic: $crate::OnPanic,
            park_backstop: Option<::std::time::Duration>,
        }
    };
    // The settings of a pool that runs futures only. A panic of a future never stops the pool.
    (futures) => {
        $crate::__executor_setters! {
            threads: usize,
            seed: u64,
            steal_tries: u32,
            spin_iters: u32,
            pin_threads: bool,
            stealing: bool,
            steal_batch: usize,
            injector_batch: usize,
            lifo_slot: bool,
            lifo_stealing: bool,
            injector_interval: Option<u32>,
            stack_size: Option<usize>,
            cancel: $crate::CancelToken,
        }

        /// Sets [`ExecutorConfig::thread_name`].
        pub fn thread_name(self, thread_name: impl Into<String>) -> Self {
            self.configure(|config| config.thread_name = thread_name.into())
        }
    };
    ($($field:ident: $type:ty),* $(,)?) => {
        $(#[doc = concat!("Sets [`ExecutorConfig::", stringify!($field), "`].")]
        pub fn $field(self, $field: $type) -> Self {
            self.configure(|config| config.$field = $field)
        })*
    };
}
