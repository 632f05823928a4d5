//! Types, required fields and limits.

use std::{collections::HashMap, net::IpAddr};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    Findings, each_child,
    rules::{
        DUPLICATE, NOT_SUPPORTED, OUT_OF_RANGE, PATTERN, REQUIRED, TOO_FEW, TOO_LONG, TOO_MANY, TOO_SHORT,
        WRONG_TYPE,
    },
};
use crate::{
    cel::node::Node,
    diagnostic::Diagnostic,
    field_path::Step,
    patterns::DATE_TIME,
    schema::{Field, Integer, List, Schema, Shape, Text, TextFormat, Unique, integer, type_of},
    spelling::nearest,
    text::InvalidText,
};

/// Examines a value and everything below it, the CEL rules excepted.
pub(super) fn examine(schema: &Schema, value: &Value, findings: &mut Findings) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => require(fields, values, findings),
        (Shape::Map { max_properties, .. }, Value::Object(entries)) => {
            at_most(*max_properties, entries.len(), findings);
        }
        (Shape::List(list), Value::Array(items)) => examine_list(list, items, findings),
        (Shape::Text(text), Value::String(value)) => examine_text(text, value, findings),
        (Shape::Integer(limits), Value::Number(_)) => match integer(value) {
            Some(number) => examine_integer(limits, number, findings),
            None => mistyped("an integer", value, findings),
        },
        (Shape::Boolean, Value::Bool(_)) | (Shape::Metadata, _) => {}
        (Shape::Object(_) | Shape::Map { .. }, _) => mistyped("an object", value, findings),
        (Shape::List(_), _) => mistyped("a list", value, findings),
        (Shape::Text(_), _) => mistyped("a string", value, findings),
        (Shape::Integer(_), _) => mistyped("an integer", value, findings),
        (Shape::Boolean, _) => mistyped("true or false", value, findings),
    }
    if schema.address {
        examine_address(value, findings);
    }
    each_child(schema, value, findings, examine);
}

fn require(fields: &[Field], values: &Map<String, Value>, findings: &mut Findings) {
    for field in fields {
        if field.required && !values.contains_key(field.name) {
            let path = findings.path.field(field.name);
            let message = format!("{} is required", field.name);
            findings.push(Diagnostic::new(&REQUIRED, path, message));
        }
    }
}

/// Reports a wrong type; of what YAML took for another scalar, how to write it.
fn mistyped(wanted: &str, value: &Value, findings: &mut Findings) {
    let message = format!("must be {wanted}, not {}", type_of(value));
    let diagnostic = Diagnostic::new(&WRONG_TYPE, findings.path.clone(), message);
    findings.push(match spelling_hint(wanted, value) {
        Some(hint) => diagnostic.with_hint(hint),
        None => diagnostic,
    });
}

/// How to write what YAML took for another scalar than the one wanted.
pub(super) fn spelling_hint(wanted: &str, value: &Value) -> Option<String> {
    match (wanted, value) {
        ("a string", Value::Number(_) | Value::Bool(_)) => Some(format!("write it in quotes: \"{value}\"")),
        ("an integer", Value::String(text)) if text.parse::<i64>().is_ok() => {
            Some(format!("write it without quotes: {text}"))
        }
        ("true or false", Value::String(text)) if matches!(text.as_str(), "true" | "false") => {
            Some(format!("write it without quotes: {text}"))
        }
        ("a list", Value::Object(_) | Value::String(_)) => {
            Some("begin each entry with \"- \", also if there is only one".to_owned())
        }
        _ => None,
    }
}

fn at_most(max: Option<usize>, found: usize, findings: &mut Findings) {
    if let Some(max) = max
        && found > max
    {
        findings.report(&TOO_MANY, format!("must have at most {max} entries, not {found}"));
    }
}

fn examine_list(list: &List, items: &[Value], findings: &mut Findings) {
    at_most(list.max_items, items.len(), findings);
    if items.len() < list.min_items {
        let message = match list.min_items {
            1 => "must not be empty".to_owned(),
            min => format!("must have at least {min} entries, not {}", items.len()),
        };
        findings.report(&TOO_FEW, message);
    }
    let identities: Vec<Option<&Value>> = match list.unique {
        Unique::Nothing => return,
        Unique::Values => items.iter().map(Some).collect(),
        // As the API server: beside an item that is no object, duplicates are not looked for.
        Unique::By(_) if items.iter().any(|item| !item.is_object() && !item.is_null()) => return,
        Unique::By(key) => items.iter().map(|item| item.get(key)).collect(),
    };
    report_duplicates(list.unique, &identities, findings);
}

/// Reports the second of several equal entries, as the API server does.
fn report_duplicates(unique: Unique, identities: &[Option<&Value>], findings: &mut Findings) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for (index, identity) in identities.iter().enumerate() {
        let Some(identity) = identity else { continue };
        let times = seen.entry(identity.to_string()).or_default();
        *times += 1;
        if *times != 2 {
            continue;
        }
        let message = match unique {
            Unique::By(key) => format!("{key} {identity} occurs twice"),
            Unique::Values | Unique::Nothing => format!("{identity} occurs twice"),
        };
        findings.within(Step::Index(index), |findings| findings.report(&DUPLICATE, message));
    }
}

