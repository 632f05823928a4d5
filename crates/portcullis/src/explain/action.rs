//! What a rule does with a request.

use std::time::Duration;

use portcullis_model::{
    Action, AuthProtocol, Cors, Endpoint, EndpointState, Endpoints, ExternalAuth, Failure, Filter,
    HeaderModifier, Listed, Listener, Locality, Model, Origins, PathRewrite, Redirect, Retry, RewriteUrl,
    Rule, Selection, Target, Timeouts, WeightedBackend,
};
use portcullis_proxy::{CompiledRedirect, Reason, RedirectPortTooHigh, rewritten};
use portcullis_routing::{HeaderSource, Matched, Request};

use super::answer::{
    Answer, BackendView, Change, CorsView, EndpointView, FilterView, HeadersView, Nearer, Object, Outcome,
    RetryView, TimeoutsView,
};
use super::question::Question;

/// Host and path of a request, as filters find them.
struct Url<'r> {
    /// Host as the client wrote it, port and upper case included: backends see it unchanged.
    authority: &'r str,
    path: &'r str,
    prefix_len: Option<usize>,
}

/// Notes filters, backends and outcome.
pub(super) fn note<H: HeaderSource + ?Sized>(
    model: &Model,
    question: &Question,
    listener: &Listener,
    matched: &Matched<'_, ()>,
    request: &Request<'_, H>,
    answer: &mut Answer,
) {
    let rule = matched.entry().rule();
    let url = Url { authority: question.authority(), path: request.path, prefix_len: matched.prefix_len() };
    answer.filters = rule.filters.iter().map(|filter| url.view(filter, question)).collect();
    answer.timeouts = timeouts(&rule.timeouts);
    answer.retry = rule.retry.as_ref().map(retry);
    match &rule.action {
        Action::Fail(failure) => respond(answer, failure.status, failure.reason.as_str(), &failure.message),
        Action::Redirect(redirect) => {
            let location = match url.location(redirect, listener, question) {
                Ok(location) => location,
                Err(error) => {
                    return respond(answer, 500, Reason::RuleInvalid.as_str(), &error.to_string());
                }
            };
            let (location, status) = (String::from_utf8_lossy(&location).into_owned(), redirect.status);
            answer.filters.push(FilterView::RequestRedirect { location: location.clone(), status });
            (answer.outcome, answer.status, answer.location) =
                (Outcome::Redirect, Some(status), Some(location));
        }
        Action::Forward(forward) => {
            let total: u64 = forward.backends.iter().map(|backend| u64::from(backend.weight)).sum();
            let views =
                forward.backends.iter().map(|backend| view(model, rule, backend, total, (&url, question)));
            answer.backends = views.collect();
            answer.outcome = Outcome::Forward;
            note_if_none_takes_requests(answer);
        }
    }
}

/// A filter that asks about a request for a path.
pub(super) fn view_of_auth(auth: &ExternalAuth, path: &str) -> FilterView {
    FilterView::ExternalAuth {
        object: Object::of(&auth.origin),
        port: auth.port,
        path: match &auth.protocol {
            AuthProtocol::Http { path_prefix, .. } => Some(format!("{path_prefix}{path}")),
            AuthProtocol::Grpc => None,
        },
    }
}

/// Notes that the filter answers, and no backend.
pub(super) fn note_preflight(question: &Question, rule: &Rule, answer: &mut Answer) {
    let allowed = rule.cors().is_some_and(|cors| origin(question).is_some_and(|origin| cors.allows(origin)));
    let message = if allowed { "the origin may use the rule" } else { "the origin may not use the rule" };
    respond(answer, 204, Reason::Preflight.as_str(), message);
    answer.backends.clear();
}

fn respond(answer: &mut Answer, status: u16, reason: &'static str, message: &str) {
    answer.outcome = Outcome::Respond;
    (answer.status, answer.reason, answer.message) = (Some(status), Some(reason), Some(message.to_owned()));
}

