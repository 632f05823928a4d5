//! One case for each rule that is particular to some field: what breaks it, and what it is called.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{admission::admit, admission::rules, kind::Kind};

/// A kind, its spec, and the findings: `code path`.
type Case = (Kind, Value, &'static [&'static str]);

fn check(cases: Vec<Case>, codes: &mut BTreeSet<&'static str>) {
    for (kind, spec, expected) in cases {
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.as_str(),
            "metadata": {"name": "x"}, "spec": spec,
        });
        let found = admit(object).diagnostics;
        let listed: Vec<_> = found.iter().map(|d| format!("{} {}", d.rule.code, d.path)).collect();
        assert_eq!(listed, expected, "{kind} {spec}");
        codes.extend(found.iter().map(|finding| finding.rule.code));
    }
}

fn rule(rule: &Value) -> Value {
    json!({"rules": [rule]})
}

fn filter(filter: &Value) -> Value {
    rule(&json!({"filters": [filter]}))
}

fn path(value: &str) -> Value {
    rule(&json!({"matches": [{"path": {"value": value}}]}))
}

fn gateway(field: &str, value: &Value) -> Value {
    let mut spec = json!({
        "gatewayClassName": "c", "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}]
    });
    spec[field] = value.clone();
    spec
}

fn listener(listener: &Value) -> Value {
    gateway("listeners", &json!([listener]))
}

fn filters() -> Vec<Case> {
    let headers = json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {}});
    let redirect = json!({"type": "RequestRedirect", "requestRedirect": {}});
    let rewrite = json!({"type": "URLRewrite", "urlRewrite": {}});
    let mirror = |share: Value| {
        let mut mirror = json!({"backendRef": {"name": "a", "port": 80}});
        for (name, value) in share.as_object().into_iter().flatten() {
            mirror[name] = value.clone();
        }
        filter(&json!({"type": "RequestMirror", "requestMirror": mirror}))
    };
    let auth = json!({"protocol": "HTTP", "grpc": {}, "backendRef": {"name": "a", "port": 80}});
    let full = json!({"type": "ReplaceFullPath", "replacePrefixMatch": "/"});
    vec![
        (
            Kind::HttpRoute,
            filter(&json!({"type": "CORS", "urlRewrite": {}})),
            &["PC0221 spec.rules[0].filters[0]", "PC0220 spec.rules[0].filters[0]"],
        ),
        (
            Kind::HttpRoute,
            filter(&json!({"type": "ExternalAuth", "externalAuth": auth})),
            &["PC0220 spec.rules[0].filters[0].externalAuth", "PC0221 spec.rules[0].filters[0].externalAuth"],
        ),
        (
            Kind::HttpRoute,
            filter(&json!({"type": "URLRewrite", "urlRewrite": {"path": full}})),
            &[
                "PC0221 spec.rules[0].filters[0].urlRewrite.path",
                "PC0220 spec.rules[0].filters[0].urlRewrite.path",
            ],
        ),
        (Kind::HttpRoute, rule(&json!({"filters": [headers, headers]})), &["PC0222 spec.rules[0].filters"]),
        (Kind::GrpcRoute, rule(&json!({"filters": [headers, headers]})), &["PC0222 spec.rules[0].filters"]),
        (Kind::HttpRoute, rule(&json!({"filters": [redirect, rewrite]})), &["PC0223 spec.rules[0].filters"]),
        (
            Kind::HttpRoute,
            rule(&json!({"filters": [redirect], "backendRefs": [{"name": "a", "port": 80}]})),
            &["PC0223 spec.rules[0]"],
        ),
        (
            Kind::HttpRoute,
            mirror(json!({"percent": 1, "fraction": {"numerator": 1}})),
            &["PC0232 spec.rules[0].filters[0].requestMirror"],
        ),
        (
            Kind::HttpRoute,
            mirror(json!({"fraction": {"numerator": 101}})),
            &["PC0232 spec.rules[0].filters[0].requestMirror.fraction"],
        ),
        (Kind::HttpRoute, mirror(json!({"fraction": {"numerator": 100}})), &[]),
        (
            Kind::HttpRoute,
            filter(&json!({"type": "CORS", "cors": {"allowMethods": ["*", "GET"]}})),
            &["PC0233 spec.rules[0].filters[0].cors.allowMethods"],
        ),
        (Kind::HttpRoute, filter(&json!({"type": "CORS", "cors": {"allowMethods": ["*"]}})), &[]),
    ]
}

