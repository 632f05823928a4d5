//! What cases expect to be served, compared with the model.

use std::sync::Arc;

use portcullis_model::{
    Action, AuthProtocol, Cors, Endpoint, EndpointState, EndpointsKey, ExternalAuth, Filter, HeaderModifier,
    HeaderName, HeaderValue, HostPattern, Listed, ListenerFilters, Match, Mirror, MirrorShare, Model,
    Origins, PathMatch, PathRewrite, Route, Rule, SubjectName, TlsServer, Transport, Trust, UpstreamProtocol,
    ValueMatch, WeightedBackend,
};
use serde_json::{Map, Value, json};

use super::expect::same;

/// What of an expected model does not hold.
pub(crate) fn check(expected: &Value, model: &Model, failures: &mut Vec<String>) {
    for (part, expected) in expected.as_object().into_iter().flatten() {
        let found = match part.as_str() {
            "ports" => ports(model),
            "routes" => routes(model),
            "rules" => rules(model),
            "shares" => shares(model),
            "hostnames" => hostnames(model),
            "matches" => matches(model),
            "filters" => filters(model),
            "listener filters" => listener_filters(model),
            "timeouts" => timeouts(model),
            "retries" => retries(model),
            "certificates" => certificates(model),
            "options" => options(model),
            "endpoints" => endpoints(model),
            "tls" => upstream_tls(model),
            "client certificates" => client_certificates(model),
            "clients" => clients(model),
            _ => return failures.push(format!("the model has no {part}")),
        };
        let found = Value::Object(found);
        let found = if part == "options" { named(expected, &found) } else { found };
        same(&format!("model {part}"), expected, &found, failures);
    }
}

/// What of the found is named in the expected.
fn named(expected: &Value, found: &Value) -> Value {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let pairs =
                expected.iter().filter_map(|(key, one)| Some((key.clone(), named(one, found.get(key)?))));
            Value::Object(pairs.collect())
        }
        _ => found.clone(),
    }
}

/// `IP:port: [owner/listener…]` in merged order; owners are written as `gw`, or `ns/gw` outside `default`.
fn ports(model: &Model) -> Map<String, Value> {
    let ports = model.ports.iter().map(|(address, port)| {
        let names: Vec<String> = port.listeners.iter().map(|listener| listener_name(&listener.id)).collect();
        let over = match address.transport {
            Transport::Tcp => "",
            Transport::Udp => "/udp",
        };
        (format!("{}{over}", std::net::SocketAddr::new(address.ip, address.port)), names.into())
    });
    ports.collect()
}

fn listener_name(id: &portcullis_model::ListenerId) -> String {
    match &*id.owner.namespace {
        "default" => format!("{}/{}", id.owner.name, id.name),
        namespace => format!("{namespace}/{}/{}", id.owner.name, id.name),
    }
}

/// `owner/listener: [route…]`.
fn routes(model: &Model) -> Map<String, Value> {
    let mut routes = Map::new();
    for listener in model.ports.values().flat_map(|port| &port.listeners) {
        let below = listener.protocol.l4_routes().iter().map(|route| &route.origin);
        let origins =
            listener.routes.iter().chain(&listener.grpc_routes).map(|route| &route.origin).chain(below);
        let mut names: Vec<String> = origins.map(|origin| origin.name.to_string()).collect();
        names.sort();
        routes.insert(listener_name(&listener.id), names.into());
    }
    routes
}

/// `route: [what each rule does…]`, such as `web:80 90, 500 backend_invalid 10`, `redirect 302`, `500 rule_invalid`.
fn rules(model: &Model) -> Map<String, Value> {
    by_route(model, |route| route.rules.iter().map(|rule| action(&rule.action)).collect())
}

/// `owner/listener: {route: what its backends get}`, below HTTP, written as in [`rules`].
fn shares(model: &Model) -> Map<String, Value> {
    let mut shares = Map::new();
    for listener in model.ports.values().flat_map(|port| &port.listeners) {
        let routes = listener.protocol.l4_routes().iter();
        let of_listener =
            routes.map(|route| (route.origin.name.to_string(), backends(&route.backends).into()));
        shares.insert(listener_name(&listener.id), Value::Object(of_listener.collect()));
    }
    shares
}

