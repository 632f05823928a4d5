//! Rules of status writing (`docs/semantics.md` §4), case by case.

use portcullis_api::Kind;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-11-30T07:00:00Z";
const OLD: &str = "2025-01-01T00:00:00Z";
const US: &str = "portcullis.dev/gateway-controller";
const THEM: &str = "other.example/controller";

/// `Accepted=True@3`: a condition of ours as resolution gives it.
fn desired(short: &str) -> Value {
    let (named, rest) = short.split_once('=').unwrap();
    let (status, generation) = rest.split_once('@').unwrap();
    json!({
        "type": named, "status": status, "reason": named, "message": "m",
        "observedGeneration": generation.parse::<i64>().unwrap(),
    })
}

/// The same as the API server holds it.
fn held(short: &str, since: &str) -> Value {
    let mut condition = desired(short);
    condition["lastTransitionTime"] = since.into();
    condition
}

fn foreign() -> Value {
    held("conformance.gateway.networking.k8s.io/StaleCondition=True@1", "2020-02-02T02:02:02Z")
}

fn merged_at(kind: Kind, generation: i64, before: &Value, desired: &Value) -> Merge {
    let controllers = [Arc::from(US)];
    let author = Author { controllers: &controllers, now: NOW, lacks: &Lacks::default() };
    merge(kind, generation, before, desired, &author)
}

fn merged(kind: Kind, before: &Value, desired: &Value) -> Merge {
    merged_at(kind, 1, before, desired)
}

fn gateway(conditions: &Value) -> Value {
    json!({"conditions": conditions, "listeners": []})
}

fn gateway_conditions(before: &Value, desired: &Value) -> Merge {
    match merged(Kind::Gateway, &gateway(before), &json!({ "conditions": desired })) {
        Merge::Write(after) => Merge::Write(after["conditions"].clone()),
        other => other,
    }
}

#[test]
fn the_transition_time_moves_only_when_the_status_flips() {
    assert_eq!(
        gateway_conditions(
            &json!([held("Accepted=True@1", OLD), held("Programmed=False@1", OLD)]),
            &json!([desired("Accepted=True@2"), desired("Programmed=True@2")]),
        ),
        Merge::Write(json!([held("Accepted=True@2", OLD), held("Programmed=True@2", NOW)])),
    );
}

#[test]
fn nothing_is_written_when_nothing_differs() {
    let before = json!([held("Accepted=True@1", OLD), foreign(), held("Programmed=True@1", OLD)]);
    let same = json!([desired("Programmed=True@1"), desired("Accepted=True@1")]);
    assert_eq!(gateway_conditions(&before, &same), Merge::Unchanged);
}

#[test]
fn foreign_conditions_stay_in_every_field_and_stale_ones_of_ours_go() {
    assert_eq!(
        gateway_conditions(
            &json!([held("AddressesAssigned=False@1", OLD), foreign(), held("Accepted=True@1", OLD)]),
            &json!([desired("Accepted=True@2"), desired("ResolvedRefs=True@2")]),
        ),
        Merge::Write(json!([foreign(), held("Accepted=True@2", OLD), held("ResolvedRefs=True@2", NOW)])),
    );
}

#[test]
fn what_was_judged_on_a_newer_generation_is_not_overwritten() {
    let newer = json!([held("Accepted=True@3", OLD)]);
    assert_eq!(gateway_conditions(&newer, &json!([desired("Accepted=False@2")])), Merge::Stale);
    let entry = |short| json!({"parents": [parent("gw", US, &json!([held(short, OLD)]))]});
    let none = json!({"parents": []});
    assert_eq!(merged_at(Kind::HttpRoute, 2, &entry("Accepted=True@3"), &none), Merge::Stale);
    assert_eq!(merged_at(Kind::HttpRoute, 3, &entry("Accepted=True@3"), &none), Merge::Write(none));
}

