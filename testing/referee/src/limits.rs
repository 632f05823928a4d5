//! Objects generated from the schemas: for each structural limit, rich objects changed at the one
//! place it is about. Several values are tried, since only some break nothing else.

use serde_json::{Map, Value, json};

use crate::{
    coverage::{Claim, Trial},
    crd::{Limit, Version},
    path::{self, Step},
};

/// How much the objects hold besides the place they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// What the schema requires around the place, and scalars, so that judging is cheap. Where
    /// rules ask for more, the claims do not hold.
    Slim,
    /// A whole rich object.
    Rich,
}

/// Places of one limit that are tried in rich objects.
const PLACES: usize = 3;

/// Objects on both sides of the structural limits that are wanted, by version and site.
pub fn trials(
    versions: &[Version],
    rich: &[Value],
    size: Size,
    wanted: impl Fn(usize, usize) -> bool,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (number, version) in versions.iter().enumerate() {
        let sites =
            version.sites.iter().enumerate().filter(|(_, what)| !matches!(what.limit, Limit::Rule(_)));
        for (site, what) in sites.filter(|(site, _)| wanted(number, *site)) {
            let objects = rich.iter().filter(|object| object["kind"] == version.kind.as_str());
            let bases = objects.flat_map(|object| bases(object, version, &what.path, size));
            for (object, place) in bases.take(if size == Size::Slim { 1 } else { PLACES }) {
                for (claim, object) in around(&object, &place, site, &what.limit) {
                    trials.push(Trial::new(what.to_string(), number, version, object, claim));
                }
            }
        }
    }
    trials
}

fn bases(object: &Value, version: &Version, path: &str, size: Size) -> Vec<(Value, Vec<Step>)> {
    let places = path::instances(object, path).into_iter().take(PLACES);
    match size {
        Size::Rich => places.map(|place| (object.clone(), place)).collect(),
        Size::Slim => places.map(|place| slim(object, &version.schema, &place)).collect(),
    }
}

/// An object with the value at a place and no list or object around it that is not required, and
/// the place in it.
fn slim(object: &Value, schema: &Value, place: &[Step]) -> (Value, Vec<Step>) {
    let mut slim = without_optional(object, schema, Some(place));
    slim["metadata"] = object["metadata"].clone();
    let first = |step: &Step| match step {
        Step::Index(_) => Step::Index(0),
        field @ Step::Field(_) => field.clone(),
    };
    (slim, place.iter().map(first).collect())
}

fn without_optional(value: &Value, schema: &Value, place: Option<&[Step]>) -> Value {
    let on_way = place.and_then(<[Step]>::split_first);
    match (value, on_way) {
        _ if place.is_some_and(<[Step]>::is_empty) => value.clone(),
        (Value::Array(list), Some((Step::Index(index), rest))) => {
            json!([without_optional(&list[*index], &schema["items"], Some(rest))])
        }
        (Value::Array(list), _) => {
            list.iter().take(1).map(|entry| without_optional(entry, &schema["items"], None)).collect()
        }
        (Value::Object(fields), on_way) if schema["properties"].is_object() => {
            let required = schema["required"].as_array();
            let is_required =
                |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
            let keep = |(name, value): (&String, &Value)| {
                let rest = on_way.filter(|(step, _)| **step == Step::Field(name.clone()));
                let stays = rest.is_some() || is_required(name) || !(value.is_object() || value.is_array());
                let schema = &schema["properties"][name];
                stays.then(|| (name.clone(), without_optional(value, schema, rest.map(|(_, rest)| rest))))
            };
            Value::Object(fields.iter().filter_map(keep).collect())
        }
        _ => value.clone(),
    }
}

fn around(object: &Value, place: &[Step], site: usize, limit: &Limit) -> Vec<(Claim, Value)> {
    let value = path::get(object, place).unwrap();
    let (bad, mut good) = values(value, limit);
    good.push(value.clone());
    let broken = bad.into_iter().map(|bad| path::with(object, place, bad));
    let lacking = (*limit == Limit::Required).then(|| path::without(object, place));
    let breaks = broken.chain(lacking).map(|object| (Claim::Breaks { site, besides: Vec::new() }, object));
    let keeps = good.into_iter().map(|good| (Claim::Keeps { site }, path::with(object, place, good)));
    breaks.chain(keeps).collect()
}

/// Values that break a limit, and values just inside it.
fn values(value: &Value, limit: &Limit) -> (Vec<Value>, Vec<Value>) {
    match limit {
        Limit::Type(name) => (of_another_type(name), Vec::new()),
        Limit::Format(name) if name == "int32" => {
            (vec![json!(i64::from(i32::MAX) + 1), json!(i64::from(i32::MIN) - 1)], vec![json!(i32::MAX)])
        }
        Limit::Format(_) => {
            let bad = ["yesterday", "2026-01-01", "2026-01-01T00:00:60Z"].map(Value::from);
            let good = json!("2026-01-01t00:00:00.123456789+01:00");
            ([bad.to_vec(), vec![json!(true), json!(0)]].concat(), vec![good])
        }
        Limit::Enum(values) => {
            let parsed = values.iter().map(|value| serde_json::from_str(value).unwrap());
            (vec![another(value), json!("")], parsed.collect())
        }
        Limit::Pattern => (near_misses(value.as_str().unwrap()), Vec::new()),
        Limit::MinLength(min) => (texts(value, *min - 1), texts(value, *min)),
        // Length is looked at first, so that whatever is too long breaks nothing else.
        Limit::MaxLength(max) => (texts(value, *max + 1).into_iter().take(2).collect(), texts(value, *max)),
        Limit::MinItems(min) => (lists(value, *min - 1), lists(value, *min)),
        Limit::MaxItems(max) => (lists(value, *max + 1), lists(value, *max)),
        Limit::MaxProperties(max) => (vec![map(value, *max + 1)], vec![map(value, *max)]),
        Limit::Minimum(min) => (vec![json!(min - 1)], vec![json!(min)]),
        Limit::Maximum(max) => (vec![json!(max + 1)], vec![json!(max)]),
        Limit::Unique(keys) => (repeated(value, keys), lists(value, 2)),
        Limit::OneOf => (vec![json!({"value": "gateway.example.com"}), json!({"value": ""})], Vec::new()),
        Limit::Required | Limit::Rule(_) => (Vec::new(), Vec::new()),
    }
}

