//! Diagnostics as SARIF 2.1.0, which code hosts show beside the lines.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use portcullis_api::{Diagnostic, Rule, Severity};
use serde_json::{Value, json};

/// One run of `check` as a SARIF log.
pub(crate) fn sarif(diagnostics: &[Diagnostic]) -> Value {
    let rules: BTreeMap<&str, &Rule> = diagnostics.iter().map(|d| (d.rule.code, d.rule)).collect();
    let places: BTreeMap<&str, usize> =
        rules.keys().enumerate().map(|(place, code)| (*code, place)).collect();
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| result(diagnostic, places.get(diagnostic.rule.code).copied().unwrap_or_default()))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "portcullis",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.values().map(|rule| rule_json(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule_json(rule: &Rule) -> Value {
    let mut value = json!({
        "id": rule.code,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": level(rule.severity)},
    });
    if let (false, Some(fields)) = (rule.hint.is_empty(), value.as_object_mut()) {
        fields.insert("help".to_owned(), json!({"text": rule.hint}));
    }
    value
}

fn result(diagnostic: &Diagnostic, rule_index: usize) -> Value {
    let hint = diagnostic.hint();
    let text = match hint.is_empty() {
        true => diagnostic.message.clone(),
        false => format!("{}\n{hint}", diagnostic.message),
    };
    json!({
        "ruleId": diagnostic.rule.code,
        "ruleIndex": rule_index,
        "level": level(diagnostic.severity()),
        "message": {"text": text},
        "locations": location(diagnostic).into_iter().collect::<Vec<_>>(),
    })
}

fn location(diagnostic: &Diagnostic) -> Option<Value> {
    let mut location = serde_json::Map::new();
    if let Some(position) = &diagnostic.position {
        location.insert(
            "physicalLocation".to_owned(),
            json!({
                "artifactLocation": {"uri": uri(&position.file)},
                "region": {"startLine": position.line, "startColumn": position.column},
            }),
        );
    }
    if let Some(subject) = diagnostic.subject() {
        let name = match diagnostic.path.is_root() {
            true => subject,
            false => format!("{subject} {}", diagnostic.path),
        };
        location.insert("logicalLocations".to_owned(), json!([{"fullyQualifiedName": name}]));
    }
    (!location.is_empty()).then_some(Value::Object(location))
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A relative or absolute reference of a path (RFC 3986 §4.2), whose first segment never reads as a scheme. Readers of
/// SARIF drop results without a place, so that standard input has one too.
fn uri(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let path = path.to_string_lossy();
    let path = path.strip_prefix("./").unwrap_or(&path);
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::diagnostics::tests::samples;

    #[test]
    fn results_point_at_rules_files_and_objects() {
        let log = sarif(&samples());
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "PC0203");
        assert_eq!(run["tool"]["driver"]["rules"][0]["defaultConfiguration"]["level"], "error");
        assert_eq!(
            run["results"][0],
            json!({
                "ruleId": "PC0203", "ruleIndex": 0, "level": "error",
                "message": {"text": "70000 is no port\nchoose another"},
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": {"uri": "gateways/my%20web.yaml"},
                        "region": {"startLine": 12, "startColumn": 7},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "Gateway/edge/web spec.listeners[2].port"}],
                }],
            })
        );
        assert_eq!(run["results"][1]["locations"], json!([]));
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(uri(Path::new("-")), "stdin");
        assert_eq!(uri(Path::new("./a/b c.yaml")), "a/b%20c.yaml");
        assert_eq!(uri(Path::new("a:b.yaml")), "a%3Ab.yaml");
        assert_eq!(uri(Path::new("/srv/ä.yaml")), "file:///srv/%C3%A4.yaml");
    }
}
