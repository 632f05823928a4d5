//! Seeded mutations of manifests that others wrote: the module's examples and the suite's.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    Referee,
    coverage::{Claim, Trial},
    crd::{self, Version},
    go,
    path::{self, Step},
};

/// The objects of the module's examples and of the conformance suite that a version of the CRDs
/// serves, as pairs of file name and object. Those without a namespace are in `default`, as for kubectl.
pub fn seeds(referee: &Referee, versions: &[Version]) -> Vec<(String, Value)> {
    let mut files = go::yaml_files(&go::GATEWAY_API.folder().unwrap().join("examples"));
    let suite = go::CONFORMANCE.folder().unwrap();
    files.extend(["base", "tests"].iter().flat_map(|part| go::yaml_files(&suite.join(part))));
    let documents = referee.read(&files).into_iter();
    documents
        .filter(|document| version_of(&document.object, versions).is_some())
        .map(|document| {
            let mut object = document.object;
            if object["kind"] != "GatewayClass" && object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!("default");
            }
            (document.file.file_name().unwrap().to_string_lossy().into_owned(), object)
        })
        .collect()
}

fn version_of(object: &Value, versions: &[Version]) -> Option<usize> {
    versions.iter().position(|version| {
        object["kind"] == version.kind.as_str() && object["apiVersion"] == version.api_version.as_str()
    })
}

/// Mutations of each manifest.
const MUTATIONS: usize = 12;

/// Where the mutations begin; `PORTCULLIS_SEED` sets another.
const SEED: u64 = 20_260_101;

/// The seeds as they are, and mutations of every one.
pub fn trials(versions: &[Version], rich: &[Value], seeds: &[(String, Value)]) -> Vec<Trial> {
    let seed = std::env::var("PORTCULLIS_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut trials = Vec::new();
    for (file, object) in seeds {
        let number = version_of(object, versions).unwrap();
        let version = &versions[number];
        let grafts = Grafts::of(version, rich);
        for mutation in 0..=MUTATIONS {
            let mut mutant = object.clone();
            if mutation > 0 {
                for _ in 0..=random.below(3) {
                    mutate(&mut mutant, version, &grafts, &mut random);
                }
            }
            let name = format!("{file}, mutation {mutation}");
            trials.push(Trial::new(name, number, version, mutant, Claim::Nothing));
        }
    }
    trials
}

/// Values that rich objects have at each property of a version.
struct Grafts(BTreeMap<String, Vec<Value>>);

impl Grafts {
    fn of(version: &Version, rich: &[Value]) -> Self {
        let mut grafts = BTreeMap::<String, Vec<Value>>::new();
        for object in rich.iter().filter(|object| object["kind"] == version.kind.as_str()) {
            for (property, _) in crd::properties(&version.schema) {
                for place in path::instances(object, &property) {
                    let value = path::get(object, &place).unwrap().clone();
                    grafts.entry(property.clone()).or_default().push(value);
                }
            }
        }
        Self(grafts)
    }

    /// A value for a place, of another object or of another field.
    fn pick(&self, property: &str, random: &mut Random) -> Option<&Value> {
        let exact = self.0.get(property).filter(|_| random.below(4) > 0);
        let values = exact.or_else(|| self.0.values().nth(random.below(self.0.len())))?;
        values.get(random.below(values.len()))
    }

    /// A field that an object at this property may have.
    fn field_below(&self, property: &str, random: &mut Random) -> Option<&str> {
        let below = |name: &&String| {
            let field = name.strip_prefix(property).and_then(|rest| rest.strip_prefix('.'));
            field.is_some_and(|field| !field.contains(['.', '[', '{']))
        };
        let fields: Vec<&String> = self.0.keys().filter(below).collect();
        let name = fields.get(random.below(fields.len().max(1)))?;
        name.strip_prefix(property)?.strip_prefix('.')
    }
}

fn mutate(object: &mut Value, version: &Version, grafts: &Grafts, random: &mut Random) {
    let mut places = Vec::new();
    for part in ["spec", "status"] {
        if let Some(value) = object.get(part) {
            all_places(value, vec![Step::Field(part.to_owned())], &mut places);
        }
    }
    let Some(place) = places.get(random.below(places.len().max(1))) else { return };
    let property = version.schema_path(&written(place)).unwrap_or_default();
    match random.below(8) {
        0 => *object = path::without(object, place),
        1 => *object = path::with(object, place, odd(random)),
        2 => repeat_entry(object, place, random),
        3 => misspell(object, place, random),
        4 => {
            let other = &places[random.below(places.len())];
            let value = path::get(object, other).unwrap().clone();
            *object = path::with(object, place, value);
        }
        5 => {
            if let Some(value) = grafts.pick(&property, random) {
                *object = path::with(object, place, value.clone());
            }
        }
        _ => {
            if let Some(field) = grafts.field_below(&property, random) {
                let place = [place.as_slice(), &[Step::Field(field.to_owned())]].concat();
                if let Some(value) = grafts.pick(&format!("{property}.{field}"), random) {
                    *object = path::with(object, &place, value.clone());
                }
            }
        }
    }
}

fn all_places(value: &Value, steps: Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                all_places(field, [steps.as_slice(), &[Step::Field(name.clone())]].concat(), found);
            }
        }
        Value::Array(list) => {
            for (index, entry) in list.iter().enumerate() {
                all_places(entry, [steps.as_slice(), &[Step::Index(index)]].concat(), found);
            }
        }
        _ => {}
    }
    found.push(steps);
}

fn written(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Field(name) if path.is_empty() => path.push_str(name),
            Step::Field(name) => path.push_str(&format!(".{name}")),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// A value that hardly any field expects.
fn odd(random: &mut Random) -> Value {
    let values = [
        Value::Null,
        json!(""),
        json!("Exact"),
        json!("Not-Listed"),
        json!("*.example.com"),
        json!("192.0.2.1"),
        json!("UPPER.example.com"),
        json!("a/b"),
        json!("é"),
        json!("a".repeat(300)),
        json!("10s"),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(80),
        json!(70000),
        json!(4_294_967_296_i64),
        json!(1.5),
        json!([]),
        json!({}),
        json!([null]),
        json!(["a", "a"]),
        json!({"a": "b"}),
    ];
    values[random.below(values.len())].clone()
}

fn repeat_entry(object: &mut Value, place: &[Step], random: &mut Random) {
    if let Some(Value::Array(list)) = path::get_mut(object, place)
        && !list.is_empty()
    {
        let entry = list[random.below(list.len())].clone();
        let times = [1, 1, 2, 16, 64][random.below(5)];
        list.extend(std::iter::repeat_n(entry, times));
    }
}

fn misspell(object: &mut Value, place: &[Step], random: &mut Random) {
    if let Some(Value::Object(fields)) = path::get_mut(object, place)
        && !fields.is_empty()
    {
        let name = fields.keys().nth(random.below(fields.len())).unwrap().clone();
        let value = fields.remove(&name).unwrap();
        let misspelt = match random.below(3) {
            0 => format!("{name}s"),
            1 => name.to_lowercase() + "_",
            _ => name.chars().rev().collect(),
        };
        fields.insert(misspelt, value);
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    /// A number below `end`; 0 when `end` is.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % (end.max(1) as u64)).unwrap()
    }
}
