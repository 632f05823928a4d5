//! Random Gateways and ListenerSets.

use serde_json::{Value, json};

use super::Picks;

pub(super) fn gateway(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut gateway = json!({"Gateway": name, "listeners": listeners(picks)});
    created(&mut gateway, picks);
    let fields = [
        (
            "allowedListeners",
            json!([
                {"namespaces": {"from": "All"}}, {"namespaces": {"from": "All"}}, {"namespaces": {"from": "Same"}},
                {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}},
                {"namespaces": {"from": "Selector"}}, null,
            ]),
        ),
        (
            "addresses",
            json!([
                null, null, null, null, [{"value": "10.0.0.1"}], [{"value": "10.0.0.2"}],
                [{"value": "10.0.0.1"}, {"value": "10.0.0.9"}], [{"type": "Hostname", "value": "gw.test"}],
                [{"value": "0.0.0.0"}], [{"value": "10.0.0.1", "routability": "Cluster"}, {}],
                [{"routability": "Cluster"}], [{}], [{"routability": "testing.x-k8s.io/sentinel"}],
            ]),
        ),
    ];
    for (field, options) in fields {
        gateway[field] = picks.value(options);
    }
    for (odds, field, options) in [
        (6, "gatewayClassName", json!(["vendor", "missing", "vendor", "portcullis"])),
        (
            9,
            "tls",
            json!([
                {"backend": {"clientCertificateRef": {"name": "cert"}}},
                {"backend": {"clientCertificateRef": {"name": "missing"}}},
                {"backend": {"clientCertificateRef": {"name": "cert", "namespace": "other"}}},
            ]),
        ),
        (5, "infrastructure", json!([{"parametersRef": {"group": "", "kind": "ConfigMap", "name": "p"}}])),
        (12, "defaultScope", json!(["All"])),
    ] {
        if picks.chance(odds) {
            gateway[field] = picks.value(options);
        }
    }
    if picks.chance(4) {
        let validation = validation(picks);
        let frontend = picks.value(json!([
            {"default": {"validation": validation}},
            {"default": {}, "perPort": [{"port": 443, "tls": {"validation": validation}}]},
            {"default": {"validation": validation}, "perPort": [{"port": 443, "tls": {}}]},
        ]));
        gateway["tls"] = json!({"frontend": frontend});
    }
    without_nulls(gateway)
}

/// Whom clients must come from.
fn validation(picks: &mut Picks<'_>) -> Value {
    let map = |name: &str| json!({"group": "", "kind": "ConfigMap", "name": name});
    let references = picks.value(json!([
        [map("ca")], [map("ca"), map("no")],
        [{"group": "", "kind": "Service", "name": "app", "namespace": "default"}, map("ca")],
        [{"group": "", "kind": "ConfigMap", "name": "ca", "namespace": "third"}, map("ca")],
        [{"group": "certificates.k8s.io", "kind": "ClusterTrustBundle", "name": "ca"}],
    ]));
    let mode = picks.of(&["AllowValidOnly", "AllowValidOnly", "AllowInsecureFallback"]);
    json!({"mode": mode, "caCertificateRefs": references})
}

pub(super) fn listener_set(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut set = json!({"ListenerSet": name, "listeners": listeners(picks)});
    created(&mut set, picks);
    set["parentRef"] = picks.value(json!([
        {"name": "gw", "namespace": "default"}, {"name": "gw", "namespace": "default"},
        {"name": "gw", "namespace": "default"}, {"name": "gx", "namespace": "default"},
        {"name": "gw", "namespace": "other"}, {"name": "missing"},
        {"name": "gw", "namespace": "default", "kind": "Service", "group": ""},
    ]));
    set
}

fn created(object: &mut Value, picks: &mut Picks<'_>) {
    let time = picks.value(json!([null, null, "2026-01-01", "2026-01-02"]));
    if !time.is_null() {
        object["created"] = time;
    }
}

fn listeners(picks: &mut Picks<'_>) -> Value {
    let count = *picks.of(&[2, 1, 3, 4]);
    (0..count).map(|index| listener(index, picks)).collect()
}

fn listener(index: usize, picks: &mut Picks<'_>) -> Value {
    let plain = if index == 1 { "HTTPS" } else { "HTTP" };
    let protocol = *picks.of(&[
        plain,
        plain,
        "HTTP",
        "HTTPS",
        "HTTPS",
        "HTTP",
        "TLS",
        "TCP",
        "UDP",
        "microgateway.airlock.com/http3",
        "example.com/other",
    ]);
    let port =
        if protocol == "HTTPS" { picks.of(&[443, 443, 8443, 80]) } else { picks.of(&[80, 80, 8080, 443]) };
    let mut listener = json!({"name": format!("l{index}"), "port": port, "protocol": protocol});
    if !matches!(protocol, "TCP" | "UDP") {
        listener["hostname"] = picks.value(json!([
            null,
            "a.example.com",
            "*.example.com",
            null,
            "*.a.example.com",
            "192.0.2.1"
        ]));
    }
    if matches!(protocol, "HTTPS" | "TLS" | "microgateway.airlock.com/http3") {
        listener["tls"] = tls(protocol, picks);
    }
    listener["allowedRoutes"] = picks.value(json!([
        {"namespaces": {"from": "All"}}, {"namespaces": {"from": "Same"}}, {"namespaces": {"from": "All"}},
        {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}},
        {"namespaces": {"from": "All"}, "kinds": [{"kind": "TCPRoute"}]},
        {"namespaces": {"from": "All"}, "kinds": [{"kind": "HTTPRoute"}, {"kind": "Thing"}]},
        {"namespaces": {"from": "Selector"}},
    ]));
    if picks.chance(20) {
        listener["filters"] = json!({"requests": filters(picks)});
    }
    without_nulls(listener)
}

fn filters(picks: &mut Picks<'_>) -> Value {
    let ask = |http: Value, backend: Value| {
        let auth = json!({"protocol": "HTTP", "http": http, "backendRef": backend});
        json!({"type": "ExternalAuth", "externalAuth": auth})
    };
    picks.value(json!([
        [ask(json!({"allowedResponseHeaders": ["Host"]}), json!({"name": "app", "port": 80}))],
        [{"type": "ExtensionRef", "extensionRef": {"group": "x.test", "kind": "F", "name": "f"}}],
        [
            ask(json!({}), json!({"name": "app", "port": 80})),
            ask(json!({}), json!({"name": "app", "namespace": "other", "port": 80})),
        ],
        [ask(json!({"allowedHeaders": ["no name"]}), json!({"name": "app", "port": 80}))],
    ]))
}

fn tls(protocol: &str, picks: &mut Picks<'_>) -> Value {
    let certificates = picks.value(json!([
        [{"name": "cert"}], [{"name": "cert"}], [{"name": "missing"}], [{"name": "cert", "namespace": "other"}],
        [{"name": "cert"}, {"name": "missing"}], [{"name": "cert", "kind": "ConfigMap"}], [],
    ]));
    let options = picks.value(json!([
        {}, {}, {}, {}, {"portcullis.dev/minimumVersion": "TLSv1_3"}, {"portcullis.dev/ecdhCurves": "P-521, P-256"},
        {"portcullis.dev/ciphers": "nonsense"}, {"example.com/x": "y"}, {"portcullis.dev/maximumVersion": "TLSv1_1"},
    ]));
    let mode = if protocol == "HTTPS" { "Terminate" } else { *picks.of(&["Terminate", "Passthrough"]) };
    json!({"mode": mode, "certificateRefs": certificates, "options": options})
}

pub(super) fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