fn routes() -> Vec<Case> {
    let rules = |count: usize, matches: usize| json!({"rules": vec![json!({"matches": vec![json!({}); matches]}); count]});
    let grpc = |method: &Value| rule(&json!({"matches": [{"method": method}]}));
    let parents = |parents: Value| json!({"parentRefs": parents});
    let backend = |backend: &Value| rule(&json!({"backendRefs": [backend]}));
    let session = |session: &Value| rule(&json!({"sessionPersistence": session}));
    let timeouts = |request: &str, attempt: &str| {
        rule(&json!({"timeouts": {"request": request, "backendRequest": attempt}}))
    };
    let tls = |hostname: &str| json!({"hostnames": [hostname], "rules": [{"backendRefs": [{"name": "a", "port": 1}]}]});
    vec![
        (Kind::HttpRoute, path("a"), &["PC0225 spec.rules[0].matches[0].path"]),
        (Kind::HttpRoute, path("/a/../b"), &["PC0225 spec.rules[0].matches[0].path"]),
        (Kind::HttpRoute, path("/a%2Fb"), &["PC0225 spec.rules[0].matches[0].path"]),
        (Kind::HttpRoute, path("/a..b/.c/%20"), &[]),
        (Kind::GrpcRoute, grpc(&json!({})), &["PC0226 spec.rules[0].matches[0].method"]),
        (Kind::GrpcRoute, grpc(&json!({"service": "a/b"})), &["PC0226 spec.rules[0].matches[0].method"]),
        (Kind::GrpcRoute, grpc(&json!({"service": "a.B", "method": "C"})), &[]),
        (Kind::HttpRoute, rules(2, 64), &[]),
        (Kind::HttpRoute, rules(3, 43), &["PC0227 spec.rules"]),
        (Kind::GrpcRoute, rules(3, 43), &["PC0227 spec.rules"]),
        (Kind::HttpRoute, json!({"rules": [{"name": "a"}, {"name": "a"}]}), &["PC0228 spec.rules"]),
        (Kind::HttpRoute, json!({"rules": [{"name": "a"}, {}, {}]}), &[]),
        (Kind::HttpRoute, parents(json!([{"name": "a"}, {"name": "a"}])), &["PC0229 spec.parentRefs"]),
        (
            Kind::HttpRoute,
            parents(json!([{"name": "a"}, {"name": "a", "sectionName": "b"}])),
            &["PC0229 spec.parentRefs"],
        ),
        (Kind::HttpRoute, parents(json!([{"name": "a"}, {"name": "a", "namespace": "b"}])), &[]),
        (Kind::HttpRoute, backend(&json!({"name": "a"})), &["PC0230 spec.rules[0].backendRefs[0]"]),
        (Kind::HttpRoute, backend(&json!({"name": "a", "kind": "Other"})), &[]),
        (
            Kind::HttpRoute,
            backend(&json!({
                "name": "a", "port": 1, "group": "gateway.networking.x-k8s.io", "kind": "XBackend"
            })),
            &["PC0230 spec.rules[0].backendRefs[0]"],
        ),
        (Kind::HttpRoute, timeouts("1s", "1001ms"), &["PC0231 spec.rules[0].timeouts"]),
        (Kind::HttpRoute, timeouts("1s", "1000ms"), &[]),
        (Kind::HttpRoute, timeouts("0s", "1h"), &[]),
        (Kind::HttpRoute, session(&json!({"type": "Header"})), &["PC0221 spec.rules[0].sessionPersistence"]),
        (
            Kind::HttpRoute,
            session(&json!({"cookie": {"lifetimeType": "Permanent"}})),
            &["PC0221 spec.rules[0].sessionPersistence"],
        ),
        (Kind::TlsRoute, tls("192.0.2.1"), &["PC0244 spec.hostnames"]),
        (Kind::TlsRoute, tls("*.x.test"), &[]),
    ]
}

fn listeners() -> Vec<Case> {
    vec![
        (
            Kind::Gateway,
            listener(&json!({"name": "a", "port": 80, "protocol": "HTTP", "tls": {"options": {"a": "b"}}})),
            &["PC0234 spec.listeners"],
        ),
        (
            Kind::Gateway,
            listener(&json!({"name": "a", "port": 80, "protocol": "TLS"})),
            &["PC0234 spec.listeners"],
        ),
        (
            Kind::Gateway,
            listener(&json!({"name": "a", "port": 80, "protocol": "UDP", "hostname": "x.test"})),
            &["PC0235 spec.listeners"],
        ),
        (
            Kind::Gateway,
            listener(&json!({"name": "a", "port": 80, "protocol": "TCP", "filters": {}})),
            &["PC0237 spec.listeners[0]"],
        ),
        (
            Kind::ListenerSet,
            json!({"parentRef": {"name": "a"}, "listeners": [
                {"name": "a", "port": 80, "protocol": "HTTP"}, {"name": "b", "port": 80, "protocol": "HTTP"}
            ]}),
            &["PC0236 spec.listeners"],
        ),
    ]
}

