//! Asking by HTTP: an answer with status 200 lets the request pass.

use portcullis_http1::{
    HeadError, HeadLimits, Known, KnownSet, PseudoFields, RequestHead, ResponseHead, Version,
};
use portcullis_model::{HeaderName, HeaderValue};

use super::{Grant, HeaderChange, Judgement, Place, Refusal};

/// Fields of the service's answer that speak of that answer and its connection, or name a host.
const ABOUT_THE_ANSWER: KnownSet = KnownSet::of(&[
    Known::Connection,
    Known::ContentEncoding,
    Known::ContentLength,
    Known::ContentType,
    Known::Date,
    Known::Host,
    Known::KeepAlive,
    Known::Server,
    Known::SetCookie,
    Known::Te,
    Known::Trailer,
    Known::TransferEncoding,
    Known::Upgrade,
    Known::Via,
]);

/// The question: the request's method, host, path and what else the service may see, with a body of this length.
///
/// Source: HTTPAuthConfig: Host, method, path, Content-Length and Authorization are always there.
pub(super) fn question(
    request: &RequestHead,
    path_prefix: &str,
    seen: &[HeaderName],
    body: usize,
) -> Result<RequestHead, HeadError> {
    let mut path = path_prefix.as_bytes().to_vec();
    path.extend_from_slice(request.path());
    if let Some(query) = request.query() {
        path.push(b'?');
        path.extend_from_slice(query);
    }
    let pseudo = PseudoFields {
        method: request.method_name(),
        scheme: Some(b"http"),
        authority: request.authority().filter(|authority| !authority.is_empty()),
        path: Some(&path),
    };
    let mut question = RequestHead::new();
    question.start_multiplexed(Version::Http11, pseudo)?;
    for name in seen.iter().map(HeaderName::as_str).chain(["authorization"]) {
        let known = Known::from_name(name.as_bytes());
        let settled = matches!(known, Some(Known::Host | Known::ContentLength | Known::Expect))
            || known.is_some_and(|known| KnownSet::NOT_FORWARDED.contains(known))
            || question.fields.get(name.as_bytes()).is_some();
        for value in request.fields.get_all(name.as_bytes()).filter(|_| !settled) {
            question.fields.push(name.as_bytes(), value);
        }
    }
    question.fields.push_known(Known::ContentLength, body.to_string().as_bytes());
    question.finish_multiplexed(HeadLimits { block: usize::MAX, fields: usize::MAX }, false)?;
    Ok(question)
}

/// What decides where a request goes, and how long it is.
const NEVER: KnownSet = KnownSet::of(&[Known::Host, Known::ContentLength]);

/// What the answer means, of whose headers the backend sees those that are listed, or all. What the client said under a
/// listed name goes, whether or not the answer has that: what rules and backends take for the service's word is.
///
/// Source: HTTPAuthConfig.allowedResponseHeaders.
pub(super) fn judge(head: ResponseHead, body: Vec<u8>, listed: &[HeaderName]) -> Judgement {
    if head.status() != 200 {
        return Judgement::Refused(Refusal { head, body });
    }
    let mut granted = Vec::new();
    for (name, value, known) in head.fields.iter() {
        let (Some(name), Some(value)) =
            (std::str::from_utf8(name).ok().and_then(HeaderName::new), HeaderValue::new(value))
        else {
            continue;
        };
        if is_adopted(&name, known, listed) {
            granted.push(HeaderChange { name, value, place: Place::Beside });
        }
    }
    let replaced = granted.iter().map(|change| &change.name);
    let claimed = listed.iter().filter(|name| is_listable(Known::from_name(name.as_str().as_bytes())));
    let removed = replaced.chain(claimed).cloned().collect();
    Judgement::Granted(Grant { removed, changed: granted, ..Grant::default() })
}

fn is_adopted(name: &HeaderName, known: Option<Known>, listed: &[HeaderName]) -> bool {
    let is = |set: KnownSet| known.is_some_and(|known| set.contains(known));
    match listed {
        [] => !is(ABOUT_THE_ANSWER) && !is(KnownSet::NOT_FORWARDED),
        listed => is_listable(known) && listed.contains(name),
    }
}

fn is_listable(known: Option<Known>) -> bool {
    !known.is_some_and(|known| KnownSet::NOT_FORWARDED.union(NEVER).contains(known))
}
