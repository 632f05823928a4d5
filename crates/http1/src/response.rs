//! Reading response heads of HTTP/1 (RFC 9112 §4 and §5).

use crate::connection::{self, ConnectionOptions};
use crate::error::HeadError;
use crate::fields::Span;
use crate::framing;
use crate::head::ResponseHead;
use crate::limits::HeadLimits;
use crate::lines::{self, Lines};
use crate::method::Method;
use crate::request::version;
use crate::syntax;

/// What must be known of the request to read its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exchange<'a> {
    /// The method that was sent.
    pub method: Method,
    /// The Upgrade that was sent, if any.
    pub upgrade: Option<&'a [u8]>,
}

/// Reads response heads from input that grows, looking at each byte once however it is cut.
#[derive(Debug, Clone, Default)]
pub struct ResponseParser {
    limits: HeadLimits,
    lines: Lines,
    in_fields: bool,
}

impl ResponseParser {
    /// A parser with these limits.
    #[must_use]
    pub fn new(limits: HeadLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Forgets what was read of a head: another connection's follows.
    pub fn restart(&mut self) {
        *self = Self::new(self.limits);
    }

    /// Reads on; see [`RequestParser::parse`](crate::RequestParser::parse). After an
    /// [interim](ResponseHead::is_interim) response the next one to the same request follows.
    ///
    /// # Errors
    /// What is wrong with the head. The rules are as strict as for requests: an upstream whose framing is in doubt
    /// could hand one client another's response.
    pub fn parse(
        &mut self,
        input: &[u8],
        exchange: Exchange<'_>,
        head: &mut ResponseHead,
    ) -> Result<Option<usize>, HeadError> {
        if self.lines.is_fresh() {
            head.clear();
        }
        let result = self.advance(input, exchange, head);
        if !matches!(result, Ok(None)) {
            self.restart();
        }
        result
    }

    fn advance(
        &mut self,
        input: &[u8],
        exchange: Exchange<'_>,
        head: &mut ResponseHead,
    ) -> Result<Option<usize>, HeadError> {
        loop {
            let Some(line) = self.lines.next(input, self.limits.block_bytes())? else {
                return Ok(None);
            };
            if !self.in_fields {
                status_line(input, line, head)?;
                self.in_fields = true;
            } else if line.is_empty() {
                break;
            } else {
                lines::field(input, line, &mut head.fields, self.limits)?;
            }
        }
        let consumed = self.lines.consumed();
        let text = input.get(..consumed).unwrap_or_default();
        lines::check_text(text, self.lines.count())?;
        head.fields.text.extend_from_slice(text);
        finish(exchange, head)?;
        Ok(Some(consumed))
    }
}

fn finish(exchange: Exchange<'_>, head: &mut ResponseHead) -> Result<(), HeadError> {
    let framing = framing::response(&head.fields, head.version, head.status, exchange.method)?;
    (head.framing, head.suspect) = framing;
    head.connection = ConnectionOptions::of(&head.fields);
    head.upgrade = connection::upgrade(&head.fields, head.connection, head.version);
    if head.status == 101 && !switch_was_offered(exchange.upgrade, head.upgrade()) {
        return Err(HeadError::UnexpectedSwitch);
    }
    Ok(())
}

/// RFC 9110 §7.8: each protocol switched to is one that the client offered.
fn switch_was_offered(offered: Option<&[u8]>, switched: Option<&[u8]>) -> bool {
    let Some((offered, switched)) = offered.zip(switched) else { return false };
    syntax::list(switched).all(|to| syntax::list(offered).any(|from| from.eq_ignore_ascii_case(to)))
}

/// `HTTP-version SP 3DIGIT SP [ reason-phrase ]`; the second space may be missing together with the phrase, as
/// widespread servers have it.
fn status_line(input: &[u8], line: Span, head: &mut ResponseHead) -> Result<(), HeadError> {
    let bytes = line.of(input);
    if !syntax::is_field_content(bytes) {
        return Err(lines::line_error(bytes, HeadError::StatusLine));
    }
    let (protocol, rest) = bytes.split_at_checked(8).ok_or(HeadError::StatusLine)?;
    head.version = version(protocol)?;
    let (digits, reason) = match rest {
        [b' ', a, b, c] => ([*a, *b, *c], &b""[..]),
        [b' ', a, b, c, b' ', reason @ ..] => ([*a, *b, *c], reason),
        _ => return Err(HeadError::StatusLine),
    };
    let status = syntax::parse_decimal(&digits).and_then(|n| u16::try_from(n).ok());
    head.status = status.filter(|status| *status >= 100).ok_or(HeadError::StatusLine)?;
    let end = line.end as usize;
    head.reason = Span::new(end - reason.len(), end);
    Ok(())
}

impl ResponseHead {
    /// Settles what [`ResponseParser`] would have settled, for a response begun with [`ResponseHead::start`] whose
    /// fields came from HTTP/2 or 3. `ended` says that no body follows.
    ///
    /// # Errors
    /// For Content-Length that is repeated, malformed, or at odds with `ended`.
    pub fn finish_multiplexed(&mut self, ended: bool, method: Method) -> Result<(), HeadError> {
        let bodiless = method == Method::Head || matches!(self.status, 100..=199 | 204 | 304);
        if bodiless {
            // What it says of a body is about another response, and is told to the client: it has to be one length.
            framing::stated_length(&self.fields)?;
            self.framing = framing::Framing::None;
            return Ok(());
        }
        self.framing = match framing::multiplexed(&self.fields, ended)? {
            // An answer that ends with its head has an empty body to HTTP/1, which would look for its end else.
            framing::Framing::None => framing::Framing::Length(0),
            stated => stated,
        };
        Ok(())
    }

    /// Makes it the 101 by which a server of HTTP/1.1 would have switched to a protocol, where a stream of HTTP/2 or 3
    /// has become a tunnel for it (RFC 8441 §5).
    pub fn finish_switch(&mut self, protocol: &[u8]) {
        self.status = 101;
        self.framing = framing::Framing::Tunnel;
        self.upgrade = Some(self.fields.append(protocol));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise that a connection in its stride allocates nothing.
    #[test]
    fn memory_is_kept_from_response_to_response() {
        let long = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: 1\r\n".repeat(200));
        let short = "HTTP/1.1 200 OK\r\n\r\n";
        let (mut parser, mut head) = (ResponseParser::default(), ResponseHead::new());
        let [first, second] = [&long, short].map(|input| {
            parser.parse(input.as_bytes(), Exchange::default(), &mut head).unwrap().unwrap();
            (head.fields.text.capacity(), head.fields.entries.capacity())
        });
        assert!(first.0 >= long.len() && first.1 >= 200, "{first:?}");
        assert_eq!(second, first);
    }
}
