//! Time to read, strip and write one typical request head and one response head, in nanoseconds.
//!
//! `cargo bench -p portcullis-http1`; a plain loop, since the figure of interest is far above timer noise.
#![allow(clippy::expect_used, reason = "a bench may fail")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use portcullis_http1::{
    ConnectionField, Exchange, Framing, RequestHead, RequestParser, ResponseHead, ResponseParser,
    write_request, write_response,
};

/// What a browser sends: 9 fields, 500 bytes.
const REQUEST: &[u8] = b"GET /wp-content/uploads/2010/03/hello-kitty-darth-vader-pink.jpg HTTP/1.1\r\n\
Host: www.kittyhell.example\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
Accept-Language: en-gb,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br\r\n\
X-Correlation: 7b1c6ad1-0a6b-4f0e-8f35-2f5be4c5c3cd\r\n\
Connection: keep-alive\r\n\
Cookie: wp_ozh_wsa_visits=2; wp_ozh_wsa_visit_lasttime=xxxxxxxxxx; __utma=xxxxxxxxx.xxxxxxxxxx.x\r\n\r\n";

/// What wrk sends.
const SMALL: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 03:00:00 GMT\r\n\
Content-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\nETag: \"5f-12\"\r\n\r\n";

/// The least of many short rounds, since all else is interference by other work of the machine.
fn measure(name: &str, bytes: usize, mut once: impl FnMut()) {
    const ROUNDS: u32 = 2_000;
    const TIMES: u32 = 200;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..TIMES {
            once();
        }
        best = best.min(start.elapsed());
    }
    println!("{name:<40} {bytes:>4} bytes {:>7.1} ns", best.as_nanos() as f64 / f64::from(TIMES));
}

fn request(name: &str, input: &[u8]) {
    let (mut parser, mut head, mut out) = (RequestParser::default(), RequestHead::new(), Vec::new());
    measure(&format!("{name}: parse"), input.len(), || {
        parser.parse(black_box(input), &mut head).expect("valid");
    });
    measure(&format!("{name}: parse, strip, write"), input.len(), || {
        parser.parse(black_box(input), &mut head).expect("valid");
        head.strip_hop_by_hop();
        out.clear();
        write_request(&mut out, &head, head.framing(), ConnectionField::Absent, b"x-request-id: 1\r\n");
        black_box(&out);
    });
}

fn main() {
    request("request", REQUEST);
    request("small request", SMALL);
    let (mut parser, mut head, mut out) = (ResponseParser::default(), ResponseHead::new(), Vec::new());
    measure("response: parse, strip, write", RESPONSE.len(), || {
        parser.parse(black_box(RESPONSE), Exchange::default(), &mut head).expect("valid");
        head.strip_hop_by_hop();
        out.clear();
        write_response(&mut out, &head, Framing::Length(12), ConnectionField::Absent, b"");
        black_box(&out);
    });
    let mut fields = [httparse::EMPTY_HEADER; 64];
    measure("httparse, for comparison: parse", REQUEST.len(), || {
        let mut other = httparse::Request::new(&mut fields);
        black_box(other.parse(black_box(REQUEST)).expect("valid"));
    });
}
