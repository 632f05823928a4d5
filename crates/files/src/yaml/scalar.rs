//! What a scalar means: the YAML 1.1 resolution of go-yaml v2, which kubectl uses.
//!
//! A plain `y`, `on` or `no` is a boolean, `~` is null, `017` is fifteen; timestamps stay text, sexagesimal
//! numbers are text. Quoted and block scalars are text unless a tag says otherwise.

use super::number::{self, Number};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::borrow::Cow;

/// A scalar: its meaning, and the text it was written as.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: Box<str>,
    pub(crate) value: Resolved,
}

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Resolved {
    Null,
    Bool(bool),
    Number(Number),
    /// `.nan` or an infinity, which JSON, and so an API server, cannot hold.
    NotFinite,
    /// The scalar's own text.
    Text,
}

impl Scalar {
    /// A scalar that is a string.
    pub(crate) fn text(text: &str) -> Self {
        Self { text: text.into(), value: Resolved::Text }
    }

    /// The text, if the scalar is a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        matches!(self.value, Resolved::Text).then_some(&*self.text)
    }
}

/// A tag of the `tag:yaml.org,2002:` family by its short name, or any other tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag<'a> {
    Core(&'a str),
    Other,
}

/// The meaning of a scalar under its tag; `plain` says that it is neither quoted nor a block.
pub(crate) fn resolve(text: Cow<'_, str>, tag: Option<Tag<'_>>, plain: bool) -> Result<Scalar, String> {
    let value = match tag {
        None if plain => implicit(&text),
        None | Some(Tag::Other | Tag::Core("str")) => Resolved::Text,
        Some(Tag::Core("binary")) => {
            let text = binary(&text).ok_or("the value of a !!binary is not base64")?;
            return Ok(Scalar { text: text.into(), value: Resolved::Text });
        }
        Some(Tag::Core(name)) => tagged(&text, name)?,
    };
    Ok(Scalar { text: text.into(), value })
}

fn tagged(text: &str, name: &str) -> Result<Resolved, String> {
    let value = implicit(text);
    let fits = match (name, value) {
        ("bool", Resolved::Bool(_)) | ("null", Resolved::Null) => true,
        ("int", Resolved::Number(number)) => !matches!(number, Number::Float(_)),
        ("float", Resolved::Number(_) | Resolved::NotFinite) => true,
        ("bool" | "null" | "int" | "float", _) => false,
        _ => return Ok(Resolved::Text), // !!timestamp and tags nobody defined
    };
    if fits { Ok(value) } else { Err(format!("{text:?} is not a !!{name}")) }
}

/// The meaning of a plain scalar without a tag.
fn implicit(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => Resolved::NotFinite,
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => {
            number::parse(text).map_or(Resolved::Text, Resolved::Number)
        }
        _ => Resolved::Text,
    }
}

/// Standard base64, line breaks ignored; bytes that are not UTF-8 are replaced, as Go's JSON does.
fn binary(text: &str) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(text.replace(['\r', '\n'], "")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
