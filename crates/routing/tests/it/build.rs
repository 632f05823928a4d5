//! Models and requests in few words.

use std::sync::Arc;

use portcullis_model::{
    Action, Age, Failure, FailureReason, HeaderMatch, HeaderName, HeaderValue, HostPattern, Listener,
    ListenerFilters, ListenerId, ListenerProtocol, Match, Origin, PathMatch, Pattern, Port, QueryMatch,
    Route, Rule, RuleId, Timeouts, ValueMatch,
};
use portcullis_routing::{Authority, ListenerTable, PortTable, Request, Traced, canonical_path};

pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

fn on(path: PathMatch) -> Match {
    Match { path, method: None, headers: vec![], query: vec![] }
}

pub(crate) fn exact(path: &str) -> Match {
    on(PathMatch::Exact(path.into()))
}

/// As resolution gives it: without a trailing slash.
pub(crate) fn prefix(path: &str) -> Match {
    on(PathMatch::Prefix(path.strip_suffix('/').unwrap_or(path).into()))
}

pub(crate) fn regex(pattern: &str) -> Match {
    on(PathMatch::Regex(Pattern::new(pattern).unwrap()))
}

/// `~` before a value makes it a regular expression.
pub(crate) fn value(text: &str) -> ValueMatch {
    match text.strip_prefix('~') {
        Some(pattern) => ValueMatch::Regex(Pattern::new(pattern).unwrap()),
        None => ValueMatch::Exact(text.into()),
    }
}

pub(crate) trait With {
    fn method(self, method: &str) -> Self;
    fn header(self, name: &str, value: &str) -> Self;
    fn query(self, name: &str, value: &str) -> Self;
}

impl With for Match {
    fn method(mut self, method: &str) -> Self {
        self.method = Some(method.into());
        self
    }

    fn header(mut self, name: &str, text: &str) -> Self {
        self.headers.push(HeaderMatch { name: HeaderName::new(name).unwrap(), value: value(text) });
        self
    }

    fn query(mut self, name: &str, text: &str) -> Self {
        self.query.push(QueryMatch { name: name.into(), value: value(text) });
        self
    }
}

pub(crate) fn origin(kind: &str, name: &str) -> Origin {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    Origin { kind: kind.into(), namespace: namespace.into(), name: name.into() }
}

/// A route `name` or `namespace/name` with a rule for each list of matches.
pub(crate) fn aged_route(name: &str, age: Age, hosts: &[&str], rules: Vec<Vec<Match>>) -> Route {
    let origin = origin("HTTPRoute", name);
    let hosts: &[&str] = if hosts.is_empty() { &[""] } else { hosts };
    let fail = Failure { status: 500, reason: FailureReason::NoBackends, message: "".into() };
    let rule = |(index, matches)| {
        Arc::new(Rule {
            id: RuleId { route: origin.clone(), index, name: None },
            matches,
            filters: vec![],
            action: Action::Fail(fail.clone()),
            timeouts: Timeouts::default(),
            retry: None,
        })
    };
    let rules = rules.into_iter().enumerate().map(rule).collect();
    let hostnames = hosts.iter().map(|host| HostPattern::parse(host)).collect();
    Route { origin: origin.clone(), age, hostnames, rules }
}

pub(crate) fn route(name: &str, hosts: &[&str], rules: Vec<Vec<Match>>) -> Route {
    aged_route(name, Age::UNKNOWN, hosts, rules)
}

pub(crate) fn listener_of(
    name: &str,
    protocol: ListenerProtocol,
    hostname: &str,
    routes: Vec<Arc<Route>>,
) -> Arc<Listener> {
    let gateway = origin("Gateway", "gw");
    let id = ListenerId { gateway: gateway.clone(), owner: gateway, name: name.into() };
    let hostname = HostPattern::parse(hostname);
    Arc::new(Listener {
        id,
        port: 80,
        hostname,
        protocol,
        filters: ListenerFilters::default(),
        client_certificate: None,
        routes,
        grpc_routes: vec![],
    })
}

pub(crate) fn listener(routes: Vec<Route>) -> Arc<Listener> {
    listener_of("web", ListenerProtocol::Http, "", routes.into_iter().map(Arc::new).collect())
}

pub(crate) fn port(listeners: Vec<Arc<Listener>>) -> Port {
    Port { listeners }
}

pub(crate) fn table(listener: &Arc<Listener>) -> Arc<ListenerTable<()>> {
    let port = PortTable::build(&port(vec![Arc::clone(listener)]), |_, _, _| ());
    Arc::clone(&port.listeners()[0])
}

pub(crate) fn headers(given: &[(&str, &str)]) -> Headers {
    let header = |(name, value): &(&str, &str)| {
        (HeaderName::new(name).unwrap(), HeaderValue::new(value.as_bytes()).unwrap())
    };
    given.iter().map(header).collect()
}

/// A request such as `GET a.com/path?query`, canonical as a proxy makes it.
pub(crate) fn with_request<R>(
    line: &str,
    fields: &[(&str, &str)],
    act: impl FnOnce(&Request<'_, [(HeaderName, HeaderValue)]>) -> R,
) -> R {
    let (method, url) = line.split_once(' ').unwrap();
    let (target, query) = url.split_once('?').unwrap_or((url, ""));
    let (authority, path) = target.split_at(target.find('/').unwrap_or(target.len()));
    let (host, path) = (Authority::parse(authority).unwrap().host, canonical_path(path).unwrap());
    act(&Request::new(&host, &path, query, method, &headers(fields)[..]))
}

/// Which rule takes a request, as `route rule.match`.
pub(crate) fn ask_with(listener: &Arc<Listener>, line: &str, fields: &[(&str, &str)]) -> Option<String> {
    let table = table(listener);
    with_request(line, fields, |request| {
        table.lookup(request).map(|found| {
            let id = &found.entry().rule().id;
            format!("{} {}.{}", id.route.name, id.index, found.match_index())
        })
    })
}

pub(crate) fn ask(listener: &Arc<Listener>, line: &str) -> Option<String> {
    ask_with(listener, line, &[])
}

/// What a trace says of each match, as `route rule.match verdict`.
pub(crate) fn trace(listener: &Arc<Listener>, line: &str, fields: &[(&str, &str)]) -> Vec<String> {
    let table = table(listener);
    let show = |traced: Traced<'_, ()>| {
        let tried = traced.tried.iter().map(|tried| {
            let id = &tried.entry.rule().id;
            format!("{} {}.{} {:?}", id.route.name, id.index, tried.match_index, tried.verdict)
        });
        tried.collect()
    };
    with_request(line, fields, |request| show(table.lookup_traced(request)))
}
