//! Clients that break HTTP/3, and those that only make work.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use h2::server::Builder;
use http::Response;
use portcullis_proxy::Bytes;
use quinn::VarInt;

use super::{connect, gateway};
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::http3::{Http3, STREAM_WINDOW, frame, section};
use crate::support::tls::{Authority, http3};
use crate::support::{Backend, Gateway, Rules, Running, eventually};

const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// Error codes of RFC 9114 §8.1 and RFC 9204 §6.
const STREAM_CREATION_ERROR: u64 = 0x103;
const CLOSED_CRITICAL_STREAM: u64 = 0x104;
const FRAME_UNEXPECTED: u64 = 0x105;
const FRAME_ERROR: u64 = 0x106;
const EXCESSIVE_LOAD: u64 = 0x107;
const SETTINGS_ERROR: u64 = 0x109;
const MISSING_SETTINGS: u64 = 0x10a;
const DECOMPRESSION_FAILED: u64 = 0x200;
const ENCODER_STREAM_ERROR: u64 = 0x201;

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")];

struct Stage {
    _backend: Backend,
    authority: Authority,
    running: Running,
}

impl Stage {
    fn start() -> Stage {
        let (backend, authority) = (Backend::named("web"), Authority::new());
        let running = Running::start(&gateway(&authority, &backend));
        Stage { _backend: backend, authority, running }
    }

    fn client(&self) -> Http3 {
        connect(&self.running, &self.authority)
    }
}

#[test]
fn what_is_no_request_ends_the_connection() {
    let stage = Stage::start();
    let head = frame(HEADERS, &section(&GET));
    for (name, bytes, code) in [
        ("a body before the head", frame(DATA, b"x"), FRAME_UNEXPECTED),
        ("SETTINGS", frame(4, b""), FRAME_UNEXPECTED),
        ("a frame of HTTP/2", frame(6, b"12345678"), FRAME_UNEXPECTED),
        ("half a frame", vec![HEADERS, 9, 0], FRAME_ERROR),
        ("half a body", [&head[..], &[DATA, 9, 0]].concat(), FRAME_ERROR),
        ("a dynamic table", frame(HEADERS, &[0, 0, 0x80]), DECOMPRESSION_FAILED),
        ("no section", frame(HEADERS, &[]), DECOMPRESSION_FAILED),
    ] {
        let client = stage.client();
        let heard = client.raw(&bytes);
        assert!(heard.is_err(), "{name}: {heard:?}");
        assert_eq!(client.closed_with(), code, "{name}");
    }
    let counted = "portcullis_refused_total{reason=\"http3_protocol\"} 7";
    eventually(|| stage.running.metrics().contains(counted).then_some(()));
}

#[test]
fn streams_of_one_direction_are_held_to_their_purpose() {
    let stage = Stage::start();
    for (name, bytes, code) in [
        ("a second control stream", vec![0, 4, 0], STREAM_CREATION_ERROR),
        ("a push", vec![1], STREAM_CREATION_ERROR),
        ("a second encoder", vec![2], STREAM_CREATION_ERROR),
    ] {
        let client = stage.client();
        client.get("a.test", "/");
        let _stream = client.one_way(&bytes);
        assert_eq!(client.closed_with(), code, "{name}");
    }
    for (name, bytes, code) in [
        ("no settings first", vec![0, 7, 1, 0], MISSING_SETTINGS),
        ("settings of HTTP/2", vec![0, 4, 2, 2, 1], SETTINGS_ERROR),
        ("a setting twice", vec![0, 4, 4, 6, 1, 6, 1], SETTINGS_ERROR),
        ("settings twice", vec![0, 4, 0, 4, 0], FRAME_UNEXPECTED),
        ("a request's frame", vec![0, 4, 0, 1, 0], FRAME_UNEXPECTED),
        (
            "settings without an end",
            [&[0, 4, 0xbf, 0xff, 0xff, 0xff][..], &[1; 9000]].concat(),
            EXCESSIVE_LOAD,
        ),
        ("what inserts into a table", vec![2, 0x20, 0xc0, 0], ENCODER_STREAM_ERROR),
    ] {
        let client = Http3::bare(stage.running.quic(), "a.test", stage.authority.client(&["h3"]));
        let _stream = client.one_way(&bytes);
        assert_eq!(client.closed_with(), code, "{name}");
    }
    let client = Http3::bare(stage.running.quic(), "a.test", stage.authority.client(&["h3"]));
    client.one_way(&[0, 4, 0]).finish().unwrap();
    assert_eq!(client.closed_with(), CLOSED_CRITICAL_STREAM);
    let client = stage.client();
    let _unknown = client.one_way(&[0x21, 1, 2, 3]);
    assert_eq!(client.get("a.test", "/").status, 200, "an unknown stream means nothing");
}

#[test]
fn a_head_that_is_too_large_is_answered_with_431_and_not_kept() {
    let stage = Stage::start();
    let client = stage.client();
    let status_431 = [0x5f, 0x09, 3, b'4', b'3', b'1'];
    let long = "x".repeat(100_000);
    let large = frame(HEADERS, &section(&[&GET[..], &[("x-long", &long)]].concat()));
    let said_to_be = [&[HEADERS, 0xbf, 0xff, 0xff, 0xff][..], &[0; 64]].concat();
    for bytes in [large, said_to_be] {
        let heard = client.raw(&bytes).unwrap();
        assert!(heard.ends_with(&status_431), "{heard:?}");
    }
    assert_eq!(client.get("a.test", "/").status, 200, "the connection lives");
}

