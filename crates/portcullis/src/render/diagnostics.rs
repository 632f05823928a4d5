//! Diagnostics as text and as JSON.

use std::fmt::Write;

use portcullis_api::diagnostic::Document;
use portcullis_api::{Diagnostic, ObjectKey, Severity};
use serde_json::{Value, json};

use super::Paint;

/// Diagnostics for a person: what and where, the object and field, and what to do.
pub(crate) fn diagnostics_text(diagnostics: &[Diagnostic], paint: Paint) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        write_one(&mut text, diagnostic, paint);
    }
    text
}

fn write_one(text: &mut String, diagnostic: &Diagnostic, paint: Paint) {
    let label = format!("{}[{}]", diagnostic.severity(), diagnostic.rule.code);
    let label = match diagnostic.severity() {
        Severity::Error => paint.error(label),
        Severity::Warning => paint.warning(label),
        Severity::Info => paint.info(label),
    };
    let _ = writeln!(text, "{label}: {}", paint.strong(&diagnostic.message));
    let place = diagnostic.position.as_ref().map(ToString::to_string);
    let path = (!diagnostic.path.is_root()).then(|| diagnostic.path.to_string());
    let whereabouts: Vec<String> = [place, diagnostic.subject(), path].into_iter().flatten().collect();
    if !whereabouts.is_empty() {
        let _ = writeln!(text, "  {} {}", paint.faint("-->"), whereabouts.join("  "));
    }
    if !diagnostic.hint().is_empty() {
        let _ = writeln!(text, "  {}: {}", paint.hint("hint"), diagnostic.hint());
    }
}

/// How many of each severity, such as `1 error, 2 warnings`; empty where there are none.
pub(crate) fn tally(diagnostics: &[Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity() == severity).count();
    let parts = [
        (of(Severity::Error), "error", "errors"),
        (of(Severity::Warning), "warning", "warnings"),
        (of(Severity::Info), "note", "notes"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts = parts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
    parts.collect::<Vec<_>>().join(", ")
}

/// Diagnostics for a program.
pub(crate) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    json!({ "diagnostics": diagnostics.iter().map(one_json).collect::<Vec<_>>() })
}

fn one_json(diagnostic: &Diagnostic) -> Value {
    let position = diagnostic.position.as_ref();
    let object = diagnostic.object.as_ref().map(object_json);
    let object = object.or_else(|| diagnostic.document.as_deref().map(document_json));
    json!({
        "code": diagnostic.rule.code,
        "severity": diagnostic.severity().as_str(),
        "object": object,
        "file": position.map(|position| position.file.display().to_string()),
        "line": position.map(|position| position.line),
        "column": position.map(|position| position.column),
        "path": diagnostic.path.to_string(),
        "message": diagnostic.message,
        "hint": diagnostic.hint(),
    })
}

fn object_json(key: &ObjectKey) -> Value {
    let namespace = (!key.namespace.is_empty()).then_some(&key.namespace);
    json!({
        "apiVersion": key.kind.api_version(),
        "kind": key.kind.as_str(),
        "namespace": namespace,
        "name": key.name,
    })
}

/// What is known of an object that has no key.
fn document_json(document: &Document) -> Value {
    json!({
        "apiVersion": document.api_version,
        "kind": document.kind,
        "namespace": document.namespace,
        "name": document.name,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use portcullis_api::{FieldPath, Kind, Position, Rule};

    use super::*;

    static REFUSED: Rule = Rule {
        code: "PC0203",
        severity: Severity::Error,
        summary: "port out of range",
        hint: "choose another",
    };
    static ODD: Rule = Rule { code: "PC0701", severity: Severity::Warning, summary: "shadowed", hint: "" };

    pub(in crate::render) fn samples() -> Vec<Diagnostic> {
        let path = FieldPath::of("spec").field("listeners").index(2).field("port");
        let at = Position { file: Arc::new(PathBuf::from("gateways/my web.yaml")), line: 12, column: 7 };
        vec![
            Diagnostic::new(&REFUSED, path, "70000 is no port")
                .about(ObjectKey::new(Kind::Gateway, "edge", "web"))
                .at(at),
            Diagnostic::new(&ODD, FieldPath::ROOT, "never reached"),
        ]
    }

    #[test]
    fn text_says_what_where_and_what_to_do() {
        assert_eq!(
            diagnostics_text(&samples(), Paint::PLAIN),
            "error[PC0203]: 70000 is no port\n  \
             --> gateways/my web.yaml:12:7  Gateway/edge/web  spec.listeners[2].port\n  \
             hint: choose another\n\
             warning[PC0701]: never reached\n"
        );
        assert_eq!(tally(&samples()), "1 error, 1 warning");
        assert_eq!(tally(&[]), "");
    }

    /// A kind that is not known, or an object without a name, is told as far as it says what it is.
    #[test]
    fn what_has_no_key_is_told_as_far_as_it_goes() {
        let mut diagnostic = Diagnostic::new(&REFUSED, FieldPath::of("kind"), "there is no such kind");
        diagnostic.document = Some(Box::new(Document {
            api_version: Some("gateway.networking.k8s.io/v1".to_owned()),
            kind: Some("HTTPRoutes".to_owned()),
            namespace: None,
            name: Some("web".to_owned()),
        }));
        let found = [diagnostic];
        assert_eq!(
            diagnostics_text(&found, Paint::PLAIN),
            "error[PC0203]: there is no such kind\n  --> HTTPRoutes/web  kind\n  hint: choose another\n"
        );
        assert_eq!(
            diagnostics_json(&found)["diagnostics"][0]["object"],
            json!({
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoutes", "namespace": null, "name": "web",
            })
        );
    }

    #[test]
    fn json_has_every_part_and_null_for_what_is_not_known() {
        assert_eq!(
            diagnostics_json(&samples()),
            json!({"diagnostics": [
                {
                    "code": "PC0203", "severity": "error",
                    "object": {
                        "apiVersion": "gateway.networking.k8s.io/v1",
                        "kind": "Gateway", "namespace": "edge", "name": "web",
                    },
                    "file": "gateways/my web.yaml", "line": 12, "column": 7,
                    "path": "spec.listeners[2].port", "message": "70000 is no port", "hint": "choose another",
                },
                {
                    "code": "PC0701", "severity": "warning", "object": null,
                    "file": null, "line": null, "column": null,
                    "path": "", "message": "never reached", "hint": "",
                },
            ]})
        );
    }
}
