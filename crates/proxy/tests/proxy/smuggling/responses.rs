//! The other direction: a backend whose answers could be framed in two ways. The client gets 502 or a cut connection,
//! never two answers for one, and the backend's connection serves nobody else.

use std::sync::Mutex;

use super::{answers, talk};
use crate::support::{Backend, Gateway, Running};

/// What a backend answers to a GET, and the body that a client may believe; none if there is none to believe.
pub(crate) fn cases() -> Vec<(&'static str, &'static str, Option<&'static str>)> {
    let unbelievable = heads().into_iter().chain(bodies()).map(|(name, bytes)| (name, bytes, None));
    let followed = followed().into_iter().map(|(name, bytes, body)| (name, bytes, Some(body)));
    unbelievable.chain(followed).collect()
}

/// Heads that are no HTTP/1.1, or say two things.
fn heads() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "both framings",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhey"),
        ("two equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
        ("a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhi"),
        ("a length in words", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi"),
        ("a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi"),
        ("a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi"),
        (
            "a coding twice",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        ("bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"),
        ("bare LF in a value", "HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\r\nhi"),
        ("bare CR in a value", "HTTP/1.1 200 OK\r\nX: y\rz\r\nContent-Length: 2\r\n\r\nhi"),
        ("a continued line", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 2\r\n\r\nhi"),
        ("space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi"),
        ("NUL in a value", "HTTP/1.1 200 OK\r\nX: y\0\r\nContent-Length: 2\r\n\r\nhi"),
        ("no version", "200 OK\r\nContent-Length: 2\r\n\r\nhi"),
        ("another protocol", "ICY 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
        ("a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nhi"),
        ("a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nhi"),
        ("a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nhi"),
        (
            "101 that nobody asked for",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi",
        ),
    ]
}

/// Bodies that are not what their heads said.
fn bodies() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "a chunk size with a sign",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nhi\r\n0\r\n\r\n",
        ),
        (
            "a chunk size beyond all bounds",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nhi\r\n0\r\n\r\n",
        ),
        (
            "a chunk that is longer than it says",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhi\r\n0\r\n\r\n",
        ),
    ]
}

/// Whole answers, with something behind them that nobody asked for.
fn followed() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        (
            "a second answer behind the first",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
            "hi",
        ),
        (
            "an answer with a body behind 204",
            "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
            "",
        ),
        ("an answer with a body behind 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nbad", ""),
        ("a body beyond its length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", "hi"),
        ("something behind the last chunk", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n0\r\n\r\n", ""),
    ]
}

#[test]
fn an_ambiguous_answer_is_no_answer() {
    let answer = std::sync::Arc::new(Mutex::new(""));
    let script = std::sync::Arc::clone(&answer);
    let backend = Backend::scripted(move |connection| {
        while let Some(head) = connection.request() {
            match head.starts_with("GET /bystander ") {
                true => connection.answer("fine"),
                false => connection.write(*script.lock().unwrap()),
            }
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    for (name, bytes, believed) in cases() {
        *answer.lock().unwrap() = bytes;
        let heard = talk(running.address(), b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        match believed {
            Some(body) => {
                let all = answers(&heard);
                assert_eq!(all.len(), 1, "{name}: {heard:?}");
                assert_eq!(all[0].1, body, "{name}: {heard:?}");
            }
            None => {
                // Before the head is believed it is 502; after that nothing but a cut can tell.
                let refused = heard.starts_with("HTTP/1.1 502 ");
                let cut = heard.is_empty() || heard.contains("chunked") && !heard.ends_with("0\r\n\r\n");
                assert!(refused || cut, "{name}: {heard:?}");
                assert!(heard.matches("HTTP/1.1 ").count() <= 1, "{name}: {heard:?}");
            }
        }
        assert_eq!(running.client().get("a", "/bystander").body, "fine", "after {name}");
    }
}
