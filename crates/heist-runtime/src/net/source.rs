//! A socket that is registered with the reactor: an operation that would block waits for readiness,
//! and every operation counts.
//!
//! Invariants:
//! - the operation is tried first; the reactor is used only if it would block;
//! - an operation that a signal interrupted is tried again at once;
//! - waiting is registered per call, not per socket, so several tasks may wait for the same socket.
//!
//! Not guaranteed: anything if the socket is set to block through [`AsRef`].

use std::io;
// Not heist's `Arc`: async-io's futures hold this one.
use std::sync::Arc;

use async_io::Async;

use crate::operation;

/// A registered socket. All clones share it.
#[derive(Debug)]
pub(super) struct Source<T>(pub(super) Arc<Async<T>>);

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> From<Async<T>> for Source<T> {
    fn from(socket: Async<T>) -> Self {
        Self(Arc::new(socket))
    }
}

impl<T> Source<T> {
    pub(super) fn get(&self) -> &T {
        self.0.get_ref()
    }

    /// Does `operation` once the socket is readable.
    pub(super) async fn read<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        operation::counted(self.0.read_with(|socket| uninterrupted(|| operation(socket)))).await
    }

    /// Does `operation` once the socket is writable.
    pub(super) async fn write<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        operation::counted(self.0.write_with(|socket| uninterrupted(|| operation(socket)))).await
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        operation::counted(self.0.readable()).await
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        operation::counted(self.0.writable()).await
    }

    /// Returns the bare socket: this one if it has no clones, else a duplicate.
    pub(super) fn into_std(self, duplicate: impl FnOnce(&T) -> io::Result<T>) -> io::Result<T> {
        match Arc::try_unwrap(self.0) {
            Ok(socket) => socket.into_inner(),
            Err(shared) => duplicate(shared.get_ref()),
        }
    }
}

/// Repeats an operation that a signal interrupted.
pub(super) fn uninterrupted<R>(mut operation: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The methods of every kind of socket. `$source` is the path to its [`Source`].
macro_rules! every_socket {
    ($socket:ident, $std:ty, $($source:ident).+) => {
        impl $socket {
            /// Returns the standard library's socket, for everything that has no method here.
            ///
            /// Do not set it to blocking: every task that uses it would block its worker.
            pub fn as_std(&self) -> &$std {
                self.$($source).+.get()
            }

            /// Returns the standard library's socket, which is still non-blocking.
            ///
            /// If the socket has clones, they keep it, and this returns a duplicate.
            ///
            /// # Errors
            ///
            /// Deregistering or duplicating the socket fails.
            pub fn into_std(self) -> io::Result<$std> {
                self.into_source().into_std(<$std>::try_clone)
            }

            /// Waits until the socket may be readable: bytes, a datagram, a connection, the end, or
            /// an error.
            ///
            /// Another task may be faster, so the operation that follows may find nothing.
            ///
            /// # Errors
            ///
            /// The reactor cannot watch the socket.
            pub async fn readable(&self) -> io::Result<()> {
                self.$($source).+.readable().await
            }

            /// Waits until the socket may be writable, or has an error.
            ///
            /// # Errors
            ///
            /// The reactor cannot watch the socket.
            pub async fn writable(&self) -> io::Result<()> {
                self.$($source).+.writable().await
            }
        }

        impl TryFrom<$std> for $socket {
            type Error = io::Error;

            /// Sets the socket to non-blocking and registers it.
            fn try_from(socket: $std) -> io::Result<Self> {
                crate::reactor::start()?;
                Ok(crate::net::source::Source::from(async_io::Async::new(socket)?).into())
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.as_std().as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.as_std().as_raw_fd()
            }
        }
    };
}
pub(super) use every_socket;
