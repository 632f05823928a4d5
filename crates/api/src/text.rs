//! `text!`: string types that carry their own limits.

use thiserror::Error;

use crate::patterns::Pattern;

/// Limits of a string. Lengths count Unicode code points, as the API server does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextLimits {
    pub(crate) min_length: usize,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<&'static Pattern>,
}

impl TextLimits {
    pub(crate) const NONE: Self = Self { min_length: 0, max_length: None, pattern: None };

    pub(crate) const fn min_length(mut self, min: usize) -> Self {
        self.min_length = min;
        self
    }

    pub(crate) const fn max_length(mut self, max: usize) -> Self {
        self.max_length = Some(max);
        self
    }

    pub(crate) const fn pattern(mut self, pattern: &'static Pattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    pub(crate) fn check(&self, text: &str) -> Result<(), InvalidText> {
        let length = text.chars().count();
        if length < self.min_length {
            return Err(InvalidText::TooShort { min: self.min_length });
        }
        if let Some(max) = self.max_length
            && length > max
        {
            return Err(InvalidText::TooLong { max });
        }
        match self.pattern {
            Some(pattern) if !pattern.matches(text) => Err(InvalidText::Pattern { pattern: pattern.source }),
            _ => Ok(()),
        }
    }
}

/// Why a string is no value of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidText {
    /// Fewer characters than allowed.
    #[error("must have at least {min} characters")]
    TooShort {
        /// The least number of characters.
        min: usize,
    },
    /// More characters than allowed.
    #[error("must have at most {max} characters")]
    TooLong {
        /// The greatest number of characters.
        max: usize,
    },
    /// The pattern does not match.
    #[error("must match {pattern}")]
    Pattern {
        /// The regular expression, as the CRD has it.
        pattern: &'static str,
    },
}

/// A type for strings within limits: cheap to clone, valid once it exists.
macro_rules! text {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($limit:ident : $value:expr),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            pub(crate) const LIMITS: $crate::text::TextLimits =
                $crate::text::TextLimits::NONE$(.$limit($value))*;

            /// The value, if it is within the limits of its type.
            ///
            /// # Errors
            /// The first limit that it breaks.
            pub fn new(
                text: impl Into<std::sync::Arc<str>>,
            ) -> Result<Self, $crate::text::InvalidText> {
                let text = text.into();
                Self::LIMITS.check(&text).map(|()| Self(text))
            }

            /// For texts that are known to be valid where they are written.
            #[allow(dead_code, reason = "some types have no well-known values")]
            pub(crate) fn unchecked(text: &'static str) -> Self {
                debug_assert!(Self::LIMITS.check(text).is_ok());
                Self(std::sync::Arc::from(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, shared.
            pub fn shared(&self) -> std::sync::Arc<str> {
                self.0.clone()
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                *self.0 == *other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self.0 == **other
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::text::InvalidText;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl $crate::schema::Described for $name {
            fn schema() -> $crate::schema::Schema {
                $crate::schema::Schema::text(Self::LIMITS)
            }

            fn read(value: serde_json::Value) -> Result<Self, $crate::schema::ReadError> {
                let text = <std::sync::Arc<str> as $crate::schema::Described>::read(value)?;
                Self::new(text).map_err($crate::schema::ReadError::new)
            }

            fn write(&self) -> Option<serde_json::Value> {
                Some(serde_json::Value::from(&*self.0))
            }
        }

        $crate::schema::serde_by_value!($name);
    };
}

pub(crate) use text;
