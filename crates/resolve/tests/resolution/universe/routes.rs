//! Random routes.

use serde_json::{Value, json};

use super::Picks;
use super::gateways::without_nulls;

pub(super) fn http_route(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut route = json!({"HTTPRoute": name, "parentRefs": parents(picks)});
    route["hostnames"] = picks.value(json!([
        null,
        null,
        ["a.example.com"],
        ["*.example.com", "other.test"],
        ["other.test"],
        ["192.0.2.1"],
    ]));
    let count = *picks.of(&[1, 2]);
    route["rules"] = (0..count).map(|_| rule(picks)).collect();
    without_nulls(route)
}

pub(super) fn grpc_route(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let matches = json!([
        null, [{"method": {"service": "a.B"}}], [{"method": {"service": "a.B", "method": "Get"}, "headers": [{"name": "X", "value": "1"}]}],
        [{"method": {"type": "RegularExpression", "method": "Get|Put"}}], [{"method": {"type": "RegularExpression", "service": "("}}],
    ]);
    let mut rule = json!({"matches": picks.value(matches), "backendRefs": picks.value(json!([
        [{"name": "app", "port": 80}], [{"name": "missing", "port": 80}, {"name": "app", "port": 81}], [], null,
    ]))});
    if picks.chance(3) {
        rule["filters"] = picks.value(json!([
            [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X-A", "value": "1"}]}}],
            [{"type": "ExtensionRef", "extensionRef": {"group": "x.test", "kind": "F", "name": "f"}}],
        ]));
    }
    let hostnames = picks.value(json!([null, ["a.test"], ["*.test"]]));
    let route = json!({"GRPCRoute": name, "parentRefs": parents(picks), "hostnames": hostnames, "rules": [without_nulls(rule)]});
    without_nulls(route)
}

pub(super) fn tls_route(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut route = l4_route("TLSRoute", name, picks);
    route["hostnames"] =
        picks.value(json!([["a.example.com"], ["*.example.com", "x.a.example.com"], ["other.test"]]));
    route
}

pub(super) fn tcp_route(name: &'static str, picks: &mut Picks<'_>) -> Value {
    l4_route("TCPRoute", name, picks)
}

pub(super) fn udp_route(name: &'static str, picks: &mut Picks<'_>) -> Value {
    l4_route("UDPRoute", name, picks)
}

/// Of v1alpha2 now and then, which may have several rules.
fn l4_route(kind: &str, name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut rules = vec![json!({"backendRefs": l4_backends(picks)})];
    let mut route = json!({kind: name, "parentRefs": parents(picks)});
    if picks.chance(4) {
        route["apiVersion"] = json!("gateway.networking.k8s.io/v1alpha2");
        rules.push(json!({"backendRefs": l4_backends(picks)}));
    }
    route["rules"] = rules.into();
    route
}

fn l4_backends(picks: &mut Picks<'_>) -> Value {
    let external = json!({"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "ext"});
    picks.value(json!([
        [{"name": "app", "port": 80}],
        [{"name": "app", "port": 80, "weight": 9}, {"name": "missing", "port": 80}],
        [{"name": "app", "port": 82}, {"name": "app", "port": 80, "namespace": "other"}],
        [external, {"name": "app", "port": 81, "weight": 0}],
        [{"name": "app", "port": 80, "weight": 0}],
    ]))
}

fn parents(picks: &mut Picks<'_>) -> Value {
    picks.value(json!([
        [{"name": "gw", "namespace": "default"}],
        [{"name": "gw", "namespace": "default", "sectionName": "l0"}, {"name": "gx", "namespace": "default"}],
        [{"name": "gw", "namespace": "default", "port": 8080}],
        [{"name": "gw", "namespace": "default", "sectionName": "nothing"}],
        [{"kind": "ListenerSet", "name": "a", "namespace": "default"}],
        [{"kind": "ListenerSet", "name": "a", "namespace": "other"}, {"name": "gw", "namespace": "default"}],
        [{"kind": "ListenerSet", "name": "b", "namespace": "default"}],
        [{"name": "gw", "namespace": "other"}],
        [{"name": "missing"}],
        [],
        [{"name": "gx", "namespace": "default", "sectionName": "l1"}],
    ]))
}

fn rule(picks: &mut Picks<'_>) -> Value {
    let mut rule = json!({"backendRefs": backends(picks)});
    rule["matches"] = picks.value(json!([
        null, null, [{"path": {"value": "/a"}}], [{"path": {"type": "Exact", "value": "/a"}}],
        [{"path": {"type": "RegularExpression", "value": "/a|/b"}}], [{"path": {"type": "RegularExpression", "value": "("}}],
        [{"headers": [{"name": "X", "value": "1"}], "method": "GET"}, {"queryParams": [{"name": "q", "value": "1"}]}],
    ]));
    if picks.chance(3) {
        rule["filters"] = picks.value(filters());
    }
    if picks.chance(10) {
        rule["retry"] = json!({"attempts": 2});
        rule["sessionPersistence"] = json!({"type": "Cookie", "cookie": {"name": "s"}});
        rule["timeouts"] = json!({"request": "10s"});
    }
    let redirects = rule["filters"][0]["type"] == "RequestRedirect";
    if redirects {
        rule["backendRefs"] = Value::Null;
    }
    without_nulls(rule)
}

fn filters() -> Value {
    let modifier =
        |add: &str| json!({"set": [{"name": "X-A", "value": "1"}], "add": [{"name": add, "value": "2"}]});
    json!([
        [{"type": "RequestHeaderModifier", "requestHeaderModifier": modifier("X-B")}],
        [{"type": "ResponseHeaderModifier", "responseHeaderModifier": modifier("x-a")}],
        [{"type": "ResponseHeaderModifier", "responseHeaderModifier": {"remove": ["Connection"]}}],
        [
            {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}},
            {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier("X-B")},
        ],
        [{"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}],
        [{"type": "URLRewrite", "urlRewrite": {"hostname": "b.test"}}],
        [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "app", "port": 80}}}],
        [{"type": "CORS", "cors": {"allowOrigins": ["https://a.test"]}}],
        [{"type": "ExtensionRef", "extensionRef": {"group": "x.test", "kind": "F", "name": "f"}}],
    ])
}

fn backends(picks: &mut Picks<'_>) -> Value {
    let external = json!({"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "ext"});
    picks.value(json!([
        [{"name": "app", "port": 80}],
        [{"name": "app", "port": 80, "weight": 9}, {"name": "missing", "port": 80}],
        [{"name": "app", "port": 80, "namespace": "other"}],
        [external, {"name": "app", "port": 81}],
        [external],
        [{"name": "app", "port": 99}],
        [{"name": "app", "port": 80, "weight": 0}],
        [{"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "app", "port": 80}],
        [],
        [{"name": "app", "port": 82}],
        [{"name": "app", "port": 80, "filters": [
            {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}},
        ]}],
    ]))
}
