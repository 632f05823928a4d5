//! CRDs: every limit and rule by which an object can be refused, as a list.

use std::fmt;

use serde_json::Value;

use crate::{Cause, Referee};

/// One served version of a kind.
#[derive(Debug)]
pub struct Version {
    /// The kind, such as `HTTPRoute`.
    pub kind: String,
    /// What its objects write as `apiVersion`.
    pub api_version: String,
    /// The schema of the whole object.
    pub schema: Value,
    /// Everything in it that can refuse an object when it is created.
    pub sites: Vec<Site>,
}

/// Something that can refuse an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The field it is about, as a schema path such as `spec.listeners[].name`.
    pub path: String,
    /// What it asks of it.
    pub limit: Limit,
}

/// What a schema asks of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The field is there.
    Required,
    /// It has this JSON type.
    Type(String),
    /// It has this format; the API server knows the types of integers, times and addresses.
    Format(String),
    /// It is one of some values.
    Enum(Vec<String>),
    /// It matches.
    Pattern,
    /// It has so many characters.
    MinLength(u64),
    /// It has no more characters.
    MaxLength(u64),
    /// It has so many entries.
    MinItems(u64),
    /// It has no more entries.
    MaxItems(u64),
    /// It has no more keys.
    MaxProperties(u64),
    /// It is no less.
    Minimum(i64),
    /// It is no more.
    Maximum(i64),
    /// No two entries are the same, or have the same keys.
    Unique(Vec<String>),
    /// It fits exactly one of several schemas.
    OneOf,
    /// A CEL rule holds, known by its message.
    Rule(String),
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.path, self.limit)
    }
}

/// Every served version of the referee's CRDs.
pub fn versions(referee: &Referee) -> Vec<Version> {
    let crds = referee.read(referee.crds());
    crds.iter().flat_map(|crd| versions_of(&crd.object["spec"])).collect()
}

fn versions_of(spec: &Value) -> Vec<Version> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let served = spec["versions"].as_array().unwrap().iter().filter(|version| version["served"] == true);
    served
        .map(|version| {
            let schema = version["schema"]["openAPIV3Schema"].clone();
            Version {
                kind: text(&spec["names"]["kind"]),
                api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
                sites: sites_of(&schema),
                schema,
            }
        })
        .collect()
}

impl Version {
    /// What the cause of a refusal names.
    pub fn site_of(&self, cause: &Cause) -> Option<usize> {
        let path = self.schema_path(&cause.path)?;
        // Of a repetition the second place is told, not the list.
        let path = if cause.kind == "FieldValueDuplicate" { path.strip_suffix("[]")? } else { &path };
        self.sites.iter().position(|site| site.path == path && site.limit.is_named_by(cause))
    }

    /// The schema path of a field path, `{}` standing for a key of a map.
    pub fn schema_path(&self, path: &str) -> Option<String> {
        let (mut schema, mut rest, mut found) = (&self.schema, path, String::new());
        while !rest.is_empty() {
            if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
                // All maps of these kinds hold texts, so the key is all that is left.
                assert_eq!(values["type"], "string");
                return Some(found + "{}");
            }
            if let Some(after) = rest.strip_prefix('[') {
                (_, rest) = after.split_once(']')?;
                schema = schema.get("items")?;
                found.push_str("[]");
            } else {
                let field = rest.strip_prefix('.').unwrap_or(rest);
                let end = field.find(['.', '[']).unwrap_or(field.len());
                let (name, after) = field.split_at(end);
                schema = schema.get("properties")?.get(name)?;
                if !found.is_empty() {
                    found.push('.');
                }
                found.push_str(name);
                rest = after;
            }
        }
        Some(found)
    }
}

/// Every property below `spec` and `status` with its schema, as schema paths, innermost first.
pub fn properties(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for part in ["spec", "status"] {
        if let Some(schema) = schema["properties"].get(part) {
            collect(part.to_owned(), schema, &mut found);
        }
    }
    found
}

fn sites_of(schema: &Value) -> Vec<Site> {
    let required = |path: String| Site { path, limit: Limit::Required };
    let mut sites: Vec<Site> = required_in(schema).map(|name| required(name.to_owned())).collect();
    for (path, schema) in properties(schema) {
        sites.extend(limits_of(schema).into_iter().map(|limit| Site { path: path.clone(), limit }));
        sites.extend(required_in(schema).map(|name| required(format!("{path}.{name}"))));
    }
    sites
}

