//! Every property of the CRDs has a field in portcullis-api's types, with the same type, limits,
//! default and rules, and no field is without its property; in every served version.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use portcullis_api::{Kind, constraints};
use portcullis_referee::{
    Referee,
    crd::{self, Version},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Path, keyword and value, as `Constraint` has them.
type Line = (String, &'static str, String);

#[test]
fn our_types_say_what_the_crds_say() {
    let Some(referee) = Referee::find() else { return };
    let versions = crd::versions(&referee);
    let mut differences = Vec::new();
    for version in &versions {
        let (theirs, ours) = (said_by_crd(version), said_by_us(version));
        println!("{} {}: {} constraints", version.kind, version.api_version, theirs.len());
        let missing = theirs.difference(&ours).map(|line| ("only the CRD", line));
        let invented = ours.difference(&theirs).map(|line| ("only our type", line));
        for (who, (path, keyword, value)) in missing.chain(invented) {
            differences.push(format!("{who} says {} {path} {keyword} {value}", version.api_version));
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn every_served_version_of_our_kinds_has_a_crd_and_the_other_way_round() {
    let Some(referee) = Referee::find() else { return };
    let theirs: BTreeSet<(String, String)> =
        crd::versions(&referee).into_iter().map(|version| (version.kind, version.api_version)).collect();
    let of_kind = |kind: &Kind| {
        let kind = *kind;
        kind.versions().iter().map(move |version| (kind, *version))
    };
    let ours: BTreeSet<(String, String)> = Kind::ALL
        .iter()
        .flat_map(of_kind)
        .filter(|(kind, version)| !constraints(*kind, version).is_empty())
        .map(|(kind, version)| (kind.as_str().to_owned(), kind.api_version_of(version)))
        .collect();
    assert_eq!(ours, theirs);
}

fn said_by_us(version: &Version) -> BTreeSet<Line> {
    let (group, name) = version.api_version.split_once('/').unwrap();
    let kind = Kind::of(group, &version.kind).unwrap();
    let said = constraints(kind, name).into_iter();
    said.filter(|line| is_ours_to_say(&line.path))
        .map(|line| (line.path, line.keyword, written(&line.value)))
        .collect()
}

/// What every object has, and the root that holds it, is said by no CRD in the same words.
fn is_ours_to_say(path: &str) -> bool {
    path.starts_with("spec") || path.starts_with("status")
}

fn said_by_crd(version: &Version) -> BTreeSet<Line> {
    let mut lines = BTreeSet::new();
    for (path, schema) in crd::properties(&version.schema) {
        for name in schema["required"].as_array().into_iter().flatten() {
            require(&mut lines, format!("{path}.{}", name.as_str().unwrap()), schema, name);
        }
        say(&mut lines, &path, schema);
    }
    for name in version.schema["required"].as_array().into_iter().flatten() {
        require(&mut lines, name.as_str().unwrap().to_owned(), &version.schema, name);
    }
    lines
}

/// A required field with a default never lacks: the default is what is said of it.
fn require(lines: &mut BTreeSet<Line>, path: String, schema: &Value, name: &Value) {
    let field = &schema["properties"][name.as_str().unwrap()];
    if field.get("default").is_none() {
        lines.insert((path, "required", "true".to_owned()));
    }
}

fn say(lines: &mut BTreeSet<Line>, path: &str, schema: &Value) {
    const SAID_ALIKE: [&str; 12] = [
        "type",
        "default",
        "enum",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "maxProperties",
        "minimum",
        "maximum",
        "format",
    ];
    for keyword in SAID_ALIKE {
        let value = schema.get(keyword).filter(|value| limits(keyword, value));
        lines.extend(value.map(|value| (path.to_owned(), keyword, written(value))));
    }
    if schema["oneOf"].is_array() {
        lines.insert((path.to_owned(), "oneOf", "true".to_owned()));
    }
    if let Some("set" | "map") = schema["x-kubernetes-list-type"].as_str() {
        for keyword in ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"] {
            let value = schema.get(keyword);
            lines.extend(value.map(|value| (path.to_owned(), keyword, value.to_string())));
        }
    }
    for rule in crd::rules_of(schema) {
        let digest = Sha256::digest(rule["rule"].as_str().unwrap());
        let short: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        lines.insert((path.to_owned(), "x-kubernetes-validations", json!(short).to_string()));
    }
}

/// A value as text; the order of an enumeration's values means nothing.
fn written(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(values) = value.as_array_mut() {
        values.sort_by_key(Value::to_string);
    }
    value.to_string()
}

/// Whether a keyword's value limits anything: no length is below 0, and every integer is an int64.
fn limits(keyword: &str, value: &Value) -> bool {
    !(matches!(keyword, "minLength" | "minItems") && *value == 0 || *value == "int64")
}
