//! Filters of HTTPRoutes.

use std::sync::Arc;

use serde_json::json;

use crate::{
    cel::filters,
    cors::Cors,
    external_auth::ExternalAuth,
    header::{HeaderName, HeaderValue},
    hostname::PreciseHostname,
    port::PortNumber,
    references::{BackendObjectRef, LocalObjectRef},
    schema::{object, open_enum},
};

object! {
    /// One filter: `filter_type` says which of the fields applies.
    #[derive(Eq)]
    pub struct HttpFilter {
        /// Which of the fields applies.
        pub filter_type as "type": HttpFilterType,
        /// Changes the request's headers.
        pub request_header_modifier as "requestHeaderModifier": Option<HeaderModifier>,
        /// Changes the response's headers.
        pub response_header_modifier as "responseHeaderModifier": Option<HeaderModifier>,
        /// Sends a copy of the request elsewhere.
        pub request_mirror as "requestMirror": Option<RequestMirror>,
        /// Answers with a redirect.
        pub request_redirect as "requestRedirect": Option<RequestRedirect>,
        /// Changes host and path of the request.
        pub url_rewrite as "urlRewrite": Option<UrlRewrite>,
        /// Lets browsers use the route from other origins.
        pub cors: Option<Cors>,
        /// Asks a service whether the request may pass.
        pub external_auth as "externalAuth": Option<ExternalAuth>,
        /// A filter of the implementation.
        pub extension_ref as "extensionRef": Option<LocalObjectRef>,
    }
    rules filters::HTTP_FILTER
}

open_enum! {
    /// Types of filters.
    pub enum HttpFilterType {
        /// `request_header_modifier` applies.
        RequestHeaderModifier = "RequestHeaderModifier",
        /// `response_header_modifier` applies.
        ResponseHeaderModifier = "ResponseHeaderModifier",
        /// `request_mirror` applies.
        RequestMirror = "RequestMirror",
        /// `request_redirect` applies.
        RequestRedirect = "RequestRedirect",
        /// `url_rewrite` applies.
        UrlRewrite = "URLRewrite",
        /// `extension_ref` applies.
        ExtensionRef = "ExtensionRef",
        /// `cors` applies.
        Cors = "CORS",
        /// `external_auth` applies.
        ExternalAuth = "ExternalAuth",
    }
}

object! {
    /// Changes to headers: `remove` takes away, `set` overwrites, `add` appends.
    #[derive(Eq, Default)]
    pub struct HeaderModifier {
        /// Headers to overwrite.
        pub set: Vec<HttpHeader> [.max_items(16).unique_by("name")],
        /// Headers to append.
        pub add: Vec<HttpHeader> [.max_items(16).unique_by("name")],
        /// Headers to take away. The CRD does not restrict the names.
        pub remove: Vec<Arc<str>> [.max_items(16).set()],
    }
}

object! {
    /// A header.
    #[derive(Eq, Hash)]
    pub struct HttpHeader {
        /// Its name.
        pub name: HeaderName,
        /// Its value.
        pub value: HeaderValue,
    }
}

object! {
    /// Sends copies of requests elsewhere and drops the answers.
    #[derive(Eq)]
    pub struct RequestMirror {
        /// Where to.
        pub backend_ref as "backendRef": BackendObjectRef,
        /// How many of a hundred requests; all if neither this nor `fraction` is there.
        pub percent: Option<u32> [.range(0, 100)],
        /// Which fraction of requests.
        pub fraction: Option<Fraction>,
    }
    rules &[&filters::PERCENT_OR_FRACTION]
}

object! {
    /// A fraction between 0 and 1.
    #[derive(Eq, Hash)]
    pub struct Fraction {
        /// The numerator.
        pub numerator: u32 [.min(0)],
        /// The denominator, at least 1; by default 100.
        pub denominator: u32 [.min(1)] = json!(100),
    }
    rules &[&filters::FRACTION_AT_MOST_ONE]
}

object! {
    /// A redirect; what is absent stays as in the request.
    #[derive(Eq)]
    pub struct RequestRedirect {
        /// The scheme to redirect to.
        pub scheme: Option<Scheme>,
        /// The host to redirect to.
        pub hostname: Option<PreciseHostname>,
        /// The path to redirect to.
        pub path: Option<PathModifier>,
        /// The port to redirect to; absent, it follows from the scheme or else the listener.
        pub port: Option<PortNumber>,
        /// The status: 301, 302, 303, 307 or 308; by default 302.
        pub status_code as "statusCode": u16 [.any_format().one_of_integers(&[301, 302, 303, 307, 308])] = json!(302),
    }
}

open_enum! {
    /// A scheme.
    pub enum Scheme {
        /// HTTP in clear.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
    }
}

object! {
    /// A change of the path.
    #[derive(Eq)]
    pub struct PathModifier {
        /// Which of the fields applies.
        pub modifier_type as "type": PathModifierType,
        /// The new path.
        pub replace_full_path as "replaceFullPath": Option<Arc<str>> [.max_length(1024)],
        /// What takes the place of the matched prefix.
        pub replace_prefix_match as "replacePrefixMatch": Option<Arc<str>> [.max_length(1024)],
    }
    rules filters::PATH_MODIFIER
}

open_enum! {
    /// Ways to change a path.
    pub enum PathModifierType {
        /// `replace_full_path` applies.
        ReplaceFullPath = "ReplaceFullPath",
        /// `replace_prefix_match` applies.
        ReplacePrefixMatch = "ReplacePrefixMatch",
    }
}

object! {
    /// Changes host and path on the way to the backend.
    #[derive(Eq)]
    pub struct UrlRewrite {
        /// The new host.
        pub hostname: Option<PreciseHostname>,
        /// The new path.
        pub path: Option<PathModifier>,
    }
}
