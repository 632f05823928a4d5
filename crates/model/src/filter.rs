//! What is done to requests and answers.

use std::fmt;
use std::sync::Arc;

use crate::{Cors, ExternalAuth, Hostname, Mirror, ReplacementPath};

/// A header's name: lower case, a token (RFC 9110 §5.1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderName(Arc<str>);

impl HeaderName {
    /// The name in lower case, or nothing if it is no token.
    #[must_use]
    pub fn new(name: &str) -> Option<HeaderName> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        (!name.is_empty() && name.bytes().all(token)).then(|| HeaderName(name.to_ascii_lowercase().into()))
    }

    /// The name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the field is of one connection or frames a message (RFC 9110 §7.6.1, RFC 9112 §6): who sends a message
    /// writes it, and no filter can.
    #[must_use]
    pub fn is_the_senders(&self) -> bool {
        matches!(
            &*self.0,
            "connection"
                | "content-length"
                | "http2-settings"
                | "keep-alive"
                | "proxy-connection"
                | "te"
                | "transfer-encoding"
                | "upgrade"
        )
    }
}

/// A header's value: no control characters but tab, no surrounding whitespace (RFC 9110 §5.5).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderValue(Arc<[u8]>);

impl HeaderValue {
    /// The value without surrounding whitespace, or nothing if a byte is not allowed.
    #[must_use]
    pub fn new(value: &[u8]) -> Option<HeaderValue> {
        let allowed = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        let value = value.trim_ascii();
        value.iter().all(allowed).then(|| HeaderValue(value.into()))
    }

    /// The value's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// A filter of a rule or of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Changes request headers.
    RequestHeaders(HeaderModifier),
    /// Changes headers of the answer.
    ResponseHeaders(HeaderModifier),
    /// Changes host and path of the request.
    Rewrite(RewriteUrl),
    /// Lets browsers use the route from other origins. At most one a rule, and none of a backend.
    Cors(Cors),
    /// Sends a copy of some requests elsewhere, as the rule's filters leave them.
    Mirror(Mirror),
    /// Asks a service whether the request may pass, before anything else is done with it.
    Auth(ExternalAuth),
}

impl Filter {
    /// The Host that a request gets from the filter, if it gives one.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Filter::Rewrite(rewrite) => rewrite.hostname.as_ref().map(Hostname::as_str),
            Filter::RequestHeaders(modifier) => {
                let (_, host) = modifier.set.iter().find(|(name, _)| name.as_str() == "host")?;
                std::str::from_utf8(host.as_bytes()).ok()
            }
            _ => None,
        }
    }
}

/// What happens to headers: `set`, then `add`, then `remove`; a name stands in one of them only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderModifier {
    /// Replaces every field of the name.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Appends to the field of the name (`a,b`), or adds one.
    pub add: Vec<(HeaderName, HeaderValue)>,
    /// Removes every field of the name.
    pub remove: Vec<HeaderName>,
}

/// A rewrite of host and path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteUrl {
    /// The Host that the backend sees.
    pub hostname: Option<Hostname>,
    /// The path that the backend sees; the query stays.
    pub path: Option<PathRewrite>,
}

/// A change of path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathRewrite {
    /// The whole path.
    Full(ReplacementPath),
    /// The prefix that the rule's match took. Never yields `//` or an empty path.
    Prefix(ReplacementPath),
}

/// A redirect. What is absent is taken from the request, or follows from the listener.
///
/// Source: HTTPRequestRedirectFilter field documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// `http` or `https`; absent is the request's own.
    pub scheme: Option<Arc<str>>,
    /// Absent is the request's host.
    pub hostname: Option<Hostname>,
    /// Absent is the scheme's well-known port if `scheme` is set, else the listener's port. A scheme's
    /// well-known port is left out of `Location`.
    pub port: Option<u16>,
    /// Absent is the request's path; the query stays in any case.
    pub path: Option<PathRewrite>,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}
