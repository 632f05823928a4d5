//! HTTP header names and values as filters and matches write them.

use crate::{
    patterns::{HEADER_NAME, HEADER_VALUE},
    text::text,
};

text! {
    /// The name of an HTTP header, query parameter or cookie: an RFC 9110 token. Case is kept as
    /// written; headers compare without it.
    pub struct HeaderName { min_length: 1, max_length: 256, pattern: &HEADER_NAME }
}

text! {
    /// The value of an HTTP header: visible ASCII with single blanks between.
    pub struct HeaderValue { min_length: 1, max_length: 4096, pattern: &HEADER_VALUE }
}

impl HeaderName {
    /// Whether both name the same header.
    pub fn is_same_header(&self, other: &str) -> bool {
        self.eq_ignore_ascii_case(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_name_is_a_token() {
        assert!(HeaderName::new("X-Trace_Id").is_ok_and(|name| name.is_same_header("x-trace_id")));
        for wrong in ["", "a b", "a:b", "ä", ":path"] {
            assert!(HeaderName::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_value_has_no_line_breaks_and_no_blanks_at_its_ends() {
        assert!(HeaderValue::new("a b\tc").is_ok());
        for wrong in ["", " a", "a ", "a  b", "a\r\nb", "a\n"] {
            assert!(HeaderValue::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
