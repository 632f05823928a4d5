//! What comes and goes leaves no memory behind.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_e2e::files::replace;
use portcullis_e2e::http::Connection;
use portcullis_e2e::{Backend, Portcullis, ports};

/// Routes that come and go together.
const ROUTES: usize = 22;
/// How often they do, before memory is looked at for the first time, and before it is for the last.
const ROUNDS: (usize, usize) = if cfg!(debug_assertions) { (100, 300) } else { (200, 1_000) };
/// What memory may grow by: it is the allocator's, not ours.
const GROWTH: u64 = 4 << 20;

/// 22 routes that are made, used and deleted again and again, under another name and host each time.
#[test]
fn routes_come_and_go_without_a_trace() {
    let (backend, port) = (Backend::named("web"), ports::free());
    let folder = tempfile::tempdir().unwrap();
    replace(&folder.path().join("gateway.yaml"), &gateway(port, backend.address.port()));
    let running = Portcullis::run(folder.path(), ["--workers", "2"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut rounds = 0..ROUNDS.1;
    rounds.by_ref().take(ROUNDS.0).for_each(|round| come_and_go(folder.path(), address, round));
    let early = running.resident();
    rounds.for_each(|round| come_and_go(folder.path(), address, round));
    let late = running.resident();
    println!("{early} bytes after {} rounds, {late} after {}", ROUNDS.0, ROUNDS.1);
    assert!(late < early + GROWTH, "{early} bytes became {late}");
}

/// One round: the routes are there, the last of them is asked for, and they are gone.
fn come_and_go(folder: &Path, address: SocketAddr, round: usize) {
    let path = folder.join("routes.yaml");
    let host = format!("{}.{round}.test", ROUTES - 1);
    replace(&path, &(0..ROUTES).map(|number| route(number, round)).collect::<String>());
    until(address, &host, 200);
    std::fs::remove_file(&path).unwrap();
    until(address, &host, 404);
}

fn until(address: SocketAddr, host: &str, status: u16) {
    let end = Instant::now() + Duration::from_secs(10);
    let mut connection = Connection::open(address).unwrap();
    while connection.get(host, "/a/1").unwrap().status != status {
        assert!(Instant::now() < end, "{host} is not answered {status}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn gateway(port: u16, backend: u16) -> String {
    let mut text = format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {{name: class}}\n\
         spec: {{controllerName: portcullis.dev/gateway-controller}}\n---\n\
         apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: gateway}}\nspec:\n  \
         gatewayClassName: class\n  listeners: [{{name: http, port: {port}, protocol: HTTP}}]\n"
    );
    for name in ["web", "copy"] {
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{{name: http, port: 80}}]}}\n\
             ---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: {name}-1\n  \
             labels: {{kubernetes.io/service-name: {name}}}\naddressType: IPv4\n\
             endpoints: [{{addresses: [127.0.0.1]}}]\nports: [{{name: http, port: {backend}}}]\n"
        );
    }
    text
}

/// A route with something of everything that is compiled.
fn route(number: usize, round: usize) -> String {
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r{number}-{round}}}\nspec:\n  \
         parentRefs: [{{name: gateway}}]\n  hostnames: [{number}.{round}.test]\n  rules:\n  \
         - matches: [{{path: {{type: RegularExpression, value: '/a/[0-9]+'}}}}, {{headers: [{{name: x-{round}, value: a}}]}}]\n    \
         filters:\n    \
         - {{type: RequestHeaderModifier, requestHeaderModifier: {{set: [{{name: x-round, value: '{round}'}}]}}}}\n    \
         - {{type: RequestMirror, requestMirror: {{backendRef: {{name: copy, port: 80}}}}}}\n    \
         - {{type: CORS, cors: {{allowOrigins: ['https://*.{round}.test']}}}}\n    \
         backendRefs: [{{name: web, port: 80, weight: {}}}, {{name: copy, port: 80, weight: 1}}]\n",
        number + 1
    )
}
