//! HTTP/2 from clients: the same rules, and floods.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use http::{HeaderMap, Request};
use portcullis_proxy::Drain;
use sha1::{Digest, Sha1};

use crate::support::backend::{fields, full_backlog};
use crate::support::http2::{GET, Http2, Raw, frame, get, goaway, preface, run, shout, websocket, whole};
use crate::support::{Backend, Gateway, PATIENCE, Rules, Running, eventually};

/// ENHANCE_YOUR_CALM (RFC 9113 §7).
const CALM: u32 = 11;

#[test]
fn prior_knowledge_is_understood_on_http_listeners() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let answer = client.get("a.test", "/x?y").await;
        assert_eq!((answer.status(), &answer.body[..]), (200, &b"web"[..]));
        assert_eq!(answer.head.headers()["content-length"], "3");
    });
    let head = backend.head();
    assert!(head.starts_with("GET /x?y HTTP/1.1\r\n"), "{head}");
    assert_eq!(fields(&head, "host"), ["a.test"]);
}

#[test]
fn http2_over_tls_is_chosen_by_alpn() {
    use crate::support::tls::{Authority, connect};
    let authority = Authority::new();
    let running = Running::start(&Gateway::new().listener("", authority.https(&["a.test"]), Rules::new()));
    let client = connect(running.address(), "a.test", authority.client(&["h2", "http/1.1"])).unwrap();
    assert_eq!(client.stream.conn.alpn_protocol(), Some(&b"h2"[..]));
    let client = connect(running.address(), "a.test", authority.client(&["http/1.1"])).unwrap();
    assert_eq!(client.stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[test]
fn streams_share_a_connection() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            connection.answer(&path);
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let mut answers = Vec::new();
        for number in 0..100 {
            answers.push(client.begin(get("a", &format!("/{number}")), true).await.0);
        }
        for (number, answer) in answers.into_iter().enumerate() {
            let answer = whole(answer.await.unwrap()).await.unwrap();
            assert_eq!(answer.body, format!("/{number}"));
        }
    });
}

#[test]
fn bodies_and_trailers_pass_both_ways() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert_eq!(fields(&head, "transfer-encoding"), ["chunked"]);
        assert_eq!(fields(&head, "te"), ["trailers"]);
        let body = connection.until("\r\n\r\n");
        assert!(body.contains("hello") && body.contains("x-sum: 1"), "{body}");
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-check: 2\r\n\r\n");
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let request = Request::post("http://a/").header("te", "trailers").body(()).unwrap();
        let (answer, mut body) = client.begin(request, false).await;
        body.send_data(Bytes::from_static(b"hello"), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "1".parse().unwrap());
        body.send_trailers(trailers).unwrap();
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!(&answer.body[..], b"hi");
        assert_eq!(answer.trailers.unwrap()["x-check"], "2");
    });
}

#[test]
fn a_large_body_goes_both_ways_under_flow_control() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        let length: usize = fields(&head, "content-length")[0].parse().unwrap();
        let body = connection.exactly(length);
        connection.answer(&body);
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let text = "0123456789abcdef".repeat(128 * 1024); // 2 MiB
        let mut client = Http2::connect(running.address()).await;
        let request = Request::put("http://a/").header("content-length", text.len()).body(()).unwrap();
        let (answer, mut body) = client.begin(request, false).await;
        body.send_data(Bytes::from(text.clone()), true).unwrap();
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert!(answer.body == text);
    });
}

#[test]
fn answers_without_a_body_end_with_their_head() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            connection.write(match head.split(' ').next().unwrap() {
                "HEAD" => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                _ if !fields(&head, "if-none-match").is_empty() => {
                    "HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\nETag: \"a\"\r\n\r\n"
                }
                _ => "HTTP/1.1 204 No Content\r\n\r\n",
            });
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let head = client.send(Request::head("http://a/").body(()).unwrap()).await.unwrap();
        assert_eq!(head.head.headers()["content-length"], "1000");
        assert_eq!(client.get("a", "/").await.status(), 204);
        let conditional = Request::get("http://a/").header("if-none-match", "\"a\"").body(()).unwrap();
        let answer = client.send(conditional).await.unwrap();
        assert_eq!((answer.status(), answer.body.len()), (304, 0));
        assert_eq!(answer.head.headers()["content-length"], "12");
        assert_eq!(client.get("a", "/").await.status(), 204, "the connection lives");
    });
    assert_eq!(backend.connections(), 1);
}

