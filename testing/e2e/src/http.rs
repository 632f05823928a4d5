//! The simplest HTTP/1.1 client that can tell whether an answer is whole.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its head, as received, status line included.
    pub head: String,
    /// Its body, without chunk framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, if it is there.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One GET on a connection of its own.
///
/// # Errors
/// When there is no connection or no whole answer.
pub fn get(address: SocketAddr, host: &str, path: &str) -> io::Result<Answer> {
    Connection::open(address)?.get(host, path)
}

/// A kept connection over any stream.
pub struct Connection<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl Connection<TcpStream> {
    /// Connects in clear.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn open(address: SocketAddr) -> io::Result<Connection<TcpStream>> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        Ok(Connection::over(stream))
    }
}

impl<S: Read + Write> Connection<S> {
    /// Speaks over a stream.
    pub fn over(stream: S) -> Connection<S> {
        Connection { stream, buffer: Vec::new() }
    }

    /// A GET.
    ///
    /// # Errors
    /// As [`Connection::send`] and [`Connection::receive`].
    pub fn get(&mut self, host: &str, path: &str) -> io::Result<Answer> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
        self.receive("GET")
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Reads one answer to a request of this method.
    ///
    /// # Errors
    /// When the connection ends, or time runs out, before the answer is whole.
    pub fn receive(&mut self, method: &str) -> io::Result<Answer> {
        let end = loop {
            match find(&self.buffer, b"\r\n\r\n") {
                Some(at) => break at,
                None => self.fill()?,
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let status = head.get(9..12).and_then(|code| code.parse().ok()).ok_or_else(|| malformed(&head))?;
        let mut answer = Answer { status, head, body: Vec::new() };
        answer.body = self.body(&answer, method)?;
        Ok(answer)
    }

    fn body(&mut self, answer: &Answer, method: &str) -> io::Result<Vec<u8>> {
        if method == "HEAD" || answer.status < 200 || matches!(answer.status, 204 | 304) {
            return Ok(Vec::new());
        }
        if answer.header("transfer-encoding").is_some() {
            return self.chunks();
        }
        match answer.header("content-length") {
            Some(length) => self.take(length.parse().map_err(|_| malformed(length))?),
            None => self.rest(),
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(line.split(';').next().unwrap_or(""), 16);
            let size = size.map_err(|_| malformed(&line))?;
            if size == 0 {
                while !self.line()?.is_empty() {} // trailers
                return Ok(body);
            }
            body.extend(self.take(size)?);
            self.take(2)?;
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..at]).into_owned();
                self.buffer.drain(..at + 2);
                return Ok(line);
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    /// What comes until the peer closes.
    ///
    /// # Errors
    /// When the connection breaks instead.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = std::mem::take(&mut self.buffer);
        self.stream.read_to_end(&mut rest)?;
        Ok(rest)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut part = [0; 16 * 1024];
        match self.stream.read(&mut part)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed before the answer was whole")),
            length => {
                self.buffer.extend_from_slice(&part[..length]);
                Ok(())
            }
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed answer: {what}"))
}
