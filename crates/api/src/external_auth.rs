//! Asking a service whether a request may pass. Source: GEP-1494.

use std::sync::Arc;

use crate::{
    cel::filters,
    patterns::PATH,
    references::BackendObjectRef,
    schema::{object, open_enum},
    text::text,
};

object! {
    /// The filter `ExternalAuth`.
    #[derive(Eq)]
    pub struct ExternalAuth {
        /// How to ask.
        pub protocol: ExternalAuthProtocol,
        /// Whom to ask.
        pub backend_ref as "backendRef": BackendObjectRef,
        /// Details for gRPC.
        pub grpc: Option<GrpcAuth>,
        /// Details for HTTP.
        pub http: Option<HttpAuth>,
        /// Whether to send the request's body along.
        pub forward_body as "forwardBody": Option<ForwardBody>,
    }
    rules filters::EXTERNAL_AUTH
}

open_enum! {
    /// How to ask an authorisation service.
    pub enum ExternalAuthProtocol {
        /// By plain HTTP requests.
        Http = "HTTP",
        /// By Envoy's `ext_authz` gRPC protocol.
        Grpc = "GRPC",
    }
}

object! {
    /// Asking by gRPC.
    #[derive(Eq, Default)]
    pub struct GrpcAuth {
        /// Further request headers that are sent along.
        pub allowed_headers as "allowedHeaders": Vec<Arc<str>> [.max_items(64).set()],
    }
}

text! {
    /// A URL path of unreserved characters and escapes.
    pub struct UrlPath { max_length: 1024, pattern: &PATH }
}

object! {
    /// Asking by HTTP.
    #[derive(Eq, Default)]
    pub struct HttpAuth {
        /// What to put before the request's path.
        pub path: Option<UrlPath>,
        /// Further request headers that are sent along.
        pub allowed_headers as "allowedHeaders": Vec<Arc<str>> [.max_items(64).set()],
        /// Headers of the answer that go on to the backend; none listed: all.
        pub allowed_response_headers as "allowedResponseHeaders": Vec<Arc<str>>
            [.max_items(64).set()],
    }
}

object! {
    /// How much of a request's body is sent along.
    #[derive(Eq, Default)]
    pub struct ForwardBody {
        /// In bytes; absent or 0: nothing.
        pub max_size as "maxSize": Option<u32> [.min(0)],
    }
}
