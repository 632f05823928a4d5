//! Heads of requests and responses, one representation for every HTTP version.

use crate::connection::ConnectionOptions;
use crate::fields::{Fields, Span};
use crate::framing::Framing;
use crate::known::Known;
use crate::method::Method;
use crate::target::{Scheme, Target, TargetForm};

/// The HTTP version a message came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    #[default]
    Http11,
    /// HTTP/2
    Http2,
    /// HTTP/3
    Http3,
}

/// What heads of both directions have in common.
macro_rules! head {
    ($head:ident) => {
        impl $head {
            /// An empty head to be filled.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Forgets the content and keeps the memory.
            pub fn clear(&mut self) {
                let mut fields = std::mem::take(&mut self.fields);
                fields.clear();
                *self = Self { fields, ..Self::default() };
            }

            /// The version the message came in.
            #[must_use]
            pub fn version(&self) -> Version {
                self.version
            }

            /// Where the body ends.
            #[must_use]
            pub fn framing(&self) -> Framing {
                self.framing
            }

            /// What Connection said.
            #[must_use]
            pub fn connection(&self) -> ConnectionOptions {
                self.connection
            }

            /// Removes what belongs to the connection that the message came by: the fields that Connection names and
            /// those of [`KnownSet::NOT_FORWARDED`](crate::KnownSet::NOT_FORWARDED). What this crate's writer needs of
            /// them is kept.
            pub fn strip_hop_by_hop(&mut self) {
                crate::connection::strip(&mut self.fields, self.connection);
            }
        }
    };
}

head!(RequestHead);
head!(ResponseHead);

/// A request head.
///
/// It comes from [`RequestParser`](crate::RequestParser), or from [`RequestHead::start_multiplexed`] and
/// [`RequestHead::finish_multiplexed`], and is valid then: there is no other way to fill one. All its text lies in
/// one buffer, which is kept when the head is used again.
#[derive(Debug, Clone, Default)]
pub struct RequestHead {
    /// The fields, in which Host (if there is one) equals [`RequestHead::authority`].
    pub fields: Fields,
    pub(crate) version: Version,
    pub(crate) method: Method,
    pub(crate) method_name: Span,
    pub(crate) target: Target,
    /// Length of the host at the start of the authority.
    pub(crate) host_len: u32,
    pub(crate) port: Option<u16>,
    pub(crate) framing: Framing,
    pub(crate) connection: ConnectionOptions,
    pub(crate) upgrade: Option<Span>,
}

impl RequestHead {
    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The method as received.
    #[must_use]
    pub fn method_name(&self) -> &[u8] {
        self.method_name.of(&self.fields.text)
    }

    /// The form of the target.
    #[must_use]
    pub fn form(&self) -> TargetForm {
        self.target.form
    }

