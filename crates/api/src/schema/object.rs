//! `object!`: structs that are JSON objects.

/// A struct and, from the same lines, its schema, its reading and its writing.
///
/// A field's JSON name is its own, unless `as "otherName"` gives another. Whether it is required
/// follows from its type: `Option`, lists and maps may be absent. Limits beyond those of the type
/// stand in brackets, as calls on [`Field`](super::Field); rules over the whole object follow
/// `rules`.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident $(as $json:literal)? : $type:ty $([ $($limits:tt)* ])?
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
                        $($($limits)*)?,
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
                $($crate::schema::write_field(
                    &mut fields,
                    $crate::schema::object!(@name $field $($json)?),
                    &self.$field,
                );)*
                Some(serde_json::Value::Object(fields))
            }
        }

        $crate::schema::serde_by_value!($name);
    };
    (@rules) => { &[] };
    (@rules $rules:expr) => { $rules };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $json:literal) => { $json };
}
pub(crate) use object;
