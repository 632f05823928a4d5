//! Random Services, Backends, policies, grants, Secrets, namespaces, classes and reports.

use serde_json::{Value, json};

use super::Picks;
use super::gateways::without_nulls;

pub(super) fn service(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let ports = json!([
        {"name": "", "port": 80}, {"name": "h2c", "port": 81, "appProtocol": "kubernetes.io/h2c"},
        {"name": "udp", "port": 82, "protocol": "UDP"},
    ]);
    let mut service = json!({"Service": name, "ports": ports});
    match picks.of(&[0, 0, 0, 1, 2]) {
        0 => {
            service["endpoints"] =
                picks.value(json!([["10.1.0.1:8080"], ["10.1.0.1:8080", "10.1.0.2:8080"], []]));
        }
        1 => {
            service =
                json!({"Service": name, "type": "ExternalName", "externalName": "x.test", "ports": [80]});
        }
        _ => service["ports"] = json!([{"port": 80, "appProtocol": "https"}]),
    }
    if picks.chance(6) {
        service["trafficDistribution"] = json!("PreferSameZone");
    }
    if let Some(port) = service["ports"][0].as_object_mut() {
        port.retain(|_, value| value != "");
    }
    if let Some(ports) = service["ports"].as_array_mut().filter(|ports| ports.len() > 1) {
        ports[0]["name"] = json!("web");
        service.as_object_mut().unwrap().remove("endpoints");
    }
    service
}

pub(super) fn slice(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let conditions = picks.value(json!([
        {}, {"ready": true}, {"ready": false, "serving": true, "terminating": true}, {"ready": false},
    ]));
    let hints = picks.value(json!([{}, {"forZones": [{"name": "a"}]}, {"forNodes": [{"name": "n"}]}]));
    let endpoint = json!({"addresses": ["10.1.0.7"], "conditions": conditions, "hints": hints, "zone": "a"});
    let mut port = json!({"name": picks.of(&["web", ""]), "port": picks.of(&[8080, 9090])});
    if picks.chance(4) {
        port["appProtocol"] = json!("kubernetes.io/h2c");
    }
    json!({
        "EndpointSlice": name, "addressType": "IPv4", "labels": {"kubernetes.io/service-name": "app"},
        "ports": [port], "endpoints": [endpoint],
    })
}

pub(super) fn backend(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let endpoints = picks.value(json!([
        [{"ip": {"address": "10.2.0.1", "port": 80}}], [{"ip": {"address": "10.2.0.1", "port": 80}}],
        [{"fqdn": {"hostname": "x.test", "port": 80}}], [{"unix": {"path": "/run/app.sock"}}],
        [{"ip": {"address": "127.0.0.1", "port": 80}}], [{"ip": {"address": "10.2.0.1", "port": 0}}],
    ]));
    let mut backend = json!({"Backend": name, "endpoints": endpoints});
    for (odds, field, value) in [
        (8, "tls", json!({"insecureSkipVerify": true})),
        (8, "appProtocols", json!(["gateway.envoyproxy.io/h2c"])),
        (6, "fallback", json!(true)),
        (8, "type", json!("DynamicResolver")),
    ] {
        if picks.chance(odds) {
            backend[field] = value;
        }
    }
    if backend["type"] == "DynamicResolver" {
        backend["endpoints"] = Value::Null;
    }
    without_nulls(backend)
}

