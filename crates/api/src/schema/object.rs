//! `object!`: structs that are JSON objects.

/// A struct and, from the same lines, its schema, its reading and its writing.
///
/// A field's JSON name is its own, unless `as "otherName"` gives another. Whether it is required
/// follows from its type: `Option`, lists and maps may be absent. Limits beyond those of the type
/// stand in brackets, as calls on [`Field`](super::Field). What an absent field means follows `=`: a
/// default or [`Required`](super::Required); such a field is written also where it is an empty list.
/// Rules over the whole object follow `rules`.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident $(as $json:literal)? : $type:ty
                    $([ $($limits:tt)* ])? $(= $if_absent:expr)?
            ),* $(,)?
        }
        $(rules $rules:expr)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::schema::Described for $name {
            fn schema() -> $crate::schema::Schema {
                $crate::schema::Schema::object(
                    vec![$(
                        $crate::schema::Field::of::<$type>(
                            $crate::schema::object!(@name $field $($json)?)
                        )
                        $($($limits)*)?
                        $(.if_absent($if_absent))?,
                    )*],
                    $crate::schema::object!(@rules $($rules)?),
                )
            }

            fn read(value: serde_json::Value) -> Result<Self, $crate::schema::ReadError> {
                let serde_json::Value::Object(mut fields) = value else {
                    return Err($crate::schema::ReadError::mismatch("an object", &value));
                };
                Ok(Self {
                    $($field: $crate::schema::read_field(
                        &mut fields,
                        $crate::schema::object!(@name $field $($json)?),
                    )?,)*
                })
            }

            fn write(&self) -> Option<serde_json::Value> {
                let mut fields = serde_json::Map::new();
                $($crate::schema::object!(@write fields, self.$field,
                    $crate::schema::object!(@name $field $($json)?) $(, $if_absent)?);)*
                Some(serde_json::Value::Object(fields))
            }
        }

        $crate::schema::serde_by_value!($name);
    };
    (@write $fields:ident, $value:expr, $name:expr) => {
        $crate::schema::write_field(&mut $fields, $name, $value.write())
    };
    (@write $fields:ident, $value:expr, $name:expr, $if_absent:expr) => {
        $crate::schema::write_field(&mut $fields, $name, $value.write_present())
    };
    (@rules) => { &[] };
    (@rules $rules:expr) => { $rules };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $json:literal) => { $json };
}
pub(crate) use object;
