//! [`Described`]: types that tell their schema and read and write themselves.

use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use super::misfit::misfit;
use super::{Integer, List, Schema, Shape, Text, TextFormat, Unique};
use crate::{
    field_path::{FieldPath, Step},
    text::TextLimits,
};

/// A type with a schema, that reads itself from JSON and writes itself as JSON.
pub(crate) trait Described: Sized {
    fn schema() -> Schema;

    /// The value, if the JSON fits the type.
    fn read(value: Value) -> Result<Self, ReadError>;

    /// The value of an absent field, for types that have one.
    fn absent() -> Option<Self> {
        None
    }

    /// The JSON, or nothing where the field would better be absent.
    fn write(&self) -> Option<Value>;

    /// The JSON for a field that has a default: an empty list is no absent one there.
    fn write_present(&self) -> Option<Value> {
        self.write()
    }
}

/// Why JSON does not fit a type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The place.
    pub path: FieldPath,
    /// What is wrong there.
    pub message: String,
}

impl ReadError {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { path: FieldPath::ROOT, message: message.to_string() }
    }

    pub(crate) fn mismatch(wanted: &str, found: &Value) -> Self {
        Self::new(format_args!("must be {wanted}, not {}", type_of(found)))
    }

    pub(crate) fn under(self, step: Step) -> Self {
        Self { path: self.path.under(vec![step]), message: self.message }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_root() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ReadError {}

/// A type of JSON in words.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Takes a field out of an object and reads it.
pub(crate) fn read_field<T: Described>(
    fields: &mut Map<String, Value>,
    name: &'static str,
) -> Result<T, ReadError> {
    match fields.remove(name) {
        Some(Value::Null) | None => T::absent().ok_or_else(|| ReadError::new("is required")),
        Some(value) => T::read(value),
    }
    .map_err(|error| error.under(Step::Field(Arc::from(name))))
}

/// Writes a field into an object, unless it is better absent.
pub(crate) fn write_field(fields: &mut Map<String, Value>, name: &'static str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value);
    }
}

/// `Serialize` and `Deserialize` by way of [`Described`].
macro_rules! serde_by_value {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let value = $crate::schema::Described::write(self);
                serde::Serialize::serialize(&value, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                <Self as $crate::schema::Described>::read(value).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_by_value;

impl<T: Described> Described for Option<T> {
    fn schema() -> Schema {
        T::schema()
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn write(&self) -> Option<Value> {
        self.as_ref().and_then(T::write)
    }
}

impl<T: Described> Described for Box<T> {
    fn schema() -> Schema {
        T::schema()
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        T::read(value).map(Box::new)
    }

    fn write(&self) -> Option<Value> {
        (**self).write()
    }
}

impl<T: Described> Described for Vec<T> {
    fn schema() -> Schema {
        Schema::of(Shape::List(List {
            items: Box::new(T::schema()),
            min_items: 0,
            max_items: None,
            unique: Unique::Nothing,
        }))
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        let Value::Array(items) = value else {
            return Err(ReadError::mismatch("a list", &value));
        };
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| T::read(item).map_err(|error| error.under(Step::Index(index))))
            .collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.iter().filter_map(T::write).collect())
    }

    fn write_present(&self) -> Option<Value> {
        Some(self.iter().filter_map(T::write).collect())
    }
}

impl<T: Described> Described for BTreeMap<Arc<str>, T> {
    fn schema() -> Schema {
        Schema::of(Shape::Map { values: Box::new(T::schema()), max_properties: None })
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        let Value::Object(entries) = value else {
            return Err(ReadError::mismatch("an object", &value));
        };
        entries
            .into_iter()
            .map(|(key, value)| {
                let key = Arc::from(key);
                match T::read(value) {
                    Ok(value) => Ok((key, value)),
                    Err(error) => Err(error.under(Step::Key(key))),
                }
            })
            .collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        let entries = self.iter().filter_map(|(key, value)| Some((key.to_string(), value.write()?)));
        Some(Value::Object(entries.collect()))
    }
}

impl Described for Arc<str> {
    fn schema() -> Schema {
        Schema::text(TextLimits::NONE)
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        match value {
            Value::String(text) => Ok(Self::from(text)),
            other => Err(ReadError::mismatch("a string", &other)),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::from(&**self))
    }
}

impl Described for bool {
    fn schema() -> Schema {
        Schema::of(Shape::Boolean)
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        value.as_bool().ok_or_else(|| ReadError::mismatch("a boolean", &value))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

/// The integer that a JSON number is, whether it is written `80` or `80.0`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let float = value.as_f64()?;
        #[allow(clippy::cast_possible_truncation, reason = "a whole number of this size is exact")]
        (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
    })
}

macro_rules! described_integer {
    ($($type:ty: $int32:expr;)+) => {
        $(impl Described for $type {
            fn schema() -> Schema {
                Schema::integer(Integer { int32: $int32, ..Integer::default() })
            }

            fn read(value: Value) -> Result<Self, ReadError> {
                let number =
                    integer(&value).ok_or_else(|| ReadError::mismatch("an integer", &value))?;
                Self::try_from(number)
                    .map_err(|_| ReadError::new(format_args!("{number} is out of range")))
            }

            fn write(&self) -> Option<Value> {
                Some(Value::from(*self))
            }
        })+
    };
}

described_integer! {
    i64: false;
    u64: false;
    i32: true;
    u32: true;
    u16: true;
}

impl Described for Timestamp {
    fn schema() -> Schema {
        Schema::of(Shape::Text(Text {
            limits: TextLimits::NONE,
            values: None,
            format: Some(TextFormat::DateTime),
        }))
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        let text = <Arc<str> as Described>::read(value)?;
        text.parse().map_err(ReadError::new)
    }

    /// In whole seconds, as Kubernetes writes times.
    fn write(&self) -> Option<Value> {
        serde_json::to_value(Time(*self)).ok()
    }
}

impl Described for ObjectMeta {
    fn schema() -> Schema {
        Schema::of(Shape::Metadata)
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        serde_path_to_error::deserialize(&value).map_err(|error| ReadError::from_serde(&error, &value))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }

    fn write(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

impl ReadError {
    /// The same error from serde about a value, its path in our form and its message in the words of YAML.
    fn from_serde(error: &serde_path_to_error::Error<serde_json::Error>, value: &Value) -> Self {
        use serde_path_to_error::Segment;
        let mut path = FieldPath::ROOT;
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => path.push(Step::Index(*index)),
                Segment::Map { key } => path.push(Step::Field(Arc::from(key.as_str()))),
                Segment::Enum { variant } => path.push(Step::Field(Arc::from(variant.as_str()))),
                Segment::Unknown => {}
            }
        }
        let found = path.steps().iter().try_fold(value, |value, step| match step {
            Step::Field(name) | Step::Key(name) => value.get(&**name),
            Step::Index(index) => value.get(index),
        });
        let message = misfit(&error.inner().to_string(), found.unwrap_or(&Value::Null));
        Self { path, message }
    }
}
