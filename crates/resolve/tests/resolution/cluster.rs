//! What differs in a cluster: whose classes are ours, where backends may be, and what admission refuses.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use portcullis_api::{Diagnostic, FieldPath, Kind, ObjectKey, Rule, Severity};
use portcullis_model::{EndpointsKey, Origin, Transport, UpstreamScope};
use portcullis_resolve::{Engine, Resolver, Status, resolve};
use portcullis_store::{Change, Refusal, Report, ReportKey, Store};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::given::{defaults, key_of, objects};
use crate::{expect, served};

static RULE: Rule = Rule { code: "PC0203", severity: Severity::Error, summary: "", hint: "" };

fn engine() -> Engine {
    let scope = UpstreamScope::Network { allowed: ["127.0.0.2/32".parse().unwrap()].into(), unix: false };
    Engine::native_in_cluster(scope).assuming_bound()
}

fn store(entries: &[Value]) -> Store {
    let mut store = Store::new();
    store.apply(defaults());
    let class = json!({"GatewayClass": "portcullis", "controllerName": "portcullis.dev/gateway-controller"});
    let all = std::iter::once(&class).chain(entries);
    store.apply(all.flat_map(|entry| objects(entry).unwrap()).map(Change::Put));
    store
}

fn refused(kind: &str, spec: &Value) -> Change {
    let key = key_of(kind).unwrap();
    let path = FieldPath::of("spec").field("x");
    let refusal = Refusal {
        diagnostics: vec![Diagnostic::new(&RULE, path, "is wrong").about(key.clone())],
        written: json!({"metadata": {"generation": 7}, "spec": spec}),
    };
    Change::Report(Report::Refused(key, Arc::new(refusal)))
}

/// A parentRef as an API server holds it, with its defaults.
fn parent(name: &str) -> Value {
    json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name})
}

/// Each condition as `Type=Status/Reason@generation: message`.
fn said(conditions: &[portcullis_api::status::Condition]) -> Vec<String> {
    let said = conditions.iter().map(|condition| {
        let (kind, status) = (condition.condition_type.as_str(), condition.status.as_str());
        let generation = condition.observed_generation.unwrap();
        format!("{kind}={status}/{}@{generation}: {}", condition.reason.as_str(), condition.message)
    });
    said.collect()
}

#[test]
fn what_admission_refuses_says_so_on_itself_and_recovers() {
    let engine = engine();
    let mut store =
        store(&[json!({"Gateway": "gw", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]})]);
    let mut resolver = Resolver::new(engine.clone(), &store);
    let route = json!({"parentRefs": [parent("gw"), parent("none"), {"name": 7}]});
    let changes = vec![
        refused("Gateway/broken", &json!({"gatewayClassName": "portcullis"})),
        refused("Gateway/foreign", &json!({"gatewayClassName": "other"})),
        refused("ListenerSet/broken", &json!({"parentRef": parent("gw")})),
        refused("HTTPRoute/broken", &route),
    ];
    let set = store.apply(changes);
    resolver.update(&store, &set);
    let why = "the object is invalid: spec.x: is wrong";
    let both = [format!("Accepted=False/Invalid@7: {why}"), format!("Programmed=False/Invalid@7: {why}")];
    let statuses = &resolver.resolved().statuses;
    match &*statuses[&key_of("Gateway/broken").unwrap()] {
        Status::Gateway(status) => assert_eq!(said(&status.conditions), both),
        other => panic!("{other:?}"),
    }
    match &*statuses[&key_of("ListenerSet/broken").unwrap()] {
        Status::ListenerSet(status) => assert_eq!(said(&status.conditions), both),
        other => panic!("{other:?}"),
    }
    match &*statuses[&key_of("HTTPRoute/broken").unwrap()] {
        Status::Route(status) => {
            assert_eq!(status.parents.len(), 1);
            assert_eq!(
                said(&status.parents[0].conditions),
                [format!("Accepted=False/UnsupportedValue@7: {why}")]
            );
        }
        other => panic!("{other:?}"),
    }
    let foreign = key_of("Gateway/foreign").unwrap();
    assert!(!statuses.contains_key(&foreign) && resolver.resolved().diagnostics.contains_key(&foreign));
    let fresh = resolve(&store, &engine);
    assert_eq!((&fresh.statuses, &fresh.diagnostics), (statuses, &resolver.resolved().diagnostics));

    let key = key_of("HTTPRoute/broken").unwrap();
    let good = json!({"HTTPRoute": "broken", "parentRefs": [{"name": "gw"}]});
    let mended = vec![
        Change::Retract(ReportKey::Refused(key.clone())),
        Change::Put(objects(&good).unwrap().remove(0)),
    ];
    let set = store.apply(mended);
    resolver.update(&store, &set);
    match &*resolver.resolved().statuses[&key] {
        Status::Route(status) => assert_eq!(status.parents[0].conditions[0].reason.as_str(), "Accepted"),
        other => panic!("{other:?}"),
    }
    assert_eq!(resolve(&store, &engine).statuses, resolver.resolved().statuses);
}

