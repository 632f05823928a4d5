//! Schemas: what a CRD says about a field, written beside the Rust type that holds it.
//!
//! [`Described`] is the one trait behind it: a type tells its schema and reads and writes itself.
//! `object!` derives it for structs, `text!` for strings with limits, `open_enum!` for enumerations.

mod constraints;
mod described;
mod misfit;
mod object;
mod open_enum;
mod served;

use std::sync::Arc;

use serde_json::Value;

pub use constraints::{Constraint, constraints};
pub use described::ReadError;
pub(crate) use described::{Described, integer, read_field, serde_by_value, type_of, write_field};
pub(crate) use misfit::{misfit, wanted};
pub(crate) use object::object;
pub(crate) use open_enum::open_enum;
pub(crate) use served::{Served, served};

use crate::{cel::CelRule, field_path::Step, text::TextLimits};

/// What a CRD says about one value.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) shape: Shape,
    /// Rules over this value, run after defaulting (`x-kubernetes-validations`).
    pub(crate) rules: Vec<&'static CelRule>,
    /// Whether an object of `type: IPAddress` must have an IP address as its `value` (`oneOf`).
    pub(crate) address: bool,
}

/// The type of a value and its limits.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Object(Vec<Field>),
    Map {
        values: Box<Schema>,
        max_properties: Option<usize>,
    },
    List(List),
    Text(Text),
    Integer(Integer),
    Boolean,
    /// `metadata`, which the API server checks by rules of its own.
    Metadata,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) items: Box<Schema>,
    pub(crate) min_items: usize,
    pub(crate) max_items: Option<usize>,
    pub(crate) unique: Unique,
}

/// What may not occur twice in a list (`x-kubernetes-list-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unique {
    /// `atomic`: anything may.
    Nothing,
    /// `set`: values.
    Values,
    /// `map`: entries with this key.
    By(&'static str),
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) limits: TextLimits,
    pub(crate) values: Option<Vec<&'static str>>,
    pub(crate) format: Option<TextFormat>,
}

/// Formats that the API server checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    DateTime,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Integer {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
    pub(crate) values: Option<Vec<i64>>,
    /// `int32` rather than `int64` or no format.
    pub(crate) int32: bool,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The same, as a step of a path; there so that examining an object allocates nothing.
    pub(crate) step: Step,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) schema: Schema,
}

/// What it means that a field is absent.
#[derive(Debug)]
pub(crate) enum IfAbsent {
    /// The object is refused.
    Refused,
    /// The API server writes this value.
    Default(Value),
}

/// The field must be there: [`IfAbsent::Refused`], for fields whose type would let them be absent.
#[derive(Debug)]
pub(crate) struct Required;

impl From<Required> for IfAbsent {
    fn from(Required: Required) -> Self {
        Self::Refused
    }
}

impl From<Value> for IfAbsent {
    fn from(default: Value) -> Self {
        Self::Default(default)
    }
}

impl Schema {
    pub(crate) fn of(shape: Shape) -> Self {
        Self { shape, rules: Vec::new(), address: false }
    }

    pub(crate) fn text(limits: TextLimits) -> Self {
        Self::of(Shape::Text(Text { limits, values: None, format: None }))
    }

    pub(crate) fn integer(integer: Integer) -> Self {
        Self::of(Shape::Integer(integer))
    }

    pub(crate) fn object(fields: Vec<Field>, rules: &[&'static CelRule]) -> Self {
        Self { shape: Shape::Object(fields), rules: rules.to_vec(), address: false }
    }

    /// The schema of a field, by the path of field names; lists are stepped into.
    pub(crate) fn field_mut(&mut self, path: &[&str]) -> Option<&mut Field> {
        let (first, rest) = path.split_first()?;
        match &mut self.shape {
            Shape::Object(fields) => {
                let field = fields.iter_mut().find(|field| field.name == *first)?;
                match rest {
                    [] => Some(field),
                    rest => field.schema.field_mut(rest),
                }
            }
            Shape::List(list) => list.items.field_mut(path),
            _ => None,
        }
    }
}

/// Limits of a field beyond those of its type, in the order a CRD would list them.
impl Field {
    pub(crate) fn of<T: Described>(name: &'static str) -> Self {
        Self {
            name,
            step: Step::Field(Arc::from(name)),
            required: T::absent().is_none(),
            default: None,
            schema: T::schema(),
        }
    }

