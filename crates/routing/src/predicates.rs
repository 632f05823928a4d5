//! What a match asks beside the path.

use smallvec::SmallVec;

use portcullis_model::{HeaderMatch, Match, QueryMatch};

use crate::{HeaderSource, Request};

/// The first thing of a match that a request does not fulfil, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mismatch<'t> {
    /// The path.
    Path,
    /// The method, which had to be this.
    Method(&'t str),
    /// This header, absent or different.
    Header(&'t HeaderMatch),
    /// This query parameter, absent or different.
    Query(&'t QueryMatch),
}

/// The first predicate beside the path that a request does not fulfil.
pub(crate) fn unmet<'t, H: HeaderSource + ?Sized>(
    wanted: &'t Match,
    request: &Request<'_, H>,
) -> Option<Mismatch<'t>> {
    if let Some(method) = wanted.method.as_deref().filter(|method| *method != request.method) {
        return Some(Mismatch::Method(method));
    }
    let met =
        |header: &HeaderMatch| header_fits(header, request.headers) || request.promises(header.name.as_str());
    let headers = || wanted.headers.iter().find(|header| !met(header));
    let query = || wanted.query.iter().find(|query| !request.parameters().fits(&query.name, &query.value));
    headers().map(Mismatch::Header).or_else(|| query().map(Mismatch::Query))
}

/// Whether a header is there and its value fits; several fields of a name are one value, joined by commas
/// (RFC 9110 §5.3).
fn header_fits<H: HeaderSource + ?Sized>(wanted: &HeaderMatch, headers: &H) -> bool {
    let mut values = headers.values(wanted.name.as_str());
    let Some(first) = values.next() else { return false };
    let Some(second) = values.next() else { return wanted.value.takes(first) };
    let mut joined = SmallVec::<[u8; 256]>::from_slice(first);
    for value in std::iter::once(second).chain(values) {
        joined.push(b',');
        joined.extend_from_slice(value);
    }
    wanted.value.takes(&joined)
}