/// One validation serves all versions.
#[test]
fn an_authority_unequal_to_host_is_400() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let request = Request::get("http://a/").header("host", "b").body(()).unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), 400);
        let request = Request::get("http://a/").header("host", "a").body(()).unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), 200);
    });
}

/// RFC 9113 §8.3.1: what was HTTP/1 before may have Host in place of `:authority`.
#[test]
fn host_stands_for_an_absent_authority() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut bytes = preface();
    bytes.extend(frame(1, 5, 1, b"\x82\x86\x84\x66\x01b")); // GET / and host: b, without indexing
    bytes.extend(frame(7, 0, 0, &[0; 8]));
    let heard = shout(running.address(), &bytes);
    assert!(heard.windows(3).any(|window| window == b"web"), "{heard:?}");
    assert_eq!(fields(&backend.head(), "host"), ["b"]);
}

#[test]
fn a_body_that_does_not_fit_its_content_length_reaches_no_backend_whole() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        assert_ne!(connection.rest().len(), 5);
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let request = Request::post("http://a/").header("content-length", 5).body(()).unwrap();
        let (answer, mut body) = client.begin(request, false).await;
        body.send_data(Bytes::from_static(b"hel"), true).unwrap();
        let status = answer.await.map(|answer| answer.status().as_u16());
        assert!(status.as_ref().map_or(true, |status| *status == 400), "{status:?}");
    });
}

/// A header block over the limit: 431, and the connection lives.
#[test]
fn a_head_over_the_limit_is_431_and_the_connection_lives() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        for len in [65 * 1024, 100 * 1024, 129 * 1024] {
            let request = Request::get("http://a/").header("x", "x".repeat(len)).body(()).unwrap();
            assert_eq!(client.send(request).await.unwrap().status(), 431, "{len}");
        }
        assert_eq!(client.get("a", "/").await.status(), 200);
    });
}

#[test]
fn early_hints_are_relayed() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        connection.answer("done");
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (mut answer, _) = client.begin(get("a", "/"), true).await;
        let hint = std::future::poll_fn(|cx| answer.poll_informational(cx)).await;
        assert_eq!(hint.unwrap().unwrap().headers()["link"], "</a>");
        assert_eq!(answer.await.unwrap().status(), 200);
    });
}

#[test]
fn an_answer_that_is_cut_off_is_reset() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let answer = client.send(get("a", "/")).await;
        assert_eq!(answer.unwrap_err().reason(), Some(h2::Reason::INTERNAL_ERROR));
    });
}

#[test]
fn draining_says_goaway_and_lets_streams_end() {
    let (server, go) = Backend::late();
    let running = Running::start(&Gateway::to(server.address));
    std::thread::scope(|scope| {
        let proxy = &running.proxy;
        run(async {
            let mut client = Http2::connect(running.address()).await;
            let (answer, _) = client.begin(get("a", "/"), true).await;
            tokio::task::spawn_blocking(move || server.head()).await.unwrap();
            let drain = scope.spawn(move || proxy.drain(Drain { delay: Duration::ZERO, timeout: PATIENCE }));
            // The GOAWAY is there once no more streams can be opened.
            while std::future::poll_fn(|cx| client.ready(cx)).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            go.send(()).unwrap();
            let answer = whole(answer.await.unwrap()).await.unwrap();
            assert_eq!(&answer.body[..], b"late");
            assert!(client.ended.await.unwrap().is_ok());
            assert!(drain.join().unwrap());
        });
    });
}

/// CVE-2023-44487: resets cost a client nothing and us a request.
#[test]
fn rapid_reset_ends_the_connection() {
    let backend = Backend::silent();
    let running = Running::start(&Gateway::to(backend.address));
    let mut bytes = preface();
    for stream in (1..4000).step_by(2) {
        bytes.extend(frame(1, 5, stream, GET));
        bytes.extend(frame(3, 0, stream, &8u32.to_be_bytes()));
    }
    assert_eq!(goaway(&shout(running.address(), &bytes)), Some(CALM));
}

