//! A client whose requests are futures.
//!
//! One connection carries all requests, and the answers come in any order, as in HTTP/2. A thread reads them and wakes
//! the futures that wait for them, as an async runtime's reactor does. The pool that polls them knows nothing of it.
//! It is noted how long each answer waited to be taken.

use crate::material::Object;
use crate::server::{read_number, serve};
use heist::coop;
use std::collections::HashMap;
use std::future::Future;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Nothing here is left half changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection, and the threads at both of its ends, which end with it.
pub(crate) struct Store {
    connection: Mutex<TcpStream>,
    next_request: AtomicU32,
    replies: Arc<Mutex<Replies>>,
    threads: Vec<JoinHandle<()>>,
}

/// What became of the requests that are on their way.
#[derive(Default)]
struct Replies {
    by_request: HashMap<u32, Reply>,
    /// The connection is closed: nothing comes any more.
    lost: bool,
    /// How long the answers that were taken had been here.
    waits: Vec<Duration>,
}

enum Reply {
    /// No task has asked for it yet.
    Wanted,
    Awaited(Waker),
    Here(Vec<u8>, Instant),
}

impl Store {
    /// Starts a server for these objects, and connects to it.
    pub(crate) fn open(objects: &Arc<[Object]>) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let connection = TcpStream::connect(listener.local_addr()?)?;
        connection.set_nodelay(true)?;
        let (served, _address) = listener.accept()?;
        served.set_nodelay(true)?;
        let replies = Arc::<Mutex<Replies>>::default();
        let (answers, for_reader) = (connection.try_clone()?, Arc::clone(&replies));
        let mut threads = Vec::from(serve(served, objects)?);
        threads.push(thread::spawn(move || Replies::read(&for_reader, answers)));
        let connection = Mutex::new(connection);
        Ok(Arc::new(Self { connection, next_request: AtomicU32::new(0), replies, threads }))
    }

    /// Asks for an object at once; the future is its arrival.
    pub(crate) fn request(self: &Arc<Self>, object: u32) -> io::Result<Answer> {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        // Before it is sent, so that the answer is expected.
        lock(&self.replies).by_request.insert(request, Reply::Wanted);
        let answer = Answer { store: Arc::clone(self), request };
        let mut message = [0; 8];
        message[..4].copy_from_slice(&request.to_le_bytes());
        message[4..].copy_from_slice(&object.to_le_bytes());
        // Eight bytes: the socket's buffer has room for thousands of requests, so this does not hold up a worker.
        lock(&self.connection).write_all(&message)?;
        Ok(answer)
    }

    /// How long answers waited from their arrival until a worker took them, in order of length.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        let mut waits = lock(&self.replies).waits.clone();
        waits.sort_unstable();
        waits
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = lock(&self.connection).shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Replies {
    /// Reads answers and wakes the tasks that wait for them, until the connection is closed.
    fn read(this: &Mutex<Self>, connection: TcpStream) {
        let mut connection = BufReader::new(connection);
        while let Ok((request, body)) = read_answer(&mut connection) {
            let mut replies = lock(this);
            // Not there: the task that asked has given up.
            let Some(reply) = replies.by_request.get_mut(&request) else { continue };
            let before = std::mem::replace(reply, Reply::Here(body, Instant::now()));
            // Waking runs the pool's code: not under our lock.
            drop(replies);
            if let Reply::Awaited(waker) = before {
                waker.wake();
            }
        }
        let mut replies = lock(this);
        replies.lost = true;
        let left = std::mem::take(&mut replies.by_request);
        drop(replies);
        for reply in left.into_values() {
            if let Reply::Awaited(waker) = reply {
                waker.wake();
            }
        }
    }
}

fn read_answer(connection: &mut impl Read) -> io::Result<(u32, Vec<u8>)> {
    let request = read_number(connection)?;
    let mut body = vec![0; read_number(connection)? as usize];
    connection.read_exact(&mut body)?;
    Ok((request, body))
}

/// The answer to a request: an object.
pub(crate) struct Answer {
    store: Arc<Store>,
    request: u32,
}

impl Future for Answer {
    type Output = io::Result<Vec<u8>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(coop::poll_proceed(cx));
        let mut replies = lock(&self.store.replies);
        match replies.by_request.remove(&self.request) {
            Some(Reply::Here(body, arrived)) => {
                replies.waits.push(arrived.elapsed());
                Poll::Ready(Ok(body))
            }
            _ if replies.lost => Poll::Ready(Err(ErrorKind::ConnectionAborted.into())),
            _ => {
                replies.by_request.insert(self.request, Reply::Awaited(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        lock(&self.store.replies).by_request.remove(&self.request);
    }
}
