//! `open_enum!`: enumerations that keep what they do not know.

/// An enumeration of strings. A value that it does not name is kept in `Other`, so that a resource
/// of a later release still reads; admission says what the CRD says about it.
///
/// Its schema is the list of its values, unless `limits` gives the limits of an open string.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(limits $limits:expr ;)? {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
            /// A value that this release does not know.
            Other(std::sync::Arc<str>),
        }

        impl $name {
            /// The values that this release knows, as they are written.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The value as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(std::sync::Arc::from(other)),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::schema::Described for $name {
            fn schema() -> $crate::schema::Schema {
                $crate::schema::open_enum!(@schema [$($text),+] $($limits)?)
            }

            fn read(value: serde_json::Value) -> Result<Self, $crate::schema::ReadError> {
                match &value {
                    serde_json::Value::String(text) => Ok(Self::from(text.as_str())),
                    other => Err($crate::schema::ReadError::mismatch("a string", other)),
                }
            }

            fn write(&self) -> Option<serde_json::Value> {
                Some(serde_json::Value::from(self.as_str()))
            }
        }

        $crate::schema::serde_by_value!($name);
    };
    (@schema [$($text:literal),+]) => {
        $crate::schema::Schema::of($crate::schema::Shape::Text($crate::schema::Text {
            limits: $crate::text::TextLimits::NONE,
            values: Some(vec![$($text),+]),
            format: None,
        }))
    };
    (@schema [$($text:literal),+] $limits:expr) => {
        $crate::schema::Schema::text($limits)
    };
}
pub(crate) use open_enum;