fn by_route(model: &Model, tell: impl Fn(&Route) -> Value) -> Map<String, Value> {
    let listeners = model.ports.values().flat_map(|port| &port.listeners);
    let routes = listeners.flat_map(|listener| listener.routes.iter().chain(&listener.grpc_routes));
    routes.map(|route| (route.origin.name.to_string(), tell(route))).collect()
}

/// `route: [hostname…]`, `*` for one that names none.
fn hostnames(model: &Model) -> Map<String, Value> {
    by_route(model, |route| route.hostnames.iter().map(host).collect())
}

fn host(pattern: &HostPattern) -> String {
    match pattern {
        HostPattern::Any => "*".to_owned(),
        HostPattern::Suffix(name) => format!("*.{}", name.as_str()),
        HostPattern::Exact(name) => name.as_str().to_owned(),
    }
}

/// `route: [[match…]…]`, such as `Exact /a GET header:x=1 query:y=2`, for each rule.
fn matches(model: &Model) -> Map<String, Value> {
    by_route(model, |route| {
        let rules = route.rules.iter();
        rules.map(|rule| rule.matches.iter().map(one_match).collect::<Vec<_>>()).map(Value::from).collect()
    })
}

fn one_match(one: &Match) -> String {
    let mut text = match &one.path {
        PathMatch::Exact(path) => format!("Exact {path}"),
        PathMatch::Prefix(path) => format!("PathPrefix {path}/"),
        PathMatch::Regex(pattern) => format!("RegularExpression {}", pattern.as_str()),
        PathMatch::Call(call) => format!("call {call}"),
    };
    let mut add = |part: String| text.push_str(&format!(" {part}"));
    if let Some(method) = &one.method {
        add(method.to_string());
    }
    for header in &one.headers {
        add(format!("header:{}{}", header.name.as_str(), value(&header.value)));
    }
    for parameter in &one.query {
        add(format!("query:{}{}", parameter.name, value(&parameter.value)));
    }
    text
}

fn value(value: &ValueMatch) -> String {
    match value {
        ValueMatch::Exact(value) => format!("={value}"),
        ValueMatch::Regex(pattern) => format!("~{}", pattern.as_str()),
    }
}

/// `route: [[filter…]…]`, for each rule.
fn filters(model: &Model) -> Map<String, Value> {
    by_route(model, |route| {
        let rules = route.rules.iter();
        rules.map(|rule| rule.filters.iter().map(filter).collect::<Vec<_>>()).map(Value::from).collect()
    })
}

fn filter(filter: &Filter) -> String {
    match filter {
        Filter::RequestHeaders(headers) => format!("request headers {}", modifier(headers)),
        Filter::ResponseHeaders(headers) => format!("response headers {}", modifier(headers)),
        Filter::Rewrite(rewrite) => {
            let host = rewrite.hostname.iter().map(|host| format!("host {}", host.as_str()));
            let path = rewrite.path.iter().map(path_rewrite);
            format!("rewrite {}", host.chain(path).collect::<Vec<_>>().join(" "))
        }
        Filter::Cors(cors) => format!("cors {}", cors_text(cors)),
        Filter::Auth(auth) => auth_text(auth),
        Filter::Mirror(Mirror { cluster, share, .. }) => {
            let MirrorShare { numerator, denominator } = share;
            format!("mirror {numerator}/{denominator} to {}", cluster.endpoints.origin.name)
        }
    }
}

fn auth_text(auth: &ExternalAuth) -> String {
    let names = |names: &[HeaderName]| names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(" ");
    let (service, sees, body) =
        (&auth.cluster.endpoints.origin.name, names(&auth.request_headers), auth.body_limit);
    let manner = match &auth.protocol {
        AuthProtocol::Http { path_prefix, response_headers } => {
            format!("at {path_prefix:?}, adds [{}]", names(response_headers))
        }
        AuthProtocol::Grpc => format!("by gRPC over {:?}", auth.cluster.protocol),
    };
    format!("auth by {service}, sees [{sees}] and {body} bytes, {manner}")
}

