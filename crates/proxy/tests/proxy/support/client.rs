//! A client that sends bytes as they are given and reads answers strictly.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::PATIENCE;

/// A connection to the proxy.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    input: Vec<u8>,
}

/// An answer, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Trailer lines after a chunked body.
    pub(crate) trailers: Vec<String>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::over(stream)
    }

    /// Says that nothing more will be sent.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn over(stream: S) -> Client<S> {
        Client { stream, input: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
        self.stream.flush().unwrap();
    }

    fn fill(&mut self) -> usize {
        let mut buffer = [0; 16 * 1024];
        let read = self.stream.read(&mut buffer).expect("an answer in time");
        self.input.extend_from_slice(&buffer[..read]);
        read
    }

    /// Everything up to and including `end`.
    pub(crate) fn until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.input.windows(end.len()).position(|window| window == end.as_bytes()) {
                let rest = self.input.split_off(at + end.len());
                return String::from_utf8(std::mem::replace(&mut self.input, rest)).unwrap();
            }
            assert_ne!(self.fill(), 0, "closed after {:?}", String::from_utf8_lossy(&self.input));
        }
    }

    pub(crate) fn exactly(&mut self, len: usize) -> String {
        while self.input.len() < len {
            assert_ne!(self.fill(), 0, "closed after {:?}", String::from_utf8_lossy(&self.input));
        }
        let rest = self.input.split_off(len);
        String::from_utf8(std::mem::replace(&mut self.input, rest)).unwrap()
    }

    /// Everything to the end of the connection, which must be a close or a reset.
    pub(crate) fn rest(&mut self) -> String {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.input.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("still open"),
                Err(_) => break,
            }
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.input)).into_owned()
    }

    /// The next answer's head.
    pub(crate) fn head(&mut self) -> Answer {
        let head = self.until("\r\n\r\n");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap();
        assert!(status.starts_with("HTTP/1.1 "), "{status}");
        let status = status[9..12].parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        Answer { status, headers: lines.map(header).collect(), body: String::new(), trailers: Vec::new() }
    }

    /// The next answer, to a request that is not HEAD.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        if matches!(answer.status, 100..=199 | 204 | 304) {
            return answer;
        }
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            answer.body = self.exactly(length);
        } else if answer.header("transfer-encoding") == Some("chunked") {
            (answer.body, answer.trailers) = self.chunks();
        } else {
            answer.body = self.rest();
        }
        answer
    }

    fn chunks(&mut self) -> (String, Vec<String>) {
        let mut body = String::new();
        loop {
            let line = self.until("\r\n");
            let len = usize::from_str_radix(line.trim_end(), 16).unwrap();
            if len == 0 {
                let mut trailers = Vec::new();
                loop {
                    let line = self.until("\r\n");
                    match line.trim_end() {
                        "" => return (body, trailers),
                        line => trailers.push(line.to_owned()),
                    }
                }
            }
            body.push_str(&self.exactly(len));
            assert_eq!(self.until("\r\n"), "\r\n");
        }
    }

    /// The next answer to GET of a path.
    pub(crate) fn get(&mut self, host: &str, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        self.answer()
    }
}
