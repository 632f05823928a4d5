//! Rules as those of HTTPRoutes.

use portcullis_api::grpc_route::{GrpcBackendRef, GrpcFilter, GrpcFilterType, GrpcRouteRule};
use portcullis_api::http_filter::{HttpFilter, HttpFilterType};
use portcullis_api::http_route::{HttpBackendRef, HttpRouteRule};

/// The rule of an HTTPRoute that does the same; without its matches.
pub(crate) fn as_http(rule: &GrpcRouteRule) -> HttpRouteRule {
    HttpRouteRule {
        name: rule.name.clone(),
        matches: Vec::new(),
        filters: rule.filters.iter().map(filter).collect(),
        backend_refs: rule.backend_refs.iter().map(backend).collect(),
        timeouts: None,
        retry: None,
        session_persistence: rule.session_persistence.clone(),
    }
}

fn backend(backend: &GrpcBackendRef) -> HttpBackendRef {
    HttpBackendRef {
        group: backend.group.clone(),
        kind: backend.kind.clone(),
        name: backend.name.clone(),
        namespace: backend.namespace.clone(),
        port: backend.port,
        weight: backend.weight,
        filters: backend.filters.iter().map(filter).collect(),
    }
}

/// A type that is unknown to GRPCRoutes stays so, even where HTTPRoutes have one of its name.
fn filter(filter: &GrpcFilter) -> HttpFilter {
    HttpFilter {
        filter_type: match &filter.filter_type {
            GrpcFilterType::RequestHeaderModifier => HttpFilterType::RequestHeaderModifier,
            GrpcFilterType::ResponseHeaderModifier => HttpFilterType::ResponseHeaderModifier,
            GrpcFilterType::RequestMirror => HttpFilterType::RequestMirror,
            GrpcFilterType::ExtensionRef => HttpFilterType::ExtensionRef,
            GrpcFilterType::Other(other) => HttpFilterType::Other(other.clone()),
        },
        request_header_modifier: filter.request_header_modifier.clone(),
        response_header_modifier: filter.response_header_modifier.clone(),
        request_mirror: filter.request_mirror.clone(),
        request_redirect: None,
        url_rewrite: None,
        cors: None,
        external_auth: None,
        extension_ref: filter.extension_ref.clone(),
    }
}
