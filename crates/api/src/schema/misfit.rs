//! What serde says of a value that does not fit a type, in the words of YAML.
//!
//! The types of k8s-openapi read themselves by serde, whose errors name Rust's types (`expected i32`).

use serde_json::Value;

use super::type_of;

/// What a type wants, by what serde says that it expected; none where that is no type of JSON.
pub(crate) fn wanted(error: &str) -> Option<&'static str> {
    let (_, expected) = error.split_once(", expected ")?;
    let expected = expected.split(" at line ").next()?;
    match expected {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => Some("an integer"),
        "f32" | "f64" => Some("a number"),
        "a boolean" => Some("true or false"),
        "a string" => Some("a string"),
        "IntOrString" => Some("an integer or a string"),
        "a sequence" => Some("a list"),
        "a map" => Some("an object"),
        // The name of a type of several fields.
        other if other.chars().all(char::is_alphanumeric) => Some("an object"),
        _ => None,
    }
}

/// What is wrong with the value that was found where serde failed.
pub(crate) fn misfit(error: &str, found: &Value) -> String {
    if let Some(field) = error.strip_prefix("missing field `") {
        return format!("{} is required", field.split('`').next().unwrap_or_default());
    }
    match wanted(error) {
        Some("an integer") if found.is_i64() || found.is_u64() => format!("{found} is out of range"),
        Some(wanted) => format!("must be {wanted}, not {}", type_of(found)),
        None => "has a form that the field does not take".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn said<T: DeserializeOwned + std::fmt::Debug>(object: &Value, at: &str) -> String {
        let error = T::deserialize(object).expect_err("it does not fit").to_string();
        misfit(&error, object.pointer(at).unwrap_or(&Value::Null))
    }

    /// Each of these is what serde said in words such as `expected i32`.
    #[test]
    fn a_value_that_does_not_fit_is_told_in_the_words_of_yaml() {
        let service = |port: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [port]}});
        let port = "/spec/ports/0/port";
        assert_eq!(said::<Service>(&service(json!({"port": "x"})), port), "must be an integer, not a string");
        assert_eq!(said::<Service>(&service(json!({"port": 1.5})), port), "must be an integer, not a number");
        let huge = service(json!({"port": 99_999_999_999_u64}));
        assert_eq!(said::<Service>(&huge, port), "99999999999 is out of range");
        assert_eq!(
            said::<Service>(&service(json!({"port": 1, "targetPort": true})), "/spec/ports/0/targetPort"),
            "must be an integer or a string, not a boolean"
        );
        assert_eq!(
            said::<Service>(&service(json!("80")), "/spec/ports/0"),
            "must be an object, not a string"
        );
        let spec = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": spec});
        assert_eq!(
            said::<Service>(&spec(json!({"ports": 80})), "/spec/ports"),
            "must be a list, not an integer"
        );
        assert_eq!(
            said::<Service>(&spec(json!({"selector": "a"})), "/spec/selector"),
            "must be an object, not a string"
        );
        assert_eq!(
            said::<ObjectMeta>(&json!({"labels": {"a": 1}}), "/labels/a"),
            "must be a string, not an integer"
        );
        assert_eq!(
            said::<ObjectMeta>(&json!({"creationTimestamp": "now"}), "/creationTimestamp"),
            "has a form that the field does not take"
        );
        assert_eq!(misfit("missing field `port`", &Value::Null), "port is required");
    }
}