#[test]
fn foreign_conditions_of_a_newer_generation_hold_nobody_up() {
    let theirs = held("example.com/Checked=True@9", OLD);
    assert_eq!(
        gateway_conditions(&json!([theirs]), &json!([desired("Accepted=True@1")])),
        Merge::Write(json!([theirs, held("Accepted=True@1", NOW)])),
    );
}

#[test]
fn in_a_full_list_of_conditions_foreign_ones_stay() {
    let theirs: Vec<Value> = (0..7).map(|n| held(&format!("example.com/C{n}=True@1"), OLD)).collect();
    let Merge::Write(after) = gateway_conditions(
        &json!(theirs),
        &json!([desired("Accepted=True@1"), desired("Programmed=True@1")]),
    ) else {
        panic!("one of ours finds room")
    };
    assert_eq!(after.as_array().unwrap()[..7], theirs);
    assert_eq!(after.as_array().unwrap()[7..], [held("Accepted=True@1", NOW)]);
}

#[test]
fn listeners_follow_the_spec_and_keep_what_others_put_into_them() {
    let listener = |name, routes, conditions: Value| json!({"name": name, "attachedRoutes": routes, "supportedKinds": [], "conditions": conditions});
    let mut known =
        listener("b", 1, json!([foreign(), held("Accepted=True@1", OLD), held("Conflicted=True@1", OLD)]));
    known["theirs"] = json!({"x": 1});
    let before = json!({"conditions": [], "listeners": [listener("gone", 0, json!([foreign()])), known]});
    let wanted = json!({"conditions": [], "listeners": [
        {"name": "a", "attachedRoutes": 0, "conditions": [desired("Accepted=False@2")]},
        {"name": "b", "attachedRoutes": 2, "supportedKinds": [{"kind": "HTTPRoute"}], "conditions": [desired("Accepted=True@2")]},
    ]});
    let mut b = listener("b", 2, json!([foreign(), held("Accepted=True@2", OLD)]));
    b["theirs"] = json!({"x": 1});
    b["supportedKinds"] = json!([{"kind": "HTTPRoute"}]);
    let a = listener("a", 0, json!([held("Accepted=False@2", NOW)]));
    let after = json!({"conditions": [], "listeners": [a, b]});
    assert_eq!(merged(Kind::Gateway, &before, &wanted), Merge::Write(after.clone()));
    assert_eq!(merged(Kind::ListenerSet, &before, &wanted), Merge::Write(after.clone()));
    assert_eq!(merged(Kind::Gateway, &after, &wanted), Merge::Unchanged);
}

#[test]
fn what_a_gateway_no_longer_has_goes() {
    let before = json!({
        "conditions": [], "listeners": [], "attachedListenerSets": 1, "theirs": 1,
        "addresses": [{"type": "IPAddress", "value": "10.0.0.1"}],
    });
    let after = json!({"conditions": [], "listeners": [], "attachedListenerSets": 0, "theirs": 1});
    assert_eq!(merged(Kind::Gateway, &before, &json!({"attachedListenerSets": 0})), Merge::Write(after));
}

#[test]
fn a_class_has_conditions_and_features_in_one_write() {
    let wanted =
        json!({"conditions": [desired("Accepted=True@1")], "supportedFeatures": [{"name": "Gateway"}]});
    let before = json!({"conditions": [held("Accepted=Unknown@0", "1970-01-01T00:00:00Z")]});
    let after =
        json!({"conditions": [held("Accepted=True@1", NOW)], "supportedFeatures": [{"name": "Gateway"}]});
    assert_eq!(merged(Kind::GatewayClass, &before, &wanted), Merge::Write(after));
}

fn parent(name: &str, controller: &str, conditions: &Value) -> Value {
    json!({"parentRef": {"name": name}, "controllerName": controller, "conditions": conditions})
}

