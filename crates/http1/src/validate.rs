//! One validation of request heads for all HTTP versions (RFC 9110 §7.2, RFC 9112 §3.2, RFC 9113 §8.2 and §8.3).

use crate::authority::Authority;
use crate::connection::{self, ConnectionOptions};
use crate::error::HeadError;
use crate::fields::Span;
use crate::framing;
use crate::head::{RequestHead, Version};
use crate::known::{Known, KnownSet};
use crate::limits::HeadLimits;
use crate::method::Method;
use crate::syntax;
use crate::target::{Scheme, Target, TargetForm};

/// Fields that a message of HTTP/2 or 3 may not have (RFC 9113 §8.2.2, RFC 9114 §4.2).
const CONNECTION_FIELDS: KnownSet = KnownSet::of(&[
    Known::Connection,
    Known::KeepAlive,
    Known::ProxyConnection,
    Known::TransferEncoding,
    Known::Upgrade,
]);

/// What remains to be checked once all lines of an HTTP/1 head have been read.
pub(crate) fn http1(head: &mut RequestHead) -> Result<(), HeadError> {
    let host = single_host(head)?;
    if host.is_none() && head.version != Version::Http10 {
        return Err(HeadError::MissingHost);
    }
    settle_authority(head, host)?;
    head.framing = framing::request(&head.fields, head.version)?;
    head.connection = ConnectionOptions::of(&head.fields);
    head.upgrade = connection::upgrade(&head.fields, head.connection, head.version);
    Ok(())
}

/// The value of Host, of which there is at most one (RFC 9112 §3.2).
fn single_host(head: &RequestHead) -> Result<Option<Span>, HeadError> {
    if !head.fields.has(Known::Host) {
        return Ok(None);
    }
    let mut hosts = head.fields.entries.iter().filter(|e| e.known == Some(Known::Host));
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(HeadError::RepeatedHost),
        (host, None) => Ok(host.map(|e| e.value)),
    }
}

/// The target's authority wins and replaces Host (RFC 9112 §3.2.2); else Host is the authority.
fn settle_authority(head: &mut RequestHead, host: Option<Span>) -> Result<(), HeadError> {
    let text = &head.fields.text;
    let host_parts = Authority::parse(host.unwrap_or_default().of(text))?;
    let stated = head.target.authority;
    if stated.is_empty() {
        head.target.authority = host.unwrap_or_default();
        head.host_len = u32::try_from(host_parts.host.len()).unwrap_or(u32::MAX);
        head.port = host_parts.port;
        return Ok(());
    }
    let parts = Authority::parse(stated.of(text))?;
    head.host_len = u32::try_from(parts.host.len()).unwrap_or(u32::MAX);
    head.port = parts.port;
    if host.is_none_or(|host| host.of(text) != stated.of(text)) {
        head.fields.set_host(stated);
    }
    Ok(())
}

/// The pseudo-fields of a request (RFC 9113 §8.3.1).
#[derive(Debug, Clone, Copy, Default)]
pub struct PseudoFields<'a> {
    /// `:method`
    pub method: &'a [u8],
    /// `:scheme`
    pub scheme: Option<&'a [u8]>,
    /// `:authority`
    pub authority: Option<&'a [u8]>,
    /// `:path`, with the query
    pub path: Option<&'a [u8]>,
}

impl RequestHead {
    /// Begins a head of HTTP/2 or 3 with its pseudo-fields. Then [`push`](crate::Fields::push) each field, and
    /// [`finish_multiplexed`](Self::finish_multiplexed).
    ///
    /// # Errors
    /// For pseudo-fields that are missing or malformed.
    pub fn start_multiplexed(&mut self, version: Version, pseudo: PseudoFields<'_>) -> Result<(), HeadError> {
        self.clear();
        self.version = version;
        if !syntax::is_token(pseudo.method) {
            return Err(HeadError::Method);
        }
        self.set_method(pseudo.method);
        let authority = self.fields.append(pseudo.authority.unwrap_or_default());
        if self.method == Method::Connect {
            return self.start_connect(pseudo, authority);
        }
        let scheme =
            Scheme::from_bytes(pseudo.scheme.ok_or(HeadError::PseudoField)?).ok_or(HeadError::Scheme)?;
        let path = self.fields.append(pseudo.path.ok_or(HeadError::PseudoField)?);
        let target = Target::parse(self.method, &self.fields.text, path)?;
        if !matches!(target.form, TargetForm::Origin | TargetForm::Asterisk) {
            return Err(HeadError::Target);
        }
        self.target = Target { scheme: Some(scheme), authority, ..target };
        Ok(())
    }

