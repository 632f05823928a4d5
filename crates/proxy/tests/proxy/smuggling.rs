//! Request smuggling: what reaches a backend is one message for each request, framed in the one way that everybody
//! frames alike; and what a backend answers is one answer.
//!
//! Some hundred exchanges ([`valid`], [`refused`], [`responses`], [`http2`], [`http3`]) over raw sockets. The backend
//! ([`recorder`]) reads what the proxy sends by the strictest grammar and keeps it, so that anything out of step is
//! seen; after each exchange another client's request has to come through the same pool unharmed.
mod http2;
mod http3;
mod recorder;
mod refused;
mod responses;
mod valid;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::support::{Gateway, PATIENCE, Running};
use recorder::{Message, Recorder};

/// What is sent on one connection, and what has to come of it.
#[derive(Debug)]
struct Exchange {
    /// What is special about it.
    name: String,
    bytes: Vec<u8>,
    /// The messages that reach the backend.
    served: Vec<Message>,
    /// The status of the answer that the proxy gives itself after those; none if everything is served.
    refused: Option<u16>,
}

impl Exchange {
    fn served(name: impl Into<String>, bytes: impl AsRef<[u8]>, messages: Vec<Message>) -> Exchange {
        Exchange { name: name.into(), bytes: bytes.as_ref().to_vec(), served: messages, refused: None }
    }

    fn refused(name: impl Into<String>, bytes: impl AsRef<[u8]>, status: u16) -> Exchange {
        let bytes = bytes.as_ref().to_vec();
        Exchange { name: name.into(), bytes, served: Vec::new(), refused: Some(status) }
    }
}

/// The proxy and its backend.
struct Stage {
    running: Running,
    recorder: Recorder,
}

impl Stage {
    fn start() -> Stage {
        let recorder = Recorder::start();
        Stage { running: Running::start(&Gateway::to(recorder.address)), recorder }
    }

    /// Another client's request, which must come through as itself and get its own answer.
    fn bystander(&self, after: &str) {
        let mut client = self.running.client();
        client.send("GET /bystander HTTP/1.1\r\nHost: bystander\r\n\r\n");
        assert_eq!(client.answer().body, "GET /bystander ", "after {after}");
        assert_eq!(self.recorder.taken(), [Message::get("/bystander")], "after {after}");
    }

    /// What is wrong with what came of an exchange.
    fn judge(&self, exchange: &Exchange) -> Option<String> {
        let Exchange { name, bytes, served, refused } = exchange;
        let heard = talk(self.running.address(), bytes);
        let messages = self.recorder.taken();
        self.bystander(name);
        let answers = answers(&heard);
        let expected: Vec<(u16, String)> = served.iter().map(|message| (200, message.echoed())).collect();
        let ours = answers.get(expected.len()).map(|(status, _)| *status);
        let right = answers.starts_with(&expected) && answers.len() <= expected.len() + 1 && ours == *refused;
        let bytes = String::from_utf8_lossy(bytes);
        (&messages != served || !right)
            .then(|| format!("{name}\n  {bytes:?}\n  reached: {messages:?}\n  heard: {heard:?}"))
    }
}

/// Fails with all that is wrong.
fn judge_all(exchanges: &[Exchange]) {
    let stage = Stage::start();
    let wrong: Vec<String> = exchanges.iter().filter_map(|exchange| stage.judge(exchange)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), exchanges.len(), wrong.join("\n"));
}

/// Sends bytes, then the end of what there is to send, and returns all that is answered.
pub(crate) fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let _ = stream.shutdown(Shutdown::Write); // a refusal may have come, and closed it, before
    let mut heard = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("no end: {bytes:?}"),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// The answers in what a connection said, interim ones left out: statuses, and bodies by their length.
pub(crate) fn answers(mut heard: &str) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    while let Some((head, rest)) = heard.split_once("\r\n\r\n") {
        let status: u16 =
            head.strip_prefix("HTTP/1.1 ").expect("an answer begins here")[..3].parse().unwrap();
        let field = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
        };
        let length = field("content-length").filter(|_| !matches!(status, 204 | 304));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let (body, rest) = rest.split_at(length);
        heard = rest;
        if status >= 200 {
            answers.push((status, body.to_owned()));
        }
    }
    assert_eq!(heard, "", "something that is no answer, after {answers:?}");
    answers
}

/// How many exchanges there have to be, and how many of them valid.
const WANTED: (usize, usize) = (300, 100);

#[test]
fn the_corpus_is_as_large_as_it_says() {
    let (valid, refused) = (valid::exchanges().len(), refused::exchanges().len());
    let others = responses::cases().len() + http2::cases().len() * 2;
    println!("{valid} valid and {refused} refused exchanges, {others} of backends and of HTTP/2 and 3");
    assert!(valid >= WANTED.1 && valid + refused + others >= WANTED.0);
}

#[test]
fn what_is_valid_is_served_as_it_was_meant() {
    judge_all(&valid::exchanges());
}

#[test]
fn what_is_ambiguous_reaches_nobody() {
    judge_all(&refused::exchanges());
}
