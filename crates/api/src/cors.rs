//! The CORS filter. Source: GEP-1767.

use serde_json::json;

use crate::{
    cel::filters,
    header::HeaderName,
    patterns::CORS_ORIGIN,
    schema::{object, open_enum},
    text::text,
};

object! {
    /// Which other origins browsers may use the route from, and how.
    #[derive(Eq)]
    pub struct Cors {
        /// The origins.
        pub allow_origins as "allowOrigins": Vec<CorsOrigin> [
            .max_items(64).set().rules(&[&filters::WILDCARD_ALONE])
        ],
        /// Whether with credentials.
        pub allow_credentials as "allowCredentials": Option<bool>,
        /// By which methods.
        pub allow_methods as "allowMethods": Vec<CorsMethod> [
            .max_items(9).set().rules(&[&filters::WILDCARD_ALONE])
        ],
        /// With which request headers.
        pub allow_headers as "allowHeaders": Vec<HeaderName> [
            .max_items(64).set().rules(&[&filters::WILDCARD_ALONE])
        ],
        /// Response headers that scripts may see.
        pub expose_headers as "exposeHeaders": Vec<HeaderName> [.max_items(64).set()],
        /// How many seconds browsers may remember the answer, at least 1; by default 5.
        pub max_age as "maxAge": u32 [.min(1)] = json!(5),
    }
}

text! {
    /// An origin: `https://example.com:8443`, with `*.` before the host, or `*` alone.
    pub struct CorsOrigin { min_length: 1, max_length: 253, pattern: &CORS_ORIGIN }
}

open_enum! {
    /// A method that browsers may use, or all.
    pub enum CorsMethod {
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
        /// Every method.
        Any = "*",
    }
}
