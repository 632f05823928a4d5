//! Listing what the schemas say, to be compared with the CRDs.

use serde_json::Value;

use super::{Field, Integer, List, Schema, Shape, Text, TextFormat, Unique, served};
use crate::kind::Kind;

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
    if let Some(served) = served(kind, version) {
        listing.schema("", &served.schema);
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
