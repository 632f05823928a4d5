//! WebSockets to backends that speak nothing but HTTP/2.

use std::time::Duration;

use h2::ext::Protocol;
use http::Response;

use crate::support::http2::{Http2, run, websocket, whole};
use crate::support::http2_backend::Http2Backend;
use crate::support::{Gateway, Rules, Running};

fn gateway(backend: &Http2Backend) -> Gateway {
    Gateway::new().http("", Rules::new().to("/", "web-h2c")).backend("web-h2c", &[backend.address])
}

/// A backend that takes WebSockets as streams (RFC 8441): it says what it was asked, and then what it hears in upper case.
fn websockets() -> Http2Backend {
    let mut settings = h2::server::Builder::new();
    settings.enable_connect_protocol();
    Http2Backend::handling(&settings, |mut asked| async move {
        let (parts, mut body) = asked.request.into_parts();
        let protocol = parts.extensions.get::<Protocol>().map(|protocol| protocol.as_str().to_owned());
        if parts.uri.path() == "/forbidden" {
            let answer = Response::builder().status(403).body(()).unwrap();
            asked.respond.send_response(answer, false).unwrap().send_data("no".into(), true).unwrap();
            return;
        }
        let key = parts.headers.get("sec-websocket-key");
        let version = &parts.headers["sec-websocket-version"];
        let said = format!("{} {protocol:?} {} {key:?} {version:?}.", parts.method, parts.uri);
        let answer = Response::builder().header("sec-websocket-protocol", "chat").body(()).unwrap();
        let mut answer = asked.respond.send_response(answer, false).unwrap();
        answer.send_data(said.into(), false).unwrap();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            body.flow_control().release_capacity(data.len()).unwrap();
            answer.send_data(data.to_ascii_uppercase().into(), false).unwrap();
        }
        answer.send_data("bye".into(), true).unwrap();
    })
}

const ASKED: &str = "CONNECT Some(\"websocket\") http://a/chat?x None \"13\".";

/// RFC 8441: an endpoint that speaks nothing but HTTP/2 and says that it takes WebSockets as streams gets them so, from
/// clients of either version; one of HTTP/1.1 has its key answered (the example of RFC 6455 §1.3).
#[test]
fn a_websocket_is_a_stream_to_an_endpoint_of_http2() {
    let backend = websockets();
    let running = Running::start(&gateway(&backend));
    let mut client = running.client();
    client.send(
        "GET /chat?x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let head = client.head();
    assert_eq!((head.status, head.header("upgrade")), (101, Some("websocket")));
    assert_eq!(head.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(head.header("sec-websocket-protocol"), Some("chat"));
    assert_eq!(client.exactly(ASKED.len()), ASKED);
    client.send("hello");
    assert_eq!(client.exactly(5), "HELLO");
    client.half_close();
    assert_eq!(client.rest(), "bye");
    run(async {
        let mut client = Http2::connect(running.address()).await;
        while !client.tunnels() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (answer, mut body) = client.begin(websocket("/chat?x"), false).await;
        let mut answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        body.send_data("hello".into(), true).unwrap();
        let mut heard = Vec::new();
        while let Some(data) = answer.body_mut().data().await {
            heard.extend_from_slice(&data.unwrap());
        }
        assert_eq!(String::from_utf8(heard).unwrap(), format!("{ASKED}HELLObye"));
        let (answer, _body) = client.begin(websocket("/forbidden"), false).await;
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!((answer.status(), &answer.body[..]), (403, &b"no"[..]));
    });
    assert_eq!((backend.connections(), backend.streams()), (1, 3));
    assert!(running.metrics().contains("portcullis_tunnels_total 2\n"), "{}", running.metrics());
}

/// An endpoint whose settings do not say so gets none: the answer is 501, and requests go on over the connection that
/// told. Other upgrades are no more than ignored, as any server may (RFC 9110 §7.8).
#[test]
fn an_endpoint_of_http2_without_tunnels_gets_no_websocket() {
    let backend = Http2Backend::named("plain");
    let running = Running::start(&gateway(&backend));
    let upgrade = |protocol: &str| {
        format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n")
    };
    for _ in 0..3 {
        assert_eq!(running.send(&upgrade("websocket")).status, 501);
    }
    assert_eq!(running.client().get("a", "/").body, "plain");
    assert_eq!((backend.connections(), backend.streams()), (1, 1));
    assert_eq!(running.send(&upgrade("other")).body, "plain", "no other protocol is carried over streams");
}