    /// The scheme, where the request names one (absolute form, HTTP/2 and 3).
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.target.scheme
    }

    /// Host and port that the request is for, from the target or else from Host; none for an HTTP/1.0 request
    /// without Host and for an empty Host, which meet only listeners that name no host.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        Some(self.target.authority.of(&self.fields.text)).filter(|a| !a.is_empty())
    }

    /// The host of [`RequestHead::authority`] as written, IPv6 addresses in brackets.
    #[must_use]
    pub fn host(&self) -> Option<&[u8]> {
        self.authority().and_then(|a| a.get(..self.host_len as usize)).filter(|h| !h.is_empty())
    }

    /// The port that the authority names.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path: begins with `/`, or is `*` in asterisk form, or empty in authority form.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        match self.target.form {
            TargetForm::Authority => b"",
            _ if self.target.path.is_empty() => b"/",
            _ => self.target.path.of(&self.fields.text),
        }
    }

    /// The query without its `?`.
    #[must_use]
    pub fn query(&self) -> Option<&[u8]> {
        self.target.query.map(|q| q.of(&self.fields.text))
    }

    /// RFC 9112 §3.2.4: OPTIONS with an absolute target that has neither path nor query goes on as `*`.
    pub(crate) fn asks_for_server_options(&self) -> bool {
        self.method == Method::Options
            && self.target.form == TargetForm::Absolute
            && self.target.path.is_empty()
            && self.target.query.is_none()
    }

    /// Whether the client wants the connection to live on after this exchange (RFC 9112 §9.3).
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.connection.keep_alive(self.version)
    }

    /// The protocols that an HTTP/1.1 client offers to switch to (RFC 9110 §7.8), kept when hop-by-hop fields are
    /// stripped. `h2c` is never offered on: a tunnel of HTTP/2 would carry requests past every rule.
    #[must_use]
    pub fn upgrade(&self) -> Option<&[u8]> {
        self.upgrade.map(|u| u.of(&self.fields.text))
    }

    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1); never for
    /// HTTP/1.0 and for requests without a body, where the expectation is to be ignored.
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        self.version > Version::Http10
            && self.framing != Framing::None
            && self.fields.known_values(Known::Expect).any(|v| v.eq_ignore_ascii_case(b"100-continue"))
    }

    /// Replaces the method.
    pub fn set_method(&mut self, name: &[u8]) {
        self.method = Method::from_bytes(name);
        self.method_name = self.fields.append(name);
    }

    /// Replaces the path. It must begin with `/` and hold no `?`, `#`, space or control character.
    pub fn set_path(&mut self, path: &[u8]) {
        self.target.path = self.fields.append(path);
        if self.target.form == TargetForm::Asterisk {
            self.target.form = TargetForm::Origin;
        }
    }

    /// Replaces the query, which is given without its `?`.
    pub fn set_query(&mut self, query: Option<&[u8]>) {
        self.target.query = query.map(|q| self.fields.append(q));
    }

    /// Replaces the authority, and Host with it.
    ///
    /// # Errors
    /// Those of [`Authority::parse`](crate::Authority::parse); the head is unchanged then.
    pub fn set_authority(&mut self, authority: &[u8]) -> Result<(), crate::HeadError> {
        let parsed = crate::Authority::parse(authority)?;
        self.host_len = u32::try_from(parsed.host.len()).unwrap_or(u32::MAX);
        self.port = parsed.port;
        self.target.authority = self.fields.append(authority);
        self.fields.set_host(self.target.authority);
        Ok(())
    }
}

/// A response head.
#[derive(Debug, Clone, Default)]
pub struct ResponseHead {
    /// The fields.
    pub fields: Fields,
    pub(crate) version: Version,
    pub(crate) status: u16,
    pub(crate) reason: Span,
    pub(crate) framing: Framing,
    pub(crate) connection: ConnectionOptions,
    pub(crate) upgrade: Option<Span>,
    /// Fields spoke of a body where there can be none: what follows on the connection is not to be trusted.
    pub(crate) suspect: bool,
}

impl ResponseHead {
    /// Begins a response that does not come from HTTP/1: made here, or read by another HTTP version's library.
    pub fn start(&mut self, version: Version, status: u16) {
        self.clear();
        self.version = version;
        self.status = status;
    }

    /// The status, 100 to 999.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Replaces the status; the reason phrase becomes the standard one.
    pub fn set_status(&mut self, status: u16) {
        self.status = status;
        self.reason = Span::default();
    }

    /// The reason phrase as received; may be empty.
    #[must_use]
    pub fn reason(&self) -> &[u8] {
        self.reason.of(&self.fields.text)
    }

    /// Whether another response to the same request follows: any 1xx but 101 (RFC 9110 §15.2).
    #[must_use]
    pub fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..=199)
    }

    /// Whether the connection can serve another request once the body has been read (RFC 9112 §9.3).
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        let framed = !matches!(self.framing, Framing::UntilClose | Framing::Tunnel);
        framed && !self.suspect && self.connection.keep_alive(self.version)
    }

    /// The protocol that a 101 switches to.
    #[must_use]
    pub fn upgrade(&self) -> Option<&[u8]> {
        self.upgrade.map(|u| u.of(&self.fields.text))
    }
}
