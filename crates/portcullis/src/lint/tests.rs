use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::*;
use crate::offline::{Offline, sample};

const ROUTE: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web}]
  rules:
  - backendRefs: [{name: a, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: a, labels: {kubernetes.io/service-name: a}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.1]}]
ports: [{port: 80}]
";

const HTTP: &str = "{name: l, protocol: HTTP, port: 80}";
const HTTPS: &str =
    "{name: l, protocol: HTTPS, port: 443, hostname: a.test, tls: {certificateRefs: [{name: cert}]}}";

/// 1 March 2030.
const NOW: i64 = 1_898_553_600;

/// What lint finds in a text: code, object, and path.
fn found(text: &str) -> Vec<(&'static str, String, String)> {
    let (offline, _) = Offline::of(text);
    assert_eq!(offline.refusals, []);
    let found = lint(&offline.store, offline.resolver.resolved(), NOW);
    found.iter().map(|d| (d.rule.code, d.object.as_ref().unwrap().to_string(), d.path.to_string())).collect()
}

/// These listeners, a route that all of them take, and where it leads.
fn gateway(listeners: &str) -> String {
    sample::gateway(listeners) + ROUTE
}

/// A Secret with a certificate for a name that ends on a day of March 2030.
fn secret(name: &str, day: u8) -> String {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2029, 1, 1);
    params.not_after = date_time_ymd(2030, 3, day);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let indented = |pem: &str| pem.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: cert}}\ntype: kubernetes.io/tls\nstringData:\n  \
         tls.crt: |\n{}  tls.key: |\n{}",
        indented(&certificate),
        indented(&key.serialize_pem())
    )
}

fn one(code: &'static str, object: &str, path: &str) -> Vec<(&'static str, String, String)> {
    vec![(code, object.to_owned(), path.to_owned())]
}

#[test]
fn what_is_used_and_reachable_is_not_found() {
    assert_eq!(found(&gateway(HTTP)), []);
    assert_eq!(found(&format!("{}{}", gateway(HTTPS), secret("a.test", 30))), []);
}

/// The entries make a certificate of a Secret, whatever its type.
#[test]
fn an_opaque_secret_with_both_entries_is_a_certificate() {
    let opaque = secret("a.test", 10).replace("kubernetes.io/tls", "Opaque");
    let expected = one("PC0711", "Secret/default/cert", "data[tls.crt]");
    assert_eq!(found(&format!("{}{opaque}", gateway(HTTPS))), expected, "its end is near, and nothing else");
}

#[test]
fn certificates_that_clients_refuse_or_soon_will() {
    let with = |name, day| found(&format!("{}{}", gateway(HTTPS), secret(name, day)));
    assert_eq!(with("a.test", 1), one("PC0710", "Secret/default/cert", "data[tls.crt]"));
    assert_eq!(with("a.test", 10), one("PC0711", "Secret/default/cert", "data[tls.crt]"));
    assert_eq!(with("b.test", 30), one("PC0712", "Secret/default/cert", "data[tls.crt]"));
    assert_eq!(with("*.test", 30), []);
    // Once each, whatever the number of addresses that the listener has.
    let both = [
        one("PC0712", "Secret/default/cert", "data[tls.crt]"),
        one("PC0711", "Secret/default/cert", "data[tls.crt]"),
    ];
    assert_eq!(with("b.test", 10), both.concat());
}

#[test]
fn a_match_behind_an_equal_one() {
    let twice = gateway(HTTP).replace(
        "  - backendRefs: [{name: a, port: 80}]\n",
        "  - backendRefs: [{name: a, port: 80}]\n  - backendRefs: [{name: a, port: 80}]\n",
    );
    assert_eq!(found(&twice), one("PC0701", "HTTPRoute/default/r", "spec.rules[1].matches[0]"));
}

#[test]
fn what_is_there_for_nothing() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 80}]}\n";
    let unused = format!("{}{service}", gateway(HTTP));
    assert_eq!(found(&unused), one("PC0720", "Service/default/b", ""));
    let unused = format!("{}{}", gateway(HTTP), secret("a.test", 30));
    assert_eq!(found(&unused), one("PC0721", "Secret/default/cert", ""));
}

#[test]
fn a_listener_without_routes_and_a_service_without_endpoints() {
    let two = gateway(&format!("{HTTP}, {{name: idle, protocol: HTTP, port: 81}}"));
    let idle = two.replace("parentRefs: [{name: web}]", "parentRefs: [{name: web, sectionName: l}]");
    assert_eq!(found(&idle), one("PC0722", "Gateway/default/web", "spec.listeners[1]"));
    let bare = gateway(HTTP).replace("endpoints: [{addresses: [192.0.2.1]}]", "endpoints: []");
    assert_eq!(found(&bare), one("PC0723", "Service/default/a", ""));
}
