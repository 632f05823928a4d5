//! An answer as a person reads it.

use super::answer::{
    Answer, BackendView, Change, CorsView, EndpointView, FilterView, HeadersView, ListenerView, Nearer,
    Object, Outcome, RetryView, Rival, RuleView, Tls,
};
use super::candidates::{Candidate, CandidateVerdict, MatchView};
use crate::render::Paint;

/// Width of the column of labels.
const LABEL: usize = 10;

/// An answer in lines of text.
pub(super) fn text(answer: &Answer, paint: Paint) -> String {
    let mut page = Page::new(paint);
    page.line(&paint.strong(request(answer)).to_string());
    let said = outcome(answer);
    let said = match answer.outcome {
        Outcome::Redirect => paint.good(said),
        Outcome::Forward if answer.status.is_none() => paint.good(said),
        Outcome::Forward | Outcome::Respond => paint.warning(said),
        Outcome::Reject => paint.error(said),
    };
    page.row("answer", &said.to_string());
    if let Some(handshake) = &answer.tls {
        tls(handshake, &mut page);
    }
    page.listener(answer.listener.as_ref(), answer.gateway.as_ref(), &answer.rival_listeners);
    page.list("first", answer.listener_filters.iter().map(filter));
    if !answer.listener_filters.is_empty() {
        page.row("", "rules see what is left of the request then: --granted tells it");
    }
    if let (Some(route), Some(rule), Some(matched)) = (&answer.route, &answer.rule, &answer.matched) {
        page.row("route", &format!("{}, {}", object(route), rule_text(rule)));
        page.row("match", &match_text(matched));
    }
    page.list("filters", answer.filters.iter().map(filter));
    page.list("timeouts", timeouts(answer));
    page.list("retries", answer.retry.iter().map(retry));
    page.list("backends", answer.backends.iter().flat_map(backend));
    page.list("not taken", answer.candidates.iter().map(candidate));
    page.list("nearest", answer.nearest.iter().cloned());
    page.text
}

pub(super) struct Page {
    pub(super) text: String,
    paint: Paint,
}

impl Page {
    pub(super) fn new(paint: Paint) -> Page {
        Page { text: String::new(), paint }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(super) fn row(&mut self, label: &str, text: &str) {
        let label = self.paint.faint(label);
        self.line(&format!("{label:<LABEL$} {text}"));
    }

    /// The listener, the Gateway that it serves if that is not its owner, and the listeners that lost to it.
    pub(super) fn listener(
        &mut self,
        listener: Option<&ListenerView>,
        gateway: Option<&Object>,
        rivals: &[Rival],
    ) {
        if let Some(listener) = listener {
            self.row("listener", &listener_text(listener));
            let gateway = gateway.filter(|gateway| **gateway != listener.owner);
            gateway.iter().for_each(|gateway| self.row("", &format!("of {}", object(gateway))));
        }
        for rival in rivals {
            self.row("", &format!("not {}: {}", listener_text(&rival.listener), rival.lost));
        }
    }

    /// The label stands before the first item only.
    pub(super) fn list(&mut self, label: &str, items: impl Iterator<Item = String>) {
        for (index, item) in items.enumerate() {
            self.row(if index == 0 { label } else { "" }, &item);
        }
    }
}

fn request(answer: &Answer) -> String {
    let asked = &answer.request;
    let port = match (asked.scheme, asked.port) {
        ("http", 80) | ("https", 443) => String::new(),
        (_, port) => format!(":{port}"),
    };
    let query = asked.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{} {}://{}{port}{}{query}", asked.method, asked.scheme, asked.host, asked.path)
}

fn outcome(answer: &Answer) -> String {
    let status = answer.status.map(|status| status.to_string());
    let reason = answer.reason.unwrap_or_default();
    let message = answer.message.as_deref().unwrap_or_default();
    match (answer.outcome, status) {
        (Outcome::Forward, None) => "forwarded to a backend".to_owned(),
        (Outcome::Redirect, status) => {
            let location = answer.location.as_deref().unwrap_or_default();
            format!("{} to {location}", status.unwrap_or_default())
        }
        (_, Some(status)) => match answer.grpc_status {
            Some(grpc) => format!("{status} with grpc-status {grpc} ({reason}): {message}"),
            None => format!("{status} ({reason}): {message}"),
        },
        (Outcome::Respond | Outcome::Reject, None) => format!("no answer ({reason}): {message}"),
    }
}

pub(super) fn tls(tls: &Tls, page: &mut Page) {
    let name = tls.server_name.as_deref().unwrap_or("none");
    let listener = tls.listener.as_ref().map(|listener| format!(", listener {}", listener.name));
    page.row("TLS", &format!("server name {name}{}", listener.unwrap_or_default()));
    if let Some(certificate) = &tls.certificate {
        let names = certificate.names.join(", ");
        let misfit = if certificate.names_server { "" } else { ", which is not the server name" };
        let (object, end) = (object(&certificate.object), &certificate.not_after);
        page.row("", &format!("certificate of {object} for {names}{misfit}, until {end}"));
    }
}

pub(super) fn object(object: &Object) -> String {
    format!("{} {}/{}", object.kind, object.namespace, object.name)
}

pub(super) fn listener_text(listener: &ListenerView) -> String {
    let hostname = listener.hostname.as_deref().unwrap_or("every host");
    let (name, protocol, port) = (&listener.name, listener.protocol, listener.port);
    format!("{name} of {} ({protocol}, port {port}, {hostname})", object(&listener.owner))
}

fn rule_text(rule: &RuleView) -> String {
    let name = rule.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    format!("rule {}{name}", rule.index)
}

fn match_text(matched: &MatchView) -> String {
    let hostname = matched.hostname.as_ref().map(|hostname| format!("host {hostname}"));
    let method = matched.method.as_ref().map(|method| format!("method {method}"));
    let headers = matched.headers.iter().map(|header| format!("header {}", header.text()));
    let query = matched.query_params.iter().map(|query| format!("query parameter {}", query.text()));
    let path = Some(format!("path {}", matched.path.text()));
    let parts = hostname.into_iter().chain(path).chain(method).chain(headers).chain(query);
    parts.collect::<Vec<_>>().join(", ")
}

fn filter(filter: &FilterView) -> String {
    match filter {
        FilterView::RequestHeaderModifier(headers) => format!("request headers: {}", headers_text(headers)),
        FilterView::ResponseHeaderModifier(headers) => format!("answer's headers: {}", headers_text(headers)),
        FilterView::RequestRedirect { location, status } => format!("redirect {status} to {location}"),
        FilterView::UrlRewrite { host, path } => {
            let change = |what: &str, change: &Option<Change>| {
                change.as_ref().map(|change| format!("{what} {} becomes {}", change.before, change.after))
            };
            let changes: Vec<_> = change("host", host).into_iter().chain(change("path", path)).collect();
            format!("rewrite: {}", changes.join(", "))
        }
        FilterView::RequestMirror { object: mirror, port, share } => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("a copy of {}% to {}{port}", (share * 10.0).round() / 10.0, object(mirror))
        }
        FilterView::ExternalAuth { object: service, port, path } => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            match path {
                Some(path) => format!("if {}{port} answers {path} with 200", object(service)),
                None => format!("if {}{port} agrees by gRPC", object(service)),
            }
        }
        FilterView::Cors(cors) => cors_text(cors),
    }
}

