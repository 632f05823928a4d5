//! Field sections (QPACK, RFC 9204) as heads, by the validation that all versions share, and heads as field sections.
//!
//! No dynamic table is allowed to clients or used: memory of theirs on our side, and one more thing to flood.

use portcullis_http1::{
    Fields, HeadError, HeadLimits, PseudoFields, RequestHead, Version, check_multiplexed_field,
    is_forbidden_trailer,
};

use super::frame::Code;
use super::qpack::{self, Section, write_field};
use crate::limits::Limits;
use crate::reason::Reason;

/// Why a section was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The request is answered with this status.
    Answer(u16, Reason),
    /// The connection ends.
    Connection(Code),
}

impl From<HeadError> for Refused {
    fn from(error: HeadError) -> Refused {
        let status = error.status();
        Refused::Answer(status, if status == 431 { Reason::HeadTooLarge } else { Reason::BadRequest })
    }
}

/// How large a section may be that is taken in, in bytes: between this and the limit for heads lies what is answered
/// with 431 in our words.
pub(super) fn largest(limits: &Limits) -> usize {
    limits.head_bytes.0.saturating_mul(2)
}

fn decode(section: &[u8], limits: &Limits) -> Result<Section, Refused> {
    Section::decode(section, largest(limits)).map_err(|error| match error {
        qpack::Error::TooLarge => HeadError::BlockTooLarge.into(),
        qpack::Error::Malformed => Refused::Connection(Code::QpackDecompression),
    })
}

/// Reads a section into a request's head, which [`finish`] is still to check.
pub(super) fn read(head: &mut RequestHead, section: &[u8], limits: &Limits) -> Result<(), Refused> {
    let fields = decode(section, limits)?;
    head.start_multiplexed(Version::Http3, pseudo_fields(&fields)?)?;
    for (name, value) in fields.iter().skip_while(|(name, _)| is_pseudo(name)) {
        head.fields.push(name, value);
    }
    Ok(())
}

/// Checks a head. `ended` says that no body follows.
pub(super) fn finish(head: &mut RequestHead, ended: bool, limits: &Limits) -> Result<(), Refused> {
    let limits = HeadLimits { block: limits.head_bytes.0, fields: limits.head_fields };
    head.finish_multiplexed(limits, ended)?;
    Ok(())
}

fn is_pseudo(name: &[u8]) -> bool {
    name.first() == Some(&b':')
}

/// RFC 9114 §4.3: before all others, each once, none that is not defined for requests, and none empty.
fn pseudo_fields(fields: &Section) -> Result<PseudoFields<'_>, HeadError> {
    let (mut method, mut scheme, mut authority, mut path) = (None, None, None, None);
    for (name, value) in fields.iter().take_while(|(name, _)| is_pseudo(name)) {
        let place = match name {
            b":method" => &mut method,
            b":scheme" => &mut scheme,
            b":authority" => &mut authority,
            b":path" => &mut path,
            _ => return Err(HeadError::PseudoField),
        };
        if place.replace(value).is_some() || value.is_empty() {
            return Err(HeadError::PseudoField);
        }
    }
    Ok(PseudoFields { method: method.ok_or(HeadError::PseudoField)?, scheme, authority, path })
}

/// Reads the section of trailers; those that may not be passed on (RFC 9110 §6.5.1) are left out.
pub(super) fn read_trailers(section: &[u8], limits: &Limits) -> Result<Fields, Refused> {
    let decoded = decode(section, limits)?;
    if decoded.len() > limits.head_fields {
        return Err(HeadError::TooManyFields.into());
    }
    let mut trailers = Fields::new();
    for (name, value) in decoded.iter() {
        check_multiplexed_field(name, value)?;
        if !is_forbidden_trailer(name) {
            trailers.push(name, value);
        }
    }
    Ok(trailers)
}

