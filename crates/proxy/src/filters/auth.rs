//! ExternalAuth: what the service that is asked sees of a request, and what its answer means.

mod envoy;
mod grpc;
mod http;

use std::net::SocketAddr;

use bytes::Bytes;
use portcullis_http1::{Fields, HeadError, RequestHead, ResponseHead};
use portcullis_model::{AuthProtocol, ExternalAuth, HeaderName, HeaderValue};
use portcullis_routing::{PathError, canonical_path};

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
    /// The request may pass, with these changes of its headers.
    Granted {
        removed: Vec<HeaderName>,
        /// With true it stands beside others of its name, else in their place.
        set: Vec<(HeaderName, HeaderValue, bool)>,
    },
    /// It may not.
    Refused(Refusal),
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

/// Changes the headers of a request that may pass.
pub(crate) fn grant(fields: &mut Fields, removed: &[HeaderName], set: &[(HeaderName, HeaderValue, bool)]) {
    for name in removed {
        fields.remove(name.as_str().as_bytes());
    }
    for (name, value, beside) in set {
        match beside {
            true => fields.push(name.as_str().as_bytes(), value.as_bytes()),
            false => fields.set(name.as_str().as_bytes(), value.as_bytes()),
        }
    }
}
