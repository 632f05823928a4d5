//! [`HttpRoute`].

use std::sync::Arc;

use serde_json::json;

use crate::{
    cel::{filters, paths, references, routes},
    duration::Duration,
    gateway::DefaultScope,
    header::{HeaderName, HeaderValue},
    hostname::Hostname,
    http_filter::HttpFilter,
    names::{Group, KindName, Namespace, ObjectName, SectionName},
    port::PortNumber,
    references::{BackendRef, ParentRef},
    resource::resource,
    route::{MAX_BACKENDS, MAX_FILTERS, MAX_HOSTNAMES, MAX_MATCHES, MAX_PARENTS, MAX_RULES},
    schema::{object, open_enum},
    session_persistence::SessionPersistence,
    status::RouteStatus,
    text::text,
};

resource! {
    /// Which HTTP requests go where.
    pub struct HttpRoute: HttpRoute {
        spec: HttpRouteSpec,
        status: RouteStatus,
    }
}

object! {
    /// Which HTTP requests go where.
    #[derive(Eq)]
    pub struct HttpRouteSpec {
        /// The Gateways, ListenerSets or Services it attaches to.
        pub parent_refs as "parentRefs": Vec<ParentRef> [
            .max_items(MAX_PARENTS).rules(references::PARENTS)
        ],
        /// Whether it also attaches to default Gateways.
        pub use_default_gateways as "useDefaultGateways": Option<DefaultScope>,
        /// The hosts it serves; none listed: those of the listener.
        pub hostnames: Vec<Hostname> [.max_items(MAX_HOSTNAMES)],
        /// Its rules; by default one that matches every request.
        pub rules: Vec<HttpRouteRule> [
            .items(1, MAX_RULES)
            .rules(&[&routes::RULE_NAMES, &routes::HTTP_MATCHES])

        ] = json!([{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]),
    }
}

object! {
    /// Requests, and what becomes of them.
    #[derive(Eq)]
    pub struct HttpRouteRule {
        /// Its name, unique within the route.
        pub name: Option<SectionName>,
        /// The requests, one match of which suffices; by default all.
        pub matches: Vec<HttpRouteMatch> [
            .max_items(MAX_MATCHES)

        ] = json!([{"path": {"type": "PathPrefix", "value": "/"}}]),
        /// Filters, in order.
        pub filters: Vec<HttpFilter> [
            .max_items(MAX_FILTERS).rules(filters::HTTP_FILTERS)
        ],
        /// Where requests go.
        pub backend_refs as "backendRefs": Vec<HttpBackendRef> [.max_items(MAX_BACKENDS)],
        /// How long things may take.
        pub timeouts: Option<HttpRouteTimeouts>,
        /// What is tried again.
        pub retry: Option<HttpRouteRetry>,
        /// Whether requests of one session go to one endpoint.
        pub session_persistence as "sessionPersistence": Option<SessionPersistence>,
    }
    rules filters::HTTP_RULE
}

object! {
    /// What a request must have; all of it.
    #[derive(Eq)]
    pub struct HttpRouteMatch {
        /// The path; by default any.
        pub path: HttpPathMatch = json!({"type": "PathPrefix", "value": "/"}),
        /// Headers. Of several for one name, only the first counts.
        pub headers: Vec<HttpHeaderMatch> [.max_items(16).unique_by("name")],
        /// Query parameters. Of several for one name, only the first counts.
        pub query_params as "queryParams": Vec<HttpQueryParamMatch>
            [.max_items(16).unique_by("name")],
        /// The method.
        pub method: Option<HttpMethod>,
    }
}

object! {
    /// How the path of a request must be.
    #[derive(Eq, Hash)]
    pub struct HttpPathMatch {
        /// How `value` is compared.
        pub match_type as "type": PathMatchType = json!("PathPrefix"),
        /// What it is compared with.
        pub value: Arc<str> [.max_length(1024)] = json!("/"),
    }
    rules paths::PATH_MATCH
}

open_enum! {
    /// How paths are compared.
    pub enum PathMatchType {
        /// The whole path, by character.
        Exact = "Exact",
        /// Leading path elements, separated by `/`.
        PathPrefix = "PathPrefix",
        /// By a regular expression.
        RegularExpression = "RegularExpression",
    }
}

open_enum! {
    /// How headers, query parameters and gRPC methods are compared.
    pub enum ValueMatchType {
        /// The whole value.
        Exact = "Exact",
        /// By a regular expression.
        RegularExpression = "RegularExpression",
    }
}

object! {
    /// A header that a request must have.
    #[derive(Eq, Hash)]
    pub struct HttpHeaderMatch {
        /// How `value` is compared.
        pub match_type as "type": ValueMatchType = json!("Exact"),
        /// The header.
        pub name: HeaderName,
        /// What its value is compared with.
        pub value: HeaderValue,
    }
}

text! {
    /// The value of a query parameter.
    pub struct QueryParamValue { min_length: 1, max_length: 1024 }
}

object! {
    /// A query parameter that a request must have.
    #[derive(Eq, Hash)]
    pub struct HttpQueryParamMatch {
        /// How `value` is compared.
        pub match_type as "type": ValueMatchType = json!("Exact"),
        /// The parameter; its case counts.
        pub name: HeaderName,
        /// What its value is compared with.
        pub value: QueryParamValue,
    }
}

open_enum! {
    /// A request method.
    pub enum HttpMethod {
        /// GET.
        Get = "GET",
        /// HEAD.
        Head = "HEAD",
        /// POST.
        Post = "POST",
        /// PUT.
        Put = "PUT",
        /// DELETE.
        Delete = "DELETE",
        /// CONNECT.
        Connect = "CONNECT",
        /// OPTIONS.
        Options = "OPTIONS",
        /// TRACE.
        Trace = "TRACE",
        /// PATCH.
        Patch = "PATCH",
    }
}

object! {
    /// A backend, its share, and filters for what it gets.
    #[derive(Eq)]
    pub struct HttpBackendRef {
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
        /// Filters for requests to this backend alone.
        pub filters: Vec<HttpFilter> [
            .max_items(MAX_FILTERS).rules(filters::HTTP_FILTERS)
        ],
    }
    rules references::BACKEND_REF
}

impl From<&HttpBackendRef> for BackendRef {
    fn from(backend: &HttpBackendRef) -> Self {
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

object! {
    /// How long things may take; zero is no limit. Source: GEP-1742.
    #[derive(Eq)]
    pub struct HttpRouteTimeouts {
        /// The whole request as the client sees it, all attempts included.
        pub request: Option<Duration>,
        /// One attempt at one backend.
        pub backend_request as "backendRequest": Option<Duration>,
    }
    rules &[&routes::ATTEMPT_WITHIN_REQUEST]
}

object! {
    /// What is tried again. Source: GEP-1731.
    #[derive(Eq)]
    pub struct HttpRouteRetry {
        /// Statuses of backends that are tried again, 400 to 599.
        pub codes: Vec<i64> [.set().range(400, 599)],
        /// How often, at most; by default once.
        pub attempts: i64 [.min(0)] = json!(1),
        /// The least time before the first repetition.
        pub backoff: Option<Duration>,
    }
}