fn of_another_type(name: &str) -> Vec<Value> {
    let all = [("array", json!([])), ("boolean", json!(true)), ("string", json!("text"))];
    all.into_iter().filter(|(other, _)| *other != name).map(|(_, value)| value).take(2).collect()
}

fn another(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(text.to_uppercase() + "x"),
        _ => json!(300),
    }
}

/// Texts that a pattern may refuse, most of them one character away from one it takes.
fn near_misses(text: &str) -> Vec<Value> {
    let changed = [
        format!("{text}!"),
        format!("-{text}"),
        format!("{text}-"),
        format!("{text} \t a"),
        format!("*{text}"),
        format!("{text}%2g"),
        format!("{text}\n"),
        format!("{text}é"),
        text.to_uppercase(),
        text.replace('/', ""),
        text.replace('.', ".."),
        text.replace("://", ":"),
        text.replace("192", "256"),
    ];
    let mut changed: Vec<String> = changed.into_iter().filter(|changed| changed != text).collect();
    if text.ends_with(['s', 'h']) {
        changed.extend(["1.5h", "100000s", "1h1m1s1ms1h"].map(str::to_owned));
    }
    if text.contains("://") {
        changed.extend([format!("{text}:123456"), format!("x{text}")]);
    }
    changed.into_iter().map(Value::from).collect()
}

/// Texts of so many characters that resemble one that is allowed.
fn texts(value: &Value, length: u64) -> Vec<Value> {
    let length = usize::try_from(length).unwrap();
    let text = value.as_str().unwrap();
    let fill = |before: &str, with: &str, after: &str| {
        let missing = length.checked_sub(before.chars().count() + after.chars().count())?;
        Some(format!("{before}{}{after}", with.repeat(missing)))
    };
    let made = [
        fill("", "a", ""),
        fill("", "é", ""),
        fill(text, "a", ""),
        fill("", "a", text),
        fill("", "a", "/b"),
        fill("", "a", ".b/c"),
        fill("a://", "a", ""),
        fill("::", "1", ""),
        fill("/", "a", ""),
        fill("0000:0000:0000:0000:0000:ffff:192.168.100.10", "0", ""),
        Some(text.chars().take(length).collect()).filter(|cut: &String| cut.chars().count() == length),
    ];
    made.into_iter().flatten().map(Value::from).collect()
}

/// Lists of so many entries that resemble the first of one that is allowed, each list alike in
/// another way: what must differ between entries varies from list to list.
fn lists(value: &Value, length: u64) -> Vec<Value> {
    let length = usize::try_from(length).unwrap();
    let Some(first) = value.as_array().and_then(|list| list.first()) else { return Vec::new() };
    let vary: [&[&str]; 5] = [&[], &["name"], &["type"], &["port"], &["name", "port"]];
    let mut made: Vec<Value> =
        vary.iter().map(|fields| (0..length).map(|number| varied(first, fields, number)).collect()).collect();
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"];
    made.extend((length <= methods.len()).then(|| json!(methods[..length])));
    made
}

fn varied(entry: &Value, fields: &[&str], number: usize) -> Value {
    let vary = |value: &Value| match value {
        Value::String(text) => json!(format!("{text}{number}")),
        Value::Number(first) => json!(first.as_u64().unwrap() + number as u64),
        other => other.clone(),
    };
    match entry {
        Value::Object(object) => {
            let mut object = object.clone();
            for field in fields {
                if let Some(value) = object.get_mut(*field) {
                    *value = vary(value);
                }
            }
            Value::Object(object)
        }
        scalar => vary(scalar),
    }
}

/// Lists whose last entry repeats the first, wholly or in its keys alone.
fn repeated(value: &Value, keys: &[String]) -> Vec<Value> {
    let list = value.as_array().unwrap();
    let again = |entry: Value| Value::from([list.as_slice(), &[entry]].concat());
    let first = &list[0];
    let mut made = vec![again(first.clone())];
    if let (Value::Object(fields), false) = (first, keys.is_empty()) {
        let other = fields.iter().map(|(name, value)| {
            let same = keys.contains(name) || !value.is_string() || name == "lastTransitionTime";
            (name.clone(), if same { value.clone() } else { json!("False") })
        });
        made.push(again(Value::Object(other.collect())));
    }
    made
}

fn map(value: &Value, length: u64) -> Value {
    let one = value.as_object().unwrap().values().next().cloned().unwrap_or_default();
    Value::Object((0..length).map(|number| (format!("key{number}"), one.clone())).collect::<Map<_, _>>())
}
