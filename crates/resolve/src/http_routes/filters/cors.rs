//! The filter CORS.

use std::sync::Arc;

use portcullis_api::cors::{Cors, CorsMethod, CorsOrigin};
use portcullis_api::header::HeaderName as ApiHeaderName;
use portcullis_model::{self as model, Listed, OriginPattern, Origins};

use super::Fault;
use super::headers::header_name;
use crate::causes::RULE_VALUE;

/// Source: HTTPCORSFilter.
pub(super) fn cors(source: &Cors) -> Result<model::Cors, Fault> {
    Ok(model::Cors {
        origins: origins(&source.allow_origins)?,
        credentials: source.allow_credentials.unwrap_or(false),
        methods: methods(&source.allow_methods)?,
        request_headers: headers(&source.allow_headers)?,
        exposed_headers: headers(&source.expose_headers)?,
        max_age: source.max_age,
    })
}

fn origins(source: &[CorsOrigin]) -> Result<Origins, Fault> {
    if source.iter().any(|origin| origin.as_str() == "*") {
        return Ok(Origins::Any);
    }
    let pattern = |origin: &CorsOrigin| {
        OriginPattern::new(origin.as_str())
            .ok_or_else(|| (&RULE_VALUE, format!("CORS origin {origin} cannot be understood")))
    };
    source.iter().map(pattern).collect::<Result<_, _>>().map(Origins::Matching)
}

fn methods(source: &[CorsMethod]) -> Result<Listed<Arc<str>>, Fault> {
    if source.contains(&CorsMethod::Any) {
        return Ok(Listed::All);
    }
    let method = |method: &CorsMethod| match method {
        CorsMethod::Other(other) => Err((&RULE_VALUE, format!("CORS method {other} is not supported"))),
        known => Ok(known.as_str().into()),
    };
    source.iter().map(method).collect::<Result<_, _>>().map(Listed::Only)
}

fn headers(source: &[ApiHeaderName]) -> Result<Listed<model::HeaderName>, Fault> {
    if source.iter().any(|name| name.as_str() == "*") {
        return Ok(Listed::All);
    }
    source.iter().map(|name| header_name(name.as_str())).collect::<Result<_, _>>().map(Listed::Only)
}
