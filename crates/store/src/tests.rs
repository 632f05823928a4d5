//! What the store promises to those who note what they read.

use crate::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn object(value: Value) -> Object {
    fn read<T: serde::de::DeserializeOwned + Into<Object>>(value: Value) -> Object {
        serde_json::from_value::<T>(value).expect("the test's object fits its type").into()
    }
    use portcullis_api::k8s_openapi::api::{core::v1, discovery::v1 as discovery};
    use portcullis_api::{backend_tls_policy, gateway, http_route, listener_set};
    match value["kind"].as_str() {
        Some("Gateway") => read::<gateway::Gateway>(value),
        Some("ListenerSet") => read::<listener_set::ListenerSet>(value),
        Some("HTTPRoute") => read::<http_route::HttpRoute>(value),
        Some("BackendTLSPolicy") => read::<backend_tls_policy::BackendTlsPolicy>(value),
        Some("EndpointSlice") => read::<discovery::EndpointSlice>(value),
        Some("Service") => read::<v1::Service>(value),
        kind => panic!("the tests have no {kind:?}"),
    }
}

const GROUP: &str = "gateway.networking.k8s.io";

fn gateway(name: &str, class: &str) -> Object {
    object(json!({"kind": "Gateway", "metadata": {"namespace": "edge", "name": name}, "spec": {
        "gatewayClassName": class,
        "listeners": [{
            "name": "https", "port": 443, "protocol": "HTTPS",
            "allowedRoutes": {"namespaces": {"from": "Same"}, "kinds": []},
            "tls": {"mode": "Terminate", "options": {}, "certificateRefs": [
                {"group": "", "kind": "Secret", "name": "cert"},
                {"group": "example.com", "kind": "Unknown", "name": "cert"},
            ]},
        }],
        "addresses": [],
    }}))
}

fn route(name: &str, parent: &str, backends: &[&str]) -> Object {
    let backends = backends.iter().map(|name| {
        json!({"group": "", "kind": "Service", "name": name, "namespace": "apps", "port": 80, "weight": 1, "filters": []})
    });
    object(json!({"kind": "HTTPRoute", "metadata": {"namespace": "web", "name": name}, "spec": {
        "parentRefs": [{"group": GROUP, "kind": "Gateway", "namespace": "edge", "name": parent}],
        "hostnames": [],
        "rules": [{"matches": [], "filters": [], "backendRefs": backends.collect::<Vec<_>>()}],
    }}))
}

fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(kind, namespace, name)
}

fn names<'a>(keys: impl Iterator<Item = &'a ObjectKey>) -> Vec<&'a str> {
    keys.map(|key| &*key.name).collect()
}

