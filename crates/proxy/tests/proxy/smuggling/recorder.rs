//! A backend that takes nothing but the strictest HTTP/1.1, keeps every message, and answers with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: String,
}

impl Message {
    pub(crate) fn new(method: &str, target: &str, body: &str) -> Message {
        Message { method: method.into(), target: target.into(), body: body.into() }
    }

    pub(crate) fn get(target: &str) -> Message {
        Message::new("GET", target, "")
    }

    /// What the answer to it says; nothing to HEAD.
    pub(crate) fn echoed(&self) -> String {
        match self.method.as_str() {
            "HEAD" => String::new(),
            method => format!("{method} {} {}", self.target, self.body),
        }
    }
}

/// The backend.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Recorder {
    pub(crate) fn start() -> Recorder {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let messages = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&messages);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Recorder { address, messages }
    }

    /// What has come since the last time.
    pub(crate) fn taken(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock().unwrap())
    }
}

/// Reads messages to the end of the connection. What is out of step is kept too, as a message that nobody expects.
fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Message>>) {
    let _ = stream.set_nodelay(true);
    let mut input = Vec::new();
    loop {
        match parse(&input) {
            Ok(Some((message, len))) => {
                input.drain(..len);
                let body = message.echoed();
                // An answer to HEAD has no body, and says nothing of one.
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                kept.lock().unwrap().push(message);
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
            Ok(None) => {
                let mut buffer = [0; 16 * 1024];
                match stream.read(&mut buffer) {
                    Ok(read @ 1..) => input.extend_from_slice(&buffer[..read]),
                    Ok(0) | Err(_) => return, // in the middle of a message: it was given up, and is none
                }
            }
            Err(fault) => {
                kept.lock().unwrap().push(Message::new(
                    "OUT OF STEP",
                    fault,
                    &String::from_utf8_lossy(&input),
                ));
                return;
            }
        }
    }
}

/// The first message and its length; none if it is not whole yet.
fn parse(input: &[u8]) -> Result<Option<(Message, usize)>, &'static str> {
    let Some(end) = find(input, b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&input[..end]).or(Ok::<_, &'static str>(""))?;
    let head =
        if head.is_empty() { String::from_utf8_lossy(&input[..end]).into_owned() } else { head.to_owned() };
    let mut lines = head.split("\r\n");
    let request: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1"] = request[..] else { return Err("request line") };
    let (mut length, mut chunked, mut hosts) = (None, false, 0);
    for line in lines {
        let (name, value) =
            line.split_once(": ").or_else(|| line.split_once(':')).ok_or("field without colon")?;
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_!#$%&'*+.^`|~".contains(&byte))
        {
            return Err("field name");
        }
        if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
            return Err("field value");
        }
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts += 1,
            "content-length" if length.is_some() => return Err("two lengths"),
            "content-length" if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err("length");
            }
            "content-length" => length = Some(value.parse::<usize>().map_err(|_| "length")?),
            "transfer-encoding" if chunked || value != "chunked" => return Err("transfer coding"),
            "transfer-encoding" => chunked = true,
            "http2-settings" | "upgrade" if value.starts_with("h2c") => return Err("an upgrade to HTTP/2"),
            _ => {}
        }
    }
    if hosts != 1 {
        return Err("not one Host");
    }
    if chunked && length.is_some() {
        return Err("two framings");
    }
    let start = end + 4;
    let body = match (chunked, length) {
        (true, _) => chunks(input, start)?,
        (false, length) => {
            let end = start.saturating_add(length.unwrap_or(0));
            input.get(start..end).map(|body| (String::from_utf8_lossy(body).into_owned(), end))
        }
    };
    Ok(body.map(|(body, len)| (Message::new(method, target, &body), len)))
}

/// A chunked body, without extensions and trailers that would frame, and where it ends.
fn chunks(input: &[u8], mut at: usize) -> Result<Option<(String, usize)>, &'static str> {
    let mut body = String::new();
    loop {
        let Some(line) = find(&input[at..], b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&input[at..at + line]).map_err(|_| "chunk size")?;
        if size.is_empty() || size.len() > 8 || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("chunk size");
        }
        let size = usize::from_str_radix(size, 16).map_err(|_| "chunk size")?;
        at += line + 2;
        if size == 0 {
            break;
        }
        let Some(data) = input.get(at..at + size + 2) else { return Ok(None) };
        if !data.ends_with(b"\r\n") {
            return Err("chunk end");
        }
        body.push_str(&String::from_utf8_lossy(&data[..size]));
        at += size + 2;
    }
    loop {
        let Some(line) = find(&input[at..], b"\r\n") else { return Ok(None) };
        let trailer = String::from_utf8_lossy(&input[at..at + line]).to_ascii_lowercase();
        at += line + 2;
        if trailer.is_empty() {
            return Ok(Some((body, at)));
        }
        let framing = ["content-length:", "transfer-encoding:", "host:"];
        if framing.iter().any(|name| trailer.starts_with(name)) {
            return Err("framing in a trailer");
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
