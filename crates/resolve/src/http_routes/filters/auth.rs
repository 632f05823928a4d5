//! The filter ExternalAuth.

use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_api::external_auth::{ExternalAuth, ExternalAuthProtocol, HttpAuth};
use portcullis_api::port::PortNumber;
use portcullis_model::{self as model, AuthProtocol};

use super::Fault;
use super::headers::header_name;
use crate::backends::{self, Refusal, Speech};
use crate::causes::RULE_VALUE;
use crate::view::View;

/// How a service is asked, and what it sees of a request's headers.
pub(crate) struct Manner {
    protocol: AuthProtocol,
    request_headers: Vec<model::HeaderName>,
    speech: Speech,
}

/// How the filter asks, or what is wrong with it.
///
/// Source: HTTPExternalAuthFilter, HTTPAuthConfig, GRPCAuthConfig.
pub(crate) fn manner(source: &ExternalAuth) -> Result<Manner, Fault> {
    let (protocol, seen, speech) = match &source.protocol {
        ExternalAuthProtocol::Http => {
            let http = source.http.as_ref();
            let seen = http.map_or(&[][..], |http| &http.allowed_headers);
            (by_http(http)?, seen, Speech::Http)
        }
        ExternalAuthProtocol::Grpc => {
            let seen = source.grpc.as_ref().map_or(&[][..], |grpc| &grpc.allowed_headers);
            (AuthProtocol::Grpc, seen, Speech::Grpc)
        }
        ExternalAuthProtocol::Other(other) => {
            return Err((&RULE_VALUE, format!("ExternalAuth by {other} is not supported")));
        }
    };
    Ok(Manner { protocol, request_headers: names(seen)?, speech })
}

/// The filter of an object, a route or the owner of a listener, or why the service cannot be asked.
///
/// Source: HTTPExternalAuthFilter, ForwardBodyConfig.
pub(crate) fn auth(
    view: &View<'_>,
    referrer: &ObjectKey,
    source: &ExternalAuth,
) -> Result<Result<model::ExternalAuth, Refusal>, Fault> {
    let Manner { protocol, request_headers, speech } = manner(source)?;
    let (origin, cluster) = backends::resolve_as(view, referrer, &(&source.backend_ref).into(), speech);
    Ok(cluster.map(|cluster| model::ExternalAuth {
        origin,
        port: source.backend_ref.port.map(PortNumber::get),
        cluster,
        protocol,
        request_headers,
        body_limit: source.forward_body.as_ref().and_then(|body| body.max_size).unwrap_or(0),
    }))
}

fn by_http(source: Option<&HttpAuth>) -> Result<AuthProtocol, Fault> {
    let path = source.and_then(|http| http.path.as_ref()).map(|path| path.trim_matches('/'));
    let path_prefix =
        path.filter(|path| !path.is_empty()).map_or_else(|| "".into(), |path| format!("/{path}").into());
    let response_headers = names(source.map_or(&[][..], |http| &http.allowed_response_headers))?;
    Ok(AuthProtocol::Http { path_prefix, response_headers })
}

fn names(source: &[Arc<str>]) -> Result<Vec<model::HeaderName>, Fault> {
    source.iter().map(|name| header_name(name)).collect()
}