fn sorted<T: Ord + Clone, S>(set: &hashbrown::HashSet<T, S>) -> Vec<T> {
    set.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn objects_are_found_by_what_they_have_in_common() {
    let mut store = Store::new();
    let slice = json!({"kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [], "metadata":
        {"namespace": "apps", "name": "a-1", "labels": {"kubernetes.io/service-name": "a"}}});
    let policy = json!({"kind": "BackendTLSPolicy", "metadata": {"namespace": "apps", "name": "tls"}, "spec": {
        "targetRefs": [{"group": "", "kind": "Service", "name": "a"}],
        "options": {},
        "validation": {"hostname": "a.test", "subjectAltNames": [],
            "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]},
    }});
    let set = json!({"kind": "ListenerSet", "metadata": {"namespace": "team", "name": "more"}, "spec": {
        "parentRef": {"group": GROUP, "kind": "Gateway", "namespace": "edge", "name": "web"},
        "listeners": [],
    }});
    let objects =
        [object(slice), object(policy), object(set), gateway("web", "nice"), route("r", "web", &["a", "b"])];
    store.apply(objects.map(Change::Put));

    let gateway = key(Kind::Gateway, "edge", "web");
    let service = key(Kind::Service, "apps", "a");
    let cases = [
        (Bucket::all(Kind::HttpRoute), "r"),
        (Bucket::in_namespace(Kind::HttpRoute, "web"), "r"),
        (Bucket::in_namespace(Kind::HttpRoute, "edge"), ""),
        (Bucket::gateways_of("nice"), "web"),
        (Bucket::attached(Kind::HttpRoute, gateway.clone()), "r"),
        (Bucket::attached(Kind::ListenerSet, gateway), "more"),
        (Bucket::attached(Kind::BackendTlsPolicy, service.clone()), "tls"),
        (Bucket::endpoints_of(service.clone()), "a-1"),
        (Bucket::referring(Kind::HttpRoute, service), "r"),
        (Bucket::referring(Kind::Gateway, key(Kind::Secret, "edge", "cert")), "web"),
        (Bucket::referring(Kind::BackendTlsPolicy, key(Kind::ConfigMap, "apps", "ca")), "tls"),
    ];
    for (bucket, expected) in cases {
        assert_eq!(names(store.keys(&bucket)).join(","), expected, "{bucket:?}");
    }
}

#[test]
fn a_change_set_names_the_object_and_the_buckets_it_entered_or_left() {
    let mut store = Store::new();
    store.apply([Change::Put(route("r", "web", &["a"]))]);
    let set = store.apply([Change::Put(route("r", "web", &["b"]))]);
    let service = |name| Bucket::referring(Kind::HttpRoute, key(Kind::Service, "apps", name));
    assert_eq!(sorted(&set.objects), [key(Kind::HttpRoute, "web", "r")]);
    assert_eq!(sorted(&set.buckets), [service("a"), service("b")]);
    assert!(set.reports.is_empty());
}

#[test]
fn what_makes_no_difference_is_no_change() {
    let mut store = Store::new();
    store.apply([Change::Put(gateway("web", "nice"))]);
    assert!(store.apply([Change::Put(gateway("web", "nice"))]).is_empty());

    let moved = [Change::Remove(key(Kind::Gateway, "edge", "web")), Change::Put(gateway("web", "nice"))];
    assert!(store.apply(moved).is_empty(), "removed and put again, as when it moves to another file");

    let mut touched = gateway("web", "nice");
    touched.metadata_mut().resource_version = Some("7".into());
    assert!(store.apply([Change::Put(touched)]).is_empty());
    let stored =
        store.get(&key(Kind::Gateway, "edge", "web")).and_then(|o| o.metadata().resource_version.clone());
    assert_eq!(stored.as_deref(), Some("7"), "the newest version is kept all the same");

    assert!(store.apply([Change::Remove(key(Kind::Gateway, "edge", "none"))]).is_empty());
    let passing = [Change::Put(gateway("new", "nice")), Change::Remove(key(Kind::Gateway, "edge", "new"))];
    assert!(store.apply(passing).is_empty());
}

#[test]
fn reports_are_kept_beside_the_objects() {
    let mut store = Store::new();
    let point = BindPoint { transport: Transport::Tcp, address: ([127, 0, 0, 1], 80).into() };
    let failed =
        BindOutcome::Failed { failure: BindFailure::InUse, message: "another process listens there".into() };
    let report = |outcome| Change::Report(Report::Bind(point, outcome));

    assert_eq!(store.bind(point), None);
    let set = store.apply([report(failed.clone())]);
    assert_eq!(sorted(&set.reports), [ReportKey::Bind(point)]);
    assert_eq!(store.bind(point), Some(&failed));
    assert!(store.apply([report(failed)]).is_empty());
    assert_eq!(store.apply([report(BindOutcome::Bound)]).reports.len(), 1);
    store.apply([Change::Retract(ReportKey::Bind(point))]);
    assert_eq!(store.bind(point), None);

    let addresses = vec![std::net::IpAddr::from([10, 0, 0, 1])];
    store.apply([
        Change::Report(Report::DefaultAddresses(addresses.clone().into())),
        Change::Report(Report::Allotted(key(Kind::Gateway, "edge", "web"), addresses.clone().into())),
    ]);
    assert_eq!(store.default_addresses(), Some(&*addresses));
    assert_eq!(store.allotted(&key(Kind::Gateway, "edge", "web")), Some(&*addresses));
    assert_eq!(store.allotted(&key(Kind::Gateway, "edge", "other")), None);
}

/// All that a store answers, from nothing but its list of objects.
fn rebuilt(store: &Store) -> Store {
    let mut fresh = Store::new();
    fresh.apply(store.objects().cloned().map(Change::Put));
    fresh
}

fn edit() -> impl Strategy<Value = Change> {
    let name = || prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        (name(), name(), prop::collection::vec(name(), 0..3))
            .prop_map(|(n, p, b)| Change::Put(route(n, p, &b))),
        (name(), name()).prop_map(|(n, c)| Change::Put(gateway(n, c))),
        name().prop_map(|n| Change::Remove(key(Kind::HttpRoute, "web", n))),
        name().prop_map(|n| Change::Remove(key(Kind::Gateway, "edge", n))),
    ]
}

/// What a reader may have noted in these tests, with the answer he got.
fn answers(store: &Store) -> (BTreeMap<ObjectKey, Option<Value>>, BTreeMap<Bucket, Vec<ObjectKey>>) {
    let keys = ["a", "b", "c"]
        .into_iter()
        .flat_map(|n| [key(Kind::HttpRoute, "web", n), key(Kind::Gateway, "edge", n)]);
    let keys: Vec<_> = keys.collect();
    let services = ["a", "b", "c"].map(|n| Bucket::referring(Kind::HttpRoute, key(Kind::Service, "apps", n)));
    let parents = keys.iter().map(|k| Bucket::attached(Kind::HttpRoute, k.clone()));
    let rest = [
        Bucket::all(Kind::HttpRoute),
        Bucket::all(Kind::Gateway),
        Bucket::in_namespace(Kind::HttpRoute, "web"),
        Bucket::referring(Kind::Gateway, key(Kind::Secret, "edge", "cert")),
    ];
    let classes = ["a", "b", "c"].map(Bucket::gateways_of);
    let buckets = services.into_iter().chain(parents).chain(rest).chain(classes);
    let buckets = buckets.map(|b| (b.clone(), store.keys(&b).cloned().collect())).collect();
    let objects = keys.into_iter().map(|k| {
        let value = store.get(&k).map(|object| match object {
            Object::Gateway(gateway) => serde_json::to_value(&**gateway).unwrap_or_default(),
            Object::HttpRoute(route) => serde_json::to_value(&**route).unwrap_or_default(),
            other => panic!("the tests have no {other:?}"),
        });
        (k, value)
    });
    (objects.collect(), buckets)
}

proptest! {
    /// A change set names exactly the answers that differ, and indexes equal those of a store built afresh.
    #[test]
    fn change_sets_are_exact(batches in prop::collection::vec(prop::collection::vec(edit(), 1..5), 1..12)) {
        let mut store = Store::new();
        for batch in batches {
            let (objects, buckets) = answers(&store);
            let set = store.apply(batch);
            let (objects_after, buckets_after) = answers(&store);
            for (key, before) in &objects {
                prop_assert_eq!(set.objects.contains(key), before != &objects_after[key], "{}", key);
            }
            for (bucket, before) in &buckets {
                prop_assert_eq!(set.buckets.contains(bucket), before != &buckets_after[bucket], "{:?}", bucket);
            }
            prop_assert_eq!((objects_after, buckets_after), answers(&rebuilt(&store)));
        }
    }
}
