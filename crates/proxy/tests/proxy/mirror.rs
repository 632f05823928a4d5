//! Mirrors: copies of requests, which neither delay nor fail them.

use portcullis_model::{
    Filter, HeaderModifier, HeaderName, HeaderValue, Mirror, MirrorShare, PathRewrite, ReplacementPath,
    RewriteUrl,
};
use portcullis_proxy::Bytes;

use h2::server::Builder;
use http::Response;

use crate::support::backend::{Connection, fields, nobody};
use crate::support::http2::{Http2, run, whole as whole_answer};
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::{cluster_key, forward, origin, requests};
use crate::support::{Backend, Gateway, PATIENCE, Rules, Running, eventually};

fn mirror(name: &str, share: MirrorShare) -> Filter {
    let cluster = cluster_key(name, requests(name));
    Filter::Mirror(Mirror { origin: origin("Service", name), port: Some(80), cluster, share })
}

fn to(filters: Vec<Filter>, web: &Backend) -> Gateway {
    Gateway::new().http("", Rules::new().to("/", "web").filters(filters)).backend("web", &[web.address])
}

/// Takes requests whole and says in its answer what came; `heads` has each with its body.
fn whole(status: u16) -> (Backend, std::sync::mpsc::Receiver<String>) {
    let (send, received) = std::sync::mpsc::channel();
    let send = std::sync::Mutex::new(send);
    let backend = Backend::scripted(move |connection: &mut Connection| {
        while let Some(head) = connection.request() {
            let body = match fields(&head, "content-length").first() {
                Some(length) => connection.exactly(length.parse().unwrap()),
                None if fields(&head, "transfer-encoding").is_empty() => String::new(),
                None => connection.until("0\r\n\r\n"),
            };
            let _ = send.lock().unwrap().send(format!("{head}{body}"));
            connection.write(format!("HTTP/1.1 {status} S\r\nContent-Length: 2\r\n\r\n{status:.2}"));
        }
    });
    (backend, received)
}

fn counted(running: &Running, metric: &str, count: u64) {
    let line = format!("portcullis_upstream_{metric}_total {count}\n");
    eventually(|| running.metrics().contains(&line).then_some(()));
}

