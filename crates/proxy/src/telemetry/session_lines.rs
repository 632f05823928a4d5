//! The access log's lines about connections and flows below HTTP.

use jiff::Timestamp;
use serde_json::json;

use super::session::SessionRecord;

fn millis(record: &SessionRecord) -> f64 {
    (record.started.elapsed().as_micros() as f64) / 1000.0
}

/// Words in a fixed order; the server name, which a client chooses, is quoted and escaped.
pub(super) fn text(record: &SessionRecord) -> String {
    format!(
        "{:.3} {} {:?} - {} received={} sent={} ms={:.3} listener={} route={} endpoint={} attempts={}",
        Timestamp::now(),
        record.client,
        format!("{} {}", record.session.as_str(), record.server_name.as_deref().unwrap_or("-")),
        record.reason.as_str(),
        record.received,
        record.sent,
        millis(record),
        record.listener.id,
        record.route.as_ref().map_or_else(|| "-".to_owned(), |route| route.origin.to_string()),
        record.endpoint().unwrap_or("-"),
        record.attempts,
    )
}

/// The fields of a request's line that a connection or flow has, and its server name.
pub(super) fn json(record: &SessionRecord) -> String {
    json!({
        "time": format!("{:.3}", Timestamp::now()),
        "client": record.client.to_string(),
        "protocol": record.session.as_str(),
        "server_name": record.server_name,
        "reason": record.reason.as_str(),
        "bytes_received": record.received,
        "bytes_sent": record.sent,
        "duration_ms": millis(record),
        "listener": record.listener.id.to_string(),
        "route": record.route.as_ref().map(|route| route.origin.to_string()),
        "endpoint": record.endpoint(),
        "attempts": record.attempts,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portcullis_model::{HostPattern, Listener, ListenerFilters, ListenerId, ListenerProtocol, Origin};

    use super::*;
    use crate::reason::Reason;
    use crate::telemetry::Session;

    fn record() -> SessionRecord {
        let gateway = Origin { kind: "Gateway".into(), namespace: "n".into(), name: "g".into() };
        let id = ListenerId { gateway: gateway.clone(), owner: gateway, name: "tls".into() };
        let (hostname, protocol) = (HostPattern::Any, ListenerProtocol::TlsPassthrough(Vec::new()));
        let listener = Listener {
            id,
            port: 443,
            hostname,
            protocol,
            filters: ListenerFilters::default(),
            client_certificate: None,
            routes: Vec::new(),
            grpc_routes: Vec::new(),
        };
        let mut record = SessionRecord::new(Session::Tls, ([192, 0, 2, 1], 5000).into(), Arc::new(listener));
        record.server_name = Some("a\u{1b}\n\"b".into());
        record.reason = Reason::NoRule;
        record
    }

    /// A line is one line, and nothing a client sends reaches a terminal raw.
    #[test]
    fn a_server_name_is_escaped() {
        let line = text(&record());
        assert!(line.contains(r#"192.0.2.1:5000 "tls a\u{1b}\n\"b" - no_rule received=0 sent=0"#), "{line}");
        assert!(line.ends_with("listener=Gateway/n/g/tls route=- endpoint=- attempts=0"), "{line}");
        assert!(!line.contains(['\u{1b}', '\n']));
    }

    #[test]
    fn json_has_a_field_for_each_question() {
        let line: serde_json::Value = serde_json::from_str(&json(&record())).unwrap();
        assert_eq!(line["protocol"], "tls");
        assert_eq!(line["server_name"], "a\u{1b}\n\"b");
        assert_eq!(line["reason"], "no_rule");
        assert_eq!(line["route"], serde_json::Value::Null);
    }
}