/// Where no backend with a share takes requests, the gateway answers all of them: here as for the greatest share.
/// That is still a forward where only endpoints are lacking, for they come and go.
fn note_if_none_takes_requests(answer: &mut Answer) {
    let sharing = || answer.backends.iter().filter(|backend| backend.weight > 0);
    if sharing().any(|backend| backend.status.is_none()) {
        return;
    }
    let lacking = sharing().any(|backend| backend.reason == Some(Reason::NoEndpoint.as_str()));
    let greatest = sharing().rev().max_by_key(|backend| backend.weight).cloned();
    if let Some(BackendView { status: Some(status), reason: Some(reason), message, .. }) = greatest {
        respond(answer, status, reason, &message.unwrap_or_default());
        answer.outcome = if lacking { Outcome::Forward } else { Outcome::Respond };
    }
}

fn view(
    model: &Model,
    rule: &Rule,
    backend: &WeightedBackend,
    total: u64,
    (url, question): (&Url<'_>, &Question),
) -> BackendView {
    let endpoints = match &backend.target {
        Target::Cluster(key) => model.endpoints.get(&key.endpoints),
        Target::Fail(_) => None,
    };
    let endpoints: Vec<EndpointView> =
        endpoints.iter().flat_map(|endpoints| endpoint_views(endpoints, &question.locality)).collect();
    let refusal = match &backend.target {
        Target::Fail(Failure { status, reason, message }) => {
            Some((*status, reason.as_str(), message.as_ref().to_owned()))
        }
        Target::Cluster(_) if !endpoints.iter().any(|endpoint| endpoint.used) => {
            Some((503, Reason::NoEndpoint.as_str(), "it has no endpoint that takes requests".to_owned()))
        }
        Target::Cluster(_) => None,
    };
    let (status, reason, message) = refusal
        .map_or((None, None, None), |(status, reason, message)| (Some(status), Some(reason), Some(message)));
    let (host, path) = url.forwarded(rule, backend);
    BackendView {
        object: Object::of(&backend.origin),
        port: backend.port,
        weight: backend.weight,
        share: f64::from(backend.weight) * 100.0 / (total.max(1) as f64),
        filters: backend.filters.iter().map(|filter| url.view(filter, question)).collect(),
        host,
        path,
        endpoints,
        status,
        reason,
        message,
    }
}

/// The endpoints as a proxy that stands there uses them.
pub(super) fn endpoint_views(endpoints: &Endpoints, at: &Locality) -> Vec<EndpointView> {
    let selection = Selection::of(endpoints, at);
    let view = |endpoint: &Endpoint| {
        let used = selection.takes(endpoint, at);
        let (state, nearer) = match (endpoint.state, selection) {
            (EndpointState::Draining, _) => ("draining", None),
            (EndpointState::Ready, Selection::SameNode) => ("ready", Some(Nearer::Node)),
            (EndpointState::Ready, Selection::SameZone) => ("ready", Some(Nearer::Zone)),
            (EndpointState::Ready, _) => ("ready", None),
        };
        let address = endpoint.address.to_string();
        let nearer = nearer.filter(|_| !used);
        EndpointView { address, state, used, nearer, ejected_for_seconds: None, slow_start: false }
    };
    endpoints.endpoints.iter().map(view).collect()
}

impl Url<'_> {
    fn view(&self, filter: &Filter, question: &Question) -> FilterView {
        match filter {
            Filter::RequestHeaders(modifier) => FilterView::RequestHeaderModifier(headers(modifier)),
            Filter::ResponseHeaders(modifier) => FilterView::ResponseHeaderModifier(headers(modifier)),
            Filter::Rewrite(rewrite) => FilterView::UrlRewrite {
                host: rewrite.hostname.as_ref().map(|hostname| Change {
                    before: self.authority.to_owned(),
                    after: hostname.as_str().to_owned(),
                }),
                path: rewrite
                    .path
                    .as_ref()
                    .map(|change| Change { before: self.path.to_owned(), after: self.rewritten(change) }),
            },
            Filter::Mirror(mirror) => FilterView::RequestMirror {
                object: Object::of(&mirror.origin),
                port: mirror.port,
                share: f64::from(mirror.share.numerator) * 100.0 / f64::from(mirror.share.denominator.max(1)),
            },
            Filter::Auth(auth) => view_of_auth(auth, self.path),
            Filter::Cors(cors) => FilterView::Cors(cors_view(cors, question)),
        }
    }

    /// Without the port, and otherwise as written.
    fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => host,
            _ => self.authority,
        }
    }

    fn rewritten(&self, change: &PathRewrite) -> String {
        rewritten(change, self.path, self.prefix_len).into_owned()
    }

    /// Host and path that a backend sees: of two changes its own holds, for both mean what the rule matched.
    fn forwarded(&self, rule: &Rule, backend: &WeightedBackend) -> (String, String) {
        let filters = || backend.filters.iter().rev().chain(rule.filters.iter().rev());
        let host = filters().find_map(Filter::host).unwrap_or(self.authority);
        let path = filters().filter_map(rewrite).find_map(|rewrite| rewrite.path.as_ref());
        (host.to_owned(), path.map_or_else(|| self.path.to_owned(), |change| self.rewritten(change)))
    }

    fn location(
        &self,
        redirect: &Redirect,
        listener: &Listener,
        question: &Question,
    ) -> Result<Vec<u8>, RedirectPortTooHigh> {
        let compiled =
            CompiledRedirect::compile(redirect, question.scheme, listener.port, question.port_offset)?;
        let query = question.query.as_deref();
        let location = compiled.location(self.host(), self.path, query.map(str::as_bytes), self.prefix_len);
        Ok(location.unwrap_or_default()) // a question names a host
    }
}