/// `owner/listener: [filter…]` of the listeners that have some; `500 filter_unresolved` if they cannot be run.
fn listener_filters(model: &Model) -> Map<String, Value> {
    let listeners = model.ports.values().flat_map(|port| &port.listeners);
    let told = listeners.filter(|listener| !listener.filters.is_empty()).map(|listener| {
        let filters = match &listener.filters {
            ListenerFilters::Ask(asked) => asked.iter().map(auth_text).collect(),
            ListenerFilters::Fail(failure) => {
                format!("{} {}", failure.status, failure.reason.as_str()).into()
            }
        };
        (listener_name(&listener.id), filters)
    });
    told.collect()
}

fn cors_text(cors: &Cors) -> String {
    let origins = match &cors.origins {
        Origins::Any => "*".to_owned(),
        Origins::Matching(patterns) => listed(&Listed::Only(patterns.clone()), ToString::to_string),
    };
    let credentials = if cors.credentials { "with" } else { "without" };
    let methods = listed(&cors.methods, ToString::to_string);
    let headers = listed(&cors.request_headers, |name| name.as_str().to_owned());
    let exposed = listed(&cors.exposed_headers, |name| name.as_str().to_owned());
    format!(
        "{origins} {credentials} credentials, methods {methods}, headers {headers}, exposed {exposed}, {}s",
        cors.max_age
    )
}

fn listed<T>(list: &Listed<T>, text: impl Fn(&T) -> String) -> String {
    match list {
        Listed::All => "*".to_owned(),
        Listed::Only(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(" ")),
    }
}

fn modifier(headers: &HeaderModifier) -> String {
    let pair = |action: &str, (name, value): &(HeaderName, HeaderValue)| {
        format!("{action} {}={}", name.as_str(), String::from_utf8_lossy(value.as_bytes()))
    };
    let set = headers.set.iter().map(|field| pair("set", field));
    let add = headers.add.iter().map(|field| pair("add", field));
    let remove = headers.remove.iter().map(|name| format!("remove {}", name.as_str()));
    set.chain(add).chain(remove).collect::<Vec<_>>().join(", ")
}

fn path_rewrite(path: &PathRewrite) -> String {
    match path {
        PathRewrite::Full(path) => format!("path {}", path.as_str()),
        PathRewrite::Prefix(path) => format!("prefix {}", path.as_str()),
    }
}

/// `route: [request 10s, backend 2s…]`, for each rule; `none`.
fn timeouts(model: &Model) -> Map<String, Value> {
    by_route(model, |route| {
        let one = |rule: &Arc<Rule>| {
            let request = rule.timeouts.request.map(|limit| format!("request {limit:?}"));
            let backend = rule.timeouts.backend_request.map(|limit| format!("backend {limit:?}"));
            let limits: Vec<String> = request.into_iter().chain(backend).collect();
            if limits.is_empty() { "none".to_owned() } else { limits.join(" ") }
        };
        route.rules.iter().map(one).collect()
    })
}

/// `route: [2 on [500] after 25ms…]`, for each rule; `none`.
fn retries(model: &Model) -> Map<String, Value> {
    by_route(model, |route| {
        let one = |rule: &Arc<Rule>| match &rule.retry {
            Some(retry) => format!("{} on {:?} after {:?}", retry.attempts, retry.codes, retry.backoff),
            None => "none".to_owned(),
        };
        route.rules.iter().map(one).collect()
    })
}

/// `owner/listener: [Secret…]`, in the order in which they are tried.
fn certificates(model: &Model) -> Map<String, Value> {
    by_server(model, |server| {
        let origins = server.certificates.iter().map(|certificate| certificate.origin());
        origins.map(|origin| origin.name.to_string()).collect()
    })
}

/// `owner/listener: [mode, authority…]` of the listeners that are guarded.
fn clients(model: &Model) -> Map<String, Value> {
    let mut told = by_server(model, |server| {
        server.clients.as_ref().map_or(Value::Null, |clients| {
            let names = clients.authorities.origins().map(|origin| origin.name.to_string());
            std::iter::once(format!("{:?}", clients.mode)).chain(names).collect()
        })
    });
    told.retain(|_, clients| !clients.is_null());
    told
}

/// `owner/listener: Secret` of the listeners that show one to backends.
fn client_certificates(model: &Model) -> Map<String, Value> {
    let listeners = model.ports.values().flat_map(|port| &port.listeners);
    let told = listeners.filter_map(|listener| {
        let certificate = listener.client_certificate.as_ref()?;
        Some((listener_name(&listener.id), certificate.origin().name.to_string().into()))
    });
    told.collect()
}

