//! ExternalAuth: what the service that is asked sees of a request, and the backend of its answer.

use std::fmt::Write as _;

use portcullis_http1::{
    Fields, HeadError, HeadLimits, Known, KnownSet, PseudoFields, RequestHead, ResponseHead, Version,
};
use portcullis_model::{ExternalAuth, HeaderName};
use portcullis_routing::{PathError, canonical_path};

/// An ExternalAuth filter of which everything is settled that does not depend on the request.
#[derive(Debug)]
pub(crate) struct CompiledAuth {
    path_prefix: String,
    request_headers: Vec<HeaderName>,
    response_headers: Vec<HeaderName>,
    /// In bytes; 0 if the body is not sent along.
    pub(crate) body_limit: usize,
}

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

impl CompiledAuth {
    /// # Errors
    /// When the prefix is no path; admission refuses that.
    pub(crate) fn compile(auth: &ExternalAuth) -> Result<CompiledAuth, PathError> {
        let path_prefix = match &*auth.path_prefix {
            "" => String::new(),
            prefix => canonical_path(prefix)?.trim_end_matches('/').to_owned(),
        };
        Ok(CompiledAuth {
            path_prefix,
            request_headers: auth.request_headers.clone(),
            response_headers: auth.response_headers.clone(),
            body_limit: auth.body_limit as usize,
        })
    }

    /// The question: the request's method, host, path and what else the service may see, with a body of this length.
    ///
    /// Source: HTTPAuthConfig: Host, method, path, Content-Length and Authorization are always there.
    pub(crate) fn question(&self, request: &RequestHead, body: usize) -> Result<RequestHead, HeadError> {
        let mut path = self.path_prefix.clone().into_bytes();
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
        for name in self.request_headers.iter().map(HeaderName::as_str).chain(["authorization"]) {
            let known = Known::from_name(name.as_bytes());
            let settled = matches!(known, Some(Known::Host | Known::ContentLength | Known::Expect))
                || known.is_some_and(|known| KnownSet::NOT_FORWARDED.contains(known))
                || question.fields.get(name.as_bytes()).is_some();
            for value in request.fields.get_all(name.as_bytes()).filter(|_| !settled) {
                question.fields.push(name.as_bytes(), value);
            }
        }
        let mut length = String::new();
        let _ = write!(length, "{body}"); // writing to a String cannot fail
        question.fields.push_known(Known::ContentLength, length.as_bytes());
        question.finish_multiplexed(HeadLimits { block: usize::MAX, fields: usize::MAX }, false)?;
        Ok(question)
    }

    /// Copies what the backend is to see of the answer into the request.
    ///
    /// Source: HTTPAuthConfig.allowedResponseHeaders.
    pub(crate) fn adopt(&self, answer: &ResponseHead, request: &mut Fields) {
        let adopted = |name: &[u8], known: Option<Known>| {
            !known
                .is_some_and(|known| KnownSet::NOT_FORWARDED.contains(known) || known == Known::ContentLength)
                && if self.response_headers.is_empty() {
                    !known.is_some_and(|known| ABOUT_THE_ANSWER.contains(known))
                } else {
                    known != Some(Known::Host)
                        && self
                            .response_headers
                            .iter()
                            .any(|one| one.as_str().as_bytes().eq_ignore_ascii_case(name))
                }
        };
        let fields = || answer.fields.iter().filter(|(name, _, known)| adopted(name, *known));
        for (name, _, _) in fields() {
            request.remove(name);
        }
        for (name, value, _) in fields() {
            request.push(name, value);
        }
    }
}
