//! One connection of the HTTP load, which sends a request and waits for the response.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::server::BODY;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A server that takes longer than this has lost the request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that is kept open for many requests.
#[derive(Debug)]
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
}

impl Connection {
    pub(super) fn open(server: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), line: String::new() })
    }

    /// Sends one request and reads its response.
    ///
    /// # Errors
    /// Fails if the connection fails or the response is not the one that every server here gives.
    pub(super) fn ask(&mut self) -> io::Result<()> {
        self.stream.get_mut().write_all(REQUEST)?;
        if self.next_line()? != "HTTP/1.1 200 OK" {
            return Err(self.unexpected());
        }
        let mut length = None;
        loop {
            let header = self.next_line()?;
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(": ")
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.parse().ok();
            }
        }
        if length != Some(BODY.len()) {
            return Err(self.unexpected());
        }
        let mut body = [0; BODY.len()];
        self.stream.read_exact(&mut body)?;
        if body == *BODY { Ok(()) } else { Err(self.unexpected()) }
    }

    fn next_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        self.stream.read_line(&mut self.line)?;
        self.line.strip_suffix("\r\n").ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn unexpected(&self) -> io::Error {
        io::Error::other(format!("unexpected response at the line {:?}", self.line))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Returns what the client reports about a server that reads one request and sends `answer`.
    fn outcome_of(answer: &'static [u8]) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let server = thread::spawn(move || {
            let (mut stream, _client) = listener.accept().expect("the client connects");
            stream.read_exact(&mut [0; REQUEST.len()]).expect("the request comes whole");
            stream.write_all(answer).expect("the client reads");
        });
        let outcome = Connection::open(address).expect("it listens").ask();
        server.join().expect("the server does not panic");
        outcome.map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_complete_expected_response_is_accepted() {
        let right = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\ndate: now\r\n\r\nHello, world!";
        assert_eq!(outcome_of(right), Ok(()));
        let wrong: [&[u8]; 4] = [
            b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 13\r\n\r\nHello, world!",
            b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nHello, world",
            b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, wor",
            b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, World?",
        ];
        for answer in wrong {
            assert!(outcome_of(answer).is_err(), "{}", answer.escape_ascii());
        }
    }
}
