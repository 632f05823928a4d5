//! Which other origins browsers may use a route from, and how.

use std::fmt;
use std::sync::Arc;

use crate::HeaderName;

/// What browsers are told about requests that pages of other origins make.
///
/// Source: HTTPCORSFilter field documentation, GEP-1767; the protocol is that of the Fetch standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// The origins.
    pub origins: Origins,
    /// Whether with cookies, client certificates and the like. Then no header may be `*`.
    pub credentials: bool,
    /// By which methods, beside GET, HEAD and POST, which always may.
    pub methods: Listed<Arc<str>>,
    /// With which request headers, beside those that always may be there.
    pub request_headers: Listed<HeaderName>,
    /// Headers of answers that scripts may see.
    pub exposed_headers: Listed<HeaderName>,
    /// How long browsers may remember the answer to a preflight request, in seconds.
    pub max_age: u32,
}

/// What is listed, or everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed<T> {
    /// Everything: `*`.
    All,
    /// These; perhaps none.
    Only(Vec<T>),
}

/// Which origins may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Every one: `*`.
    Any,
    /// Those that one of these patterns takes.
    Matching(Vec<OriginPattern>),
}

/// A scheme, host and port of origins; the host may begin with a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginPattern {
    /// `http` or `https`.
    scheme: Arc<str>,
    host: OriginHost,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OriginHost {
    Any,
    /// With its leading dot, in lower case; the wildcard stands for one label or more.
    Suffix(Arc<str>),
    Exact(Arc<str>),
}

impl Cors {
    /// Whether requests of this origin may, the Origin field being `origin`.
    #[must_use]
    pub fn allows(&self, origin: &[u8]) -> bool {
        match &self.origins {
            Origins::Any => true,
            Origins::Matching(patterns) => {
                let parts = std::str::from_utf8(origin).ok().and_then(parts);
                parts.is_some_and(|parts| patterns.iter().any(|pattern| pattern.takes(parts)))
            }
        }
    }
}

impl OriginPattern {
    /// The pattern that a text such as `https://*.example.com:8443` is, or nothing if it is none.
    #[must_use]
    pub fn new(text: &str) -> Option<OriginPattern> {
        let lower = text.to_ascii_lowercase();
        let (scheme, host, port) = parts(&lower)?;
        let host = match host.strip_prefix('*') {
            Some("") => OriginHost::Any,
            Some(suffix) if suffix.starts_with('.') => OriginHost::Suffix(suffix.into()),
            Some(_) => return None,
            None => OriginHost::Exact(host.into()),
        };
        Some(OriginPattern { scheme: scheme.into(), host, port })
    }

    fn takes(&self, (scheme, host, port): (&str, &str, u16)) -> bool {
        let end = |suffix: &str| host.len().checked_sub(suffix.len()).filter(|start| *start > 0);
        self.port == port
            && self.scheme.eq_ignore_ascii_case(scheme)
            && match &self.host {
                OriginHost::Any => true,
                OriginHost::Exact(name) => name.eq_ignore_ascii_case(host),
                OriginHost::Suffix(suffix) => end(suffix)
                    .and_then(|start| host.get(start..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(suffix)),
            }
    }
}

impl fmt::Display for OriginPattern {
    /// As it is written, in lower case and with its port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, port) = (&self.scheme, self.port);
        match &self.host {
            OriginHost::Any => write!(f, "{scheme}://*:{port}"),
            OriginHost::Suffix(suffix) => write!(f, "{scheme}://*{suffix}:{port}"),
            OriginHost::Exact(host) => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

/// Scheme, host and port of an origin; an absent port is the scheme's own.
fn parts(origin: &str) -> Option<(&str, &str, u16)> {
    let (scheme, rest) = origin.split_once("://")?;
    let well_known = match scheme {
        scheme if scheme.eq_ignore_ascii_case("http") => 80,
        scheme if scheme.eq_ignore_ascii_case("https") => 443,
        _ => return None,
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (rest, well_known),
    };
    let plain = !host.is_empty() && !host.contains(['/', '@', '?', '#']);
    plain.then_some((scheme, host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(pattern: &str, origin: &str) -> bool {
        let origins = Origins::Matching(vec![OriginPattern::new(pattern).unwrap()]);
        let none = || Listed::Only(Vec::new());
        let (methods, request_headers, exposed_headers) = (none_of(), none(), none());
        let cors =
            Cors { origins, credentials: false, methods, request_headers, exposed_headers, max_age: 5 };
        cors.allows(origin.as_bytes())
    }

    fn none_of() -> Listed<Arc<str>> {
        Listed::Only(Vec::new())
    }

    /// HTTPCORSFilter.allowOrigins: a wildcard is a greedy match to the left, over any number of labels.
    #[test]
    fn a_wildcard_stands_for_labels_to_the_left() {
        for origin in ["https://www.bar.com", "https://a.b.bar.com", "https://A.BAR.com"] {
            assert!(allows("https://*.bar.com", origin), "{origin}");
        }
        for origin in
            ["https://bar.com", "https://.bar.com", "http://www.bar.com", "https://foobar.com", "null", ""]
        {
            assert!(!allows("https://*.bar.com", origin), "{origin}");
        }
        assert!(allows("https://*", "https://anything.test"));
        assert!(!allows("https://*", "http://anything.test"));
    }

    /// HTTPCORSFilter.allowOrigins: without a port, 80 is assumed for http and 443 for https.
    #[test]
    fn an_absent_port_is_the_schemes_own() {
        assert!(allows("https://a.test", "https://a.test:443"));
        assert!(allows("http://a.test:80", "http://a.test"));
        assert!(allows("https://a.test:8443", "https://a.test:8443"));
        assert!(!allows("https://a.test", "https://a.test:8443"));
        assert!(!allows("https://*", "https://a.test:8443"));
        assert!(!allows("https://a.test", "https://a.test:x"));
    }

    #[test]
    fn what_only_looks_like_an_origin_is_none() {
        for origin in
            ["https://evil.test/.bar.com", "https://u@x.bar.com", "https://x.bar.com/", "https://", "bar.com"]
        {
            assert!(!allows("https://*.bar.com", origin), "{origin}");
        }
        assert_eq!(OriginPattern::new("https://*bar.com"), None);
        assert_eq!(OriginPattern::new("ftp://bar.com"), None);
    }
}