fn rewrite(filter: &Filter) -> Option<&RewriteUrl> {
    match filter {
        Filter::Rewrite(rewrite) => Some(rewrite),
        _ => None,
    }
}

/// The origin that the request names.
fn origin(question: &Question) -> Option<&[u8]> {
    let origin = question.headers.iter().find(|(name, _)| name.as_str() == "origin");
    origin.map(|(_, origin)| origin.as_bytes())
}

fn cors_view(cors: &Cors, question: &Question) -> CorsView {
    fn listed<T>(list: &Listed<T>, text: impl Fn(&T) -> &str) -> Vec<String> {
        match list {
            Listed::All => vec!["*".to_owned()],
            Listed::Only(list) => list.iter().map(|one| text(one).to_owned()).collect(),
        }
    }
    CorsView {
        allow_origins: match &cors.origins {
            Origins::Any => vec!["*".to_owned()],
            Origins::Matching(patterns) => patterns.iter().map(ToString::to_string).collect(),
        },
        allow_credentials: cors.credentials,
        allow_methods: listed(&cors.methods, |method| method),
        allow_headers: listed(&cors.request_headers, |name| name.as_str()),
        expose_headers: listed(&cors.exposed_headers, |name| name.as_str()),
        max_age: cors.max_age,
        origin_allowed: origin(question).map(|origin| cors.allows(origin)),
    }
}

fn headers(modifier: &HeaderModifier) -> HeadersView {
    let pairs = |pairs: &[(portcullis_model::HeaderName, portcullis_model::HeaderValue)]| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        pairs.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
    };
    HeadersView {
        set: pairs(&modifier.set),
        add: pairs(&modifier.add),
        remove: modifier.remove.iter().map(|name| name.as_str().to_owned()).collect(),
    }
}

fn retry(retry: &Retry) -> RetryView {
    RetryView { attempts: retry.attempts, codes: retry.codes.clone(), backoff: duration(retry.backoff) }
}

fn timeouts(timeouts: &Timeouts) -> Option<TimeoutsView> {
    let some = timeouts.request.is_some() || timeouts.backend_request.is_some();
    some.then(|| TimeoutsView {
        request: timeouts.request.map(duration),
        backend_request: timeouts.backend_request.map(duration),
    })
}

/// As the Gateway API writes durations (GEP-2257), in milliseconds where seconds do not suffice.
fn duration(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}ms", duration.as_millis()),
    }
}
