//! RequestHeaderModifier and ResponseHeaderModifier.

use std::net::Ipv6Addr;

use portcullis_api::http_filter::{HeaderModifier as ApiHeaderModifier, HttpHeader};
use portcullis_model::{HeaderModifier, HeaderName, HeaderValue};

use super::Fault;
use crate::causes::{RULE_FILTERS, RULE_VALUE};

/// Source: HTTPHeaderFilter: of several entries for one name, the first counts.
pub(super) fn modifier(source: &ApiHeaderModifier) -> Result<HeaderModifier, Fault> {
    let modifier = HeaderModifier {
        set: fields(&source.set)?,
        add: fields(&source.add)?,
        remove: source.remove.iter().map(|name| header_name(name)).collect::<Result<_, _>>()?,
    };
    let names =
        |list: &[(HeaderName, HeaderValue)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let (set, add) = (names(&modifier.set), names(&modifier.add));
    let twice = set.iter().find(|name| add.contains(name) || modifier.remove.contains(name));
    match twice.or_else(|| add.iter().find(|name| modifier.remove.contains(name))) {
        Some(name) => {
            Err((&RULE_FILTERS, format!("header {} is in two actions of one filter", name.as_str())))
        }
        None => Ok(modifier),
    }
}

/// A change of a request. Its Host can become another, as by URLRewrite.hostname, but neither two nor none: a request
/// has exactly one (RFC 9112 §3.2), which is `:authority` in HTTP/2.
pub(super) fn of_request(source: &ApiHeaderModifier) -> Result<HeaderModifier, Fault> {
    let modifier = modifier(source)?;
    if modifier.add.iter().any(|(name, _)| is_host(name)) || modifier.remove.iter().any(is_host) {
        return Err((&RULE_VALUE, "header Host can be set, but neither added to nor removed".to_owned()));
    }
    match modifier.set.iter().find(|(name, _)| is_host(name)) {
        Some((_, host)) if !names_a_host(host.as_bytes()) => {
            Err((&RULE_VALUE, format!("the value of header Host is no host: {host:?}")))
        }
        _ => Ok(modifier),
    }
}

/// Takes out the headers that no filter can change; their names.
pub(super) fn take_the_senders(modifier: &mut HeaderModifier) -> Vec<HeaderName> {
    let set = modifier.set.extract_if(.., |(name, _)| name.is_the_senders()).map(|(name, _)| name);
    let add = modifier.add.extract_if(.., |(name, _)| name.is_the_senders()).map(|(name, _)| name);
    let remove = modifier.remove.extract_if(.., |name| name.is_the_senders());
    set.chain(add).chain(remove).collect()
}

fn fields(source: &[HttpHeader]) -> Result<Vec<(HeaderName, HeaderValue)>, Fault> {
    let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for header in source {
        let name = header_name(header.name.as_str())?;
        let value = HeaderValue::new(header.value.as_str().as_bytes())
            .ok_or_else(|| (&RULE_VALUE, format!("the value of header {} is not allowed", header.name)))?;
        if fields.iter().all(|(earlier, _)| *earlier != name) {
            fields.push((name, value));
        }
    }
    Ok(fields)
}

pub(super) fn header_name(name: &str) -> Result<HeaderName, Fault> {
    HeaderName::new(name).ok_or_else(|| (&RULE_VALUE, format!("{name:?} is no header name")))
}

fn is_host(name: &HeaderName) -> bool {
    name.as_str() == "host"
}

/// Whether a value is `uri-host [ ":" port ]` (RFC 9110 §7.2) of a name or an address.
fn names_a_host(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, port),
        _ => (text, "80"),
    };
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(literal) => literal.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(in_name),
    };
    is_host && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_port() {
        for host in [
            "a",
            "a.test",
            "A.test.",
            "a_b.test:8080",
            "192.0.2.1",
            "192.0.2.1:1",
            "[::1]",
            "[2001:db8::1]:80",
        ] {
            assert!(names_a_host(host.as_bytes()), "{host}");
        }
        for host in [
            "", ":80", "a b", "a/b", "a@b", "a:", "a:x", "a:+1", "a:65536", "a,b", "http://a", "::1", "[::1",
            "[a]", "\u{e4}",
        ] {
            assert!(!names_a_host(host.as_bytes()), "{host}");
        }
    }
}