fn collect<'a>(path: String, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        collect(format!("{path}.{name}"), field, found);
    }
    for (step, inner) in [("[]", "items"), ("{}", "additionalProperties")] {
        if let Some(inner) = schema.get(inner).filter(|inner| inner.is_object()) {
            collect(format!("{path}{step}"), inner, found);
        }
    }
    found.push((path, schema));
}

/// The fields an object may not lack; one with a default never does.
fn required_in(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| schema["properties"][name].get("default").is_none())
}

fn limits_of(schema: &Value) -> Vec<Limit> {
    let size = |name: &str| schema[name].as_u64().filter(|size| *size > 0);
    let number = |name: &str| schema[name].as_i64();
    let name = schema["type"].as_str().unwrap();
    // Of a time the API server only ever says that it is none.
    let mut limits =
        if schema["format"] == "date-time" { vec![] } else { vec![Limit::Type(name.to_owned())] };
    if let Some(values) = schema["enum"].as_array() {
        limits.push(Limit::Enum(values.iter().map(Value::to_string).collect()));
    }
    limits.extend(schema["pattern"].is_string().then_some(Limit::Pattern));
    limits.extend(size("minLength").map(Limit::MinLength));
    limits.extend(size("maxLength").map(Limit::MaxLength));
    limits.extend(size("minItems").map(Limit::MinItems));
    limits.extend(size("maxItems").map(Limit::MaxItems));
    limits.extend(size("maxProperties").map(Limit::MaxProperties));
    limits.extend(number("minimum").map(Limit::Minimum));
    limits.extend(number("maximum").map(Limit::Maximum));
    limits.extend(format_of(schema).map(|format| Limit::Format(format.to_owned())));
    limits.extend(unique_in(schema).map(Limit::Unique));
    limits.extend(schema["oneOf"].is_array().then_some(Limit::OneOf));
    limits.extend(rules_of(schema).map(|rule| Limit::Rule(rule["message"].as_str().unwrap().to_owned())));
    limits
}

/// The format, where it refuses more than the other limits do: a number beyond int32 is beyond a
/// maximum as well, and one beyond int64 is not an integer to the API server.
fn format_of(schema: &Value) -> Option<&str> {
    let format = schema["format"].as_str()?;
    (format != "int64" && schema.get("maximum").is_none()).then_some(format)
}

fn unique_in(schema: &Value) -> Option<Vec<String>> {
    let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
    match schema["x-kubernetes-list-type"].as_str()? {
        "set" => Some(Vec::new()),
        "map" => Some(keys.map(|key| key.as_str().unwrap().to_owned()).collect()),
        _ => None,
    }
}

/// The CEL rules over a value that apply to a new object: those over `oldSelf` need an old one.
pub fn rules_of(schema: &Value) -> impl Iterator<Item = &Value> {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.filter(|rule| !rule["rule"].as_str().unwrap().contains("oldSelf"))
}

impl Limit {
    /// Whether a cause at the right path speaks of this limit.
    fn is_named_by(&self, cause: &Cause) -> bool {
        let says = |text: &str| cause.kind == "FieldValueInvalid" && cause.message.contains(text);
        let is = |kind: &str| cause.kind == kind;
        let of_type = |name: &str| {
            is("FieldValueTypeInvalid") && cause.message.contains(&format!("must be of type {name}:"))
        };
        match self {
            Self::Required => is("FieldValueRequired"),
            Self::Type(name) => of_type(name),
            Self::Format(name) => of_type(name) || says(&format!("with format {name}")),
            Self::Enum(_) => is("FieldValueNotSupported"),
            Self::Pattern => says("in body should match"),
            Self::MinLength(_) => says("chars long"),
            Self::MaxLength(_) => is("FieldValueTooLong"),
            Self::MinItems(_) => says("should have at least"),
            Self::MaxItems(_) | Self::MaxProperties(_) => is("FieldValueTooMany"),
            Self::Minimum(_) => says("greater than or equal"),
            Self::Maximum(_) => says("less than or equal"),
            Self::Unique(_) => is("FieldValueDuplicate"),
            Self::OneOf => says("one and only one schema"),
            Self::Rule(message) => {
                // An API server names the value first.
                let said = cause.message.split(" evaluating rule: ").last().unwrap_or_default();
                let after_value =
                    || said.strip_suffix(message.as_str()).is_some_and(|rest| rest.ends_with(": "));
                is("FieldValueInvalid") && (said == message || after_value())
            }
        }
    }
}
