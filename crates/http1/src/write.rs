//! Writing heads of HTTP/1.1 by appending to a buffer.
//!
//! Whatever the fields hold, the fields that frame the message and those of the connection are written from
//! [`Framing`] and [`ConnectionField`], so that what is sent is framed unambiguously (RFC 9112 §6, §9).

use crate::fields::{Fields, Span};
use crate::framing::Framing;
use crate::head::{RequestHead, ResponseHead, Version};
use crate::known::{Known, KnownSet};
use crate::status::reason_phrase;
use crate::target::TargetForm;

/// What the Connection field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ConnectionField {
    /// Nothing: HTTP/1.1 connections persist.
    #[default]
    Absent,
    /// `keep-alive`, which an HTTP/1.0 client has asked for.
    KeepAlive,
    /// `close`
    Close,
    /// `upgrade`, with the head's [`upgrade`](RequestHead::upgrade).
    Upgrade,
}

impl ConnectionField {
    /// What tells a client of `version` whether the connection persists (RFC 9112 §9.3).
    #[must_use]
    pub fn persistence(version: Version, keep_alive: bool) -> Self {
        match (keep_alive, version) {
            (false, _) => Self::Close,
            (true, Version::Http10) => Self::KeepAlive,
            (true, _) => Self::Absent,
        }
    }
}

/// Written by the writer alone.
const REPLACED: KnownSet = KnownSet::NOT_FORWARDED.union(Known::ContentLength.set());

/// Appends a request head in origin form (or asterisk or authority form, as received).
///
/// `more` is whole field lines, each with its CRLF, that are written last. Without Host an empty one is sent
/// (RFC 9112 §3.2). A client's `TE: trailers` is said anew, since trailers are passed on (RFC 9110 §10.1.4).
pub fn write_request(
    out: &mut Vec<u8>,
    head: &RequestHead,
    framing: Framing,
    connection: ConnectionField,
    more: &[u8],
) {
    reserve(out, &head.fields, more);
    out.extend_from_slice(head.method_name());
    out.push(b' ');
    match head.form() {
        TargetForm::Authority => out.extend_from_slice(head.authority().unwrap_or_default()),
        TargetForm::Absolute if head.asks_for_server_options() => out.push(b'*'),
        _ => out.extend_from_slice(head.path()),
    }
    if let Some(query) = head.query() {
        out.push(b'?');
        out.extend_from_slice(query);
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if !head.fields.has(Known::Host) {
        out.extend_from_slice(b"Host: \r\n");
    }
    write_fields(out, &head.fields, REPLACED);
    write_framing(out, framing);
    let te: &[u8] = if head.connection.trailers { b"TE: trailers\r\n" } else { b"" };
    out.extend_from_slice(te);
    write_connection(out, connection, !te.is_empty(), head.upgrade());
    out.extend_from_slice(more);
    out.extend_from_slice(b"\r\n");
}

/// Appends a response head.
///
/// With [`Framing::None`] a Content-Length among the fields is kept where it speaks of another response (to HEAD,
/// and in 304; RFC 9110 §8.6), and dropped from 1xx and 204. `more` is whole field lines, each with its CRLF.
pub fn write_response(
    out: &mut Vec<u8>,
    head: &ResponseHead,
    framing: Framing,
    connection: ConnectionField,
    more: &[u8],
) {
    reserve(out, &head.fields, more);
    write_status_line(out, head.status(), head.reason());
    let keeps_length = framing == Framing::None && !matches!(head.status(), 100..=199 | 204);
    write_fields(out, &head.fields, if keeps_length { KnownSet::NOT_FORWARDED } else { REPLACED });
    write_framing(out, framing);
    write_connection(out, connection, false, head.upgrade());
    out.extend_from_slice(more);
    out.extend_from_slice(b"\r\n");
}

/// Appends the interim response that has a client send its body (RFC 9110 §15.2.1).
pub fn write_continue(out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// Makes room for a head with what is written beside its fields, so that most heads allocate at most once.
fn reserve(out: &mut Vec<u8>, fields: &Fields, more: &[u8]) {
    out.reserve(fields.text.len() + more.len() + 128);
}

/// Appends a status line; an empty `reason` means the standard one.
fn write_status_line(out: &mut Vec<u8>, status: u16, reason: &[u8]) {
    let digit = |n: u16| b'0' + (n % 10) as u8;
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(&[digit(status / 100), digit(status / 10), digit(status), b' ']);
    let reason = if reason.is_empty() { reason_phrase(status).as_bytes() } else { reason };
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
}

/// Appends the field lines but those of `skipped`. Lines that follow each other in the text are copied as one.
fn write_fields(out: &mut Vec<u8>, fields: &Fields, skipped: KnownSet) {
    let mut run = Span::default();
    for entry in &fields.entries {
        if entry.known.is_some_and(|known| skipped.contains(known)) {
            continue;
        }
        if entry.name.start != run.end {
            out.extend_from_slice(run.of(&fields.text));
            run.start = entry.name.start;
        }
        run.end = entry.line_end;
    }
    out.extend_from_slice(run.of(&fields.text));
}

fn write_framing(out: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::Length(length) => {
            out.extend_from_slice(b"Content-Length: ");
            write_decimal(out, length);
            out.extend_from_slice(b"\r\n");
        }
        Framing::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        Framing::None | Framing::UntilClose | Framing::Tunnel => {}
    }
}

fn write_decimal(out: &mut Vec<u8>, number: u64) {
    const DIGITS: usize = 20;
    let mut digits = [b'0'; DIGITS];
    let mut start = DIGITS;
    let mut rest = number;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
        start -= 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// RFC 9110 §7.6.1: each field of the connection is named in Connection.
fn write_connection(out: &mut Vec<u8>, field: ConnectionField, te: bool, upgrade: Option<&[u8]>) {
    let line: &[u8] = match (field, te) {
        (ConnectionField::Absent, false) => b"",
        (ConnectionField::Absent, true) => b"Connection: TE\r\n",
        (ConnectionField::KeepAlive, false) => b"Connection: keep-alive\r\n",
        (ConnectionField::KeepAlive, true) => b"Connection: keep-alive, TE\r\n",
        (ConnectionField::Close, false) => b"Connection: close\r\n",
        (ConnectionField::Close, true) => b"Connection: close, TE\r\n",
        (ConnectionField::Upgrade, false) => b"Connection: upgrade\r\n",
        (ConnectionField::Upgrade, true) => b"Connection: upgrade, TE\r\n",
    };
    out.extend_from_slice(line);
    if let (ConnectionField::Upgrade, Some(protocols)) = (field, upgrade) {
        out.extend_from_slice(b"Upgrade: ");
        out.extend_from_slice(protocols);
        out.extend_from_slice(b"\r\n");
    }
}
