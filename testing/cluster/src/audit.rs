//! What the controller has asked of the API server, from the audit log.

use serde_json::Value;

/// The user that the controller is.
const USER: &str = "system:serviceaccount:portcullis:portcullis";

/// A request of the controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// What it asked to do, such as `watch`.
    pub verb: String,
    /// The API group; empty for the core's.
    pub group: String,
    /// The plural, with the subresource, if there is one.
    pub resource: String,
    /// The object; empty for a collection.
    pub name: String,
    /// The status that it was answered.
    pub code: u64,
}

impl Asked {
    /// What a line of the log tells; nothing if it is about another user, or not whole yet.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let text =
            |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        if text("/user/username") != USER {
            return None;
        }
        let (resource, part) = (text("/objectRef/resource"), text("/objectRef/subresource"));
        Some(Self {
            verb: text("/verb"),
            group: text("/objectRef/apiGroup"),
            resource: if part.is_empty() { resource } else { format!("{resource}/{part}") },
            name: text("/objectRef/name"),
            code: event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
        })
    }
}
