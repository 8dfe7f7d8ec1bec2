//! The name of what runs on this thread, for those who look at a trace.
//!
//! A task or poll names itself, and the writer of the trace asks at its end. The name is the thread's own, so naming
//! costs a store, also where nothing is traced.

crate::sync::per_thread! {
    /// What the running task or poll has called itself.
    static NAME: &'static str;
}

/// Names the task or poll that runs on this thread: a [`ChromeTrace`](super::ChromeTrace) shows it by this name instead
/// of `task` or `poll`. The last name given counts, and ends with the task; a future is named anew in each poll.
///
/// ```
/// use heist::{Executor, trace};
///
/// let chrome = trace::ChromeTrace::new(Vec::new());
/// let executor = Executor::builder().workers(1).trace(chrome.clone()).build(
///     |_worker| (),
///     |text: String, _ctx| {
///         trace::name_slice("count words");
///         println!("{} words", text.split_whitespace().count());
///     },
/// )?;
/// executor.spawn("to be or not to be".to_owned())?;
/// executor.join();
/// let json = String::from_utf8(chrome.finish()?)?;
/// assert!(json.contains("count words"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn name_slice(name: &'static str) {
    NAME.with(|running| running.set(Some(name)));
}

/// What ran on this thread and called itself something; forgets it.
pub(super) fn take_name() -> Option<&'static str> {
    NAME.with(|name| name.replace(None))
}
