//! Admission case by case: what is written, and what is found where.

mod generated;
mod rules_of_fields;

use serde_json::{Value, json};

use super::*;

/// `code path` of each finding.
fn findings(value: Value) -> Vec<String> {
    let admitted = admit(value);
    let refused = admitted.diagnostics.iter().any(Diagnostic::is_error);
    assert_eq!(admitted.object.is_none(), refused, "{:?}", admitted.diagnostics);
    admitted.diagnostics.iter().map(|d| format!("{} {}", d.rule.code, d.path)).collect()
}

fn gateway(listeners: Value) -> Value {
    let mut value = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "web"}, "spec": {"gatewayClassName": "portcullis"},
    });
    value["spec"]["listeners"] = listeners;
    value
}

fn route(spec: Value) -> Value {
    let mut value = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"},
    });
    value["spec"] = spec;
    value
}

#[test]
fn an_object_gets_the_defaults_of_its_crd() {
    let admitted = admit(route(json!({
        "parentRefs": [{"name": "web"}],
        "rules": [{"backendRefs": [{"name": "a", "port": 80}]}],
    })));
    assert_eq!(admitted.diagnostics, []);
    let Some(Object::HttpRoute(route)) = admitted.object else { panic!("an HTTPRoute") };
    assert_eq!(route.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(route.spec.parent_refs[0].kind, "Gateway");
    assert_eq!(route.spec.rules[0].matches[0].path.value.as_ref(), "/");
    assert_eq!(route.spec.rules[0].backend_refs[0].weight, 1);
    assert_eq!(route.status, None);
}

#[test]
fn a_route_without_rules_matches_everything_and_goes_nowhere() {
    let Some(Object::HttpRoute(route)) = admit(route(json!({}))).object else { panic!("an HTTPRoute") };
    assert_eq!(route.spec.rules.len(), 1);
    assert_eq!(route.spec.rules[0].matches.len(), 1);
    assert_eq!(route.spec.rules[0].backend_refs, []);
}

#[test]
fn an_unknown_field_is_a_warning_with_the_nearest_name() {
    let admitted = admit(gateway(json!([
        {"name": "a", "port": 80, "protocol": "HTTP", "hostnames": "x.test"}
    ])));
    assert!(admitted.object.is_some());
    let found = &admitted.diagnostics[0];
    assert_eq!(found.path.to_string(), "spec.listeners[0].hostnames");
    assert_eq!(found.hint(), "did you mean hostname?");
    assert_eq!(found.severity(), crate::Severity::Warning);
}

#[test]
fn missing_mistyped_and_misspelt_values_are_each_reported_where_they_are() {
    let value = gateway(json!([
        {"port": "80", "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "all"}}},
        {"name": true, "port": 0, "protocol": "HTTP", "hostname": "*"}
    ]));
    assert_eq!(
        findings(value),
        [
            "PC0205 spec.listeners[0].name",
            "PC0206 spec.listeners[0].port",
            "PC0207 spec.listeners[0].allowedRoutes.namespaces.from",
            "PC0206 spec.listeners[1].name",
            "PC0208 spec.listeners[1].hostname",
            "PC0213 spec.listeners[1].port",
        ]
    );
}

#[test]
fn hints_say_how_to_write_what_yaml_took_for_something_else() {
    let value = gateway(json!([{"name": true, "port": "80", "protocol": "HTTPs"}]));
    let hints: Vec<_> = admit(value).diagnostics.iter().map(|found| found.hint().to_owned()).collect();
    assert_eq!(hints, ["write it in quotes: \"true\"", "write it without quotes: 80"]);
}

/// The pattern of a hostname alone does not say what is wrong with this one.
#[test]
fn a_hostname_with_capitals_or_a_port_says_how_to_write_it() {
    let hint = |hostname: &str| {
        let value = route(json!({"hostnames": [hostname]}));
        admit(value).diagnostics.iter().map(|found| found.hint().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(hint("Shop.example.com"), ["write it without capitals: shop.example.com"]);
    assert_eq!(hint("shop.example.com:8080"), ["leave the port out: shop.example.com"]);
    assert_eq!(hint("Shop.example.com:8080"), ["leave the port out: shop.example.com"]);
    assert_eq!(hint("shop_1.example.com"), ["write the value in the form that the message names"]);
}

#[test]
fn cel_rules_run_beside_broken_patterns_but_not_beside_wrong_types() {
    let listeners =
        |name: Value| gateway(json!([{"name": name, "port": 80, "protocol": "TCP", "hostname": "x.test"}]));
    assert_eq!(findings(listeners(json!("Web"))), ["PC0208 spec.listeners[0].name", "PC0235 spec.listeners"]);
    assert_eq!(findings(listeners(json!(1))), ["PC0206 spec.listeners[0].name"]);
}

#[test]
fn cel_rules_see_defaults() {
    let tls = |tls: Value| gateway(json!([{"name": "a", "port": 443, "protocol": "TLS", "tls": tls}]));
    assert_eq!(findings(tls(json!({"options": {"a": "b"}}))), [""; 0]);
    assert_eq!(findings(tls(json!({}))), ["PC0234 spec.listeners[0].tls"]);
}

#[test]
fn listeners_that_differ_in_protocol_alone_pass() {
    let tls = json!({"certificateRefs": [{"name": "c"}]});
    let listener = |name: &str, protocol: &str| json!({"name": name, "port": 443, "protocol": protocol, "hostname": "x.test", "tls": tls});
    assert_eq!(findings(gateway(json!([listener("a", "HTTPS"), listener("b", "TLS")]))), [""; 0]);
    assert_eq!(
        findings(gateway(json!([listener("a", "HTTPS"), listener("b", "HTTPS")]))),
        ["PC0236 spec.listeners"]
    );
}

#[test]
fn of_equal_entries_the_second_is_reported() {
    let listener = json!({"name": "a", "port": 80, "protocol": "HTTP"});
    let other = json!({"name": "a", "port": 81, "protocol": "HTTP"});
    assert_eq!(
        findings(gateway(json!([listener, other]))),
        ["PC0214 spec.listeners[1]", "PC0236 spec.listeners"]
    );
}

#[test]
fn a_prefix_is_replaced_only_where_one_was_matched() {
    let rule = |matches: Value| {
        route(json!({"rules": [{
            "matches": matches,
            "filters": [{"type": "URLRewrite", "urlRewrite": {"path": {
                "type": "ReplacePrefixMatch", "replacePrefixMatch": "/new"
            }}}],
            "backendRefs": [{"name": "a", "port": 80}],
        }]}))
    };
    assert_eq!(findings(rule(json!([{"path": {"value": "/old"}}]))), [""; 0]);
    assert_eq!(
        findings(rule(json!([{"path": {"type": "Exact", "value": "/old"}}]))),
        ["PC0224 spec.rules[0]"]
    );
    assert_eq!(findings(rule(json!([{}, {}]))), ["PC0224 spec.rules[0]"]);
}

#[test]
fn versions_differ_where_their_crds_do() {
    let tls_route = |version: &str, spec: Value| {
        json!({
            "apiVersion": format!("gateway.networking.k8s.io/{version}"), "kind": "TLSRoute",
            "metadata": {"name": "r"}, "spec": spec,
        })
    };
    let rule = json!({"backendRefs": [{"name": "a", "port": 443}]});
    let without_names = json!({"rules": [rule, rule]});
    assert_eq!(findings(tls_route("v1alpha2", without_names.clone())), [""; 0]);
    assert_eq!(findings(tls_route("v1", without_names)), ["PC0205 spec.hostnames", "PC0212 spec.rules"]);
    let address = json!({"hostnames": ["192.0.2.1"], "rules": [rule]});
    assert_eq!(findings(tls_route("v1", address.clone())), ["PC0244 spec.hostnames"]);
    assert_eq!(findings(tls_route("v1alpha2", address)), [""; 0]);
    assert_eq!(findings(tls_route("v2", json!({}))), ["PC0203 apiVersion"]);
}

/// `code path: message (hint)` of the only finding about an object of this version and kind, which is not read.
fn unread(api_version: &str, kind: &str) -> String {
    let admitted = admit(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}));
    assert_eq!((admitted.object, admitted.key), (None, None));
    let [found] = &admitted.diagnostics[..] else { panic!("one finding: {:?}", admitted.diagnostics) };
    assert_eq!(found.document.as_ref().map(ToString::to_string), Some(format!("{kind}/x")));
    format!("{} {}: {} ({})", found.rule.code, found.path, found.message, found.hint())
}

#[test]
fn what_is_not_read_is_told_from_what_is_misspelt() {
    let nothing_to_do = "nothing to do: the object has no effect here";
    assert_eq!(
        unread("apps/v1", "Deployment"),
        format!("PC0201 kind: Deployment of group apps is not read ({nothing_to_do})")
    );
    assert_eq!(
        unread("v1", "Sevice"),
        "PC0202 kind: Sevice of the core group is not read (did you mean Service?)"
    );
    assert_eq!(
        unread("v1", "EndpointSlice"),
        "PC0202 kind: EndpointSlice of the core group is not read (use apiVersion: discovery.k8s.io/v1)"
    );
    assert_eq!(
        unread("v1", "ServiceAccount"),
        format!("PC0201 kind: ServiceAccount of the core group is not read ({nothing_to_do})")
    );
    // Groups of others have kinds of the same names.
    for group in ["networking.istio.io/v1", "gateway.networking.istio.io/v1", "gateway.example.com/v1"] {
        assert!(unread(group, "Gateway").starts_with("PC0201 "), "{group}");
    }
    assert!(unread("gateway.networking.x-k8s.io/v1alpha1", "XMesh").starts_with("PC0202 "));
    assert!(unread("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy").starts_with("PC0202 "));
    assert_eq!(findings(json!({"kind": "Gateway"})), ["PC0200 apiVersion"]);
    assert_eq!(findings(json!(["Gateway"])), ["PC0200 apiVersion"]);
}

/// An API server has no such kind, however near it is to one.
#[test]
fn what_is_meant_for_the_gateway_api_must_be_one_of_its_kinds() {
    let group = "gateway.networking.k8s.io";
    for (api_version, kind, field, hint) in [
        ("gateway.networking.k8s.io/v1", "HTTPRoutes", "kind", "did you mean HTTPRoute?"),
        ("gateway.networking.k8s.io/v1", "HttpRoute", "kind", "did you mean HTTPRoute?"),
        (
            "gateway.networking.k8s.io/v1",
            "Ingress",
            "kind",
            "correct apiVersion and kind, or remove the object",
        ),
        ("gateway.networking.k8s.io", "Gateway", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("gateway.network.k8s.io/v1", "Gateway", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("Gateway.networking.k8s.io/v1", "Gateway", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("gateway.networking.x-k8s.io/v1", "HTTPRoute", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("networking.k8s.io/v1", "HTTPRoute", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("v1", "HTTPRoute", "apiVersion", "did you mean apiVersion: {group}/v1?"),
        ("gateway.network.k8s.io/v1", "HTTPRoutes", "apiVersion", "did you mean HTTPRoute of {group}/v1?"),
    ] {
        let hint = hint.replace("{group}", group);
        let expected = format!("PC0247 {field}: there is no kind {kind} in {api_version} ({hint})");
        assert_eq!(unread(api_version, kind), expected);
    }
    assert_eq!(
        unread("gateway.networking.k8s.io/v1x", "HTTPRoute"),
        "PC0203 apiVersion: HTTPRoute is not served as gateway.networking.k8s.io/v1x, but as \
         gateway.networking.k8s.io/v1 and gateway.networking.k8s.io/v1beta1 \
         (did you mean gateway.networking.k8s.io/v1?)"
    );
    assert!(
        unread("gateway.networking.k8s.io/v1alpha2", "HTTPRoute")
            .ends_with("(did you mean gateway.networking.k8s.io/v1?)")
    );
}

/// A finding names what it can of an object that has no key.
#[test]
fn an_object_without_name_or_kind_is_told_as_far_as_it_goes() {
    let document = |value: Value| admit(value).diagnostics[0].document.as_ref().map(ToString::to_string);
    let version = "gateway.networking.k8s.io/v1";
    let nameless = json!({"apiVersion": version, "kind": "GatewayClass", "spec": {"controllerName": "a/b"}});
    assert_eq!(document(nameless).as_deref(), Some("GatewayClass"));
    let named = json!({"kind": "Foo", "metadata": {"namespace": "edge", "name": "web"}});
    assert_eq!(document(named).as_deref(), Some("Foo/edge/web"));
    assert_eq!(document(json!({"metadata": {"name": "web"}})).as_deref(), Some(""));
    assert_eq!(document(json!([])), None);
    assert_eq!(document(gateway(json!([{"port": 80}]))), None);
}

#[test]
fn metadata_is_what_an_api_server_takes() {
    let named = |metadata: Value| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": metadata, "spec": {"controllerName": "portcullis.dev/gateway-controller"},
        })
    };
    assert_eq!(findings(named(json!({"name": "a.b-c"}))), [""; 0]);
    assert_eq!(findings(named(json!({}))), ["PC0205 metadata.name"]);
    assert_eq!(findings(named(json!({"name": "A"}))), ["PC0215 metadata.name"]);
    assert_eq!(findings(named(json!({"name": "a", "namespace": "x"}))), ["PC0216 metadata.namespace"]);
    assert_eq!(
        findings(named(json!({"name": "a", "labels": {"a b": "ok", "c": "not ok"}}))),
        ["PC0215 metadata.labels", "PC0215 metadata.labels"]
    );
    assert_eq!(findings(named(json!({"name": "a", "labels": {"n": 1}}))), ["PC0206 metadata.labels.n"]);
}

#[test]
fn an_ip_address_is_one() {
    let with_address = |address: Value| {
        let mut value = gateway(json!([{"name": "a", "port": 80, "protocol": "HTTP"}]));
        value["spec"]["addresses"] = json!([address]);
        value
    };
    assert_eq!(findings(with_address(json!({"value": "192.0.2.1"}))), [""; 0]);
    assert_eq!(findings(with_address(json!({"value": "2001:db8::1"}))), [""; 0]);
    assert_eq!(findings(with_address(json!({}))), [""; 0]);
    assert_eq!(findings(with_address(json!({"value": "gateway.test"}))), ["PC0208 spec.addresses[0].value"]);
    assert_eq!(findings(with_address(json!({"type": "Hostname", "value": "gateway.test"}))), [""; 0]);
}

#[test]
fn services_get_defaults_and_their_ports_are_examined() {
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    let Some(Object::Service(good)) = admit(service(json!([{"port": 80}]))).object else {
        panic!("a Service")
    };
    let port = &good.spec.as_ref().and_then(|spec| spec.ports.clone()).unwrap_or_default()[0];
    assert_eq!(port.protocol.as_deref(), Some("TCP"));
    assert_eq!(findings(service(json!([]))), ["PC0205 spec.ports"]);
    assert_eq!(
        findings(service(json!([{"port": 80}, {"port": 0, "name": "B"}]))),
        ["PC0205 spec.ports[0].name", "PC0218 spec.ports[1].port", "PC0218 spec.ports[1].name"]
    );
    let quoted = admit(service(json!([{"port": "80"}])));
    assert_eq!(quoted.diagnostics[0].path.to_string(), "spec.ports[0].port");
    assert_eq!(quoted.diagnostics[0].hint(), "write it without quotes: 80");
    let misspelt = admit(service(json!([{"port": 80, "targetport": 8080}])));
    assert_eq!(misspelt.diagnostics[0].hint(), "did you mean targetPort?");
    assert_eq!(
        findings(service(json!([{"port": 80, "targetport": 8080}]))),
        ["PC0204 spec.ports[0].targetport"]
    );
}

#[test]
fn endpoints_may_be_loopback_addresses_and_must_be_addresses() {
    let slice = |addresses: Value| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "s"}, "addressType": "IPv4",
            "endpoints": [{"addresses": addresses}],
        })
    };
    assert_eq!(findings(slice(json!(["192.0.2.1"]))), [""; 0]);
    assert_eq!(findings(slice(json!(["127.0.0.1"]))), ["PC0219 endpoints[0].addresses[0]"]);
    assert_eq!(findings(slice(json!(["::1"]))), ["PC0218 endpoints[0].addresses[0]"]);
    assert_eq!(findings(slice(json!([]))), ["PC0205 endpoints[0].addresses"]);
}

