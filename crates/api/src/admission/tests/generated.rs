//! Objects generated from our own schemas, some of them with mistakes.

use proptest::{collection, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::{
    Kind, Object,
    admission::{admit_stored, rules::UNREADABLE},
    schema::{Field, Integer, List, Schema, Shape, Text, served},
};

/// Texts of which most limits admit some.
const TEXTS: &[&str] = &[
    "a",
    "web",
    "x.test",
    "*.x.test",
    "Service",
    "Gateway",
    "gateway.networking.k8s.io",
    "/",
    "/a",
    "HTTP",
    "HTTPS",
    "TLS",
    "TCP",
    "x.test/y",
    "192.0.2.1",
    "::1",
    "Hostname",
    "IPAddress",
    "10s",
    "1h30m",
    "https://x.test",
    "X-A",
    "Cluster",
    "System",
    "Accepted",
    "spiffe://a/b",
    "foo.Bar",
    "1970-01-01T00:00:00Z",
];

fn any_text(text: &Text) -> BoxedStrategy<Value> {
    if let Some(values) = &text.values {
        return select(values.clone()).prop_map(Value::from).boxed();
    }
    let fitting: Vec<&str> =
        TEXTS.iter().copied().filter(|sample| text.limits.check(sample).is_ok()).collect();
    assert!(!fitting.is_empty(), "no sample for {:?}", text.limits);
    prop_oneof![30 => select(fitting), 1 => select(TEXTS)].prop_map(Value::from).boxed()
}

fn any_integer(integer: &Integer) -> BoxedStrategy<Value> {
    if let Some(values) = &integer.values {
        return select(values.clone()).prop_map(Value::from).boxed();
    }
    let (min, max) = (integer.min.unwrap_or(0), integer.max.unwrap_or(1000));
    prop_oneof![30 => min..=max, 1 => select(vec![min - 1, max + 1])].prop_map(Value::from).boxed()
}

fn any_list(list: &List) -> BoxedStrategy<Value> {
    let least = list.min_items.min(1);
    let most = list.max_items.unwrap_or(2).min(2);
    collection::vec(any_value(&list.items), least..=most).prop_map(Value::from).boxed()
}

fn any_object(fields: &[Field]) -> BoxedStrategy<Value> {
    let names: Vec<&'static str> = fields.iter().map(|field| field.name).collect();
    let values: Vec<_> = fields
        .iter()
        .map(|field| {
            let present = if field.required { 0.99 } else { 0.3 };
            option::weighted(present, any_value(&field.schema))
        })
        .collect();
    values
        .prop_map(move |values| {
            let present =
                names.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
            Value::Object(present.collect::<Map<_, _>>())
        })
        .boxed()
}

fn any_value(schema: &Schema) -> BoxedStrategy<Value> {
    let good = match &schema.shape {
        Shape::Object(fields) => any_object(fields),
        Shape::Map { values, .. } => {
            collection::btree_map("[a-c]", any_value(values), 0..=2).prop_map(|map| json!(map)).boxed()
        }
        Shape::List(list) => any_list(list),
        Shape::Text(text) => any_text(text),
        Shape::Integer(integer) => any_integer(integer),
        Shape::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Metadata => Just(json!({"name": "x"})).boxed(),
    };
    let wrong = select(vec![Value::Null, json!(1), json!("?"), json!([]), json!({}), json!(true)]);
    prop_oneof![300 => good, 1 => wrong].boxed()
}

fn any_object_of_ours() -> impl Strategy<Value = Value> {
    let versions = |kind: Kind| kind.versions().iter().map(move |version| (kind, *version));
    let all: Vec<_> = Kind::ALL
        .iter()
        .flat_map(|kind| versions(*kind))
        .filter_map(|(kind, version)| Some((kind, version, &served(kind, version)?.schema)))
        .collect();
    select(all).prop_flat_map(|(kind, version, schema)| {
        any_value(schema).prop_map(move |mut value| {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("apiVersion".to_owned(), json!(kind.api_version_of(version)));
                fields.insert("kind".to_owned(), json!(kind.as_str()));
                fields.insert("metadata".to_owned(), json!({"name": "x", "namespace": "n"}));
            }
            value
        })
    })
}

/// The object as a cluster would hold it.
fn written(object: &Object) -> Option<Value> {
    match object {
        Object::GatewayClass(object) => serde_json::to_value(&**object),
        Object::Gateway(object) => serde_json::to_value(&**object),
        Object::ListenerSet(object) => serde_json::to_value(&**object),
        Object::HttpRoute(object) => serde_json::to_value(&**object),
        Object::GrpcRoute(object) => serde_json::to_value(&**object),
        Object::TlsRoute(object) => serde_json::to_value(&**object),
        Object::TcpRoute(object) => serde_json::to_value(&**object),
        Object::UdpRoute(object) => serde_json::to_value(&**object),
        Object::ReferenceGrant(object) => serde_json::to_value(&**object),
        Object::BackendTlsPolicy(object) => serde_json::to_value(&**object),
        Object::Backend(object) => serde_json::to_value(&**object),
        _ => return None,
    }
    .ok()
}

/// Cases per property; `PROPTEST_CASES` raises it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// What admission lets through fits its Rust type: no type is stricter than its schema.
    #[test]
    fn what_is_admitted_can_be_read(value in any_object_of_ours()) {
        let admitted = admit_stored(value);
        let unreadable = admitted.diagnostics.iter().find(|found| found.rule == &UNREADABLE);
        prop_assert_eq!(unreadable, None);
    }

    /// An object that was written reads back as the same object. (TLSRoutes, TCPRoutes and
    /// UDPRoutes are written as v1, which may refuse what v1alpha2 lets through.)
    #[test]
    fn what_is_written_reads_back(value in any_object_of_ours()) {
        let is_alpha = value["apiVersion"].as_str().is_some_and(|version| version.ends_with("v1alpha2"));
        if let (Some(object), false) = (admit_stored(value).object, is_alpha) {
            let again = admit_stored(written(&object).unwrap_or_default());
            prop_assert_eq!(&again.diagnostics, &[]);
            prop_assert_eq!(again.object, Some(object));
        }
    }
}
