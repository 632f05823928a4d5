//! The Connection field: persistence, upgrades, and what must not be forwarded (RFC 9110 §7.6.1, §7.8).

use crate::fields::{Fields, Span};
use crate::head::Version;
use crate::known::{Known, KnownSet};
use crate::syntax;

/// Names that Connection cannot have dropped: they frame or route the message, and RFC 9110 §7.6.1 forbids naming
/// a field that is meant for every recipient. Such a nomination is ignored.
const KEPT: KnownSet = KnownSet::of(&[Known::Host, Known::ContentLength, Known::ContentType]);

/// What the Connection field of a head said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionOptions {
    /// `close`
    pub close: bool,
    /// `keep-alive`
    pub keep_alive: bool,
    /// `upgrade`
    pub upgrade: bool,
    /// The sender takes trailers: TE lists `trailers` (RFC 9110 §10.1.4).
    pub trailers: bool,
    /// Other fields were named, to be dropped with it.
    pub(crate) nominates: bool,
}

impl ConnectionOptions {
    pub(crate) fn of(fields: &Fields) -> Self {
        let mut options = Self::default();
        for token in fields.known_values(Known::Connection).flat_map(syntax::list) {
            if token.eq_ignore_ascii_case(b"close") {
                options.close = true;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                options.keep_alive = true;
            } else if token.eq_ignore_ascii_case(b"upgrade") {
                options.upgrade = true;
            } else {
                options.nominates = true;
            }
        }
        options.trailers = fields.known_values(Known::Te).flat_map(syntax::list).any(accepts_trailers);
        options
    }

    /// RFC 9112 §9.3: whether the connection persists by version and options.
    #[must_use]
    pub fn keep_alive(self, version: Version) -> bool {
        match version {
            Version::Http10 => self.keep_alive && !self.close,
            _ => !self.close,
        }
    }
}

/// `trailers`, which has no weight (RFC 9110 §10.1.4).
fn accepts_trailers(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"trailers")
}

/// The Upgrade field where it is in effect: HTTP/1.1, named by Connection, and not to `h2c`.
pub(crate) fn upgrade(fields: &Fields, options: ConnectionOptions, version: Version) -> Option<Span> {
    if version != Version::Http11 || !options.upgrade || !fields.has(Known::Upgrade) {
        return None;
    }
    let mut lines = fields.entries.iter().filter(|e| e.known == Some(Known::Upgrade));
    let (first, None) = (lines.next()?, lines.next()) else { return None };
    let value = first.value.of(&fields.text);
    let offered = syntax::list(value).next().is_some();
    let http2 = syntax::list(value).any(|protocol| protocol.to_ascii_lowercase().starts_with(b"h2"));
    (offered && !http2).then_some(first.value)
}

/// Removes the nominated fields and those that are never forwarded.
pub(crate) fn strip(fields: &mut Fields, options: ConnectionOptions) {
    if options.nominates {
        drop_nominated(fields);
    }
    if fields.known.intersects(KnownSet::NOT_FORWARDED) {
        fields.entries.retain(|e| e.known.is_none_or(|known| !KnownSet::NOT_FORWARDED.contains(known)));
        fields.known = fields.known.without(KnownSet::NOT_FORWARDED);
    }
}

fn drop_nominated(fields: &mut Fields) {
    let is_connection = |e: &&crate::fields::Entry| e.known == Some(Known::Connection);
    let lists: Vec<Span> = fields.entries.iter().filter(is_connection).map(|e| e.value).collect();
    let text = std::mem::take(&mut fields.text);
    for name in lists.iter().flat_map(|list| syntax::list(list.of(&text))) {
        match Known::from_name(name) {
            Some(known) if KEPT.union(KnownSet::NOT_FORWARDED).contains(known) => {}
            Some(known) => {
                fields.remove_known(known);
            }
            None => {
                fields.entries.retain(|e| e.known.is_some() || !e.name.of(&text).eq_ignore_ascii_case(name));
            }
        }
    }
    fields.text = text;
}
