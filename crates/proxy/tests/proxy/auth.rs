//! ExternalAuth: a service is asked about every request, and nothing passes without its word.

use std::time::Duration;

use portcullis_model::{
    AuthProtocol, Cors, ExternalAuth, Filter, HeaderName, Listed, Mirror, MirrorShare, Origins,
};

use crate::support::backend::{Connection, fields, nobody};
use crate::support::model::{cluster_key, origin, requests};
use crate::support::{Backend, Gateway, Rules, Running, eventually};

pub(crate) fn names(names: &[&str]) -> Vec<HeaderName> {
    names.iter().map(|name| HeaderName::new(name).unwrap()).collect()
}

pub(crate) fn by_http(path_prefix: &str, response_headers: &[&str]) -> AuthProtocol {
    AuthProtocol::Http { path_prefix: path_prefix.into(), response_headers: names(response_headers) }
}

pub(crate) fn auth() -> ExternalAuth {
    ExternalAuth {
        origin: origin("Service", "auth"),
        port: Some(80),
        cluster: cluster_key("auth", requests("auth")),
        protocol: by_http("", &[]),
        request_headers: Vec::new(),
        body_limit: 0,
    }
}

/// Says in its answer what came, head and body.
pub(crate) fn telling() -> Backend {
    Backend::scripted(|connection: &mut Connection| {
        while let Some(head) = connection.request() {
            let body = match fields(&head, "content-length").first() {
                Some(length) => connection.exactly(length.parse().unwrap()),
                None if fields(&head, "transfer-encoding").is_empty() => String::new(),
                None => connection.until("0\r\n\r\n"),
            };
            connection.answer(&format!("{head}{body}"));
        }
    })
}

/// Takes a question whole and gives this answer.
pub(crate) fn answering(answer: &'static str) -> Backend {
    Backend::scripted(move |connection: &mut Connection| {
        while let Some(head) = connection.request() {
            let length = fields(&head, "content-length").first().map_or(0, |length| length.parse().unwrap());
            connection.exactly(length);
            connection.write(answer);
        }
    })
}

fn guarded(filters: Vec<Filter>, web: &Backend, auth: std::net::SocketAddr) -> Gateway {
    let rules = Rules::new().to("/", "web").filters(filters);
    Gateway::new().http("", rules).backend("web", &[web.address]).backend("auth", &[auth])
}

fn start(auth: ExternalAuth, service: &Backend) -> (Backend, Running) {
    let web = telling();
    let running = Running::start(&guarded(vec![Filter::Auth(auth)], &web, service.address));
    (web, running)
}

const YES: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/yes\r\nX-User: ann\r\nx-role: a\r\n\
                   x-role: b\r\nHost: evil.test\r\nConnection: x-hop\r\nx-hop: 1\r\n\r\nyes";

/// HTTPAuthConfig.allowedHeaders: method, host, path, Content-Length and Authorization are always there, and what is
/// listed; the client's body is not, and passes.
#[test]
fn the_service_sees_what_it_may() {
    let service = answering(YES);
    let listed = ExternalAuth {
        protocol: by_http("/check", &[]),
        request_headers: names(&["cookie", "host", "content-length", "connection"]),
        ..auth()
    };
    let (_web, running) = start(listed, &service);
    let answer = running.send(
        "POST /a/../b?c=d HTTP/1.1\r\nHost: x.test\r\nAuthorization: me\r\nCookie: k=v\r\nX-Other: 1\r\n\
         Content-Length: 5\r\n\r\nhello",
    );
    assert_eq!(answer.status, 200);
    assert!(answer.body.ends_with("\r\n\r\nhello"), "{}", answer.body);
    let question = service.head();
    assert!(question.starts_with("POST /check/b?c=d HTTP/1.1\r\n"), "{question}");
    let names = question.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut names: Vec<_> = names.map(|(name, value)| format!("{}={value}", name.to_lowercase())).collect();
    names.sort();
    assert_eq!(names, ["authorization=me", "content-length=0", "cookie=k=v", "host=x.test"]);
}

/// HTTPAuthConfig.allowedResponseHeaders: what the service says replaces what the client said, who is never believed under
/// a listed name; never Host, nor what is about the answer itself.
#[test]
fn the_backend_sees_what_the_service_adds() {
    let service = answering(YES);
    let request = "GET / HTTP/1.1\r\nHost: x.test\r\nX-User: root\r\nX-Role: root\r\n\r\n";
    let (_web, running) = start(auth(), &service);
    let head = running.send(request).body;
    assert_eq!(
        (fields(&head, "x-user"), fields(&head, "x-role")),
        (vec!["ann".into()], vec!["a".into(), "b".into()])
    );
    assert_eq!(fields(&head, "host"), ["x.test"]);
    for gone in ["content-type", "content-length", "x-hop", "connection"] {
        assert_eq!(fields(&head, gone), [""; 0], "{gone}");
    }
    let (_web, running) =
        start(ExternalAuth { protocol: by_http("", &["x-user", "host"]), ..auth() }, &service);
    let head = running.send(request).body;
    assert_eq!((fields(&head, "x-user"), fields(&head, "x-role")), (vec!["ann".into()], vec!["root".into()]));
    assert_eq!(fields(&head, "host"), ["x.test"]);
    let silent = answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let listed = ExternalAuth { protocol: by_http("", &["x-user", "host"]), ..auth() };
    let (_web, running) = start(listed, &silent);
    let head = running.send(request).body;
    assert_eq!((fields(&head, "x-user"), fields(&head, "x-role")), (vec![], vec!["root".to_owned()]));
    assert_eq!(fields(&head, "host"), ["x.test"]);
}

