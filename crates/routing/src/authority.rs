//! Hosts as requests name them.

use std::borrow::Cow;

/// The host and port that a request is for, from its Host header, `:authority` or absolute target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// The host in the form that tables compare: lower case, without a trailing dot; IPv6 literals keep their
    /// brackets. Empty when the request names none. Borrowed when it was so already.
    pub host: Cow<'a, str>,
    /// The port, if the request names one. It plays no part in matching.
    pub port: Option<u16>,
}

/// Why a text is not a host with an optional port (RFC 9110 §4.2, RFC 3986 §3.2.2). The answer is 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// A byte that no host has; `@` too, for user information is refused (RFC 9110 §4.2.4).
    #[error("the host contains a byte that is not allowed")]
    Byte,
    /// The port is no number from 0 to 65535.
    #[error("the port is not a number from 0 to 65535")]
    Port,
    /// A bracketed host that is no IPv6 address.
    #[error("the bracketed host is not an IPv6 address")]
    Literal,
}

impl<'a> Authority<'a> {
    /// Reads `host[:port]`.
    ///
    /// # Errors
    /// When the text is not of this form.
    pub fn parse(text: &'a str) -> Result<Authority<'a>, AuthorityError> {
        let (host, port) = split_port(text)?;
        if host.starts_with('[') {
            let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let valid = inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
            if !valid {
                return Err(AuthorityError::Literal);
            }
            return Ok(Authority { host: lower_case(host), port });
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        match host.bytes().fold(0, |seen, byte| seen | class_of(byte)) {
            0 => Ok(Authority { host: Cow::Borrowed(host), port }),
            UPPER => Ok(Authority { host: Cow::Owned(host.to_ascii_lowercase()), port }),
            _ => Err(AuthorityError::Byte),
        }
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), AuthorityError> {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (head, port) = text.split_at_checked(text.len() - digits).ok_or(AuthorityError::Byte)?;
    match (head.strip_suffix(':'), port) {
        (None, _) => match text.rsplit_once(':') {
            Some((_, rest)) if !rest.ends_with(']') => Err(AuthorityError::Port),
            _ => Ok((text, None)),
        },
        (Some(host), "") => Ok((host, None)), // RFC 3986 §3.2.3: an empty port is the default one
        (Some(host), port) => Ok((host, Some(port.parse().map_err(|_| AuthorityError::Port)?))),
    }
}

fn lower_case(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// Of a byte that is compared in lower case.
const UPPER: u8 = 1;
/// Of a byte that no host has.
const FOREIGN: u8 = 2;

/// What a byte does to a host: nothing if it is one of reg-name (RFC 3986 §3.2.2).
fn class_of(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%' => 0,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => 0,
        b'A'..=b'Z' => UPPER,
        _ => FOREIGN,
    }
}

/// Whether a host in canonical form is an IP address: no hostname of a listener or route takes one, for
/// hostnames are DNS names (Gateway API, `Hostname`: "IPs are not allowed").
pub(crate) fn is_ip_literal(host: &str) -> bool {
    host.ends_with(']') || host.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(String, Option<u16>), AuthorityError> {
        Authority::parse(text).map(|found| (found.host.into_owned(), found.port))
    }

    /// Host matching ignores case, port and a trailing dot.
    #[test]
    fn case_port_and_trailing_dot_go() {
        assert_eq!(parse("A.Example.COM.:8082"), Ok(("a.example.com".into(), Some(8082))));
        assert_eq!(parse("a.com:"), Ok(("a.com".into(), None)));
        assert_eq!(parse("1.2.3.4:80"), Ok(("1.2.3.4".into(), Some(80))));
        assert_eq!(parse("[2001:DB8::1]:80"), Ok(("[2001:db8::1]".into(), Some(80))));
        assert_eq!(parse("[::1]"), Ok(("[::1]".into(), None)));
        assert_eq!(parse(""), Ok((String::new(), None)));
        assert_eq!(parse("host9"), Ok(("host9".into(), None)));
        assert_eq!(parse("AB"), Ok(("ab".into(), None)));
    }

    #[test]
    fn a_canonical_host_is_borrowed() {
        assert!(matches!(Authority::parse("a.b:80").unwrap().host, Cow::Borrowed("a.b")));
    }

    /// RFC 3986 §3.2.2: `reg-name` is unreserved characters, escapes and these sub-delims.
    #[test]
    fn every_character_of_a_reg_name_is_taken() {
        let host = "az09-._~%41!$&'()*+,;=";
        assert_eq!(parse(host), Ok((host.into(), None)));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        assert_eq!(parse("a b"), Err(AuthorityError::Byte));
        assert_eq!(parse("user@a.com"), Err(AuthorityError::Byte));
        assert_eq!(parse("a/b"), Err(AuthorityError::Byte));
        assert_eq!(parse("a//b"), Err(AuthorityError::Byte));
        assert_eq!(parse("A/b"), Err(AuthorityError::Byte));
        assert_eq!(parse("ä.com"), Err(AuthorityError::Byte));
        assert_eq!(parse("a:65536"), Err(AuthorityError::Port));
        assert_eq!(parse("a:b"), Err(AuthorityError::Port));
        assert_eq!(parse("a:+8"), Err(AuthorityError::Port));
        assert_eq!(parse("::1"), Err(AuthorityError::Byte));
        assert_eq!(parse("[::1"), Err(AuthorityError::Literal));
        assert_eq!(parse("[::1]x"), Err(AuthorityError::Port));
        assert_eq!(parse("[::z]"), Err(AuthorityError::Literal));
    }

    #[test]
    fn only_addresses_are_ip_literals() {
        assert!(is_ip_literal("127.0.0.1"));
        assert!(is_ip_literal("[::1]"));
        assert!(!is_ip_literal("1.2.3"));
        assert!(!is_ip_literal("a.b1"));
        assert!(!is_ip_literal(""));
    }
}
