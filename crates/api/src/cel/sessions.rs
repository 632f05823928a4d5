//! Rules about session persistence.

use super::{
    CelRule,
    filters::{FIELD_OF_OTHER_TYPE, FIELD_OF_TYPE_MISSING, field_of_type},
};

field_of_type!("cookie", "Cookie", COOKIE_TYPE "b9916a89", COOKIE_FIELD "42c92c84");
field_of_type!("header", "Header", HEADER_TYPE "d5d10b1a", HEADER_FIELD "4d46b9eb");

static PERMANENT_COOKIE_ENDS: CelRule = CelRule {
    rule: &FIELD_OF_TYPE_MISSING,
    message: "a cookie of lifetimeType Permanent needs absoluteTimeout",
    upstream: "b58d2686",
    holds: |session| {
        let cookie = session.get("cookie");
        cookie.is_none_or(|cookie| cookie.text_of("lifetimeType") != "Permanent")
            || session.has("absoluteTimeout")
    },
};

/// The rules of session persistence.
pub(crate) static SESSION_PERSISTENCE: &[&CelRule] =
    &[&PERMANENT_COOKIE_ENDS, &COOKIE_TYPE, &COOKIE_FIELD, &HEADER_TYPE, &HEADER_FIELD];