/// Its refusal is the client's answer, whole; any status but 200 is one, and none that looks like consent is passed on.
#[test]
fn a_refusal_is_the_clients_answer() {
    let refusal = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 5\r\nConnection: x-hop\r\nx-hop: 1\r\n\r\nlogin";
    let service = answering(refusal);
    let (web, running) = start(auth(), &service);
    let mut client = running.client();
    for _ in 0..2 {
        let answer = client.get("a", "/");
        assert_eq!((answer.status, answer.body.as_str()), (401, "login"));
        assert_eq!((answer.header("www-authenticate"), answer.header("x-hop")), (Some("Basic"), None));
    }
    for (said, status) in [("204", 403), ("201", 403), ("302", 302), ("500", 500)] {
        let text: &'static str =
            format!("HTTP/1.1 {said} S\r\nLocation: /in\r\nContent-Length: 0\r\n\r\n").leak();
        let text = if said == "204" { "HTTP/1.1 204 S\r\n\r\n" } else { text };
        let service = answering(text);
        let (other, running) = start(auth(), &service);
        assert_eq!(running.client().get("a", "/").status, status, "{said}");
        assert!(other.no_more_heads());
    }
    assert!(web.no_more_heads());
}

#[test]
fn without_an_answer_nothing_passes() {
    let web = telling();
    let breaks = Backend::scripted(|connection| {
        connection.request();
    });
    let silent = Backend::silent();
    for (service, status) in [(nobody(), 503), (breaks.address, 502), (silent.address, 504)] {
        let gateway = guarded(vec![Filter::Auth(auth())], &web, service);
        let running = Running::limited(&gateway, |limits| limits.auth_timeout = Duration::from_millis(200));
        assert_eq!(running.client().get("a", "/").status, status);
        eventually(|| running.metrics().contains("reason=\"auth_failed\"} 1").then_some(()));
    }
    let endless = answering("HTTP/1.1 403 No\r\nContent-Length: 100000\r\n\r\n");
    let running = Running::limited(&guarded(vec![Filter::Auth(auth())], &web, endless.address), |limits| {
        limits.auth_timeout = Duration::from_millis(200);
    });
    assert_eq!(running.client().get("a", "/").status, 504);
    assert!(web.no_more_heads());
}

/// HTTPExternalAuthFilter.forwardBody: the service sees the body, a longer one is refused, and the backend gets it too.
#[test]
fn a_body_is_shown_and_then_sent() {
    let service = telling();
    let web = telling();
    let show = ExternalAuth { body_limit: 5, request_headers: names(&["x-a"]), ..auth() };
    let cluster = cluster_key("copy", requests("copy"));
    let copy = Mirror { origin: origin("Service", "copy"), port: None, cluster, share: MirrorShare::ALL };
    let copied = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert_eq!(fields(&head, "content-length"), ["5"]);
        assert_eq!(connection.exactly(5), "hello");
        connection.answer("");
        connection.request(); // heard only if the body was right
    });
    let gateway = guarded(vec![Filter::Auth(show), Filter::Mirror(copy)], &web, service.address);
    let running = Running::start(&gateway.backend("copy", &[copied.address]));
    let mut client = running.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("hello");
    let answer = client.answer();
    assert!(answer.body.ends_with("\r\n\r\nhello"), "{}", answer.body);
    assert_eq!(fields(&answer.body, "content-length"), ["5"]);
    assert_eq!(fields(&service.head(), "content-length"), ["5"]);
    assert!(copied.head().starts_with("POST / "));
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    );
    let answer = client.answer();
    assert!(
        answer.body.contains("transfer-encoding: chunked")
            || answer.body.contains("Transfer-Encoding: chunked")
    );
    assert!(
        answer.body.replace("2\r\nhe\r\n3\r\nllo", "5\r\nhello").ends_with("5\r\nhello\r\n0\r\n\r\n"),
        "{}",
        answer.body
    );
    assert_eq!(fields(&service.head(), "content-length"), ["5"]);
    let seen = (web.head(), web.head());
    assert!(seen.0.starts_with("POST") && seen.1.starts_with("POST"));
    assert_eq!(running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nhello!").status, 413);
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n0\r\n\r\n";
    assert_eq!(running.send(chunked).status, 413);
    assert!(web.no_more_heads() && service.no_more_heads());
}

/// Browsers send no credentials with preflight requests: they are answered before anybody is asked.
#[test]
fn a_preflight_request_is_answered_unasked() {
    let service = answering("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    let web = telling();
    let cors = Cors {
        origins: Origins::Any,
        credentials: false,
        methods: Listed::All,
        request_headers: Listed::All,
        exposed_headers: Listed::All,
        max_age: 5,
    };
    let filters = vec![Filter::Auth(auth()), Filter::Cors(cors)];
    let running = Running::start(&guarded(filters, &web, service.address));
    let preflight =
        "OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: https://b\r\nAccess-Control-Request-Method: GET\r\n\r\n";
    assert_eq!(running.send(preflight).status, 204);
    assert!(service.no_more_heads());
    let answer = running.send("GET / HTTP/1.1\r\nHost: a\r\nOrigin: https://b\r\n\r\n");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (401, Some("*")));
}
