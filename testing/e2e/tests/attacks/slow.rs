//! Clients that hold what they take: heads and bodies that never end, answers that nobody reads.

use crate::frames::{END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, frame, request};
use crate::judge;
use crate::load::Client;

/// Connections, and bytes or requests a second, of all of them together.
const CONNECTIONS: usize = 300;
const RATE: usize = 600;

fn client(opening: &[u8], reads: bool, action: impl FnMut(u32) -> Vec<u8> + Send + 'static) -> Client {
    Client { opening: opening.to_vec(), action: Box::new(action), reads }
}

/// Requests, one an action, by HTTP/1.1 and without haste.
fn requests() -> Client {
    client(b"", true, |_| b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec())
}

/// Slowloris: a byte of a head now and then.
#[test]
fn heads() {
    let attack = || client(b"GET / HTTP/1.1\r\nHost: a\r\nX: ", true, |_| b"x".to_vec());
    judge("slow heads", attack, requests, CONNECTIONS, RATE);
}

#[test]
fn bodies() {
    let attack = || {
        let opening = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
        client(opening, true, |_| b"x".to_vec())
    };
    judge("slow bodies", attack, requests, CONNECTIONS, RATE);
}

/// Answers of a quarter of a megabyte that nobody reads, asked for once a connection.
#[test]
fn readers() {
    let attack = || client(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n", false, |_| Vec::new());
    judge("slow readers", attack, requests, CONNECTIONS, RATE);
}

/// The same by HTTP/2: a hundred streams a connection, whose windows stay closed (RFC 9113 §6.9.2). Harmless is who
/// asks for as much and reads it.
#[test]
fn windows() {
    fn asking(window: u32, connection: &[u8]) -> Client {
        let settings = frame(SETTINGS, 0, 0, &[&[0, 4], &window.to_be_bytes()[..]].concat());
        let get =
            |number: u32| frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, &request("GET", "/long"));
        let requests = (0..100).flat_map(get).collect();
        client(&[PREFACE.to_vec(), settings, connection.to_vec(), requests].concat(), true, |_| Vec::new())
    }
    let attack = || asking(0, &[]);
    let harmless = || {
        let largest: u32 = (1 << 31) - 1;
        asking(largest, &frame(WINDOW_UPDATE, 0, 0, &(largest - 65_535).to_be_bytes()))
    };
    judge("closed windows", attack, harmless, CONNECTIONS / 30, RATE);
}