fn gateways() -> Vec<Case> {
    let ca =
        json!({"group": "certificates.k8s.io", "kind": "ClusterTrustBundle", "name": "a", "namespace": "b"});
    let validated = json!({"validation": {"caCertificateRefs": [ca]}});
    let port = json!({"port": 443, "tls": {}});
    vec![
        (
            Kind::Gateway,
            gateway("addresses", &json!([{"value": "::1"}, {"value": "::1"}])),
            &["PC0238 spec.addresses"],
        ),
        (
            Kind::Gateway,
            gateway("addresses", &json!([{"type": "Hostname", "value": "a_b"}])),
            &["PC0238 spec.addresses[0]"],
        ),
        (
            Kind::Gateway,
            gateway("addresses", &json!([{"routability": "a.k8s.io/x"}])),
            &["PC0238 spec.addresses[0].routability"],
        ),
        (Kind::Gateway, gateway("addresses", &json!([{"routability": "x.test/y"}])), &[]),
        (
            Kind::Gateway,
            gateway("infrastructure", &json!({"labels": {"a b": "c"}})),
            &["PC0239 spec.infrastructure.labels"],
        ),
        (
            Kind::Gateway,
            gateway("tls", &json!({"frontend": {"default": validated}})),
            &["PC0240 spec.tls.frontend.default.validation.caCertificateRefs"],
        ),
        (
            Kind::Gateway,
            gateway("tls", &json!({"frontend": {"default": {}, "perPort": [port, port]}})),
            &["PC0214 spec.tls.frontend.perPort[1]", "PC0241 spec.tls.frontend.perPort"],
        ),
    ]
}

fn backends() -> Vec<Case> {
    let target = json!({"group": "", "kind": "Service", "name": "a"});
    let policy =
        |targets: &Value, validation: &Value| json!({"targetRefs": targets, "validation": validation});
    let system = json!({"hostname": "a", "wellKnownCACertificates": "System"});
    let named = json!({
        "hostname": "a", "wellKnownCACertificates": "System",
        "subjectAltNames": [{"type": "URI", "hostname": "a"}]
    });
    let ip = json!({"ip": {"address": "192.0.2.1", "port": 80}});
    let fqdn = json!({"fqdn": {"hostname": "x.test", "port": 80}});
    let tls = |tls: Value| json!({"endpoints": [ip], "tls": tls});
    vec![
        (Kind::BackendTlsPolicy, policy(&json!([target, target]), &system), &["PC0242 spec.targetRefs"]),
        (
            Kind::BackendTlsPolicy,
            policy(&json!([target]), &json!({"hostname": "a"})),
            &["PC0243 spec.validation"],
        ),
        (
            Kind::BackendTlsPolicy,
            policy(&json!([target]), &named),
            &["PC0220 spec.validation.subjectAltNames[0]", "PC0221 spec.validation.subjectAltNames[0]"],
        ),
        (Kind::Backend, json!({"endpoints": [ip, fqdn]}), &["PC0245 spec.endpoints"]),
        (Kind::Backend, json!({"endpoints": [ip, ip]}), &[]),
        (Kind::Backend, json!({"type": "DynamicResolver", "endpoints": [fqdn]}), &["PC0245 spec"]),
        (Kind::Backend, tls(json!({"minVersion": "1.3", "maxVersion": "1.2"})), &["PC0246 spec.tls"]),
        (Kind::Backend, tls(json!({"maxVersion": "1.1"})), &["PC0246 spec.tls"]),
        (Kind::Backend, tls(json!({"minVersion": "Auto", "maxVersion": "1.0"})), &[]),
        (Kind::Backend, tls(json!({"minVersion": "1.3", "ciphers": ["a"]})), &["PC0246 spec.tls"]),
        (
            Kind::Backend,
            tls(json!({"insecureSkipVerify": true, "wellKnownCACertificates": "System"})),
            &["PC0246 spec.tls"],
        ),
        (Kind::Backend, tls(json!({"autoSNIFromEndpointHostname": true})), &["PC0246 spec"]),
    ]
}

#[test]
fn each_rule_of_a_field_is_broken_by_what_it_forbids() {
    let mut codes = BTreeSet::new();
    check(filters(), &mut codes);
    check(routes(), &mut codes);
    check(listeners(), &mut codes);
    check(gateways(), &mut codes);
    check(backends(), &mut codes);
    // The rules of prefixes and of kinds that do not exist are in the cases next door.
    codes.extend(["PC0224", "PC0247"]);
    let particular = rules::all().into_iter().map(|rule| rule.code).filter(|code| *code >= "PC0220");
    let missing: Vec<_> = particular.filter(|code| !codes.contains(code)).collect();
    assert_eq!(missing, [""; 0], "rules without a case");
}
