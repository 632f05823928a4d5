//! Request identifiers.

use std::fmt;

/// An identifier in the form of a random UUID (RFC 9562 §5.4): what other software expects in `x-request-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestId([u8; 36]);

impl RequestId {
    /// The identifier made of 128 bits.
    pub(crate) fn new(high: u64, low: u64) -> RequestId {
        let high = (high & !0xf000) | 0x4000;
        let low = (low & !(3 << 62)) | (2 << 62);
        let mut digits = (u128::from(high) << 64) | u128::from(low);
        let mut text = [b'-'; 36];
        for (at, byte) in text.iter_mut().enumerate().rev() {
            if !matches!(at, 8 | 13 | 18 | 23) {
                let digit = (digits & 0xf) as u8;
                *byte = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
                digits >>= 4;
            }
        }
        RequestId(text)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_uuids_of_version_4() {
        assert_eq!(RequestId::new(0, 0).to_string(), "00000000-0000-4000-8000-000000000000");
        let id = RequestId::new(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        assert_eq!(id.to_string(), "01234567-89ab-4def-bedc-ba9876543210");
    }
}