fn examine_text(text: &Text, value: &str, findings: &mut Findings) {
    match text.limits.check(value) {
        Ok(()) => {}
        Err(InvalidText::TooShort { min: 1 }) => findings.report(&TOO_SHORT, "must not be empty"),
        Err(broken @ InvalidText::TooShort { .. }) => findings.report(&TOO_SHORT, broken.to_string()),
        Err(broken @ InvalidText::TooLong { .. }) => findings.report(&TOO_LONG, broken.to_string()),
        Err(broken @ InvalidText::Pattern { .. }) => {
            let diagnostic = Diagnostic::new(&PATTERN, findings.path.clone(), format!("{value:?} {broken}"));
            findings.push(match slip(text, value) {
                Some(hint) => diagnostic.with_hint(hint),
                None => diagnostic,
            });
        }
    }
    if let Some(values) = &text.values
        && !values.contains(&value)
    {
        let message = format!("must be {}, not {value:?}", one_of(values));
        let diagnostic = Diagnostic::new(&NOT_SUPPORTED, findings.path.clone(), message);
        findings.push(match nearest(value, values.iter().copied()) {
            Some(meant) => diagnostic.with_hint(format!("did you mean {meant}?")),
            None => diagnostic,
        });
    }
    if text.format == Some(TextFormat::DateTime) && !is_time(value) {
        findings.report(&WRONG_TYPE, "must be a time such as 2026-01-02T03:04:05Z");
    }
}

/// How to write a text that is of the right form but for capitals, or for a port behind it.
fn slip(text: &Text, value: &str) -> Option<String> {
    let fits = |candidate: &str| text.limits.check(candidate).is_ok();
    let small = value.to_lowercase();
    if fits(&small) {
        return Some(format!("write it without capitals: {small}"));
    }
    let (host, port) = value.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    (is_port && fits(&host.to_lowercase())).then(|| format!("leave the port out: {}", host.to_lowercase()))
}

fn is_time(text: &str) -> bool {
    DATE_TIME.matches(text) && text.parse::<Timestamp>().is_ok()
}

/// `A, B or C`.
fn one_of<T: ToString>(values: &[T]) -> String {
    let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} or {last}", texts.join(", ")) }
}

fn examine_integer(limits: &Integer, number: i64, findings: &mut Findings) {
    if let Some(values) = &limits.values {
        if !values.contains(&number) {
            findings.report(&NOT_SUPPORTED, format!("must be {}, not {number}", one_of(values)));
        }
        return;
    }
    let (lowest, highest) =
        if limits.int32 { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (i64::MIN, i64::MAX) };
    let (min, max) = (limits.min.unwrap_or(lowest), limits.max.unwrap_or(highest));
    if number < min {
        findings.report(&OUT_OF_RANGE, format!("must be at least {min}, not {number}"));
    }
    if number > max {
        findings.report(&OUT_OF_RANGE, format!("must be at most {max}, not {number}"));
    }
}

/// An address of type IPAddress has an IP address as its value.
fn examine_address(value: &Value, findings: &mut Findings) {
    let address = Node::new(value);
    if address.text_of("type") != "IPAddress" {
        return;
    }
    if let Some(value) = value.get("value").and_then(Value::as_str)
        && !is_ip_address(value)
    {
        findings.within(Step::Field("value".into()), |findings| {
            findings.report(&PATTERN, format!("{value:?} is not an IP address"));
        });
    }
}

/// Whether the API server takes a text for an IP address. It tolerates zeros before the numbers of
/// an IPv4 address, also of one at the end of an IPv6 address.
fn is_ip_address(text: &str) -> bool {
    let (head, tail) = text.split_at(text.rfind(':').map_or(0, |colon| colon + 1));
    let numbers = tail.split('.').map(|number| match number.trim_start_matches('0') {
        "" if !number.is_empty() => "0",
        number => number,
    });
    let text = match tail.contains('.') {
        true => format!("{head}{}", numbers.collect::<Vec<_>>().join(".")),
        false => text.to_owned(),
    };
    text.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_address_may_have_leading_zeros() {
        for good in ["192.0.2.1", "010.0.00.1", "::1", "::ffff:01.2.3.4", "2001:db8::"] {
            assert!(is_ip_address(good), "{good}");
        }
        for bad in ["", "1.2.3", "1..2.3", "256.0.0.1", "::1%lo", "x.test", ":", "0x1.0.0.1"] {
            assert!(!is_ip_address(bad), "{bad}");
        }
    }

    #[test]
    fn a_time_is_written_as_rfc_3339_has_it() {
        assert!(is_time("2026-01-02T03:04:05Z") && is_time("2026-01-02t03:04:05.5+01:00"));
        for bad in ["2026-01-02", "2026-01-02 03:04:05Z", "2026-13-02T03:04:05Z", "now"] {
            assert!(!is_time(bad), "{bad}");
        }
    }
}
