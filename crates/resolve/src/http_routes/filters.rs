//! Filters of a rule or of a backend.

mod auth;
mod cors;
mod mirror;

use std::sync::Arc;

use portcullis_api::http_filter::{
    HeaderModifier, HttpFilter, HttpFilterType, HttpHeader, PathModifier, PathModifierType, RequestMirror,
    RequestRedirect, Scheme, UrlRewrite,
};
use portcullis_api::port::PortNumber;
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{
    self as model, FailureReason, Filter, HeaderName, HeaderValue, Hostname, PathRewrite, Redirect,
    RewriteUrl,
};

use crate::backends::Refusal;
use crate::causes::{Cause, RULE_EXTENSION, RULE_FILTERS, RULE_VALUE};
use crate::finding::Finding;
use crate::view::View;

/// What a list of filters comes to.
#[derive(Debug, Default)]
pub(super) struct Filters {
    pub(super) filters: Vec<Filter>,
    pub(super) redirect: Option<Redirect>,
    /// What makes the rule invalid.
    pub(super) invalid: Vec<Finding>,
    /// Filters that refer to something that is not there.
    pub(super) unresolved: Vec<Finding>,
    /// Mirrors whose backend gets no copies; the rule does without them.
    pub(super) dropped: Vec<Finding>,
    /// A service that has to be asked and cannot be: nothing passes.
    pub(super) unasked: Vec<(Finding, FailureReason)>,
}

/// Where filters stand: those of a backend are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Rule,
    Backend,
}

