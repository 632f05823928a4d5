//! Matches of a rule.

use std::sync::Arc;

use portcullis_api::FieldPath;
use portcullis_api::http_route::{
    HttpHeaderMatch, HttpMethod, HttpPathMatch, HttpQueryParamMatch, HttpRouteMatch, PathMatchType,
    ValueMatchType,
};
use portcullis_model::{HeaderMatch, HeaderName, Match, PathMatch, Pattern, QueryMatch, ValueMatch};

use crate::causes::RULE_VALUE;
use crate::finding::Finding;

/// A match, or everything that keeps it from being one.
pub(super) fn read(source: &HttpRouteMatch, path: &FieldPath) -> Result<Match, Vec<Finding>> {
    let mut faults = Vec::new();
    let mut take = |path: FieldPath, fault: String| faults.push(Finding::new(&RULE_VALUE, path, fault));
    let path_match = read_path(&source.path).map_err(|fault| take(path.field("path"), fault)).ok();
    let mut headers: Vec<HeaderMatch> = Vec::new();
    for (index, header) in source.headers.iter().enumerate() {
        match read_header(header) {
            // Of several for one name, only the first counts.
            Ok(header) if headers.iter().any(|earlier| earlier.name == header.name) => {}
            Ok(header) => headers.push(header),
            Err(fault) => take(path.field("headers").index(index), fault),
        }
    }
    let mut query: Vec<QueryMatch> = Vec::new();
    for (index, parameter) in source.query_params.iter().enumerate() {
        match read_query(parameter) {
            Ok(parameter) if query.iter().any(|earlier| earlier.name == parameter.name) => {}
            Ok(parameter) => query.push(parameter),
            Err(fault) => take(path.field("queryParams").index(index), fault),
        }
    }
    if let Some(HttpMethod::Other(method)) = &source.method {
        take(path.field("method"), format!("method {method} is not supported"));
    }
    let method = source.method.as_ref().map(|method| Arc::from(method.as_str()));
    match path_match {
        Some(path) if faults.is_empty() => Ok(Match { path, method, headers, query }),
        _ => Err(faults),
    }
}

fn read_path(path: &HttpPathMatch) -> Result<PathMatch, String> {
    match &path.match_type {
        PathMatchType::Exact => Ok(PathMatch::Exact(Arc::clone(&path.value))),
        PathMatchType::PathPrefix => {
            Ok(PathMatch::Prefix(path.value.strip_suffix('/').unwrap_or(&path.value).into()))
        }
        PathMatchType::RegularExpression => pattern(&path.value).map(PathMatch::Regex),
        PathMatchType::Other(other) => Err(format!("path match type {other} is not supported")),
    }
}

fn read_header(header: &HttpHeaderMatch) -> Result<HeaderMatch, String> {
    let name =
        HeaderName::new(header.name.as_str()).ok_or_else(|| format!("{} is no header name", header.name))?;
    Ok(HeaderMatch { name, value: value(&header.match_type, header.value.as_str())? })
}

fn read_query(parameter: &HttpQueryParamMatch) -> Result<QueryMatch, String> {
    let value = value(&parameter.match_type, parameter.value.as_str())?;
    Ok(QueryMatch { name: parameter.name.shared(), value })
}

fn value(match_type: &ValueMatchType, value: &str) -> Result<ValueMatch, String> {
    match match_type {
        ValueMatchType::Exact => Ok(ValueMatch::Exact(value.into())),
        ValueMatchType::RegularExpression => pattern(value).map(ValueMatch::Regex),
        ValueMatchType::Other(other) => Err(format!("match type {other} is not supported")),
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| format!("regular expression {text:?}: {error}"))
}