    /// Begins a head of extended CONNECT (RFC 8441 §4) with its pseudo-fields and `:protocol`: that of the request
    /// with which an HTTP/1.1 client asks for an upgrade to this protocol, so GET without a body.
    ///
    /// # Errors
    /// As for [`start_multiplexed`](Self::start_multiplexed).
    pub fn start_extended_connect(
        &mut self,
        version: Version,
        pseudo: PseudoFields<'_>,
        protocol: &[u8],
    ) -> Result<(), HeadError> {
        self.start_multiplexed(version, PseudoFields { method: b"GET", ..pseudo })?;
        if !syntax::is_token(protocol) {
            return Err(HeadError::PseudoField);
        }
        self.upgrade = Some(self.fields.append(protocol));
        Ok(())
    }

    /// RFC 9113 §8.5: CONNECT has neither scheme nor path.
    fn start_connect(&mut self, pseudo: PseudoFields<'_>, authority: Span) -> Result<(), HeadError> {
        if pseudo.scheme.is_some() || pseudo.path.is_some() {
            return Err(HeadError::PseudoField);
        }
        self.target = Target::parse(Method::Connect, &self.fields.text, authority)?;
        Ok(())
    }

    /// Checks a head of HTTP/2 or 3 once all its fields are there. `ended` says that no body follows. Cookie lines
    /// are joined, and Host is set.
    ///
    /// # Errors
    /// What is wrong with it; the stream is to be answered or reset, the connection lives.
    pub fn finish_multiplexed(&mut self, limits: HeadLimits, ended: bool) -> Result<(), HeadError> {
        if self.fields.len() > limits.fields {
            return Err(HeadError::TooManyFields);
        }
        if self.fields.text.len() > limits.block_bytes() {
            return Err(HeadError::BlockTooLarge);
        }
        for (name, value, _) in self.fields.iter() {
            check_multiplexed_field(name, value)?;
        }
        if self.fields.known().intersects(CONNECTION_FIELDS) {
            return Err(HeadError::ConnectionField);
        }
        if !self.fields.known_values(Known::Te).all(|te| te.eq_ignore_ascii_case(b"trailers")) {
            return Err(HeadError::ConnectionField);
        }
        let host = single_host(self)?;
        if host.is_none() && self.target.authority.is_empty() {
            return Err(HeadError::MissingHost);
        }
        self.authority_agrees(host)?;
        settle_authority(self, host)?;
        self.fields.join_cookies();
        self.framing = match self.upgrade {
            None => framing::multiplexed(&self.fields, ended)?,
            // What follows the head is the other protocol's.
            Some(_) if ended || self.fields.has(Known::ContentLength) => {
                return Err(HeadError::ContentLength);
            }
            Some(_) => framing::Framing::None,
        };
        self.connection = ConnectionOptions::of(&self.fields);
        Ok(())
    }

    fn authority_agrees(&self, host: Option<Span>) -> Result<(), HeadError> {
        let Some((authority, host)) = self.authority().zip(host) else { return Ok(()) };
        if authority.eq_ignore_ascii_case(host.of(&self.fields.text)) {
            Ok(())
        } else {
            Err(HeadError::AuthorityMismatch)
        }
    }
}

/// Checks a field of HTTP/2 or 3, of a head or of trailers.
///
/// RFC 9113 §8.2.1: names are lower-case tokens; values have no control characters, and no white space at either
/// end, which HTTP/1 backends do not see, so that they would read another value than rules match.
///
/// # Errors
/// What is wrong with it.
pub fn check_multiplexed_field(name: &[u8], value: &[u8]) -> Result<(), HeadError> {
    if name.first() == Some(&b':') {
        return Err(HeadError::PseudoField);
    }
    if !syntax::is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
        return Err(HeadError::FieldName);
    }
    if !syntax::is_field_content(value) {
        return Err(crate::lines::control_character(value));
    }
    if [value.first(), value.last()].into_iter().flatten().any(|end| matches!(end, b' ' | b'\t')) {
        return Err(HeadError::FieldValueSpace);
    }
    Ok(())
}
