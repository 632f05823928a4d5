//! `status.listeners` of Gateways and ListenerSets.

use serde_json::{Value, json};

use super::level::Level;
use super::{Newer, Ours, list, text};

impl Ours<'_> {
    /// One entry a listener of the spec, in its order, with the conditions and fields that others put into it.
    pub(super) fn listeners(&self, before: &[Value], desired: &[Value]) -> Result<Vec<Value>, Newer> {
        let merged = desired.iter().map(|ours| {
            let name = text(ours, "name");
            let known = before.iter().find(|entry| text(entry, "name") == name);
            let conditions = self.conditions(
                Level::Listener,
                known.map_or(&[], |entry| list(entry, "conditions")),
                list(ours, "conditions"),
            )?;
            let mut fields = known.and_then(Value::as_object).cloned().unwrap_or_default();
            for field in ["name", "attachedRoutes"] {
                fields.insert(field.to_owned(), ours.get(field).cloned().unwrap_or_default());
            }
            // Bundles before v1.5 require the list even where it is empty.
            let kinds = ours.get("supportedKinds").cloned().unwrap_or_else(|| json!([]));
            fields.insert("supportedKinds".to_owned(), kinds);
            fields.insert("conditions".to_owned(), conditions.into());
            Ok(Value::Object(fields))
        });
        merged.collect()
    }
}