fn cors_text(cors: &CorsView) -> String {
    let origins = cors.allow_origins.join(", ");
    let credentials = if cors.allow_credentials { " with credentials" } else { "" };
    let verdict = match cors.origin_allowed {
        Some(true) => "; the request's origin may",
        Some(false) => "; the request's origin may not",
        None => "",
    };
    format!("CORS for {origins}{credentials}{verdict}")
}

fn headers_text(headers: &HeadersView) -> String {
    let set = headers.set.iter().map(|(name, value)| format!("set {name}: {value}"));
    let add = headers.add.iter().map(|(name, value)| format!("add {name}: {value}"));
    let remove = headers.remove.iter().map(|name| format!("remove {name}"));
    set.chain(add).chain(remove).collect::<Vec<_>>().join(", ")
}

fn timeouts(answer: &Answer) -> impl Iterator<Item = String> {
    let timeouts = answer.timeouts.as_ref();
    let request =
        timeouts.and_then(|timeouts| timeouts.request.as_ref()).map(|time| format!("{time} in all"));
    let attempt = timeouts.and_then(|timeouts| timeouts.backend_request.as_ref());
    request.into_iter().chain(attempt.map(|time| format!("{time} an attempt")))
}

fn retry(retry: &RetryView) -> String {
    let codes: Vec<String> = retry.codes.iter().map(u16::to_string).collect();
    let on = if codes.is_empty() { String::new() } else { format!(" or {}", codes.join(", ")) };
    match retry.attempts {
        0 => "none".to_owned(),
        attempts => {
            format!("{attempts} after no connection, a refusal{on}; the first after {}", retry.backoff)
        }
    }
}

fn backend(backend: &BackendView) -> Vec<String> {
    let port = backend.port.map(|port| format!(":{port}")).unwrap_or_default();
    let share = (backend.share * 10.0).round() / 10.0;
    let asked = format!("as {}{}", backend.host, backend.path);
    let mut lines = vec![format!("{share}% {}{port} {asked}", object(&backend.object))];
    lines.extend(backend.filters.iter().map(|one| format!("  {}", filter(one))));
    for endpoint in &backend.endpoints {
        lines.push(format!("  {} {}{}", endpoint.address, endpoint.state, use_of(endpoint)));
    }
    if let (Some(status), Some(reason)) = (backend.status, backend.reason) {
        lines.push(format!("  {status} ({reason}): {}", backend.message.as_deref().unwrap_or_default()));
    }
    lines
}

/// Why an endpoint takes no requests, or not as many as others.
pub(super) fn use_of(endpoint: &EndpointView) -> String {
    let text = match (endpoint.ejected_for_seconds, endpoint.nearer) {
        (Some(seconds), _) => return format!(", shut out for {seconds}s because it failed again and again"),
        _ if endpoint.used && endpoint.slow_start => ", used more and more",
        _ if endpoint.used => "",
        (None, Some(Nearer::Node)) => ", not used while others are ready that are meant for the proxy's node",
        (None, Some(Nearer::Zone)) => ", not used while others are ready that are meant for the proxy's zone",
        (None, None) if endpoint.state == "ready" => {
            ", not used while others are ready that are nearer to the proxy"
        }
        (None, None) => ", not used while others are ready",
    };
    text.to_owned()
}

fn candidate(candidate: &Candidate) -> String {
    let mark = match candidate.verdict {
        CandidateVerdict::Lost => "=",
        CandidateVerdict::Unmatched => "-",
    };
    let shadow = candidate.shadowed_by.as_ref().map(|shadow| {
        format!(" (no request reaches it: {} {} covers it)", object(&shadow.route), rule_text(&shadow.rule))
    });
    let (route, rule) = (object(&candidate.route), rule_text(&candidate.rule));
    format!("{mark} {route}, {rule}: {}{}", candidate.detail, shadow.unwrap_or_default())
}
