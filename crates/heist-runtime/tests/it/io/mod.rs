//! Timers and sockets, and what is built on them. ThreadSanitizer does not see async-io's locks.

#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(unix)]
mod http;
mod net_datagrams;
mod net_fairness;
mod net_tcp;
#[cfg(unix)]
mod net_unix;
mod time;
mod tokio_library;
