//! ExternalAuth: what the service that is asked sees of a request, and what its answer means.

mod envoy;
mod grpc;
mod http;

use std::net::SocketAddr;

use bytes::Bytes;
use portcullis_http1::{Fields, HeadError, RequestHead, ResponseHead};
use portcullis_model::{AuthProtocol, ExternalAuth, HeaderName, HeaderValue};
use portcullis_routing::{PathError, canonical_path};

use super::query::QueryChanges;

/// An ExternalAuth filter of which everything is settled that does not depend on the request.
#[derive(Debug)]
pub(crate) struct CompiledAuth {
    protocol: AuthProtocol,
    request_headers: Vec<HeaderName>,
    /// In bytes; 0 if the body is not sent along.
    pub(crate) body_limit: usize,
}

/// What an answer means.
pub(crate) enum Judgement {
    /// The request may pass.
    Granted(Grant),
    /// It may not.
    Refused(Refusal),
}

/// What becomes of a request that may pass, and of the answer to it.
#[derive(Debug, Default)]
pub(crate) struct Grant {
    pub(crate) removed: Vec<HeaderName>,
    pub(crate) changed: Vec<HeaderChange>,
    pub(crate) query: QueryChanges,
    /// Of the client's answer, whoever gives it.
    pub(crate) answer: Vec<HeaderChange>,
}

/// A field, and what becomes of others of its name.
#[derive(Debug)]
pub(crate) struct HeaderChange {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
    pub(crate) place: Place,
}

/// Where a field goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Beside others of its name.
    Beside,
    /// In their place.
    Instead,
    /// Where there is no other.
    IfAbsent,
    /// In the place of others, if there are any.
    IfPresent,
}

/// What the client is answered whose request may not pass.
pub(crate) struct Refusal {
    pub(crate) head: ResponseHead,
    pub(crate) body: Vec<u8>,
}

impl CompiledAuth {
    /// # Errors
    /// When the prefix is no path; admission refuses that.
    pub(crate) fn compile(auth: &ExternalAuth) -> Result<CompiledAuth, PathError> {
        let mut protocol = auth.protocol.clone();
        if let AuthProtocol::Http { path_prefix, .. } = &mut protocol
            && !path_prefix.is_empty()
        {
            *path_prefix = canonical_path(path_prefix)?.trim_end_matches('/').into();
        }
        let request_headers = auth.request_headers.clone();
        Ok(CompiledAuth { protocol, request_headers, body_limit: auth.body_limit as usize })
    }

    /// The question about a request, to whose service this much of its body may be shown: a head, and a body.
    pub(crate) fn question(
        &self,
        request: &RequestHead,
        client: SocketAddr,
        body: Bytes,
    ) -> Result<(RequestHead, Bytes), HeadError> {
        match &self.protocol {
            AuthProtocol::Http { path_prefix, .. } => {
                Ok((http::question(request, path_prefix, &self.request_headers, body.len())?, body))
            }
            AuthProtocol::Grpc => grpc::question(request, client, &self.request_headers, &body),
        }
    }

    /// What an answer means; none if it means nothing.
    pub(crate) fn judge(&self, head: ResponseHead, body: Vec<u8>, trailers: &Fields) -> Option<Judgement> {
        match &self.protocol {
            AuthProtocol::Http { response_headers, .. } => Some(http::judge(head, body, response_headers)),
            AuthProtocol::Grpc => grpc::judge(&head, trailers, &body),
        }
    }
}

impl Grant {
    pub(crate) fn apply(&self, request: &mut RequestHead) {
        for name in &self.removed {
            request.fields.remove(name.as_str().as_bytes());
        }
        self.changed.iter().for_each(|change| change.apply(&mut request.fields));
        self.query.apply(request);
    }
}

impl HeaderChange {
    pub(crate) fn apply(&self, fields: &mut Fields) {
        let (name, value) = (self.name.as_str().as_bytes(), self.value.as_bytes());
        match (self.place, fields.get(name).is_some()) {
            (Place::Beside, _) | (Place::IfAbsent, false) => fields.push(name, value),
            (Place::Instead, _) | (Place::IfPresent, true) => fields.set(name, value),
            (Place::IfAbsent, true) | (Place::IfPresent, false) => {}
        }
    }
}
