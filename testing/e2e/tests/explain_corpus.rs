//! `explain` and the proxy agree where rules collide: every request of a corpus is asked of both.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use portcullis_e2e::http::{Answer, Connection};
use portcullis_e2e::verdict::WHY;
use portcullis_e2e::{Portcullis, Verdict, ports, program, verdict};
use serde_json::Value;

/// Listeners for `*.a.test`, `b.a.test` and `c.test`; a route on each, and one on all.
fn manifests(port: u16, backend: u16) -> String {
    include_str!("explain_corpus/corpus.yaml")
        .replace("PORT", &port.to_string())
        .replace("ENDPOINT", &backend.to_string())
}

const HOSTS: [&str; 6] = ["x.a.test", "b.a.test", "B.A.test.:80", "c.test", "a.test", "127.0.0.1"];
const TARGETS: [&str; 19] = [
    "/",
    "/exact",
    "/exact/",
    "/%65xact",
    "/prefix/x/../y?q=1",
    "/prefixed",
    "/prefix%2Fx",
    "/user/42",
    "/user/42/",
    "/query?q=1",
    "/query?q=%31&q=2",
    "/query?q=2&q=1",
    "/redirect/a?b=c",
    "/invalid",
    "/missing",
    "/empty",
    "/own/tail",
    "/%zz",
    "/prefix/\"{x}\"?q=\\",
];
const HEADERS: [&[&str]; 3] = [&[], &["X-Want: 1"], &["X-Want: 1", "X-Want: 2"]];

#[test]
fn every_answer_is_the_one_that_explain_foretold() {
    let folder = tempfile::tempdir().unwrap();
    let (port, backend) = (ports::free(), ports::free());
    let _echo = Portcullis::documented(&format!("echo 127.0.0.1:{backend}"));
    fs::write(folder.path().join("all.yaml"), manifests(port, backend)).unwrap();
    let trust = ["--trusted-proxies", "127.0.0.1/32", "--debug-header", WHY];
    let _running = Portcullis::run(folder.path(), trust);
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    let get = HOSTS.iter().flat_map(|host| TARGETS.iter().map(move |target| ("GET", *host, *target)));
    let post = HOSTS.iter().map(|host| ("POST", *host, "/prefix/x"));
    for (method, host, target) in get.chain(post) {
        for headers in HEADERS {
            let foretold = explain(folder.path(), port, method, host, target, headers);
            let answer = ask(port, method, host, target, headers);
            let met = Verdict::met(&answer);
            assert_ne!(met.outcome, verdict::DOWN);
            assert_eq!(Verdict::foretold(&foretold, &met), met, "foretold {foretold:#}\nmet {answer:?}");
            let kind = format!("{} {}", foretold["outcome"], foretold["reason"]);
            *outcomes.entry(kind).or_default() += 1;
        }
    }
    let met: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    let expected = [
        "\"forward\" \"no_endpoint\"",
        "\"forward\" null",
        "\"redirect\" null",
        "\"reject\" \"bad_request\"",
        "\"reject\" \"no_listener\"",
        "\"reject\" \"no_rule\"",
        "\"respond\" \"backend_invalid\"",
        "\"respond\" \"filter_unresolved\"",
    ];
    assert_eq!(met, expected, "{outcomes:?}");
}

fn ask(port: u16, method: &str, host: &str, target: &str, headers: &[&str]) -> Answer {
    let mut connection = Connection::open(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{WHY}: 1\r\n");
    headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
    connection.send(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()).unwrap();
    connection.receive(method).unwrap()
}

fn explain(path: &Path, port: u16, method: &str, host: &str, target: &str, headers: &[&str]) -> Value {
    let url = format!("http://127.0.0.1:{port}{target}");
    let mut words = vec!["explain", method, &url, "-o", "json", "--from", path.to_str().unwrap()];
    let host = format!("Host: {host}");
    words.extend(["-H", &host]);
    headers.iter().for_each(|header| words.extend(["-H", header]));
    let output = program::output(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}
