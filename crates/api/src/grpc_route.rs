//! [`GrpcRoute`].

use std::sync::Arc;

use serde_json::json;

use crate::{
    cel::{filters, grpc, references, routes},
    gateway::DefaultScope,
    header::HeaderName,
    hostname::Hostname,
    http_filter::{HeaderModifier, RequestMirror},
    http_route::ValueMatchType,
    names::{Group, KindName, Namespace, ObjectName, SectionName},
    port::PortNumber,
    references::{BackendRef, LocalObjectRef, ParentRef},
    resource::resource,
    route::{MAX_BACKENDS, MAX_FILTERS, MAX_HOSTNAMES, MAX_MATCHES, MAX_PARENTS, MAX_RULES},
    schema::{object, open_enum},
    session_persistence::SessionPersistence,
    status::RouteStatus,
    text::text,
};

resource! {
    /// Which gRPC calls go where.
    pub struct GrpcRoute: GrpcRoute {
        spec: GrpcRouteSpec,
        status: RouteStatus,
    }
}

object! {
    /// Which gRPC calls go where.
    #[derive(Eq)]
    pub struct GrpcRouteSpec {
        /// The Gateways, ListenerSets or Services it attaches to.
        pub parent_refs as "parentRefs": Vec<ParentRef> [
            .max_items(MAX_PARENTS).rules(references::PARENTS)
        ],
        /// Whether it also attaches to default Gateways.
        pub use_default_gateways as "useDefaultGateways": Option<DefaultScope>,
        /// The hosts it serves; none listed: those of the listener.
        pub hostnames: Vec<Hostname> [.max_items(MAX_HOSTNAMES)],
        /// Its rules.
        pub rules: Vec<GrpcRouteRule> [
            .max_items(MAX_RULES).rules(&[&routes::GRPC_MATCHES, &routes::RULE_NAMES])
        ],
    }
}

object! {
    /// Calls, and what becomes of them.
    #[derive(Eq)]
    pub struct GrpcRouteRule {
        /// Its name, unique within the route.
        pub name: Option<SectionName>,
        /// The calls, one match of which suffices; none listed: all.
        pub matches: Vec<GrpcRouteMatch> [.max_items(MAX_MATCHES)],
        /// Filters, in order.
        pub filters: Vec<GrpcFilter> [
            .max_items(MAX_FILTERS).rules(filters::GRPC_FILTERS)
        ],
        /// Where calls go.
        pub backend_refs as "backendRefs": Vec<GrpcBackendRef> [.max_items(MAX_BACKENDS)],
        /// Whether calls of one session go to one endpoint.
        pub session_persistence as "sessionPersistence": Option<SessionPersistence>,
    }
}

object! {
    /// What a call must have; all of it.
    #[derive(Eq)]
    pub struct GrpcRouteMatch {
        /// Service and method; absent: any.
        pub method: Option<GrpcMethodMatch>,
        /// Headers. Of several for one name, only the first counts.
        pub headers: Vec<GrpcHeaderMatch> [.max_items(16).unique_by("name")],
    }
}

object! {
    /// Which service and method a call must name; at least one of them is there.
    #[derive(Eq, Hash)]
    pub struct GrpcMethodMatch {
        /// How they are compared.
        pub match_type as "type": ValueMatchType = json!("Exact"),
        /// The service; absent: any.
        pub service: Option<Arc<str>> [.max_length(1024)],
        /// The method; absent: any.
        pub method: Option<Arc<str>> [.max_length(1024)],
    }
    rules grpc::GRPC_METHOD_MATCH
}

text! {
    /// The value of a header of gRPC calls.
    pub struct GrpcHeaderValue { min_length: 1, max_length: 4096 }
}

object! {
    /// A header that a call must have.
    #[derive(Eq, Hash)]
    pub struct GrpcHeaderMatch {
        /// How `value` is compared.
        pub match_type as "type": ValueMatchType = json!("Exact"),
        /// The header.
        pub name: HeaderName,
        /// What its value is compared with.
        pub value: GrpcHeaderValue,
    }
}

object! {
    /// One filter: `filter_type` says which of the fields applies.
    #[derive(Eq)]
    pub struct GrpcFilter {
        /// Which of the fields applies.
        pub filter_type as "type": GrpcFilterType,
        /// Changes the call's headers.
        pub request_header_modifier as "requestHeaderModifier": Option<HeaderModifier>,
        /// Changes the answer's headers.
        pub response_header_modifier as "responseHeaderModifier": Option<HeaderModifier>,
        /// Sends a copy of the call elsewhere.
        pub request_mirror as "requestMirror": Option<RequestMirror>,
        /// A filter of the implementation.
        pub extension_ref as "extensionRef": Option<LocalObjectRef>,
    }
    rules filters::GRPC_FILTER
}

open_enum! {
    /// Types of filters.
    pub enum GrpcFilterType {
        /// `response_header_modifier` applies.
        ResponseHeaderModifier = "ResponseHeaderModifier",
        /// `request_header_modifier` applies.
        RequestHeaderModifier = "RequestHeaderModifier",
        /// `request_mirror` applies.
        RequestMirror = "RequestMirror",
        /// `extension_ref` applies.
        ExtensionRef = "ExtensionRef",
    }
}

object! {
    /// A backend, its share, and filters for what it gets.
    #[derive(Eq)]
    pub struct GrpcBackendRef {
        /// The group of the backend; the core group by default.
        pub group: Group = json!(""),
        /// The kind of the backend; `Service` by default.
        pub kind: KindName = json!("Service"),
        /// The name of the backend.
        pub name: ObjectName,
        /// The namespace of the backend; that of the route if absent.
        pub namespace: Option<Namespace>,
        /// The port of the backend: for a Service that of the Service, not of its pods.
        pub port: Option<PortNumber>,
        /// Its share, relative to the sum of weights in its rule; 0 to 1,000,000, by default 1.
        pub weight: u32 [.range(0, 1_000_000)] = json!(1),
        /// Filters for calls to this backend alone.
        pub filters: Vec<GrpcFilter> [
            .max_items(MAX_FILTERS).rules(filters::GRPC_FILTERS)
        ],
    }
    rules references::BACKEND_REF
}

impl From<&GrpcBackendRef> for BackendRef {
    fn from(backend: &GrpcBackendRef) -> Self {
        Self {
            group: backend.group.clone(),
            kind: backend.kind.clone(),
            name: backend.name.clone(),
            namespace: backend.namespace.clone(),
            port: backend.port,
            weight: backend.weight,
        }
    }
}
