//! The filter ExternalAuth.

use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_api::external_auth::{ExternalAuth, ExternalAuthProtocol, HttpAuth};
use portcullis_api::port::PortNumber;
use portcullis_model as model;

use super::{Fault, header_name};
use crate::backends::{self, Refusal};
use crate::causes::RULE_VALUE;
use crate::view::View;

/// The filter, or why the service cannot be asked; either is nothing if the filter itself is at fault.
///
/// Source: HTTPExternalAuthFilter, HTTPAuthConfig, ForwardBodyConfig.
pub(super) fn auth(
    view: &View<'_>,
    route: &ObjectKey,
    source: &ExternalAuth,
) -> Result<Result<model::ExternalAuth, Refusal>, Fault> {
    if source.protocol != ExternalAuthProtocol::Http {
        return Err((&RULE_VALUE, format!("ExternalAuth by {} is not supported", source.protocol)));
    }
    let default = HttpAuth::default();
    let http = source.http.as_ref().unwrap_or(&default);
    let written = http.path.as_ref().map(|path| path.trim_matches('/')).filter(|path| !path.is_empty());
    let path_prefix = written.map_or_else(|| "".into(), |path| format!("/{path}").into());
    let request_headers = names(&http.allowed_headers)?;
    let response_headers = names(&http.allowed_response_headers)?;
    let (origin, cluster) = backends::resolve(view, route, &(&source.backend_ref).into());
    Ok(cluster.map(|cluster| model::ExternalAuth {
        origin,
        port: source.backend_ref.port.map(PortNumber::get),
        cluster,
        path_prefix,
        request_headers,
        response_headers,
        body_limit: source.forward_body.as_ref().and_then(|body| body.max_size).unwrap_or(0),
    }))
}

fn names(source: &[Arc<str>]) -> Result<Vec<model::HeaderName>, Fault> {
    source.iter().map(|name| header_name(name)).collect()
}
