//! Listing what the schemas know, to be compared with the CRDs.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Described, Field, Integer, List, Schema, Shape, Text, TextFormat, Unique};
use crate::{
    backend::Backend,
    backend_tls_policy::BackendTlsPolicy,
    cel::routes::RULE_NAMES,
    gateway::Gateway,
    gateway_class::GatewayClass,
    grpc_route::GrpcRoute,
    http_route::HttpRoute,
    kind::Kind,
    l4_route::{TcpRoute, UdpRoute},
    listener_set::ListenerSet,
    reference_grant::ReferenceGrant,
    route::MAX_RULES,
    tls_route::{MAX_SERVER_NAMES, TlsRoute},
};

/// The schema of a kind's version; none for the core kinds, and for versions that are not served.
pub(crate) fn schema(kind: Kind, version: &str) -> Option<&'static Schema> {
    static SCHEMAS: LazyLock<Vec<(Kind, &'static str, Schema)>> = LazyLock::new(|| {
        let versions = |kind: Kind| kind.versions().iter().map(move |version| (kind, *version));
        let all = Kind::ALL.iter().copied().flat_map(versions);
        all.filter_map(|(kind, version)| Some((kind, version, build(kind, version)?))).collect()
    });
    SCHEMAS.iter().find(|(k, v, _)| *k == kind && *v == version).map(|(_, _, schema)| schema)
}

fn build(kind: Kind, version: &str) -> Option<Schema> {
    let mut schema = newest(kind)?;
    if version == "v1alpha2" {
        relax_to_v1alpha2(&mut schema);
    }
    Some(schema)
}

/// In v1alpha2, TLSRoutes, TCPRoutes and UDPRoutes have several rules, and TLSRoutes may lack
/// host names, which then have no rules either.
fn relax_to_v1alpha2(schema: &mut Schema) {
    if let Some(rules) = schema.field_mut(&["spec", "rules"]) {
        *rules = rules.clone().items(1, MAX_RULES).rules(&[&RULE_NAMES]);
    }
    if let Some(hostnames) = schema.field_mut(&["spec", "hostnames"]) {
        let mut relaxed = hostnames.clone().items(0, MAX_SERVER_NAMES).optional();
        relaxed.schema.rules.clear();
        *hostnames = relaxed;
    }
}

fn newest(kind: Kind) -> Option<Schema> {
    Some(match kind {
        Kind::GatewayClass => GatewayClass::schema(),
        Kind::Gateway => Gateway::schema(),
        Kind::ListenerSet => ListenerSet::schema(),
        Kind::HttpRoute => HttpRoute::schema(),
        Kind::GrpcRoute => GrpcRoute::schema(),
        Kind::TlsRoute => TlsRoute::schema(),
        Kind::TcpRoute => TcpRoute::schema(),
        Kind::UdpRoute => UdpRoute::schema(),
        Kind::ReferenceGrant => ReferenceGrant::schema(),
        Kind::BackendTlsPolicy => BackendTlsPolicy::schema(),
        Kind::Backend => Backend::schema(),
        Kind::Service
        | Kind::EndpointSlice
        | Kind::Secret
        | Kind::ConfigMap
        | Kind::Namespace
        | Kind::ClusterTrustBundle => return None,
    })
}

/// One thing that our schema says about a property, in the words of a CRD.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The property: fields joined by dots, `[]` for the items of a list, `{}` for the values of a
    /// map, such as `spec.listeners[].tls.options{}`.
    pub path: String,
    /// The CRD's keyword: `type`, `required` (of the property itself), `default`, `enum`,
    /// `pattern`, `format`, `minLength`, `maxLength`, `minItems`, `maxItems`, `maxProperties`,
    /// `minimum`, `maximum`, `oneOf`, `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` or
    /// `x-kubernetes-validations`.
    pub keyword: &'static str,
    /// Its value. Of `oneOf` it is `true`; of `x-kubernetes-validations`, of which a property may
    /// have several, the first eight hexadecimal digits of the SHA-256 of the rule's expression.
    pub value: Value,
}

/// Everything that our type of a kind's version knows about its properties, to be compared with
/// the CRD. Nothing for the core kinds and for versions that are not served.
pub fn constraints(kind: Kind, version: &str) -> Vec<Constraint> {
    let mut listing = Listing::default();
    if let Some(schema) = schema(kind, version) {
        listing.schema("", schema);
    }
    listing.0
}

#[derive(Default)]
struct Listing(Vec<Constraint>);

impl Listing {
    fn say(&mut self, path: &str, keyword: &'static str, value: impl Into<Value>) {
        self.0.push(Constraint { path: path.to_owned(), keyword, value: value.into() });
    }

    fn say_if(&mut self, path: &str, keyword: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.say(path, keyword, value);
        }
    }

    fn schema(&mut self, path: &str, schema: &Schema) {
        for rule in &schema.rules {
            self.say(path, "x-kubernetes-validations", rule.upstream);
        }
        if schema.address {
            self.say(path, "oneOf", true);
        }
        match &schema.shape {
            Shape::Object(fields) => {
                self.say(path, "type", "object");
                for field in fields {
                    self.field(path, field);
                }
            }
            Shape::Map { values, max_properties } => {
                self.say(path, "type", "object");
                self.say_if(path, "maxProperties", *max_properties);
                self.schema(&format!("{path}{{}}"), values);
            }
            Shape::List(list) => self.list(path, list),
            Shape::Text(text) => self.text(path, text),
            Shape::Integer(integer) => self.integer(path, integer),
            Shape::Boolean => self.say(path, "type", "boolean"),
            Shape::Metadata => self.say(path, "type", "object"),
        }
    }

    fn field(&mut self, parent: &str, field: &Field) {
        let dot = if parent.is_empty() { "" } else { "." };
        let path = format!("{parent}{dot}{}", field.name);
        if field.required {
            self.say(&path, "required", true);
        }
        self.say_if(&path, "default", field.default.clone());
        self.schema(&path, &field.schema);
    }

    fn list(&mut self, path: &str, list: &List) {
        self.say(path, "type", "array");
        self.say_if(path, "minItems", Some(list.min_items).filter(|min| *min > 0));
        self.say_if(path, "maxItems", list.max_items);
        match list.unique {
            Unique::Nothing => {}
            Unique::Values => self.say(path, "x-kubernetes-list-type", "set"),
            Unique::By(key) => {
                self.say(path, "x-kubernetes-list-type", "map");
                self.say(path, "x-kubernetes-list-map-keys", vec![key]);
            }
        }
        self.schema(&format!("{path}[]"), &list.items);
    }

    fn text(&mut self, path: &str, text: &Text) {
        self.say(path, "type", "string");
        let min = Some(text.limits.min_length).filter(|min| *min > 0);
        self.say_if(path, "minLength", min);
        self.say_if(path, "maxLength", text.limits.max_length);
        self.say_if(path, "pattern", text.limits.pattern.map(|pattern| pattern.source));
        self.say_if(path, "enum", text.values.clone());
        self.say_if(path, "format", text.format.map(|TextFormat::DateTime| "date-time"));
    }

    fn integer(&mut self, path: &str, integer: &Integer) {
        self.say(path, "type", "integer");
        self.say_if(path, "minimum", integer.min);
        self.say_if(path, "maximum", integer.max);
        self.say_if(path, "enum", integer.values.clone());
        self.say_if(path, "format", integer.int32.then_some("int32"));
    }
}
