//! Statuses as text, JSON and YAML.

use std::fmt::Write;

use portcullis_api::ObjectKey;
use serde_json::{Value, json};

use super::Paint;

/// The status of an object, as it would be written to a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// The object.
    pub(crate) object: ObjectKey,
    /// Its status.
    pub(crate) status: Value,
}

/// Statuses for a program.
pub(crate) fn statuses_json(items: &[Item]) -> Value {
    let items: Vec<Value> = items
        .iter()
        .map(|Item { object, status }| {
            let metadata = match object.namespace.is_empty() {
                true => json!({"name": object.name}),
                false => json!({"namespace": object.namespace, "name": object.name}),
            };
            json!({
                "apiVersion": object.kind.api_version(),
                "kind": object.kind.as_str(),
                "metadata": metadata,
                "status": status,
            })
        })
        .collect();
    json!({ "items": items })
}

/// Statuses for a person: a block an object, a line a condition, the message where something is wrong.
pub(crate) fn statuses_text(items: &[Item], paint: Paint) -> String {
    let mut text = String::new();
    for Item { object, status } in items {
        let _ = writeln!(text, "{}", paint.strong(object));
        if let Some(addresses) = addresses(status) {
            let _ = writeln!(text, "  {} {addresses}", paint.faint("addresses"));
        }
        write_conditions(&mut text, status, "  ", paint);
        for listener in list(status, "listeners") {
            write_listener(&mut text, listener, paint);
        }
        for (entries, reference) in [("parents", "parentRef"), ("ancestors", "ancestorRef")] {
            for entry in list(status, entries) {
                let parent = entry.get(reference).map(reference_text).unwrap_or_default();
                let _ = writeln!(text, "  {} {parent}", paint.faint("under"));
                write_conditions(&mut text, entry, "    ", paint);
            }
        }
    }
    text
}

fn write_listener(text: &mut String, listener: &Value, paint: Paint) {
    let routes = listener.get("attachedRoutes").and_then(Value::as_i64).unwrap_or_default();
    let plural = if routes == 1 { "route" } else { "routes" };
    let name = string(listener, "name");
    let _ = writeln!(text, "  {} {name} ({routes} {plural})", paint.faint("listener"));
    write_conditions(text, listener, "    ", paint);
}

fn write_conditions(text: &mut String, holder: &Value, indent: &str, paint: Paint) {
    for condition in list(holder, "conditions") {
        let (kind, status) = (string(condition, "type"), string(condition, "status"));
        let (reason, message) = (string(condition, "reason"), string(condition, "message"));
        let good = is_good(kind, status);
        let painted = if good { paint.good(status) } else { paint.error(status) };
        let _ = write!(text, "{indent}{kind:<22} {painted:<8} {reason}");
        if !good && !message.is_empty() {
            let _ = write!(text, ": {message}");
        }
        text.push('\n');
    }
}

/// Whether a condition is as one wishes it. Those that the Gateway API defines as "True only while something is
/// wrong" are wished away.
pub(crate) fn is_good(kind: &str, status: &str) -> bool {
    let wrong_while_true = matches!(
        kind,
        "Conflicted" | "OverlappingTLSConfig" | "PartiallyInvalid" | "InsecureFrontendValidationMode"
    );
    status == if wrong_while_true { "False" } else { "True" }
}

/// `Gateway/edge/web`, with the section and port where the reference names one.
fn reference_text(reference: &Value) -> String {
    let kind = reference.get("kind").and_then(Value::as_str).unwrap_or("Gateway");
    let mut text = kind.to_owned();
    for field in ["namespace", "name"] {
        if let Some(part) = reference.get(field).and_then(Value::as_str) {
            let _ = write!(text, "/{part}");
        }
    }
    if let Some(section) = reference.get("sectionName").and_then(Value::as_str) {
        let _ = write!(text, " section {section}");
    }
    if let Some(port) = reference.get("port").and_then(Value::as_i64) {
        let _ = write!(text, " port {port}");
    }
    text
}

fn addresses(status: &Value) -> Option<String> {
    let addresses: Vec<&str> = list(status, "addresses").map(|address| string(address, "value")).collect();
    (!addresses.is_empty()).then(|| addresses.join(", "))
}

fn list<'a>(holder: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    holder.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn string<'a>(holder: &'a Value, field: &str) -> &'a str {
    holder.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use portcullis_api::Kind;

    use super::*;

    fn condition(kind: &str, status: &str, reason: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": "because"})
    }

    fn items() -> Vec<Item> {
        let gateway = json!({
            "addresses": [{"type": "IPAddress", "value": "192.0.2.1"}],
            "conditions": [condition("Accepted", "True", "Accepted")],
            "listeners": [{
                "name": "http", "attachedRoutes": 1,
                "conditions": [condition("Conflicted", "True", "HostnameConflict")],
            }],
        });
        let route = json!({"parents": [{
            "parentRef": {"name": "web", "namespace": "edge", "sectionName": "http"},
            "conditions": [condition("Accepted", "False", "NotAllowedByListeners")],
        }]});
        vec![
            Item { object: ObjectKey::new(Kind::GatewayClass, "", "c"), status: json!({}) },
            Item { object: ObjectKey::new(Kind::Gateway, "edge", "web"), status: gateway },
            Item { object: ObjectKey::new(Kind::Gateway, "edge", "r"), status: route },
        ]
    }

    #[test]
    fn text_explains_what_is_not_as_wished() {
        assert_eq!(
            statuses_text(&items(), Paint::PLAIN),
            "GatewayClass/c\n\
             Gateway/edge/web\n  addresses 192.0.2.1\n  Accepted               True     Accepted\n  \
             listener http (1 route)\n    Conflicted             True     HostnameConflict: because\n\
             Gateway/edge/r\n  under Gateway/edge/web section http\n    \
             Accepted               False    NotAllowedByListeners: because\n"
        );
    }

    #[test]
    fn json_is_a_list_of_objects_with_their_status() {
        assert_eq!(
            statuses_json(&items()[..1]),
            json!({"items": [{
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
                "metadata": {"name": "c"}, "status": {},
            }]})
        );
    }
}
