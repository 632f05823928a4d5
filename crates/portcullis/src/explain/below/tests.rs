//! Answers about resolved resources.

use std::path::Path;

use portcullis_model::{Locality, Model};
use portcullis_resolve::{Engine, resolve};
use portcullis_store::{Change, Store};
use serde_json::{Value, json};

use super::{Question, explain, text};
use crate::explain::question::QuestionError;
use crate::render::Paint;

/// A port with both modes of TLS, one of TCP, one of UDP, and one of HTTP.
const RESOURCES: &str = r#"
kind: GatewayClass
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: c}
spec: {controllerName: portcullis.dev/gateway-controller}
---
kind: Gateway
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: gw}
spec:
  gatewayClassName: c
  listeners:
  - {name: wide, port: 443, protocol: TLS, hostname: "*.test", tls: {mode: Passthrough}}
  - {name: deep, port: 443, protocol: TLS, hostname: "*.deep.test", tls: {mode: Passthrough}}
  - {name: tcp, port: 5432, protocol: TCP}
  - {name: udp, port: 53, protocol: UDP}
  - {name: http, port: 80, protocol: HTTP}
---
kind: TLSRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: any, creationTimestamp: "2020-01-01T00:00:00Z"}
spec: {parentRefs: [{name: gw, sectionName: wide}], hostnames: ["*.test"], rules: [{backendRefs: [{name: a, port: 1}]}]}
---
kind: TLSRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: one}
spec: {parentRefs: [{name: gw, sectionName: wide}], hostnames: [one.test], rules: [{backendRefs: [{name: a, port: 1, weight: 0}]}]}
---
kind: TCPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: young, creationTimestamp: "2021-01-01T00:00:00Z"}
spec: {parentRefs: [{name: gw, sectionName: tcp}], rules: [{backendRefs: [{name: a, port: 1}]}]}
---
kind: TCPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: old, creationTimestamp: "2020-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: tcp}]
  rules: [{backendRefs: [{name: a, port: 1, weight: 3}, {name: nowhere, port: 1}]}]
---
kind: UDPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: names}
spec: {parentRefs: [{name: gw, sectionName: udp}], rules: [{backendRefs: [{name: a, port: 1}]}]}
---
kind: Service
apiVersion: v1
metadata: {name: a}
spec: {ports: [{name: t, port: 1}, {name: u, port: 1, protocol: UDP}]}
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {name: a-1, labels: {kubernetes.io/service-name: a}}
addressType: IPv4
ports: [{name: t, port: 7}]
endpoints: [{addresses: [192.0.2.1]}]
"#;

fn model() -> Model {
    let loaded = portcullis_files::read(Path::new("all.yaml"), RESOURCES.as_bytes());
    assert!(loaded.diagnostics.iter().all(|found| !found.is_error()), "{:?}", loaded.diagnostics);
    let mut store = Store::new();
    store.apply(loaded.objects.into_iter().map(Change::Put));
    resolve(&store, &Engine::native_from_files().assuming_bound()).model.as_ref().clone()
}

fn ask(url: &str) -> (Value, String) {
    let question = Question::parse(url).unwrap().unwrap().at(0, Locality::default());
    let answer = explain(&model(), &question);
    (serde_json::to_value(&answer).unwrap(), text(&answer, Paint::PLAIN))
}

/// Outcome, reason, listener and route.
fn met(url: &str) -> [String; 4] {
    let (answer, _) = ask(url);
    ["/outcome", "/reason", "/listener/name", "/route/name"]
        .map(|place| answer.pointer(place).and_then(Value::as_str).unwrap_or("-").to_owned())
}

#[test]
fn a_server_name_chooses_listener_and_route() {
    assert_eq!(met("tls://two.test"), ["forward", "-", "wide", "any"]);
    assert_eq!(met("tls://one.test:443/"), ["reject", "zero_weight", "wide", "one"]);
    assert_eq!(met("tls://x.deep.test"), ["reject", "no_rule", "deep", "-"]);
    assert_eq!(met("tls://elsewhere.example"), ["reject", "unknown_server_name", "-", "-"]);
    assert_eq!(met("tls://127.0.0.1"), ["reject", "unknown_server_name", "-", "-"]);
}

#[test]
fn without_server_names_the_oldest_route_serves() {
    assert_eq!(met("tcp://db.test:5432"), ["forward", "-", "tcp", "old"]);
    assert_eq!(met("tls://db.test:5432"), ["forward", "-", "tcp", "old"]);
    assert_eq!(met("udp://dns.test:53"), ["forward", "-", "udp", "names"]);
    assert_eq!(met("tcp://db.test:53"), ["reject", "no_listener", "-", "-"]);
    assert_eq!(met("tcp://db.test:80"), ["reject", "no_listener", "-", "-"]);
    let (answer, said) = ask("tcp://db.test:5432");
    let shares: Vec<_> =
        (0..2).map(|index| answer.pointer(&format!("/backends/{index}/share")).unwrap()).collect();
    assert_eq!(shares, [&json!(75.0), &json!(25.0)]);
    assert_eq!(
        said,
        "tcp://db.test:5432
answer     passed on to an endpoint as it is
listener   tcp of Gateway default/gw (TCP, port 5432, every host)
route      TCPRoute default/old
backends   75% Service default/a:1
             192.0.2.1:7 ready
           25% Service default/nowhere:1
             nothing (backend_invalid): Service default/nowhere does not exist
not taken  TCPRoute default/young: it is younger, or comes later by its name, and one route serves alone
"
    );
}

#[test]
fn what_is_no_connection_is_refused() {
    let refused = |url: &str| Question::parse(url).unwrap().unwrap_err();
    for url in ["tls://", "tcp://a", "udp://a/x:1", "tls://u@a"] {
        assert!(matches!(refused(url), QuestionError::Host(_)), "{url}");
    }
    assert!(Question::parse("http://a").is_none());
    assert!(Question::parse("a:1").is_none());
}
