//! Matches of a rule.

use std::sync::Arc;

use portcullis_api::FieldPath;
use portcullis_api::grpc_route::{GrpcMethodMatch, GrpcRouteMatch};
use portcullis_model::{CallMatch, Match, PathMatch, ValueMatch};

use crate::causes::RULE_VALUE;
use crate::finding::Finding;
use crate::http_routes::matches::{Header, read_headers, value};

/// A match, or everything that keeps it from being one.
pub(crate) fn read(source: &GrpcRouteMatch, path: &FieldPath) -> Result<Match, Vec<Finding>> {
    let mut faults = Vec::new();
    let mut take = |path: FieldPath, fault: String| faults.push(Finding::new(&RULE_VALUE, path, fault));
    let call = source.method.as_ref().map_or_else(
        || Some(CallMatch::default()),
        |method| read_call(method).map_err(|fault| take(path.field("method"), fault)).ok(),
    );
    let headers = source.headers.iter().map(|header| Header {
        match_type: &header.match_type,
        name: header.name.as_str(),
        value: header.value.as_str(),
    });
    let headers = read_headers(headers, &path.field("headers"), &mut take);
    match call {
        Some(call) if faults.is_empty() => {
            Ok(Match { path: PathMatch::Call(call), method: None, headers, query: Vec::new() })
        }
        _ => Err(faults),
    }
}

/// Source: GRPCMethodMatch: an empty name is as good as none.
fn read_call(source: &GrpcMethodMatch) -> Result<CallMatch, String> {
    let read = |name: &Option<Arc<str>>| -> Result<Option<ValueMatch>, String> {
        let name = name.as_deref().filter(|name| !name.is_empty());
        name.map(|name| value(&source.match_type, name)).transpose()
    };
    Ok(CallMatch { service: read(&source.service)?, method: read(&source.method)? })
}