pub(super) fn policy(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut target = json!({"group": "", "kind": "Service", "name": "app"});
    if picks.chance(4) {
        target = json!({"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "ext"});
    }
    if picks.chance(2) {
        target["sectionName"] = json!(picks.of(&["web", "h2c", "udp"]));
    }
    let reference = |kind: &str, name: &str| {
        let group = if kind == "ClusterTrustBundle" { "certificates.k8s.io" } else { "" };
        json!({"group": group, "kind": kind, "name": name})
    };
    let authorities = picks.value(json!([
        null,
        null,
        [reference("ConfigMap", "ca")],
        [reference("ClusterTrustBundle", "ca")],
        [reference("ConfigMap", "no"), reference("ConfigMap", "ca")],
        [reference("Pod", "x")],
    ]));
    let mut validation = json!({"hostname": "app.test"});
    match authorities {
        Value::Null => {
            let name = picks.of(&["System", "System", "example.com/roots"]);
            validation["wellKnownCACertificates"] = json!(name);
        }
        authorities => validation["caCertificateRefs"] = authorities,
    }
    let mut policy = json!({"BackendTLSPolicy": name, "targetRefs": [target], "validation": validation});
    if picks.chance(4) {
        policy["created"] = json!(picks.of(&["2026-01-01", "2026-01-02"]));
    }
    if picks.chance(6) {
        let key = picks.of(&["portcullis.dev/minimumVersion", "example.com/x"]);
        policy["options"] = json!({(*key): picks.of(&["TLSv1_3", "none"])});
    }
    policy
}

pub(super) fn authority(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let kind = if picks.chance(2) { "ClusterTrustBundle" } else { "ConfigMap" };
    let authority = picks.of(&["a.test", "b.test"]);
    if kind == "ConfigMap" && picks.chance(3) {
        return json!({"ConfigMap": name, "data": {"ca.crt": ""}});
    }
    json!({kind: name, "authority": [authority]})
}

pub(super) fn grant(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let group = "gateway.networking.k8s.io";
    let from = |kind: &str| json!({"group": group, "kind": kind, "namespace": "default"});
    let to = picks.value(json!([
        [{"group": "", "kind": "Secret"}, {"group": "", "kind": "Service"}], [{"group": "", "kind": "Secret"}],
        [{"group": "", "kind": "Service", "name": "app"}], [{"group": "", "kind": "Service", "name": "no"}],
    ]));
    let from = picks.of(&[vec![from("Gateway"), from("HTTPRoute")], vec![from("ListenerSet")]]).clone();
    json!({"ReferenceGrant": name, "from": from, "to": to})
}

pub(super) fn secret(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let certificate = |name: &str| json!({"Secret": "", "certificate": [name]});
    let mut secret = picks.value(json!([
        certificate("a.example.com"), certificate("a.example.com"), certificate("*.example.com"), certificate("b.test"),
        {"type": "Opaque", "stringData": {"tls.crt": "nonsense", "tls.key": "nonsense"}},
    ]));
    secret["Secret"] = json!(name);
    secret
}

pub(super) fn namespace(name: &'static str, picks: &mut Picks<'_>) -> Value {
    json!({"Namespace": name, "labels": picks.value(json!([{"team": "a"}, {"team": "b"}, {}]))})
}

pub(super) fn class(name: &'static str, picks: &mut Picks<'_>) -> Value {
    let mut class = json!({"GatewayClass": name});
    if name == "vendor" {
        class["controllerName"] = json!("example.com/controller");
    }
    if picks.chance(4) {
        class["parametersRef"] = json!({"group": "x.test", "kind": "P", "name": "p"});
    }
    class
}

pub(super) fn report(_: &'static str, picks: &mut Picks<'_>) -> Value {
    if picks.chance(10) {
        return json!({"addresses": picks.value(json!([["10.0.0.1"], ["10.0.0.1", "10.0.0.3"], []]))});
    }
    let ports = [443, 80, 8080, 8443];
    let address =
        *picks.of(&["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.3", "0.0.0.0"]);
    let outcome = *picks.of(&["bound", "bound", "bound", "not local", "in use", "not permitted"]);
    let mut report = json!({});
    for port in ports.iter().take(*picks.of(&[2, 4])) {
        report[format!("{address}:{port}")] = json!(outcome);
    }
    report
}

pub(super) fn bundle_versions(_: &'static str, picks: &mut Picks<'_>) -> Value {
    let versions = json!([{"Gateway": "v1.7.0", "HTTPRoute": "v1.3.0"}, {"Gateway": "v1.7.0"}, {}]);
    json!({"bundle versions": picks.value(versions)})
}

pub(super) fn ancestors(_: &'static str, picks: &mut Picks<'_>) -> Value {
    let entry = json!({"ancestorRef": {"name": "x"}, "controllerName": "acme.io/controller"});
    let entries = vec![entry; *picks.of(&[16, 0, 15])];
    json!({"tls ancestors": entries})
}