/// A reset ends what was begun for its stream, a connect too: else a client has any number of them at once, whatever
/// the limit of its streams.
#[test]
fn a_reset_while_connecting_counts_at_once() {
    let (_full, address) = full_backlog();
    let running = Running::start(&Gateway::to(address));
    let mut client = Raw::connect(running.address(), &[]);
    for round in 0..7 {
        let streams = || (1 + round * 40..).step_by(2).take(20);
        let frames: Vec<u8> = streams().flat_map(|stream| frame(1, 5, stream, GET)).collect();
        client.send(&frames);
        client.ping(); // they are being served now, and those before were reset
        let frames = streams().flat_map(|stream| frame(3, 0, stream, &8u32.to_be_bytes()));
        client.send(&frames.collect::<Vec<u8>>());
    }
    assert_eq!(goaway(&client.rest()), Some(CALM));
}

/// CVE-2025-8671: errors that make us reset count like resets.
#[test]
fn made_you_reset_ends_the_connection() {
    let backend = Backend::silent();
    let running = Running::start(&Gateway::to(backend.address));
    let mut bytes = preface();
    for stream in (1..4000).step_by(2) {
        bytes.extend(frame(1, 5, stream, GET));
        bytes.extend(frame(8, 0, stream, &0x7fff_ffff_u32.to_be_bytes())); // more than a window can be
    }
    assert_eq!(goaway(&shout(running.address(), &bytes)), Some(CALM));
}

#[test]
fn a_continuation_flood_ends_the_connection() {
    let running = Running::start(&Gateway::new().http("", Rules::new()));
    let mut bytes = preface();
    bytes.extend(frame(1, 1, 1, GET));
    for _ in 0..20_000 {
        bytes.extend(frame(9, 0, 1, b"\x00\x01x\x01y"));
    }
    assert_eq!(goaway(&shout(running.address(), &bytes)), Some(CALM));
}

/// A head's time is that of a request's head, in every version: not that of a connection without requests.
#[test]
fn a_head_that_is_left_open_ends_the_connection() {
    for head in [
        frame(1, 1, 1, GET),
        [frame(1, 1, 1, GET), frame(9, 4, 1, b"\x00\x01x\x01y")[..10].to_vec()].concat(),
    ] {
        let running = Running::limited(&Gateway::new().http("", Rules::new()), |limits| {
            limits.head_timeout = Duration::from_millis(100);
        });
        assert_eq!(goaway(&shout(running.address(), &[preface(), head].concat())), Some(CALM));
        let counted = "portcullis_refused_total{reason=\"client_timeout\"} 1\n";
        eventually(|| running.metrics().contains(counted).then_some(()));
    }
}

/// CVE-2019-9518: frames of a body that bring nothing.
#[test]
fn a_flood_of_empty_data_frames_ends_the_connection() {
    let backend = Backend::silent();
    let running = Running::start(&Gateway::to(backend.address));
    let bytes = [preface(), frame(1, 4, 1, GET), frame(0, 0, 1, b"").repeat(20_000)].concat();
    assert_eq!(goaway(&shout(running.address(), &bytes)), Some(CALM));
}

#[test]
fn floods_of_control_frames_end_the_connection() {
    let running = Running::start(&Gateway::new().http("", Rules::new()));
    for (name, one) in [
        ("SETTINGS", frame(4, 0, 0, b"")),
        ("PING", frame(6, 0, 0, &[0; 8])),
        ("PRIORITY", frame(2, 0, 1, &[0, 0, 0, 0, 1])),
        ("unknown", frame(99, 0, 0, b"")),
    ] {
        let mut bytes = preface();
        for _ in 0..20_000 {
            bytes.extend_from_slice(&one);
        }
        assert_eq!(goaway(&shout(running.address(), &bytes)), Some(CALM), "{name}");
    }
}