    pub(crate) fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// What it means that the field is absent.
    pub(crate) fn if_absent(mut self, meaning: impl Into<IfAbsent>) -> Self {
        match meaning.into() {
            IfAbsent::Refused => self.required = true,
            IfAbsent::Default(value) => {
                self.default = Some(value);
                self.required = false;
            }
        }
        self
    }

    pub(crate) fn rules(mut self, rules: &[&'static CelRule]) -> Self {
        self.schema.rules.extend_from_slice(rules);
        self
    }

    /// Rules over each item of a list.
    pub(crate) fn item_rules(self, rules: &[&'static CelRule]) -> Self {
        self.list(|list| list.items.rules.extend_from_slice(rules))
    }

    /// The list's items are addresses whose value must fit their type.
    pub(crate) fn addresses(self) -> Self {
        self.list(|list| list.items.address = true)
    }

    fn list(mut self, change: impl FnOnce(&mut List)) -> Self {
        debug_assert!(matches!(self.schema.shape, Shape::List(_)), "{}", self.name);
        if let Shape::List(list) = &mut self.schema.shape {
            change(list);
        }
        self
    }

    pub(crate) fn items(self, min: usize, max: usize) -> Self {
        self.list(|list| {
            list.min_items = min;
            list.max_items = Some(max);
        })
    }

    pub(crate) fn max_items(self, max: usize) -> Self {
        self.items(0, max)
    }

    pub(crate) fn unique(self, unique: Unique) -> Self {
        self.list(|list| list.unique = unique)
    }

    pub(crate) fn unique_by(self, key: &'static str) -> Self {
        self.unique(Unique::By(key))
    }

    pub(crate) fn set(self) -> Self {
        self.unique(Unique::Values)
    }

    pub(crate) fn max_properties(mut self, max: usize) -> Self {
        debug_assert!(matches!(self.schema.shape, Shape::Map { .. }));
        if let Shape::Map { max_properties, .. } = &mut self.schema.shape {
            *max_properties = Some(max);
        }
        self
    }

    /// The integer shape of the field itself or of its list's items.
    fn integer(mut self, change: impl FnOnce(&mut Integer)) -> Self {
        let shape = match &mut self.schema.shape {
            Shape::List(list) => &mut list.items.shape,
            shape => shape,
        };
        debug_assert!(matches!(shape, Shape::Integer(_)), "{}", self.name);
        if let Shape::Integer(integer) = shape {
            change(integer);
        }
        self
    }

    pub(crate) fn min(self, min: i64) -> Self {
        self.integer(|integer| integer.min = Some(min))
    }

    pub(crate) fn range(self, min: i64, max: i64) -> Self {
        self.integer(|integer| {
            integer.min = Some(min);
            integer.max = Some(max);
        })
    }

    /// An integer that the CRD gives no format.
    pub(crate) fn any_format(self) -> Self {
        self.integer(|integer| integer.int32 = false)
    }

    pub(crate) fn one_of_integers(self, values: &[i64]) -> Self {
        self.integer(|integer| integer.values = Some(values.to_vec()))
    }

    /// The text shape of the field itself, or of its list's items or its map's values.
    fn text(mut self, change: impl FnOnce(&mut Text)) -> Self {
        let shape = match &mut self.schema.shape {
            Shape::List(list) => &mut list.items.shape,
            Shape::Map { values, .. } => &mut values.shape,
            shape => shape,
        };
        debug_assert!(matches!(shape, Shape::Text(_)), "{}", self.name);
        if let Shape::Text(text) = shape {
            change(text);
        }
        self
    }

    pub(crate) fn max_length(self, max: usize) -> Self {
        self.text(|text| text.limits.max_length = Some(max))
    }

    pub(crate) fn lengths(self, min: usize, max: usize) -> Self {
        self.text(|text| {
            text.limits.min_length = min;
            text.limits.max_length = Some(max);
        })
    }

    /// Fewer values than the enumeration has in other places.
    pub(crate) fn one_of(self, values: &[&'static str]) -> Self {
        self.text(|text| text.values = Some(values.to_vec()))
    }
}