/// `owner/listener: {alpn, versions, ciphers, curves, signatures}`, each a list of the model's names.
fn options(model: &Model) -> Map<String, Value> {
    fn names<T: std::fmt::Debug>(list: &[T]) -> Vec<String> {
        list.iter().map(|name| format!("{name:?}")).collect()
    }
    by_server(model, |server| {
        let options = &server.options;
        json!({
            "alpn": names(&options.alpn),
            "versions": names(&[options.min_version, options.max_version]),
            "ciphers": names(&options.cipher_suites),
            "curves": names(&options.curves),
            "signatures": names(&options.signature_schemes),
        })
    })
}

fn by_server(model: &Model, tell: impl Fn(&TlsServer) -> Value) -> Map<String, Value> {
    let mut told = Map::new();
    for listener in model.ports.values().flat_map(|port| &port.listeners) {
        if let Some(server) = listener.protocol.tls() {
            told.insert(listener_name(&listener.id), tell(server));
        }
    }
    told
}

fn backends(backends: &[WeightedBackend]) -> String {
    let shares = backends.iter().map(|backend| match &backend.target {
        portcullis_model::Target::Cluster(key) => {
            let protocol = match key.protocol {
                UpstreamProtocol::Http2 => " http2",
                _ => "",
            };
            format!("{}{protocol} {}", named_backend(&key.endpoints), backend.weight)
        }
        portcullis_model::Target::Fail(failure) => {
            format!("{} {} {}", failure.status, failure.reason.as_str(), backend.weight)
        }
    });
    shares.collect::<Vec<_>>().join(", ")
}

fn action(action: &Action) -> String {
    match action {
        Action::Redirect(redirect) => {
            let scheme = redirect.scheme.iter().map(|scheme| format!(" {scheme}"));
            let host = redirect.hostname.iter().map(|host| format!(" host {}", host.as_str()));
            let port = redirect.port.iter().map(|port| format!(" port {port}"));
            let path = redirect.path.iter().map(|path| format!(" {}", path_rewrite(path)));
            let parts: String = scheme.chain(host).chain(port).chain(path).collect();
            format!("redirect {}{parts}", redirect.status)
        }
        Action::Fail(failure) => format!("{} {}", failure.status, failure.reason.as_str()),
        Action::Forward(forward) => backends(&forward.backends),
    }
}

/// `name:port: [server name, expected name…, "from" who is trusted…]` of the backends to which TLS is spoken.
fn upstream_tls(model: &Model) -> Map<String, Value> {
    let clusters = model.clusters.values().filter_map(|cluster| Some((cluster, cluster.tls.as_ref()?)));
    let told = clusters.map(|(cluster, tls)| {
        let names = tls.names.iter().map(|name| match name {
            SubjectName::Dns(name) => host(name),
            SubjectName::Uri(uri) => uri.to_string(),
        });
        let trusted = match &tls.trust {
            Trust::System => vec!["from System".to_owned()],
            Trust::Given(set) => set.origins().map(|origin| format!("from {}", origin.name)).collect(),
        };
        let whole: Vec<String> =
            std::iter::once(tls.hostname.as_str().to_owned()).chain(names).chain(trusted).collect();
        (named_backend(&cluster.key.endpoints), whole.into())
    });
    told.collect()
}

fn named_backend(key: &EndpointsKey) -> String {
    match key.port {
        0 => key.origin.name.to_string(),
        port => format!("{}:{port}", key.origin.name),
    }
}

/// `name:port: [address…]`, with what else is to be known of them.
fn endpoints(model: &Model) -> Map<String, Value> {
    let endpoints = model.endpoints.iter().map(|(key, endpoints)| {
        (named_backend(key), endpoints.endpoints.iter().map(endpoint).collect::<Vec<_>>().into())
    });
    endpoints.collect()
}

fn endpoint(endpoint: &Endpoint) -> String {
    let state = match endpoint.state {
        EndpointState::Ready => "",
        EndpointState::Draining => " draining",
    };
    let zones = endpoint.hints.zones.iter().map(|zone| format!(" for zone {zone}"));
    let nodes = endpoint.hints.nodes.iter().map(|node| format!(" for node {node}"));
    format!("{}{state}{}", endpoint.address, zones.chain(nodes).collect::<String>())
}
