//! A slow server that holds the remote objects.
//!
//! A request consists of its number and the number of an object. An answer consists of the number
//! of the request, the length of the body, and the body. All numbers have four bytes,
//! little-endian. One thread reads requests and notes when each is due; another thread answers
//! them. Both end when the connection is closed.

use crate::material::Object;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Requests, ordered by the time at which they are due.
#[derive(Default)]
struct Due {
    requests: BinaryHeap<Reverse<(Instant, u32, usize)>>,
    ended: bool,
}

struct Server {
    objects: Arc<[Object]>,
    due: Mutex<Due>,
    changed: Condvar,
}

/// Serves one connection until it is closed.
pub(crate) fn serve(
    connection: TcpStream,
    objects: &Arc<[Object]>,
) -> io::Result<[JoinHandle<()>; 2]> {
    let server = Arc::new(Server {
        objects: Arc::clone(objects),
        due: Mutex::default(),
        changed: Condvar::new(),
    });
    let (requests, noting) = (connection.try_clone()?, Arc::clone(&server));
    Ok([
        thread::spawn(move || {
            // An error ends the connection, like closing it.
            let _ = noting.note_requests(BufReader::new(requests));
            noting.lock().ended = true;
            noting.changed.notify_one();
        }),
        thread::spawn(move || {
            let _ = server.answer_requests(connection);
        }),
    ])
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, Due> {
        // No code here can panic in the middle of a change.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_requests(&self, mut connection: impl Read) -> io::Result<()> {
        loop {
            let [request, object] = [read_number(&mut connection)?, read_number(&mut connection)?];
            let object = object as usize % self.objects.len();
            let due = Instant::now() + self.objects[object].latency;
            self.lock().requests.push(Reverse((due, request, object)));
            self.changed.notify_one();
        }
    }

    fn answer_requests(&self, mut connection: impl Write) -> io::Result<()> {
        while let Some((request, object)) = self.next_due() {
            let body = &self.objects[object].body;
            let mut answer = Vec::with_capacity(8 + body.len());
            answer.extend_from_slice(&request.to_le_bytes());
            answer.extend_from_slice(&(body.len() as u32).to_le_bytes());
            answer.extend_from_slice(body);
            connection.write_all(&answer)?;
        }
        Ok(())
    }

    /// Waits for the next request that is due. Returns `None` when the connection has ended.
    fn next_due(&self) -> Option<(u32, usize)> {
        let mut due = self.lock();
        loop {
            if due.ended {
                return None;
            }
            let now = Instant::now();
            due = match due.requests.peek() {
                Some(Reverse((at, request, object))) if *at <= now => {
                    let next = (*request, *object);
                    due.requests.pop();
                    return Some(next);
                }
                Some(Reverse((at, ..))) => {
                    let time_left = *at - now;
                    let waited = self.changed.wait_timeout(due, time_left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(due).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

pub(crate) fn read_number(connection: &mut impl Read) -> io::Result<u32> {
    let mut number = [0; 4];
    connection.read_exact(&mut number)?;
    Ok(u32::from_le_bytes(number))
}
