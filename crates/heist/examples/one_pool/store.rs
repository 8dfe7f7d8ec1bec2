//! A client whose requests are futures.
//!
//! One connection carries all requests, and the answers come in any order, as in HTTP/2. A thread reads them and wakes
//! the futures that wait for them, as an async runtime's reactor does. The pool that polls them knows nothing of it.

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
}

enum Reply {
    Awaited(Waker),
    Here(Vec<u8>),
}

impl Store {
    /// Starts a server for these objects, and connects to it.
    pub(crate) fn open(objects: &Arc<[Object]>) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let connection = TcpStream::connect(listener.local_addr()?)?;
        connection.set_nodelay(true)?;
        let (served, _address) = listener.accept()?;
        let replies = Arc::<Mutex<Replies>>::default();
        let (answers, for_reader) = (connection.try_clone()?, Arc::clone(&replies));
        let mut threads = Vec::from(serve(served, objects)?);
        threads.push(thread::spawn(move || Replies::read(&for_reader, answers)));
        let connection = Mutex::new(connection);
        Ok(Arc::new(Self { connection, next_request: AtomicU32::new(0), replies, threads }))
    }

    /// Fetches an object by its number.
    pub(crate) fn fetch(self: &Arc<Self>, object: u32) -> Fetch {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        Fetch { store: Arc::clone(self), object, request, asked: false }
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
    /// Reads answers and wakes those who wait for them, until the connection is closed.
    fn read(this: &Mutex<Self>, connection: TcpStream) {
        let mut connection = BufReader::new(connection);
        while let Ok((request, body)) = read_answer(&mut connection) {
            let mut replies = lock(this);
            // Not there: whoever asked has given up.
            let Some(reply) = replies.by_request.get_mut(&request) else { continue };
            let before = std::mem::replace(reply, Reply::Here(body));
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

/// A request: it asks when it is polled for the first time, and then waits for the answer.
pub(crate) struct Fetch {
    store: Arc<Store>,
    object: u32,
    request: u32,
    asked: bool,
}

impl Fetch {
    fn ask(&mut self) -> io::Result<()> {
        self.asked = true;
        let mut request = [0; 8];
        request[..4].copy_from_slice(&self.request.to_le_bytes());
        request[4..].copy_from_slice(&self.object.to_le_bytes());
        // Eight bytes: the socket's buffer has room for thousands of requests, so this does not hold up the worker.
        lock(&self.store.connection).write_all(&request)
    }
}

impl Future for Fetch {
    type Output = io::Result<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(coop::poll_proceed(cx));
        let mut replies = lock(&self.store.replies);
        let reply = match replies.by_request.remove(&self.request) {
            Some(Reply::Here(body)) => return Poll::Ready(Ok(body)),
            _ if replies.lost => return Poll::Ready(Err(ErrorKind::ConnectionAborted.into())),
            _ => Reply::Awaited(cx.waker().clone()),
        };
        // Before the request is sent, so that its answer finds the waker.
        replies.by_request.insert(self.request, reply);
        drop(replies);
        if !self.asked {
            self.ask()?;
        }
        Poll::Pending
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        lock(&self.store.replies).by_request.remove(&self.request);
    }
}
