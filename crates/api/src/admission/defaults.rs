//! Setting defaults.

use serde_json::Value;

use crate::schema::{Schema, Shape};

/// Writes the defaults of absent fields, also into what a default has just written.
pub(super) fn set(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => {
            for field in fields {
                if let Some(default) = &field.default
                    && values.get(field.name).is_none_or(Value::is_null)
                {
                    values.insert(field.name.to_owned(), default.clone());
                }
                if let Some(value) = values.get_mut(field.name) {
                    set(&field.schema, value);
                }
            }
        }
        (Shape::Map { values: schema, .. }, Value::Object(entries)) => {
            entries.values_mut().for_each(|value| set(schema, value));
        }
        (Shape::List(list), Value::Array(items)) => {
            items.iter_mut().for_each(|item| set(&list.items, item));
        }
        _ => {}
    }
}
