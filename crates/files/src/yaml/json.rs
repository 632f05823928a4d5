//! A node as JSON, the form in which admission judges objects.

use super::number::Number;
use super::scalar::Resolved;
use super::{Content, Node, Scalar};
use serde_json::Value;

/// Integral floats below this are integers in Go's JSON, so that `port: 8e1` is port 80.
const INTEGRAL_BELOW: f64 = 9_223_372_036_854_775_807.0;

impl Node {
    /// The JSON that kubectl would send for this node.
    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.to_json(),
            Content::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Content::Mapping(entries) => {
                let fields = entries.iter().map(|e| (e.key.to_string(), e.value.to_json()));
                Value::Object(fields.collect())
            }
        }
    }
}

impl Scalar {
    fn to_json(&self) -> Value {
        match self.value {
            // A value that is not finite is a fault of its document, found when it was composed.
            Resolved::Null | Resolved::NotFinite => Value::Null,
            Resolved::Bool(value) => value.into(),
            Resolved::Number(Number::Signed(value)) => value.into(),
            Resolved::Number(Number::Unsigned(value)) => value.into(),
            Resolved::Number(Number::Float(value)) => float(value),
            Resolved::Text => (*self.text).into(),
        }
    }
}

fn float(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < INTEGRAL_BELOW { (value as i64).into() } else { value.into() }
}