/// As over HTTP/2 (CVE-2023-44487): requests that are cancelled before they are answered are bounded.
#[test]
fn a_client_that_cancels_all_its_requests_is_told_to_stop() {
    let (backend, authority) = (Backend::silent(), Authority::new());
    let running = Running::limited(&gateway(&authority, &backend), |limits| limits.h3_resets = 10);
    let client = connect(&running, &authority);
    let head = frame(HEADERS, &section(&GET));
    client.run(async {
        while let Ok((mut send, mut receive)) = client.quic.open_bi().await {
            if send.write_all(&head).await.is_err() {
                break;
            }
            let cancelled = VarInt::from_u32(0x10c);
            let _ = (send.reset(cancelled), receive.stop(cancelled));
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(client.closed_with(), EXCESSIVE_LOAD);
    eventually(|| running.metrics().contains("reason=\"stream_resets\"} 1").then_some(()));
}

#[test]
fn frames_that_carry_nothing_are_bounded() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::limited(&gateway(&authority, &backend), |limits| limits.h3_control_frames = 50);
    let client = connect(&running, &authority);
    let flood = [frame(HEADERS, &section(&GET)), frame(0x21, b"").repeat(60)].concat();
    assert!(client.raw(&flood).is_err());
    assert_eq!(client.closed_with(), EXCESSIVE_LOAD);
}

/// RFC 9114 §4.1.2: a body that is not as long as its head says is malformed, and no backend gets it as whole.
#[test]
fn a_body_of_another_length_than_said_is_answered_with_400() {
    let (backend, authority) = (Backend::silent(), Authority::new());
    let running = Running::start(&gateway(&authority, &backend));
    let client = connect(&running, &authority);
    for said in ["0", "1", "3", "18446744073709551615"] {
        let post = [(":method", "POST"), GET[1], GET[2], GET[3], ("content-length", said)];
        let heard = client.raw(&[frame(HEADERS, &section(&post)), frame(DATA, b"xy")].concat()).unwrap();
        let status_400 = [0xff, 67 - 63];
        assert!(heard.get(4..6) == Some(&status_400), "{said}: {heard:?}");
    }
    let bad = "reason=\"bad_request\"} 4";
    eventually(|| running.metrics().contains(bad).then_some(()));
}

/// What a client asks for and does not read waits in windows, and nowhere else.
#[test]
fn an_answer_that_nobody_reads_holds_no_more_than_its_windows() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let backend = Http2Backend::handling(&Builder::new(), move |mut asked: Asked| {
        let counted = Arc::clone(&counted);
        async move {
            let mut answer = asked.respond.send_response(Response::new(()), false).unwrap();
            loop {
                answer.reserve_capacity(64 << 10);
                let Some(Ok(room)) = poll_fn(|cx| answer.poll_capacity(cx)).await else { return };
                answer.send_data(vec![0; room].into(), false).unwrap();
                counted.fetch_add(room, Relaxed);
            }
        }
    });
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", http3(authority.https(&["a.test"])), Rules::new().to("/", "web-h2c"))
        .backend("web-h2c", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.h3_send_bytes = Bytes(64 << 10));
    let client = connect(&running, &authority);
    let _unread = client.unread(&frame(HEADERS, &section(&GET)));
    let mut before = 0;
    let settled = loop {
        client.run(async { tokio::time::sleep(std::time::Duration::from_millis(300)).await });
        let now = sent.load(Relaxed);
        if now > 0 && now == before {
            break now;
        }
        before = now;
    };
    let taken = STREAM_WINDOW as usize;
    assert!((taken..taken + (1 << 20)).contains(&settled), "{settled}");
}

/// A client that asks for nothing is told to go, though it keeps its connection alive.
#[test]
fn idle_connections_are_closed() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::limited(&gateway(&authority, &backend), |limits| {
        limits.idle_timeout = std::time::Duration::from_millis(200);
    });
    let client = connect(&running, &authority);
    assert_eq!(client.closed_with(), 0x100);
}

/// Whoever begins a handshake and says no more holds nothing for long.
#[test]
fn a_handshake_that_never_ends_is_ended() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::limited(&gateway(&authority, &backend), |limits| {
        limits.head_timeout = std::time::Duration::from_millis(200);
    });
    let socket = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    for datagram in Http3::hello("a.test", authority.client(&["h3"])) {
        socket.send_to(&datagram, running.quic()).unwrap();
    }
    let ended = |page: &String| {
        page.contains("portcullis_refused_total{reason=\"client_timeout\"} 1\n")
            && page.contains("portcullis_connections_open 0\n")
    };
    eventually(|| Some(running.metrics()).filter(ended));
}

/// While there are many handshakes of clients whose address may be forged, clients are asked to show theirs (Retry).
#[test]
fn clients_show_their_address_where_there_are_many() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::limited(&gateway(&authority, &backend), |limits| limits.quic_handshakes = 0);
    let client = connect(&running, &authority);
    assert_eq!(client.get("a.test", "/").status, 200);
    eventually(|| running.metrics().contains("portcullis_quic_retries_total 1\n").then_some(()));
}
