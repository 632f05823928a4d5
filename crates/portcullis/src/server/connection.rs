//! One connection: requests in order, each answered before the next is read.

use std::io;
use std::net::SocketAddr;

use portcullis_http1::{
    BodyDecoder, ChunkLimits, ConnectionField, Fields, Framing, HeadLimits, Known, Method, Piece,
    RequestHead, RequestParser, ResponseHead, Version, write_continue, write_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Answer, BODY_KEPT, Request, Response, SILENCE};

/// Answers requests until either side has enough.
pub(super) async fn converse(stream: TcpStream, remote: SocketAddr, answers: &impl Answer) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Connection { stream, input: Vec::new(), output: Vec::new() };
    loop {
        let request = match connection.receive(remote).await {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(Fault::Io(error)) => return Err(error),
            Err(Fault::Malformed(status, cause)) => {
                let answer = Response::text(status, format!("{cause}\n"));
                return connection.send(&answer, Method::Get, ConnectionField::Close).await;
            }
        };
        let (method, version, goes_on) =
            (request.head.method(), request.head.version(), request.head.keep_alive());
        let answer = answers.answer(request).await;
        let field = match (goes_on, version) {
            (false, _) => ConnectionField::Close,
            (true, Version::Http10) => ConnectionField::KeepAlive,
            (true, _) => ConnectionField::Absent,
        };
        connection.send(&answer, method, field).await?;
        if !goes_on {
            return Ok(());
        }
    }
}

/// Why no request was read.
enum Fault {
    Io(io::Error),
    /// The status to answer with, and why.
    Malformed(u16, String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Connection {
    /// The next request, or none once the client is done.
    async fn receive(&mut self, remote: SocketAddr) -> Result<Option<Request>, Fault> {
        let Some(head) = self.head().await? else { return Ok(None) };
        if head.expects_continue() && self.input.is_empty() {
            self.output.clear();
            write_continue(&mut self.output);
            self.stream.write_all(&self.output).await?;
        }
        let (body, body_bytes, trailers) = self.body(head.framing()).await?;
        Ok(Some(Request { head, body, body_bytes, trailers, remote }))
    }

    async fn head(&mut self) -> Result<Option<RequestHead>, Fault> {
        let mut parser = RequestParser::new(HeadLimits::default());
        let mut head = RequestHead::new();
        loop {
            match parser.parse(&self.input, &mut head) {
                Ok(Some(length)) => {
                    self.input.drain(..length);
                    return Ok(Some(head));
                }
                Ok(None) => {}
                Err(error) => return Err(Fault::Malformed(error.status(), error.to_string())),
            }
            if self.read().await? == 0 {
                return if self.input.is_empty() { Ok(None) } else { Err(ended_early().into()) };
            }
        }
    }

    /// The beginning of a body, its whole length, and its trailers.
    async fn body(&mut self, framing: Framing) -> Result<(Vec<u8>, u64, Fields), Fault> {
        let mut decoder = BodyDecoder::new(ChunkLimits::default());
        decoder.start(framing);
        let (mut kept, mut length) = (Vec::new(), 0);
        loop {
            let (used, piece) = decoder
                .decode(&self.input)
                .map_err(|error| Fault::Malformed(error.status(), error.to_string()))?;
            let (more, end) = match piece {
                Piece::Data(data) => {
                    length += data.len() as u64;
                    let room = BODY_KEPT - kept.len();
                    kept.extend_from_slice(data.get(..room).unwrap_or(data));
                    (false, false)
                }
                Piece::More => (true, false),
                Piece::End => (false, true),
            };
            self.input.drain(..used);
            if end {
                return Ok((kept, length, decoder.trailers().clone()));
            }
            if more && self.read().await? == 0 {
                return Err(ended_early().into());
            }
        }
    }

    async fn send(&mut self, answer: &Response, method: Method, field: ConnectionField) -> io::Result<()> {
        let mut head = ResponseHead::new();
        head.start(Version::Http11, answer.status);
        head.fields.push_known(Known::ContentType, answer.content_type.as_bytes());
        let bodiless = method == Method::Head || matches!(answer.status, 204 | 304);
        let framing = if bodiless { Framing::None } else { Framing::Length(answer.body.len() as u64) };
        self.output.clear();
        if bodiless {
            head.fields.push_known(Known::ContentLength, answer.body.len().to_string().as_bytes());
        }
        write_response(&mut self.output, &head, framing, field, b"");
        if !bodiless {
            self.output.extend_from_slice(&answer.body);
        }
        timeout(SILENCE, self.stream.write_all(&self.output)).await??;
        Ok(())
    }

    /// Bytes read; 0 at the connection's end.
    async fn read(&mut self) -> io::Result<usize> {
        timeout(SILENCE, self.stream.read_buf(&mut self.input)).await?
    }
}

fn ended_early() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}