#[test]
fn entries_of_other_controllers_stay_where_and_as_they_are() {
    let theirs = parent("gw", THEM, &json!([{"type": "Accepted", "odd": true}]));
    let before = json!({"parents": [
        parent("b", US, &json!([held("Accepted=True@1", OLD)])),
        theirs,
        parent("stale", US, &json!([held("Accepted=True@1", OLD)])),
    ]});
    let wanted = json!({"parents": [
        parent("gw", US, &json!([desired("Accepted=True@2")])),
        parent("b", US, &json!([desired("Accepted=True@2"), desired("ResolvedRefs=True@2")])),
    ]});
    let after = json!({"parents": [
        parent("b", US, &json!([held("Accepted=True@2", OLD), held("ResolvedRefs=True@2", NOW)])),
        theirs,
        parent("gw", US, &json!([held("Accepted=True@2", NOW)])),
    ]});
    assert_eq!(merged(Kind::HttpRoute, &before, &wanted), Merge::Write(after.clone()));
    assert_eq!(
        merged(Kind::HttpRoute, &after, &wanted),
        Merge::Unchanged,
        "the order of entries means nothing"
    );
}

#[test]
fn entries_are_told_apart_by_section_and_port_and_not_by_spelt_out_defaults() {
    let entry = |reference: Value, condition: Value| json!({"parentRef": reference, "controllerName": US, "conditions": [condition]});
    let long = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw", "port": 80});
    let before = json!({"parents": [
        entry(json!({"name": "gw"}), held("Accepted=True@1", OLD)),
        entry(json!({"name": "gw", "port": 80}), held("Accepted=False@1", OLD)),
    ]});
    let wanted = json!({"parents": [
        entry(long.clone(), desired("Accepted=False@1")),
        entry(json!({"name": "gw", "sectionName": "web"}), desired("Accepted=True@1")),
    ]});
    let after = json!({"parents": [
        entry(long, held("Accepted=False@1", OLD)),
        entry(json!({"name": "gw", "sectionName": "web"}), held("Accepted=True@1", NOW)),
    ]});
    assert_eq!(merged(Kind::TlsRoute, &before, &wanted), Merge::Write(after));
}

#[test]
fn in_full_lists_of_entries_foreign_ones_stay() {
    for (kind, field, reference, max) in [
        (Kind::HttpRoute, "parents", "parentRef", 32),
        (Kind::BackendTlsPolicy, "ancestors", "ancestorRef", 16),
    ] {
        let entry = |name: String, controller, condition: Value| json!({reference: {"name": name}, "controllerName": controller, "conditions": [condition]});
        let theirs = (0..max - 1).map(|n| entry(format!("x{n}"), THEM, held("Accepted=True@1", OLD)));
        let theirs: Vec<Value> = theirs.collect();
        let ours = ["a", "b"].map(|name| entry(name.into(), US, desired("Accepted=True@1")));
        let Merge::Write(after) = merged(kind, &json!({ field: theirs }), &json!({ field: ours })) else {
            panic!("one of ours finds room")
        };
        let after = after[field].as_array().unwrap();
        assert_eq!(after[..max - 1], theirs);
        assert_eq!(after[max - 1..], [entry("a".into(), US, held("Accepted=True@1", NOW))]);
    }
}

#[test]
fn an_object_of_others_without_status_gets_none() {
    assert_eq!(merged(Kind::HttpRoute, &Value::Null, &json!({"parents": []})), Merge::Unchanged);
    let theirs = json!({"parents": [parent("gw", THEM, &json!([]))]});
    assert_eq!(merged(Kind::HttpRoute, &theirs, &json!({"parents": []})), Merge::Unchanged);
}

#[test]
fn what_the_served_schema_lacks_is_no_difference() {
    let controllers = [Arc::from(US)];
    let mut lacks = Lacks::default();
    let wanted = json!({"conditions": [desired("Accepted=True@1")], "attachedListenerSets": 0});
    let written = match merged(Kind::Gateway, &Value::Null, &wanted) {
        Merge::Write(written) => written,
        other => panic!("{other:?}"),
    };
    let mut answered = written.clone();
    answered.as_object_mut().unwrap().remove("attachedListenerSets");
    assert!(lacks.learn(&written, &answered));
    let author = Author { controllers: &controllers, now: NOW, lacks: &lacks };
    assert_eq!(merge(Kind::Gateway, 1, &answered, &wanted, &author), Merge::Unchanged);
}