/// An honest client pings now and then, and changes its settings.
#[test]
fn a_few_control_frames_do_no_harm() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut bytes = preface();
    for _ in 0..20 {
        bytes.extend(frame(6, 0, 0, &[0; 8]));
        bytes.extend(frame(4, 0, 0, b""));
    }
    bytes.extend(frame(1, 5, 1, GET));
    bytes.extend(frame(7, 0, 0, &[0; 8])); // GOAWAY: the connection ends after this
    let heard = shout(running.address(), &bytes);
    assert_ne!(goaway(&heard), Some(CALM));
    assert!(heard.windows(3).any(|window| window == b"web"));
}

/// What a WebSocket server answers to the key of a handshake (RFC 6455 §4.2.2).
fn accept(head: &str) -> String {
    let key = fields(head, "sec-websocket-key").remove(0);
    let hash = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    BASE64_STANDARD.encode(hash)
}

/// RFC 6455 §4.1: what switches protocols without having understood the handshake is no WebSocket server. The client of
/// HTTP/2 cannot tell, for the key is the proxy's.
#[test]
fn a_101_that_does_not_answer_the_key_is_no_tunnel() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        let answers = match head.split(' ').nth(1).unwrap() {
            "/none" => String::new(),
            "/other" => "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n".to_owned(),
            _ => format!("Sec-WebSocket-Accept: {}\r\n", accept(&head)).repeat(2),
        };
        connection.write(format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{answers}\r\n"
        ));
        connection.rest();
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        while !client.tunnels() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for path in ["/none", "/other", "/twice"] {
            let (answer, _body) = client.begin(websocket(path), false).await;
            assert_eq!(answer.await.unwrap().status(), 502, "{path}");
        }
    });
    assert!(running.metrics().contains("portcullis_tunnels_total 0"), "{}", running.metrics());
}

/// RFC 8441: the backend sees an upgrade of HTTP/1.1, the client a stream that is a tunnel.
#[test]
fn a_websocket_over_http2_is_an_upgrade_to_its_backend() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert!(head.starts_with("GET /chat?x=1 HTTP/1.1\r\n"), "{head}");
        assert_eq!(
            (fields(&head, "upgrade"), fields(&head, "connection")),
            (vec!["websocket".to_owned()], vec!["upgrade".to_owned()])
        );
        assert_eq!(fields(&head, "sec-websocket-version"), ["13"]);
        assert_eq!(fields(&head, "sec-websocket-key")[0].len(), 24);
        connection.write(format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: chat\r\n\r\nhello ",
            accept(&head)
        ));
        assert_eq!(connection.exactly(4), "ping");
        connection.write("pong");
        assert_eq!(connection.rest(), "");
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        while !client.tunnels() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (answer, mut body) = client.begin(websocket("/chat?x=1"), false).await;
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["sec-websocket-protocol"], "chat");
        for gone in ["upgrade", "connection", "sec-websocket-accept"] {
            assert_eq!(answer.headers().get(gone), None, "{gone}");
        }
        body.send_data(Bytes::from_static(b"ping"), false).unwrap();
        let mut stream = answer.into_body();
        let mut heard = Vec::new();
        while heard != b"hello pong" {
            let data = stream.data().await.unwrap().unwrap();
            stream.flow_control().release_capacity(data.len()).unwrap();
            heard.extend_from_slice(&data);
        }
        body.send_data(Bytes::new(), true).unwrap();
        while let Some(data) = stream.data().await {
            assert!(data.unwrap().is_empty());
        }
    });
    assert!(running.metrics().contains("portcullis_tunnels_total 1"), "{}", running.metrics());
}

#[test]
fn what_is_no_websocket_is_no_tunnel() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            connection.write(match head.split(' ').nth(1).unwrap() {
                "/forbidden" => "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            });
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        client.get("a", "/").await; // with its answer SETTINGS have come
        let (answer, _body) = client.begin(websocket("/forbidden"), false).await;
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!((answer.status(), &answer.body[..]), (403, &b"no"[..]));
        // 200 would open the tunnel for the client, whatever the backend meant by it.
        let (answer, _body) = client.begin(websocket("/ok"), false).await;
        assert_eq!(answer.await.unwrap().status(), 502);
        let mut other = websocket("/");
        other.extensions_mut().insert(h2::ext::Protocol::from_static("connect-udp"));
        let (answer, _body) = client.begin(other, false).await;
        assert_eq!(answer.await.unwrap().status(), 501);
    });
}
