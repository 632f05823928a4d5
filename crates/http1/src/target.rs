//! Request targets: the four forms of RFC 9112 §3.2.

use crate::authority::Authority;
use crate::error::HeadError;
use crate::fields::Span;
use crate::method::Method;
use crate::syntax;

/// The form a request target had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TargetForm {
    /// `/path?query` (RFC 9112 §3.2.1); HTTP/2 and 3 requests count as this.
    #[default]
    Origin,
    /// `http://host/path?query` (§3.2.2).
    Absolute,
    /// `host:port`, of CONNECT (§3.2.3).
    Authority,
    /// `*`, of OPTIONS (§3.2.4).
    Asterisk,
}

/// A scheme that this crate serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// http
    Http,
    /// https
    Https,
}

impl Scheme {
    /// The scheme of this name in any case (RFC 3986 §3.1).
    #[must_use]
    pub fn from_bytes(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"http") {
            Some(Self::Http)
        } else if name.eq_ignore_ascii_case(b"https") {
            Some(Self::Https)
        } else {
            None
        }
    }
}

/// Where the parts of a target lie. An empty path of an absolute target means `/`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    pub(crate) form: TargetForm,
    pub(crate) scheme: Option<Scheme>,
    pub(crate) authority: Span,
    pub(crate) path: Span,
    pub(crate) query: Option<Span>,
}

impl Target {
    /// Reads the target at `span` of `text`.
    pub(crate) fn parse(method: Method, text: &[u8], span: Span) -> Result<Self, HeadError> {
        let bytes = span.of(text);
        if !syntax::is_target(bytes) {
            return Err(HeadError::TargetCharacter);
        }
        match (bytes, method) {
            (_, Method::Connect) => Self::authority_form(bytes, span),
            ([b'/', ..], _) => Ok(Self::origin_form(bytes, span)),
            (b"*", Method::Options) => Ok(Self { form: TargetForm::Asterisk, path: span, ..Self::default() }),
            _ => Self::absolute_form(bytes, span),
        }
    }

    fn origin_form(bytes: &[u8], span: Span) -> Self {
        let (start, end) = (span.start as usize, span.end as usize);
        match memchr::memchr(b'?', bytes) {
            None => Self { path: span, ..Self::default() },
            Some(mark) => Self {
                path: Span::new(start, start + mark),
                query: Some(Span::new(start + mark + 1, end)),
                ..Self::default()
            },
        }
    }

    /// RFC 9112 §3.2.3: only host and port, both there.
    fn authority_form(bytes: &[u8], span: Span) -> Result<Self, HeadError> {
        match Authority::parse(bytes)? {
            Authority { host: [_, ..], port: Some(_) } => {
                Ok(Self { form: TargetForm::Authority, authority: span, ..Self::default() })
            }
            _ => Err(HeadError::Target),
        }
    }

    fn absolute_form(bytes: &[u8], span: Span) -> Result<Self, HeadError> {
        let colon = memchr::memmem::find(bytes, b"://").ok_or(HeadError::Target)?;
        let scheme = Scheme::from_bytes(bytes.get(..colon).unwrap_or_default()).ok_or(HeadError::Scheme)?;
        let authority_start = colon + 3;
        let rest = bytes.get(authority_start..).unwrap_or_default();
        let authority_len = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
        let (authority, path_and_query) = rest.split_at_checked(authority_len).unwrap_or_default();
        if Authority::parse(authority)?.host.is_empty() {
            return Err(HeadError::Host);
        }
        let authority_at = span.start as usize + authority_start;
        let path_at = authority_at + authority_len;
        let origin = Self::origin_form(path_and_query, Span::new(path_at, span.end as usize));
        Ok(Self {
            form: TargetForm::Absolute,
            scheme: Some(scheme),
            authority: Span::new(authority_at, path_at),
            ..origin
        })
    }
}