fn withdrawn(kind: Kind, before: &Value, managed_fields: &Value) -> Merge {
    let controllers = [Arc::from(US)];
    let author = Author { controllers: &controllers, now: NOW, lacks: &Lacks::default() };
    withdraw(kind, 2, before, managed_fields, &author)
}

fn manager(named: &str, status: &Value) -> Value {
    json!({"manager": named, "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": status}})
}

fn accepted_fields() -> Value {
    json!({".": {}, "f:status": {}, "f:reason": {}})
}

#[test]
fn what_only_we_own_is_taken_back_from_a_gateway_of_another_class() {
    let before = json!({
        "addresses": [{"value": "10.0.0.1"}],
        "conditions": [held("Accepted=True@1", OLD), held("Programmed=True@2", OLD), held("ResolvedRefs=True@1", OLD), foreign()],
        "listeners": [
            {"name": "a", "attachedRoutes": 1, "conditions": [held("Accepted=True@1", OLD)]},
            {"name": "b", "attachedRoutes": 1, "conditions": [held("Accepted=True@1", OLD), foreign()]},
            {"name": "theirs", "attachedRoutes": 1, "conditions": [held("Accepted=True@2", OLD)]},
        ],
    });
    let entry =
        json!({".": {}, "f:name": {}, "f:conditions": {"k:{\"type\":\"Accepted\"}": accepted_fields()}});
    let ours = json!({
        "f:addresses": {},
        "f:conditions": {
            "k:{\"type\":\"Accepted\"}": accepted_fields(),
            "k:{\"type\":\"Programmed\"}": {".": {}},
            "k:{\"type\":\"ResolvedRefs\"}": accepted_fields(),
        },
        "f:listeners": {"k:{\"name\":\"a\"}": entry, "k:{\"name\":\"b\"}": entry},
    });
    let theirs = json!({"f:conditions": {"k:{\"type\":\"Programmed\"}": accepted_fields()}});
    let default = json!({
        "type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    });
    let after = json!({
        "conditions": [default, held("Programmed=True@2", OLD), foreign()],
        "listeners": [
            {"name": "b", "attachedRoutes": 1, "conditions": [foreign()]},
            {"name": "theirs", "attachedRoutes": 1, "conditions": [held("Accepted=True@2", OLD)]},
        ],
    });
    let fields = json!([manager("portcullis", &ours), manager("other", &theirs)]);
    assert_eq!(withdrawn(Kind::Gateway, &before, &fields), Merge::Write(after.clone()));
    assert_eq!(withdrawn(Kind::Gateway, &after, &fields), Merge::Unchanged);
}

#[test]
fn nothing_is_taken_back_that_another_manager_wrote_or_shares() {
    let before = json!({"conditions": [held("Accepted=True@1", OLD)]});
    let fields = json!({"f:conditions": {"k:{\"type\":\"Accepted\"}": accepted_fields()}});
    let theirs = json!([manager("other", &fields)]);
    assert_eq!(withdrawn(Kind::Gateway, &before, &theirs), Merge::Unchanged);
    let shared = json!([manager("portcullis", &fields), manager("other", &fields)]);
    assert_eq!(withdrawn(Kind::Gateway, &before, &shared), Merge::Unchanged);
}

#[test]
fn our_entries_are_taken_back_by_their_controller_name() {
    let theirs = parent("gw", THEM, &json!([]));
    let before = json!({"parents": [theirs, parent("gw", US, &json!([held("Accepted=True@2", OLD)]))]});
    let after = json!({"parents": [theirs]});
    assert_eq!(withdrawn(Kind::GrpcRoute, &before, &Value::Null), Merge::Write(after));
}