type Fault = (&'static Cause, String);

impl Filters {
    pub(super) fn read(
        (view, route): (&View<'_>, &ObjectKey),
        source: &[HttpFilter],
        of: Of,
        path: &FieldPath,
    ) -> Filters {
        let mut read = Filters::default();
        for (index, filter) in source.iter().enumerate() {
            let path = path.index(index);
            if let (Of::Rule, Some(source)) = (of, mirrored(filter)) {
                match mirror::mirror(view, route, source) {
                    Ok(mirror) => read.filters.push(Filter::Mirror(mirror)),
                    Err(Refusal { cause, message, .. }) => {
                        let path = path.field("requestMirror").field("backendRef");
                        read.dropped.push(Finding::new(cause, path, message));
                    }
                }
                continue;
            }
            if let Err((cause, message)) = read.add((view, route), filter, of, &path) {
                let finding = Finding::new(cause, path, message);
                if cause == &RULE_EXTENSION {
                    read.unresolved.push(finding);
                } else {
                    read.invalid.push(finding);
                }
            }
        }
        let rewrites = read.filters.iter().any(|filter| matches!(filter, Filter::Rewrite(_)));
        if rewrites && read.redirect.is_some() {
            let message = "URLRewrite and RequestRedirect cannot go together";
            read.invalid.push(Finding::new(&RULE_FILTERS, path.clone(), message));
        }
        read
    }

    /// Whether a filter replaces the prefix that the rule's match took.
    pub(super) fn replaces_prefix(&self) -> bool {
        self.redirect.as_ref().is_some_and(|redirect| is_prefix(redirect.path.as_ref()))
            || replaces_prefix(&self.filters)
    }

    fn add(
        &mut self,
        (view, route): (&View<'_>, &ObjectKey),
        filter: &HttpFilter,
        of: Of,
        path: &FieldPath,
    ) -> Result<(), Fault> {
        let absent = || (&RULE_VALUE, format!("filter {} says nothing", filter.filter_type));
        match (&filter.filter_type, of) {
            (HttpFilterType::RequestHeaderModifier, _) => {
                let modifier = filter.request_header_modifier.as_ref().ok_or_else(absent)?;
                self.filters.push(Filter::RequestHeaders(headers(modifier)?));
            }
            (HttpFilterType::ResponseHeaderModifier, _) => {
                let modifier = filter.response_header_modifier.as_ref().ok_or_else(absent)?;
                self.filters.push(Filter::ResponseHeaders(headers(modifier)?));
            }
            (HttpFilterType::UrlRewrite, _) => {
                self.filters.push(Filter::Rewrite(rewrite(filter.url_rewrite.as_ref().ok_or_else(absent)?)?));
            }
            (HttpFilterType::RequestRedirect, Of::Rule) => {
                self.redirect = Some(redirect(filter.request_redirect.as_ref().ok_or_else(absent)?)?);
            }
            (HttpFilterType::Cors, Of::Rule) => {
                self.filters.push(Filter::Cors(cors::cors(filter.cors.as_ref().ok_or_else(absent)?)?));
            }
            (HttpFilterType::ExternalAuth, Of::Rule) => {
                let source = filter.external_auth.as_ref().ok_or_else(absent)?;
                match auth::auth(view, route, source)? {
                    Ok(auth) => self.filters.push(Filter::Auth(auth)),
                    Err(Refusal { cause, reason, message }) => {
                        let path = path.field("externalAuth").field("backendRef");
                        self.unasked.push((Finding::new(cause, path, message), reason));
                    }
                }
            }
            (HttpFilterType::ExtensionRef, _) => {
                let extension = filter.extension_ref.as_ref().ok_or_else(absent)?;
                let message =
                    format!("ExtensionRef: {} {} is of no known kind", extension.kind, extension.name);
                return Err((&RULE_EXTENSION, message));
            }
            (other, Of::Rule) => return Err((&RULE_VALUE, format!("filter {other} is not supported"))),
            (other, Of::Backend) => {
                return Err((&RULE_VALUE, format!("filter {other} is not supported on a backend")));
            }
        }
        Ok(())
    }
}

/// Whether a filter replaces the prefix that the rule's match took.
pub(super) fn replaces_prefix(filters: &[Filter]) -> bool {
    let replaces = |filter: &Filter| matches!(filter, Filter::Rewrite(one) if is_prefix(one.path.as_ref()));
    filters.iter().any(replaces)
}

fn is_prefix(path: Option<&PathRewrite>) -> bool {
    matches!(path, Some(PathRewrite::Prefix(_)))
}

/// The mirror that a filter is, if it is one.
fn mirrored(filter: &HttpFilter) -> Option<&RequestMirror> {
    filter.request_mirror.as_ref().filter(|_| filter.filter_type == HttpFilterType::RequestMirror)
}

/// Source: HTTPHeaderFilter: of several entries for one name, the first counts.
fn headers(source: &HeaderModifier) -> Result<model::HeaderModifier, Fault> {
    let modifier = model::HeaderModifier {
        set: fields(&source.set)?,
        add: fields(&source.add)?,
        remove: source.remove.iter().map(|name| header_name(name)).collect::<Result<_, _>>()?,
    };
    let names =
        |list: &[(HeaderName, HeaderValue)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let (set, add) = (names(&modifier.set), names(&modifier.add));
    let twice = set.iter().find(|name| add.contains(name) || modifier.remove.contains(name));
    match twice.or_else(|| add.iter().find(|name| modifier.remove.contains(name))) {
        Some(name) => {
            Err((&RULE_FILTERS, format!("header {} is in two actions of one filter", name.as_str())))
        }
        None => Ok(modifier),
    }
}

fn fields(source: &[HttpHeader]) -> Result<Vec<(HeaderName, HeaderValue)>, Fault> {
    let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for header in source {
        let name = header_name(header.name.as_str())?;
        let value = HeaderValue::new(header.value.as_str().as_bytes())
            .ok_or_else(|| (&RULE_VALUE, format!("the value of header {} is not allowed", header.name)))?;
        if fields.iter().all(|(earlier, _)| *earlier != name) {
            fields.push((name, value));
        }
    }
    Ok(fields)
}

fn header_name(name: &str) -> Result<HeaderName, Fault> {
    HeaderName::new(name).ok_or_else(|| (&RULE_VALUE, format!("{name:?} is no header name")))
}

fn rewrite(source: &UrlRewrite) -> Result<RewriteUrl, Fault> {
    let hostname = source.hostname.as_ref().and_then(|hostname| Hostname::new(hostname.as_str()));
    Ok(RewriteUrl { hostname, path: source.path.as_ref().map(path).transpose()? })
}

/// Source: HTTPPathModifier.
fn path(source: &PathModifier) -> Result<PathRewrite, Fault> {
    let absent = || (&RULE_VALUE, format!("path modifier {} says nothing", source.modifier_type));
    match &source.modifier_type {
        PathModifierType::ReplaceFullPath => {
            source.replace_full_path.clone().map(PathRewrite::Full).ok_or_else(absent)
        }
        PathModifierType::ReplacePrefixMatch => {
            source.replace_prefix_match.clone().map(PathRewrite::Prefix).ok_or_else(absent)
        }
        PathModifierType::Other(other) => {
            Err((&RULE_VALUE, format!("path modifier {other} is not supported")))
        }
    }
}

/// Source: HTTPRequestRedirectFilter.
fn redirect(source: &RequestRedirect) -> Result<Redirect, Fault> {
    let scheme: Option<Arc<str>> = match &source.scheme {
        None => None,
        Some(scheme @ (Scheme::Http | Scheme::Https)) => Some(scheme.as_str().into()),
        Some(Scheme::Other(other)) => return Err((&RULE_VALUE, format!("scheme {other} is not supported"))),
    };
    if !matches!(source.status_code, 301 | 302 | 303 | 307 | 308) {
        return Err((&RULE_VALUE, format!("redirect status {} is not supported", source.status_code)));
    }
    Ok(Redirect {
        scheme,
        hostname: source.hostname.as_ref().and_then(|hostname| Hostname::new(hostname.as_str())),
        port: source.port.map(PortNumber::get),
        path: source.path.as_ref().map(path).transpose()?,
        status: source.status_code,
    })
}
