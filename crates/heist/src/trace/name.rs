//! The name of the task or poll that runs on this thread, for traces.
//!
//! A task or poll names itself, and the trace writer reads the name when it ends. The name is in a
//! thread-local, so naming costs one store, even when nothing is traced.

crate::sync::per_thread! {
    /// The name that the running task or poll has given itself.
    static NAME: &'static str;
}

/// Names the task or poll that runs on this thread. A [`ChromeTrace`](super::ChromeTrace) shows
/// this name instead of `task` or `poll`. The last name given counts, and it ends with the task. A
/// future must name itself in each poll.
///
/// ```
/// use heist::{Executor, trace};
///
/// let chrome = trace::ChromeTrace::new(Vec::new());
/// let executor = Executor::builder().threads(1).trace(chrome.clone()).build(
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

/// Returns the name that was set on this thread, and clears it.
pub(super) fn take_name() -> Option<&'static str> {
    NAME.with(|name| name.replace(None))
}