/// What is written of a refused class tells whose it is; a refused policy has no parents of ours, whatever it says.
#[test]
fn a_refused_class_of_ours_is_unsupported_and_a_refused_policy_has_no_status() {
    let mut store =
        store(&[json!({"Gateway": "gw", "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}]})]);
    store.apply([
        refused("GatewayClass/ours", &json!({"controllerName": "portcullis.dev/gateway-controller"})),
        refused("GatewayClass/theirs", &json!({"controllerName": "example.com/other"})),
        refused("BackendTLSPolicy/p", &json!({"parentRefs": [parent("gw")]})),
    ]);
    let resolved = resolve(&store, &engine());
    match &*resolved.statuses[&key_of("GatewayClass/ours").unwrap()] {
        Status::GatewayClass(status) => assert_eq!(
            said(&status.conditions),
            ["Accepted=False/Unsupported@7: the object is invalid: spec.x: is wrong"]
        ),
        other => panic!("{other:?}"),
    }
    for key in ["GatewayClass/theirs", "BackendTLSPolicy/p"].map(|key| key_of(key).unwrap()) {
        assert!(!resolved.statuses.contains_key(&key) && resolved.diagnostics.contains_key(&key), "{key}");
    }
}

/// Whoever wrote the policy wanted TLS, so that no plain text may go where it leads; nor does a younger policy take its
/// place, which might trust somebody else. Mended, removed, or come anew: what guards follows.
#[test]
fn what_a_refused_policy_targets_gets_no_traffic_and_the_policy_says_so() {
    let engine = engine();
    let mut store = store(&[
        json!({"Gateway": "gw", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}),
        json!({"Service": "app", "ports": [80], "endpoints": ["10.1.0.1:80"]}),
        json!({"HTTPRoute": "r", "parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "app", "port": 80}]}]}),
    ]);
    let mut resolver = Resolver::new(engine.clone(), &store);
    let mut follow = |changes: Vec<Change>, rule: &str| {
        let set = store.apply(changes);
        resolver.update(&store, &set);
        let mut failures = Vec::new();
        served::check(&json!({"rules": {"r": [rule]}}), &resolver.resolved().model, &mut failures);
        assert_eq!(failures, [""; 0]);
        let fresh = resolve(&store, &engine);

        assert_eq!(expect::difference(&fresh, resolver.resolved()), None);
        fresh.statuses
    };
    follow(Vec::new(), "app:80 1");

    let key = key_of("BackendTLSPolicy/p").unwrap();
    let targets = json!({"targetRefs": [{"kind": "Service", "name": "app"}, {"name": 7}], "validation": {}});
    let statuses = follow(vec![refused("BackendTLSPolicy/p", &targets)], "500 backend_guarded 1");
    match &*statuses[&key] {
        Status::Policy(status) => {
            assert_eq!(status.ancestors.len(), 1);
            let why = "Accepted=False/Invalid@7: the object is invalid: spec.x: is wrong";
            assert_eq!(said(&status.ancestors[0].conditions), [why]);
        }
        other => panic!("{other:?}"),
    }
    let retract = || Change::Retract(ReportKey::Refused(key.clone()));
    let elsewhere = json!({"BackendTLSPolicy": "p", "targetRefs": [{"group": "", "kind": "Service", "name": "other"}],
        "validation": {"hostname": "app.test", "wellKnownCACertificates": "System"}});
    let mended = || Change::Put(objects(&elsewhere).unwrap().remove(0));
    follow(vec![retract(), mended()], "app:80 1");
    follow(
        vec![Change::Remove(key.clone()), refused("BackendTLSPolicy/p", &targets)],
        "500 backend_guarded 1",
    );
    follow(vec![retract()], "app:80 1");
}

#[test]
fn classes_of_others_are_not_ours() {
    let other = json!({"GatewayClass": "other", "controllerName": "example.com/other"});
    let gateway = json!({"Gateway": "gw", "gatewayClassName": "other",
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]});
    let resolved = resolve(&store(&[other, gateway]), &engine());
    let ours: Vec<String> = resolved.statuses.keys().map(ToString::to_string).collect();
    assert_eq!(ours, ["GatewayClass/portcullis"]);
    assert!(resolved.model.ports.is_empty());
}

/// A namespaced Backend or a hand-made slice must not lead to what only this machine can reach.
#[test]
fn backends_on_this_machine_or_its_link_are_dropped_unless_allowed() {
    let ip = |address: &str| json!({"ip": {"address": address, "port": 80}});
    let backend = json!({"Backend": "mixed", "endpoints":
        [ip("10.0.0.9"), ip("127.0.0.1"), ip("127.0.0.2"), ip("169.254.169.254"), {"unix": {"path": "/run/x.sock"}}]});
    let doors =
        json!({"Backend": "doors", "endpoints": [ip("127.0.0.1"), {"unix": {"path": "/run/x.sock"}}]});
    let refs = ["mixed", "doors"]
        .map(|name| json!({"group": "gateway.envoyproxy.io", "kind": "Backend", "name": name}));
    let route = json!({"HTTPRoute": "r", "parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": refs}]});
    let gateway = json!({"Gateway": "gw", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]});
    let resolved = resolve(&store(&[backend, doors, gateway, route]), &engine());
    let origin = Origin { kind: "Backend".into(), namespace: "default".into(), name: "mixed".into() };
    let endpoints =
        &resolved.model.endpoints[&EndpointsKey { origin, port: 0, transport: Transport::Tcp }].endpoints;
    let left: Vec<String> = endpoints.iter().map(|endpoint| format!("{:?}", endpoint.address)).collect();
    assert_eq!(left, ["Socket(10.0.0.9:80)", "Socket(127.0.0.2:80)"]);
    let key = |name: &str| ObjectKey::new(Kind::Backend, "default", name);
    let codes = |name| {
        let found = resolved.diagnostics[&key(name)].iter();
        found.map(|found| (found.rule.code, found.path.to_string())).collect::<Vec<_>>()
    };
    let at = |index: usize| ("PC0511", format!("spec.endpoints[{index}]"));
    assert_eq!(codes("doors"), [at(0), at(1)]);
    assert_eq!(
        codes("mixed").into_iter().filter(|(code, _)| *code == "PC0511").collect::<Vec<_>>(),
        [at(1), at(3), at(4)]
    );
    match &*resolved.statuses[&key_of("HTTPRoute/r").unwrap()] {
        Status::Route(status) => {
            let refs = &status.parents[0].conditions[1];
            assert_eq!(
                (refs.reason.as_str(), &*refs.message),
                ("UnsupportedValue", "Backend default/doors leads only where no backend may be")
            );
        }
        other => panic!("{other:?}"),
    }
}
