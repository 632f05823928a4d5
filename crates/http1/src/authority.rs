//! `uri-host [ ":" port ]`, as in Host, absolute targets and `:authority` (RFC 9110 §4.2, §7.2).

use std::net::Ipv6Addr;

use crate::error::HeadError;
use crate::syntax;

/// A checked authority without user information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority<'a> {
    /// The host as written: a registered name, an IPv4 address, or an IPv6 address in brackets. May be empty.
    pub host: &'a [u8],
    /// The port, where one is written.
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Reads an authority.
    ///
    /// # Errors
    /// [`HeadError::Userinfo`] where it has user information (RFC 9110 §4.2.4 has recipients treat it as an error),
    /// [`HeadError::Host`] for anything else that is not `uri-host [ ":" port ]`. Zone identifiers and future IP
    /// literals are refused: they mean nothing beyond the host that wrote them.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, HeadError> {
        let (host, port) = match bytes {
            [b'[', ..] => split_literal(bytes)?,
            _ => match memchr::memchr(b':', bytes).and_then(|colon| bytes.split_at_checked(colon)) {
                Some((host, port)) => (host, port),
                None => (bytes, &b""[..]),
            },
        };
        let port = match port {
            [] | [b':'] => Ok(None),
            [b':', digits @ ..] => parse_port(digits).map(Some),
            _ => Err(HeadError::Host),
        };
        match port {
            Ok(port) if host.first() == Some(&b'[') || syntax::is_reg_name(host) => Ok(Self { host, port }),
            _ if memchr::memchr(b'@', bytes).is_some() => Err(HeadError::Userinfo),
            _ => Err(HeadError::Host),
        }
    }
}

/// Splits after the bracket that closes a valid IPv6 address.
fn split_literal(bytes: &[u8]) -> Result<(&[u8], &[u8]), HeadError> {
    let close = memchr::memchr(b']', bytes).ok_or(HeadError::Host)?;
    let address = bytes.get(1..close).unwrap_or_default();
    let text = std::str::from_utf8(address).map_err(|_| HeadError::Host)?;
    text.parse::<Ipv6Addr>().map_err(|_| HeadError::Host)?;
    bytes.split_at_checked(close + 1).ok_or(HeadError::Host)
}

fn parse_port(digits: &[u8]) -> Result<u16, HeadError> {
    let port = syntax::parse_decimal(digits).ok_or(HeadError::Host)?;
    u16::try_from(port).map_err(|_| HeadError::Host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_told_apart() {
        for (text, host, port) in [
            ("a.example", "a.example", None),
            ("a.example:80", "a.example", Some(80)),
            ("a.example:", "a.example", None),
            ("192.0.2.1:8080", "192.0.2.1", Some(8080)),
            ("[2001:db8::1]", "[2001:db8::1]", None),
            ("[::1]:65535", "[::1]", Some(65535)),
            ("", "", None),
        ] {
            assert_eq!(
                Authority::parse(text.as_bytes()),
                Ok(Authority { host: host.as_bytes(), port }),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_authority_is_refused() {
        for text in [
            "a b",
            "a/b",
            "a:b",
            "a:65536",
            "a:-1",
            "a:+1",
            "a:1:2",
            "::1",
            "[::1",
            "[::1]x",
            "[::1%25eth0]",
            "[v1.a]",
            "[]",
            "a\\b",
            "a,b c",
            "a?b",
            "a#b",
            "a\u{e4}",
            "a%zz",
            "[127.0.0.1]",
        ] {
            assert_eq!(Authority::parse(text.as_bytes()), Err(HeadError::Host), "{text}");
        }
        for text in ["u@a", "u:p@a", "u:p@a:80", "@a"] {
            assert_eq!(Authority::parse(text.as_bytes()), Err(HeadError::Userinfo), "{text}");
        }
    }
}