#[test]
fn no_finding_repeats_what_a_secret_holds() {
    let secret = |fields: Value| {
        let mut value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        for (name, field) in fields.as_object().expect("fields") {
            value[name] = field.clone();
        }
        let admitted = admit(value);
        assert!(!format!("{admitted:?}").contains("hunter2"));
        admitted.diagnostics.iter().map(|d| format!("{} {}", d.rule.code, d.path)).collect::<Vec<_>>()
    };
    assert_eq!(secret(json!({"data": {"k": "aHVudGVyMg=="}, "stringData": {"l": "hunter2"}})), [""; 0]);
    assert_eq!(secret(json!({"data": {"k": "aHVu\ndGVyMg==\n"}})), [""; 0]);
    assert_eq!(secret(json!({"data": {"k": "hunter2!"}})), ["PC0206 data[k]"]);
    assert_eq!(secret(json!({"stringData": {"k": ["hunter2"]}})), ["PC0206 stringData[k]"]);
    assert_eq!(
        secret(json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": "hunter2"}})),
        ["PC0205 data[tls.key]"]
    );
}

#[test]
fn a_namespace_is_labelled_with_its_name() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "edge"}});
    let Some(Object::Namespace(namespace)) = admit(namespace).object else { panic!("a Namespace") };
    let labels = namespace.metadata.labels.clone().unwrap_or_default();
    assert_eq!(labels.get("kubernetes.io/metadata.name").map(String::as_str), Some("edge"));
}

#[test]
fn a_status_is_kept_only_of_stored_objects() {
    let mut value = gateway(json!([{"name": "a", "port": 80, "protocol": "HTTP"}]));
    value["status"] = json!({"conditions": [{"type": "Accepted"}]});
    assert_eq!(findings(value.clone()), [""; 0]);
    let stored = admit_stored(value.clone());
    assert!(stored.diagnostics.iter().all(Diagnostic::is_error));
    assert_eq!(stored.diagnostics[0].path.to_string(), "status.conditions[0].status");
    value["status"] = json!({"attachedListenerSets": 2});
    let Some(Object::Gateway(gateway)) = admit_stored(value).object else { panic!("a Gateway") };
    let status = gateway.status.as_ref().expect("a status");
    assert_eq!(status.attached_listener_sets, Some(2));
    assert_eq!(status.conditions[0].reason, "Pending");
}
