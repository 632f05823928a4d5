//! Filters of a rule or of a backend.

pub(crate) mod auth;
mod cors;
mod headers;
mod mirror;

use std::sync::Arc;

use portcullis_api::http_filter::{
    HttpFilter, HttpFilterType, PathModifier, PathModifierType, RequestMirror, RequestRedirect, Scheme,
    UrlRewrite,
};
use portcullis_api::port::PortNumber;
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{
    FailureReason, Filter, HeaderModifier, Hostname, PathRewrite, Redirect, ReplacementPath, RewriteUrl,
};

use crate::backends::Refusal;
use crate::causes::{Cause, RULE_EXTENSION, RULE_FILTERS, RULE_HEADER_NO_EFFECT, RULE_VALUE};
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
    /// What is worth knowing.
    pub(super) notes: Vec<Finding>,
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
        if read.filters.iter().filter_map(Filter::host).count() > 1 {
            let message = "URLRewrite and RequestHeaderModifier both set Host";
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
                let modifier = headers::of_request(modifier)?;
                self.headers(modifier, &path.field("requestHeaderModifier"), Filter::RequestHeaders);
            }
            (HttpFilterType::ResponseHeaderModifier, _) => {
                let modifier = filter.response_header_modifier.as_ref().ok_or_else(absent)?;
                let modifier = headers::modifier(modifier)?;
                self.headers(modifier, &path.field("responseHeaderModifier"), Filter::ResponseHeaders);
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

    /// Takes a change of headers without those that no filter can change, and says so.
    fn headers(
        &mut self,
        mut modifier: HeaderModifier,
        path: &FieldPath,
        filter: impl FnOnce(HeaderModifier) -> Filter,
    ) {
        for name in headers::take_the_senders(&mut modifier) {
            let message = format!("header {} is written by whoever sends a message", name.as_str());
            self.notes.push(Finding::new(&RULE_HEADER_NO_EFFECT, path.clone(), message));
        }
        self.filters.push(filter(modifier));
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

fn rewrite(source: &UrlRewrite) -> Result<RewriteUrl, Fault> {
    let hostname = source.hostname.as_ref().and_then(|hostname| Hostname::new(hostname.as_str()));
    Ok(RewriteUrl { hostname, path: source.path.as_ref().map(path).transpose()? })
}

/// Source: HTTPPathModifier.
fn path(source: &PathModifier) -> Result<PathRewrite, Fault> {
    let absent = || (&RULE_VALUE, format!("path modifier {} says nothing", source.modifier_type));
    let read = |text: &Option<Arc<str>>| {
        let text = text.as_deref().ok_or_else(absent)?;
        ReplacementPath::new(text).ok_or_else(|| (&RULE_VALUE, format!("{text:?} is no path")))
    };
    match &source.modifier_type {
        PathModifierType::ReplaceFullPath => read(&source.replace_full_path).map(PathRewrite::Full),
        PathModifierType::ReplacePrefixMatch => read(&source.replace_prefix_match).map(PathRewrite::Prefix),
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