/// Writes a section: the status of a head, and fields.
pub(super) fn write(status: Option<u16>, fields: &Fields) -> Vec<u8> {
    let mut section = qpack::PREFIX.to_vec();
    if let Some(status) = status {
        write_field(&mut section, b":status", status.to_string().as_bytes());
    }
    for (name, value, _) in fields.iter() {
        if name.iter().any(u8::is_ascii_uppercase) {
            write_field(&mut section, &name.to_ascii_lowercase(), value);
        } else {
            write_field(&mut section, name, value);
        }
    }
    section
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn section(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut section = qpack::PREFIX.to_vec();
        fields.iter().for_each(|(name, value)| write_field(&mut section, name.as_bytes(), value.as_bytes()));
        section
    }

    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/p?q")];

    fn said(fields: &[(&str, &str)]) -> Result<RequestHead, Refused> {
        let mut head = RequestHead::new();
        read(&mut head, &section(fields), &Limits::default())?;
        finish(&mut head, true, &Limits::default()).map(|()| head)
    }

    #[test]
    fn a_section_becomes_a_head() {
        let head =
            said(&[&GET[..], &[("accept", "*/*"), ("cookie", "a=1"), ("cookie", "b=2")]].concat()).unwrap();
        assert_eq!(head.version(), Version::Http3);
        assert_eq!(
            (head.method_name(), head.path(), head.query()),
            (&b"GET"[..], &b"/p"[..], Some(&b"q"[..]))
        );
        assert_eq!(head.fields.get(b"cookie"), Some(&b"a=1; b=2"[..]));
        assert_eq!(head.host(), Some(&b"a.test"[..]));
    }

    /// RFC 9114 §4.2, §4.3: what is malformed is refused, and so cannot be smuggled into an HTTP/1 request.
    #[test]
    fn malformed_sections_are_refused() {
        let with = |more: &[(&'static str, &'static str)]| [&GET[..], more].concat();
        let bad = Refused::Answer(400, Reason::BadRequest);
        let without = |name: &str| GET.into_iter().filter(|(this, _)| *this != name).collect::<Vec<_>>();
        let replaced = |name: &str, value: &'static str| {
            GET.into_iter()
                .map(|(this, old)| (this, if this == name { value } else { old }))
                .collect::<Vec<_>>()
        };
        for fields in [
            with(&[(":path", "/other")]),
            with(&[("a", "b"), (":path", "/")]),
            with(&[(":status", "200")]),
            with(&[(":protocol", "websocket")]),
            with(&[("Upper", "x")]),
            with(&[("a", "b\r\nx-evil: 1")]),
            with(&[("a\r\nx-evil", "1")]),
            with(&[("a", "b\0")]),
            with(&[("a:b", "c")]),
            with(&[("", "c")]),
            with(&[("a", " padded")]),
            with(&[("connection", "close")]),
            with(&[("transfer-encoding", "chunked")]),
            with(&[("te", "gzip")]),
            with(&[("host", "b.test")]),
            with(&[("host", "a.test"), ("host", "a.test")]),
            with(&[("content-length", "1"), ("content-length", "1")]),
            with(&[("content-length", "x")]),
            without(":method"),
            without(":scheme"),
            without(":authority"),
            without(":path"),
            replaced(":path", ""),
            replaced(":path", "/a b HTTP/1.1\r\nx: y"),
            replaced(":path", "a"),
            replaced(":method", "GET / HTTP/1.1\r\nx:"),
            replaced(":authority", ""),
            replaced(":authority", "a.test/b"),
            replaced(":scheme", "ftp"),
            Vec::new(),
        ] {
            assert_eq!(said(&fields).err(), Some(bad), "{fields:?}");
        }
    }

    #[test]
    fn large_heads_are_answered_with_431() {
        let long = "x".repeat(Limits::default().head_bytes.0 * 3);
        let found = said(&[&GET[..], &[("a", &long)]].concat()).err();
        assert_eq!(found, Some(Refused::Answer(431, Reason::HeadTooLarge)));
        let many: Vec<_> = GET.into_iter().chain(std::iter::repeat_n(("a", "b"), 1000)).collect();
        assert_eq!(said(&many).err(), Some(Refused::Answer(431, Reason::HeadTooLarge)));
    }

    #[test]
    fn what_needs_a_dynamic_table_ends_the_connection() {
        let mut head = RequestHead::new();
        let found = read(&mut head, &[0, 0, 0x80], &Limits::default());
        assert_eq!(found, Err(Refused::Connection(Code::QpackDecompression)));
    }

    #[test]
    fn trailers_are_checked_and_those_that_may_not_be_one_are_left_out() {
        let limits = Limits::default();
        let trailers = read_trailers(&section(&[("grpc-status", "0"), ("host", "b")]), &limits).unwrap();
        let kept: Vec<_> = trailers.iter().map(|(name, value, _)| (name, value)).collect();
        assert_eq!(kept, [(&b"grpc-status"[..], &b"0"[..])]);
        for bad in [(":path", "/"), ("a", "b\r\nc: d"), ("A", "b")] {
            let found = read_trailers(&section(&[bad]), &limits).err();
            assert_eq!(found, Some(Refused::Answer(400, Reason::BadRequest)), "{bad:?}");
        }
    }

    proptest! {
        /// Whatever a client sends is read without a panic, and what is taken is fit for HTTP/1: no line can be added.
        #[test]
        fn any_section_is_refused_or_fit_for_a_backend(
            fields in prop::collection::vec(("[ -~\r\n\0]{0,9}|:path|:method|host", "[ -~\r\n\0]{0,12}"), 0..4),
            bytes: Vec<u8>,
        ) {
            let mut head = RequestHead::new();
            let _ = read(&mut head, &bytes, &Limits::default());
            let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            if let Ok(head) = said(&[&GET[..], &fields].concat()) {
                for (name, value, _) in head.fields.iter() {
                    prop_assert!(!name.iter().chain(value).any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
                    prop_assert!(!name.is_empty() && !name.contains(&b':') && !name.contains(&b' '));
                }
                prop_assert_eq!(head.path(), b"/p");
            }
        }
    }
}
