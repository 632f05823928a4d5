//! Asking a service whether a request may pass.

use std::sync::Arc;

use crate::{ClusterKey, HeaderName, Origin};

/// A service that is asked about every request; without its word none passes.
///
/// Source: HTTPExternalAuthFilter, GEP-1494.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAuth {
    /// The object that the reference names.
    pub origin: Origin,
    /// The port that the reference names.
    pub port: Option<u16>,
    /// Who is asked.
    pub cluster: ClusterKey,
    /// How.
    pub protocol: AuthProtocol,
    /// Headers of the request that the service sees. By HTTP these are beside Host, Content-Length and
    /// Authorization; by gRPC none listed means all.
    pub request_headers: Vec<HeaderName>,
    /// How much of a body the service may see, in bytes; a request with a longer one is refused. 0: the service sees
    /// no body, and any may pass.
    pub body_limit: u32,
}

/// How a service is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthProtocol {
    /// By a request much like the client's, whose answer with status 200 lets that pass.
    Http {
        /// What is put before the request's path: empty, or a path without a slash at its end.
        path_prefix: Arc<str>,
        /// Headers of the service's answer that the backend sees; none: all but those about the answer itself.
        response_headers: Vec<HeaderName>,
    },
    /// By `envoy.service.auth.v3.Authorization/Check`.
    Grpc,
}
