//! Who gets which address, and keeps it.

use portcullis_api::admit;
use serde_json::{Value, json};

use super::*;
use crate::Held;

const US: &str = "portcullis.dev/gateway-controller";

struct Edge {
    store: Store,
    allotment: Allotment,
}

impl Edge {
    fn new(pool: &[&str]) -> Edge {
        let mut edge = Edge { store: Store::new(), allotment: restarted(pool) };
        for (class, controller) in [("ours", US), ("theirs", "other.example/controller")] {
            edge.put(json!({
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
                "metadata": {"name": class}, "spec": {"controllerName": controller},
            }));
        }
        edge
    }

    fn put(&mut self, object: Value) {
        let admitted = admit(object);
        self.store.apply([Change::Put(admitted.object.unwrap())]);
    }

    /// A Gateway of a class, created on this day, with `spec.addresses` of these values.
    fn gateway(&mut self, name: &str, class: &str, day: u8, addresses: &[&str]) {
        let addresses: Vec<Value> = addresses
            .iter()
            .map(
                |value| if value.is_empty() { json!({"type": "IPAddress"}) } else { json!({"value": value}) },
            )
            .collect();
        self.put(json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": name, "namespace": "n", "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z")},
            "spec": {
                "gatewayClassName": class, "addresses": addresses,
                "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}],
            },
        }));
    }

    fn remove(&mut self, name: &str) {
        self.store.apply([Change::Remove(key(name))]);
    }

    fn update(&mut self) -> Vec<String> {
        let changes = self.allotment.update(&self.store, true);
        let told = changes.iter().map(told).collect();
        self.store.apply(changes);
        told
    }
}

fn restarted(pool: &[&str]) -> Allotment {
    let networks = pool.iter().map(|network| network.parse().unwrap()).collect();
    Allotment::new(Pool::new(networks), vec![US.into()])
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::Gateway, "n", name)
}

/// `a: 10.0.0.1`, `a: taken 10.0.0.1`, or `a: retracted`.
fn told(change: &Change) -> String {
    let list = |addresses: &[IpAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match change {
        Change::Report(Report::Allotted(gateway, addresses)) => {
            format!("{}: {}", gateway.name, list(addresses))
        }
        Change::Report(Report::Taken(gateway, addresses)) => {
            format!("{}: taken {}", gateway.name, list(addresses))
        }
        Change::Retract(ReportKey::Allotted(gateway)) => format!("{}: retracted", gateway.name),
        Change::Retract(ReportKey::Taken(gateway)) => format!("{}: not taken", gateway.name),
        other => format!("{other:?}"),
    }
}

fn shown(name: &str, addresses: &[&str]) -> Seen {
    let addresses: Vec<Value> =
        addresses.iter().map(|value| json!({"type": "IPAddress", "value": value})).collect();
    let held = Held {
        version: "v1",
        uid: "u".into(),
        resource_version: "1".into(),
        generation: 1,
        status: Some(Arc::new(json!({"addresses": addresses}))),
    };
    Seen { key: key(name), held: Some(held) }
}

#[test]
fn each_gets_the_lowest_free_one_by_age_and_keeps_it() {
    let mut edge = Edge::new(&["10.0.0.0/29"]);
    edge.gateway("old", "ours", 1, &[]);
    edge.gateway("a", "ours", 2, &[]);
    assert_eq!(edge.update(), ["a: 10.0.0.2", "old: 10.0.0.1"]);
    edge.gateway("older", "ours", 1, &[]);
    edge.remove("old");
    assert_eq!(edge.update(), ["old: retracted", "older: 10.0.0.1"]);
    assert_eq!(edge.update(), [""; 0]);
}

#[test]
fn after_a_restart_statuses_say_who_had_what() {
    let mut edge = Edge::new(&["10.0.0.0/29"]);
    for (day, name) in [(1, "a"), (2, "b"), (3, "c")] {
        edge.gateway(name, "ours", day, &[]);
    }
    assert!(edge.allotment.see(&[shown("b", &["10.0.0.1"]), shown("c", &["10.0.0.1", "192.0.2.1"])]));
    assert!(!edge.allotment.see(&[shown("b", &["10.0.0.1"])]));
    assert_eq!(
        edge.update(),
        ["a: 10.0.0.2", "b: 10.0.0.1", "c: 10.0.0.3"],
        "the older one keeps what two show"
    );
}

#[test]
fn what_a_spec_names_is_never_given_away_but_never_taken_away_either() {
    let mut edge = Edge::new(&["10.0.0.0/29"]);
    edge.gateway("static", "ours", 1, &["10.0.0.1"]);
    edge.gateway("foreign", "theirs", 1, &["10.0.0.2"]);
    edge.gateway("a", "ours", 2, &[]);
    assert_eq!(edge.update(), ["a: 10.0.0.3"]);
    edge.gateway("late", "ours", 3, &["10.0.0.3", "10.0.0.4"]);
    assert_eq!(edge.update(), ["late: taken 10.0.0.3"]);
    edge.remove("a");
    assert_eq!(edge.update(), ["a: retracted", "late: not taken"]);
}

#[test]
fn an_entry_without_value_is_a_wish_and_a_static_gateway_needs_none() {
    let mut edge = Edge::new(&["10.0.0.0/29"]);
    edge.gateway("both", "ours", 1, &["10.0.0.1", ""]);
    edge.allotment.see(&[shown("both", &["10.0.0.1", "10.0.0.5"])]);
    assert_eq!(edge.update(), ["both: 10.0.0.5"]);
    edge.gateway("both", "ours", 1, &["10.0.0.1"]);
    assert_eq!(edge.update(), ["both: retracted"]);
}

#[test]
fn a_gateway_that_leaves_our_class_gives_its_address_back() {
    let mut edge = Edge::new(&["10.0.0.1/32"]);
    edge.gateway("a", "ours", 1, &[]);
    edge.gateway("b", "ours", 2, &[]);
    assert_eq!(edge.update(), ["a: 10.0.0.1", "b: "], "the pool has no second one");
    edge.gateway("a", "theirs", 1, &[]);
    assert_eq!(edge.update(), ["a: retracted", "b: 10.0.0.1"]);
}

#[test]
fn a_pool_of_both_families_gives_one_of_each() {
    let mut edge = Edge::new(&["fd00::/120", "10.0.0.0/30", "10.0.1.1/32"]);
    for (day, name) in [(1, "a"), (2, "b"), (3, "c")] {
        edge.gateway(name, "ours", day, &[]);
    }
    assert_eq!(edge.update(), ["a: 10.0.0.1 fd00::1", "b: 10.0.0.2 fd00::2", "c: 10.0.1.1 fd00::3"]);
}

#[test]
fn who_does_not_lead_follows_what_statuses_show() {
    let mut edge = Edge::new(&["10.0.0.0/29"]);
    edge.gateway("a", "ours", 1, &[]);
    let mut follow = |seen: &[Seen]| {
        edge.allotment.see(seen);
        edge.allotment.update(&edge.store, false).iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(follow(&[]), ["a: "]);
    assert_eq!(follow(&[shown("a", &["10.0.0.6"])]), ["a: 10.0.0.6"]);
    assert_eq!(follow(&[shown("a", &["10.0.0.5"])]), ["a: 10.0.0.5"]);
    assert_eq!(edge.update(), [""; 0], "and whoever takes over goes on with it");
}
