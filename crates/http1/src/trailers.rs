//! Trailer sections (RFC 9110 §6.5, RFC 9112 §7.1.2).

use crate::error::HeadError;
use crate::fields::Fields;
use crate::known::{Known, KnownSet};
use crate::limits::HeadLimits;
use crate::lines::{self, Lines};

/// Known fields that may not be trailers (RFC 9110 §6.5.1): framing, routing, authentication, request modifiers,
/// controls, content format; and what a proxy itself asserts.
const FORBIDDEN: KnownSet = KnownSet::of(&[
    Known::Authorization,
    Known::CacheControl,
    Known::Connection,
    Known::ContentEncoding,
    Known::ContentLength,
    Known::ContentType,
    Known::Cookie,
    Known::Expect,
    Known::Forwarded,
    Known::Host,
    Known::Http2Settings,
    Known::KeepAlive,
    Known::Location,
    Known::MaxForwards,
    Known::ProxyConnection,
    Known::SetCookie,
    Known::Te,
    Known::Trailer,
    Known::TransferEncoding,
    Known::Upgrade,
    Known::XForwardedClientCert,
    Known::XForwardedFor,
    Known::XForwardedHost,
    Known::XForwardedPort,
    Known::XForwardedProto,
    Known::XRequestId,
]);

/// Other fields that may not be trailers, for the same reasons.
const FORBIDDEN_NAMES: [&[u8]; 11] = [
    b"content-range",
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"range",
    b"vary",
    b"www-authenticate",
];

/// Whether a field of this name may not be a trailer, and is dropped when it is one.
#[must_use]
pub fn is_forbidden_trailer(name: &[u8]) -> bool {
    Known::from_name(name).map_or_else(
        || FORBIDDEN_NAMES.iter().any(|forbidden| forbidden.eq_ignore_ascii_case(name)),
        |known| FORBIDDEN.contains(known),
    )
}

/// Collects a trailer section as it arrives.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrailerParser {
    lines: Lines,
    text: Vec<u8>,
    fields: Fields,
}

impl TrailerParser {
    /// Takes from `input` what belongs to the section; returns how much that was and whether the section is whole.
    pub(crate) fn take(&mut self, input: &[u8], limits: HeadLimits) -> Result<(usize, bool), HeadError> {
        let mut taken = 0;
        loop {
            let rest = input.get(taken..).unwrap_or_default();
            let room = limits.block_bytes().saturating_sub(self.text.len());
            let line_len = memchr::memchr(b'\n', rest).map_or(rest.len(), |lf| lf + 1).min(room);
            self.text.extend_from_slice(rest.get(..line_len).unwrap_or_default());
            taken += line_len;
            match self.lines.next(&self.text, limits.block_bytes())? {
                None => return Ok((taken, false)),
                Some(line) if line.is_empty() => {
                    self.finish();
                    return Ok((taken, true));
                }
                Some(line) => {
                    lines::field(&self.text, line, &mut self.fields, limits)?;
                    lines::check_line(line.of(&self.text))?;
                }
            }
        }
    }

    /// Gives the fields their text, without those that may not be here.
    fn finish(&mut self) {
        self.fields.text = std::mem::take(&mut self.text);
        let text = &self.fields.text;
        self.fields.entries.retain(|e| !is_forbidden_trailer(e.name.of(text)));
        self.fields.known = self.fields.known.without(FORBIDDEN);
    }

    /// The fields of a section that is whole.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Forgets the section and keeps the memory.
    pub(crate) fn clear(&mut self) {
        if self.text.capacity() == 0 {
            self.text = std::mem::take(&mut self.fields.text);
        }
        self.text.clear();
        self.fields.clear();
        self.lines = Lines::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise that a connection in its stride allocates nothing, be sections whole or cut off.
    #[test]
    fn memory_is_kept_from_section_to_section() {
        let mut parser = TrailerParser::default();
        let long = "X: 1\r\n".repeat(200) + "\r\n";
        assert_eq!(parser.take(long.as_bytes(), HeadLimits::default()), Ok((long.len(), true)));
        parser.clear();
        assert!(parser.text.capacity() >= long.len());
        assert_eq!(parser.take(b"X: 1\r\n", HeadLimits::default()), Ok((6, false)));
        parser.clear();
        assert!(parser.text.capacity() >= long.len());
    }
}
