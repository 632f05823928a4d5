//! Matches of a rule.

use std::sync::Arc;

use portcullis_api::FieldPath;
use portcullis_api::http_route::{
    HttpMethod, HttpPathMatch, HttpQueryParamMatch, HttpRouteMatch, PathMatchType, ValueMatchType,
};
use portcullis_model::{HeaderMatch, HeaderName, Match, PathMatch, Pattern, QueryMatch, ValueMatch};

use crate::causes::RULE_VALUE;
use crate::finding::Finding;

/// A match, or everything that keeps it from being one.
pub(super) fn read(source: &HttpRouteMatch, path: &FieldPath) -> Result<Match, Vec<Finding>> {
    let mut faults = Vec::new();
    let mut take = |path: FieldPath, fault: String| faults.push(Finding::new(&RULE_VALUE, path, fault));
    let path_match = read_path(&source.path).map_err(|fault| take(path.field("path"), fault)).ok();
    let headers = source.headers.iter().map(|header| Header {
        match_type: &header.match_type,
        name: header.name.as_str(),
        value: header.value.as_str(),
    });
    let headers = read_headers(headers, &path.field("headers"), &mut take);
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

/// A header match of a route of any kind.
pub(crate) struct Header<'a> {
    pub(crate) match_type: &'a ValueMatchType,
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// Header matches; of several for one name, only the first counts. What is wrong with others goes to `take`.
pub(crate) fn read_headers<'a>(
    source: impl Iterator<Item = Header<'a>>,
    path: &FieldPath,
    take: &mut impl FnMut(FieldPath, String),
) -> Vec<HeaderMatch> {
    let mut headers: Vec<HeaderMatch> = Vec::new();
    for (index, header) in source.enumerate() {
        match read_header(&header) {
            Ok(header) if headers.iter().any(|earlier| earlier.name == header.name) => {}
            Ok(header) => headers.push(header),
            Err(fault) => take(path.index(index), fault),
        }
    }
    headers
}

fn read_header(header: &Header<'_>) -> Result<HeaderMatch, String> {
    let name = HeaderName::new(header.name).ok_or_else(|| format!("{} is no header name", header.name))?;
    Ok(HeaderMatch { name, value: value(header.match_type, header.value)? })
}

fn read_query(parameter: &HttpQueryParamMatch) -> Result<QueryMatch, String> {
    let value = value(&parameter.match_type, parameter.value.as_str())?;
    Ok(QueryMatch { name: parameter.name.shared(), value })
}

/// A value of a match, by the match's type.
pub(crate) fn value(match_type: &ValueMatchType, value: &str) -> Result<ValueMatch, String> {
    match match_type {
        ValueMatchType::Exact => Ok(ValueMatch::Exact(value.into())),
        ValueMatchType::RegularExpression => pattern(value).map(ValueMatch::Regex),
        ValueMatchType::Other(other) => Err(format!("match type {other} is not supported")),
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| format!("regular expression {text:?}: {error}"))
}