/// HTTPRequestMirrorFilter: several mirrors get the same request, and the client the backend's answer.
#[test]
fn every_mirror_gets_the_request_with_its_body() {
    let (web, _) = whole(200);
    let ((one, ones), (two, twos)) = (whole(500), whole(404));
    let filters = vec![mirror("one", MirrorShare::ALL), mirror("two", MirrorShare::ALL)];
    let gateway = to(filters, &web).backend("one", &[one.address]).backend("two", &[two.address]);
    let running = Running::start(&gateway);
    let mut client = running.client();
    client.send("POST /a/b?c=d%20e&f HTTP/1.1\r\nHost: x.test\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(client.answer().status, 200);
    client.send(
        "POST /chunks HTTP/1.1\r\nHost: x.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    assert_eq!(client.answer().status, 200);
    for copies in [ones, twos] {
        let mut copies = [copies.recv().unwrap(), copies.recv().unwrap()];
        copies.sort();
        assert!(copies[0].starts_with("POST /a/b?c=d%20e&f HTTP/1.1\r\n"), "{}", copies[0]);
        assert_eq!(fields(&copies[0], "host"), ["x.test"]);
        assert!(copies[0].ends_with("\r\n\r\nhello"));
        assert!(copies[1].ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{}", copies[1]);
    }
    counted(&running, "mirrored", 4);
}

/// A copy is what the rule's filters make of the request, and has nothing that belongs to the client's connection.
#[test]
fn a_copy_is_as_the_rules_filters_leave_it() {
    let (web, _) = whole(200);
    let (copy, copies) = whole(200);
    let field = (HeaderName::new("x-set").unwrap(), HeaderValue::new(b"1").unwrap());
    let headers = HeaderModifier { set: vec![field], ..HeaderModifier::default() };
    let path = Some(PathRewrite::Full(ReplacementPath::new("/new").unwrap()));
    let filters = vec![
        Filter::RequestHeaders(headers),
        mirror("copy", MirrorShare::ALL),
        Filter::Rewrite(RewriteUrl { hostname: None, path }),
    ];
    let running = Running::start(&to(filters, &web).backend("copy", &[copy.address]));
    running.send(
        "POST /old?q HTTP/1.1\r\nHost: x\r\nConnection: x-hop, close\r\nx-hop: 1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    );
    let copy = copies.recv().unwrap();
    assert!(copy.starts_with("POST /new?q HTTP/1.1\r\n"), "{copy}");
    assert_eq!(fields(&copy, "x-set"), ["1"]);
    for gone in ["x-hop", "expect", "connection"] {
        assert_eq!(fields(&copy, gone), [""; 0], "{gone}");
    }
    assert!(copy.ends_with("\r\n\r\nhi"));
}

#[test]
fn a_part_of_the_requests_is_copied() {
    let (web, _) = whole(200);
    let (copy, copies) = whole(200);
    let share = |numerator, denominator| mirror("copy", MirrorShare { numerator, denominator });
    let running = Running::start(&to(vec![share(0, 100)], &web).backend("copy", &[copy.address]));
    assert_eq!(running.client().get("a", "/").status, 200);
    assert!(copies.try_recv().is_err());
    let running = Running::start(&to(vec![share(1, 2)], &web).backend("copy", &[copy.address]));
    let mut client = running.client();
    for _ in 0..400 {
        client.get("a", "/");
    }
    let text = running.metrics();
    let count = text.lines().find_map(|line| line.strip_prefix("portcullis_upstream_mirrored_total "));
    let count: u32 = count.unwrap().parse().unwrap();
    assert!((140..=260).contains(&count), "{count} of 400: six deviations from half");
}

/// A mirror that cannot be reached, or breaks off, costs its copy alone.
#[test]
fn a_mirror_that_fails_is_not_noticed() {
    let (web, _) = whole(200);
    let breaks = Backend::scripted(|connection| {
        connection.request();
    });
    let filters = vec![mirror("nobody", MirrorShare::ALL), mirror("breaks", MirrorShare::ALL)];
    let gateway = to(filters, &web).backend("nobody", &[nobody()]).backend("breaks", &[breaks.address]);
    let running = Running::start(&gateway);
    for _ in 0..3 {
        assert_eq!(running.client().get("a", "/").status, 200);
    }
    counted(&running, "mirrors_lost", 6);
}

/// A mirror that does not read loses its copy once too much of it waits; the request goes on at its own pace.
#[test]
fn a_slow_mirror_loses_its_copy() {
    let (web, bodies) = whole(200);
    let (slow, go) = Backend::late();
    let gateway = to(vec![mirror("slow", MirrorShare::ALL)], &web).backend("slow", &[slow.address]);
    let running = Running::limited(&gateway, |limits| limits.mirror_bytes = Bytes(64 << 10));
    let body = "0123456789abcdef".repeat(1 << 20); // 16 MiB: more than sockets hold
    let request = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(running.send(&request).status, 200);
    assert!(bodies.recv().unwrap().ends_with(&body[..1024]));
    counted(&running, "mirrors_lost", 1);
    go.send(()).unwrap();
}

/// There are only so many copies at a time, and one that is not answered ends in time.
#[test]
fn copies_are_bounded_in_number_and_time() {
    let (web, _) = whole(200);
    let silent = Backend::silent();
    let gateway = to(vec![mirror("silent", MirrorShare::ALL)], &web).backend("silent", &[silent.address]);
    let running = Running::limited(&gateway, |limits| {
        limits.mirror_requests = 2;
        limits.mirror_timeout = std::time::Duration::from_millis(300);
    });
    let mut client = running.client();
    for _ in 0..3 {
        assert_eq!(client.get("a", "/").status, 200);
    }
    counted(&running, "mirrors_lost", 3);
    counted(&running, "mirrored", 2);
    client.get("a", "/");
    counted(&running, "mirrored", 3);
}

/// A call is copied as it is: message and all, over HTTP/2, and its answer is the backend's alone.
#[test]
fn calls_are_copied_too() {
    let answering = |text: &'static str| {
        Http2Backend::handling(&Builder::new(), move |mut asked: Asked| async move {
            let content_type = asked.request.headers()["content-type"].clone();
            let body = asked.body().await;
            let mut answer = Response::builder().header("content-type", content_type).header("who", text);
            answer = answer.header("got", format!("{} {}", asked.request.uri().path(), body.len()));
            asked.respond.send_response(answer.header("grpc-status", "0").body(()).unwrap(), true).unwrap();
        })
    };
    let (send, copies) = std::sync::mpsc::channel();
    let copy = Http2Backend::handling(&Builder::new(), move |mut asked: Asked| {
        let send = send.clone();
        async move {
            let head = format!("{} {}", asked.request.method(), asked.request.uri().path());
            let fields = asked.request.headers().clone();
            let body = asked.body().await;
            send.send((head, fields, body)).unwrap();
            asked.answer("");
        }
    });
    let web = answering("web");
    let rules = Rules::new().call("a.B", "", forward(&[("web-h2c", 1)]));
    let rules = rules.filters(vec![mirror("copy-h2c", MirrorShare::ALL)]);
    let gateway = Gateway::new().grpc("", Rules::new(), rules);
    let gateway = gateway.backend("web-h2c", &[web.address]).backend("copy-h2c", &[copy.address]);
    let running = Running::start(&gateway);
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let call = http::Request::post("http://a.test/a.B/C").header("te", "trailers");
        let call = call.header("content-type", "application/grpc").header("x-meta-bin", "AAEC");
        let (answer, mut body) = client.begin(call.body(()).unwrap(), false).await;
        body.send_data(b"\0\0\0\0\x02"[..].into(), false).unwrap();
        body.send_data(b"hi"[..].into(), true).unwrap();
        let answer = whole_answer(answer.await.unwrap()).await.unwrap();
        let got = |name: &str| answer.head.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            (got("who"), got("got"), got("grpc-status")),
            ("web".into(), "/a.B/C 7".into(), "0".into())
        );
    });
    let (head, fields, body) = copies.recv_timeout(PATIENCE).unwrap();
    assert_eq!((head.as_str(), body.as_slice()), ("POST /a.B/C", &b"\0\0\0\0\x02hi"[..]));
    let field = |name: &str| fields[name].to_str().unwrap();
    assert_eq!(
        (field("content-type"), field("te"), field("x-meta-bin")),
        ("application/grpc", "trailers", "AAEC")
    );
    counted(&running, "mirrored", 1);
}
