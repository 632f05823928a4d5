use portcullis_resolve::CAUSES;

use super::*;
use crate::offline::{Offline, sample};

const LISTENERS: &str = "{name: http, protocol: HTTP, port: 80}, \
    {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: cert}]}}";

const OBJECTS: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web, sectionName: http}]
  rules:
  - backendRefs: [{name: shop, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {ports: [{port: 80, name: a}, {port: 81, name: b}]}
---
apiVersion: v1
kind: Service
metadata: {name: orders, namespace: edge}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: cert}
";

/// What is said of the text after a replacement: code, message and hint of each finding of one code.
fn said(code: &str, from: &str, to: &str) -> Vec<String> {
    let written = sample::gateway(LISTENERS) + OBJECTS;
    let text = written.replacen(from, to, 1);
    assert_ne!(text, written);
    let (offline, file) = Offline::of(&text);
    let found = offline.diagnostics().into_iter().filter(|found| found.rule.code == code);
    let said = found.map(|found| format!("{}; {}", found.message, found.hint()));
    said.map(|said| said.replace(&file.display().to_string(), "FILE")).collect()
}

#[test]
fn every_code_is_one_of_resolution() {
    for (code, _) in OF_REFERENCES {
        assert!(CAUSES.iter().any(|cause| cause.rule.code == code), "{code}");
    }
}

#[test]
fn a_missing_target_says_what_may_have_been_meant() {
    assert_eq!(
        said("PC0303", "gatewayClassName: portcullis", "gatewayClassName: portculis"),
        ["GatewayClass portculis does not exist or is not ours; did you mean portcullis?"]
    );
    assert_eq!(
        said("PC0404", "[{name: web, sectionName: http}]", "[{name: wbe}]"),
        ["parent Gateway wbe does not exist or is not ours; did you mean web?"]
    );
    assert_eq!(
        said("PC0501", "[{name: shop, port: 80}]", "[{name: shpo, port: 80}]"),
        ["Service default/shpo does not exist; did you mean shop?"]
    );
    assert_eq!(
        said("PC0501", "[{name: shop, port: 80}]", "[{name: order, port: 80}]"),
        ["Service default/order does not exist; there is orders in namespace edge"]
    );
    assert_eq!(
        said("PC0601", "[{name: cert}]", "[{name: certs}]"),
        ["Secret default/certs does not exist; did you mean cert?"]
    );
}

/// Nothing is guessed where nothing is near.
#[test]
fn a_name_that_is_far_from_all_keeps_the_hint_of_its_rule() {
    assert_eq!(
        said("PC0501", "[{name: shop, port: 80}]", "[{name: inventory, port: 80}]"),
        [
            "Service default/inventory does not exist; create the Service, or correct name, namespace and port of the \
          backendRef"
        ]
    );
}

#[test]
fn a_part_that_is_missing_says_which_there_are() {
    assert_eq!(
        said("PC0401", "sectionName: http}", "sectionName: htp}"),
        [
            "no listener of the parent has the section name and port that the route names; did you mean sectionName: \
          http?"
        ]
    );
    assert_eq!(
        said("PC0401", "sectionName: http}", "sectionName: other}"),
        [
            "no listener of the parent has the section name and port that the route names; its listeners are named \
          http, https"
        ]
    );
    assert_eq!(
        said("PC0501", "[{name: shop, port: 80}]", "[{name: shop, port: 8}]"),
        ["Service default/shop has no TCP port 8; the Service has the ports 80, 81"]
    );
}

/// What is there and refused does not lack: the place where it is refused is what helps.
#[test]
fn a_refused_target_is_said_to_be_refused_and_where() {
    assert_eq!(
        said("PC0501", "{ports: [{port: 80, name: a}, {port: 81, name: b}]}", "{ports: [{port: '80'}]}"),
        ["Service/default/shop was refused, see FILE:25; correct what is wrong there"]
    );
    assert_eq!(
        said("PC0404", "{name: http, protocol: HTTP, port: 80}", "{name: http, protocol: HTTP, port: 0}"),
        ["Gateway/default/web was refused, see FILE:12; correct what is wrong there"]
    );
}
