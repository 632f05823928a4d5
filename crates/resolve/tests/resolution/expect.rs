//! What cases expect, compared with what was resolved.

use portcullis_api::listener::ListenerStatus;
use portcullis_api::references::ParentRef;
use portcullis_api::status::Condition;
use portcullis_model::{Action, Endpoint, EndpointState, Model};
use portcullis_resolve::{Resolved, Status};
use serde_json::{Map, Value};

use crate::given::key_of;

/// Where two resolutions differ, in any part.
pub(crate) fn difference(one: &Resolved, other: &Resolved) -> Option<String> {
    for (key, status) in &other.statuses {
        if one.statuses.get(key) != Some(status) {
            return Some(format!("the status of {key}: {:?} and {status:?}", one.statuses.get(key)));
        }
    }
    for (key, found) in &other.diagnostics {
        if one.diagnostics.get(key) != Some(found) {
            return Some(format!("the findings of {key}: {:?} and {found:?}", one.diagnostics.get(key)));
        }
    }
    if one.statuses.len() != other.statuses.len() || one.diagnostics.len() != other.diagnostics.len() {
        return Some("something is said of an object that is gone".to_owned());
    }
    let (one, other) = (&one.model, &other.model);
    if one.ports != other.ports {
        return Some(format!("ports: {:?} and {:?}", one.ports, other.ports));
    }
    if one.clusters != other.clusters {
        return Some(format!("clusters: {:?} and {:?}", one.clusters, other.clusters));
    }
    (one.endpoints != other.endpoints)
        .then(|| format!("endpoints: {:?} and {:?}", one.endpoints, other.endpoints))
}

/// What of an expectation does not hold.
pub(crate) fn check(expect: &Value, resolved: &Resolved) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, expected) in expect.as_object().into_iter().flatten() {
        match name.as_str() {
            "model" => model(expected, &resolved.model, &mut failures),
            _ => object(name, expected, resolved, &mut failures),
        }
    }
    failures
}

fn object(name: &str, expected: &Value, resolved: &Resolved, failures: &mut Vec<String>) {
    let key = match key_of(name) {
        Ok(key) => key,
        Err(error) => return failures.push(error),
    };
    let mut fields = expected.as_object().cloned().unwrap_or_default();
    if let Some(codes) = fields.remove("findings") {
        let found = resolved.diagnostics.get(&key);
        let mut found: Vec<&str> =
            found.iter().flat_map(|list| list.iter()).map(|found| found.rule.code).collect();
        found.dedup();
        same(&format!("{name} findings"), &codes, &found.into(), failures);
    }
    let status = resolved.statuses.get(&key);
    if fields.remove("status").is_some_and(|status| status == "none") {
        if let Some(status) = status {
            failures.push(format!("{name} has a status: {status:?}"));
        }
        return;
    }
    if fields.is_empty() {
        return;
    }
    match status.map(|status| &**status) {
        None => failures.push(format!("{name} has no status")),
        Some(Status::GatewayClass(status)) => conditions(name, &fields, &status.conditions, failures),
        Some(Status::Gateway(status)) => {
            if let Some(expected) = fields.remove("addresses") {
                let values: Vec<&str> = status.addresses.iter().map(|address| &*address.value).collect();
                same(&format!("{name} addresses"), &expected, &values.into(), failures);
            }
            if let Some(expected) = fields.remove("attachedListenerSets") {
                let label = format!("{name} attachedListenerSets");
                same(&label, &expected, &status.attached_listener_sets.into(), failures);
            }
            listeners(name, &mut fields, &status.listeners, failures);
            conditions(name, &fields, &status.conditions, failures);
        }
        Some(Status::ListenerSet(status)) => {
            listeners(name, &mut fields, &status.listeners, failures);
            conditions(name, &fields, &status.conditions, failures);
        }
        Some(Status::Route(status)) => {
            let found: Vec<_> =
                status.parents.iter().map(|parent| (&parent.parent_ref, &parent.conditions)).collect();
            parents(name, &mut fields, "parents", &found, failures);
        }
        Some(Status::Policy(status)) => {
            let found: Vec<_> = status
                .ancestors
                .iter()
                .map(|ancestor| (&ancestor.ancestor_ref, &ancestor.conditions))
                .collect();
            parents(name, &mut fields, "ancestors", &found, failures);
        }
    }
}

fn listeners(
    name: &str,
    fields: &mut Map<String, Value>,
    found: &[ListenerStatus],
    failures: &mut Vec<String>,
) {
    let Some(expected) = fields.remove("listeners") else { return };
    for (listener, expected) in expected.as_object().into_iter().flatten() {
        let label = format!("{name} {listener}");
        let Some(status) = found.iter().find(|status| status.name.as_str() == listener) else {
            failures.push(format!("{label} has no status"));
            continue;
        };
        let mut fields = expected.as_object().cloned().unwrap_or_default();
        if let Some(expected) = fields.remove("attachedRoutes") {
            same(&format!("{label} attachedRoutes"), &expected, &status.attached_routes.into(), failures);
        }
        if let Some(expected) = fields.remove("supportedKinds") {
            let kinds: Vec<&str> = status.supported_kinds.iter().map(|kind| kind.kind.as_str()).collect();
            same(&format!("{label} supportedKinds"), &expected, &kinds.into(), failures);
        }
        conditions(&label, &fields, &status.conditions, failures);
    }
}

type Entry<'a> = (&'a ParentRef, &'a Vec<Condition>);

/// A list of entries, each with `ref: name`, `ref: name/section` or `ref: name:port`, in the order of the status.
fn parents(
    name: &str,
    fields: &mut Map<String, Value>,
    list: &str,
    found: &[Entry<'_>],
    failures: &mut Vec<String>,
) {
    let expected = fields.remove(list).unwrap_or_default();
    let expected = expected.as_array().cloned().unwrap_or_default();
    if expected.len() != found.len() {
        let refs: Vec<String> = found.iter().map(|(reference, _)| short(reference)).collect();
        failures.push(format!("{name} has the {list} {}", refs.join(", ")));
        return;
    }
    for (expected, (reference, found)) in expected.iter().zip(found) {
        let mut fields = expected.as_object().cloned().unwrap_or_default();
        let label = format!("{name} {}", short(reference));
        if let Some(expected) = fields.remove("ref") {
            same(&label, &expected, &short(reference).into(), failures);
        }
        conditions(&label, &fields, found, failures);
    }
}

fn short(reference: &ParentRef) -> String {
    let section = reference.section_name.as_ref().map(|section| format!("/{section}")).unwrap_or_default();
    let port = reference.port.map(|port| format!(":{}", port.get())).unwrap_or_default();
    format!("{}{section}{port}", reference.name)
}

/// `Type: Status/Reason`, with `~ words` for what the message must contain; `Type: absent`.
fn conditions(label: &str, expected: &Map<String, Value>, found: &[Condition], failures: &mut Vec<String>) {
    for (condition_type, expected) in expected {
        let expected = expected.as_str().unwrap_or_default();
        let found = found.iter().find(|condition| condition.condition_type.as_str() == condition_type);
        let text = found.map_or("absent".to_owned(), |found| format!("{}/{}", found.status, found.reason));
        let (verdict, words) = expected.split_once(" ~ ").unwrap_or((expected, ""));
        if verdict != text {
            let message = found.map(|found| format!(" ({})", found.message)).unwrap_or_default();
            failures.push(format!("{label} {condition_type}: {text}{message}, expected {verdict}"));
        } else if let Some(found) = found.filter(|found| !found.message.contains(words)) {
            failures.push(format!("{label} {condition_type}: {:?} does not say {words:?}", found.message));
        }
    }
}

fn same(label: &str, expected: &Value, found: &Value, failures: &mut Vec<String>) {
    if expected != found {
        failures.push(format!("{label}: {found}, expected {expected}"));
    }
}

fn model(expected: &Value, model: &Model, failures: &mut Vec<String>) {
    for (part, expected) in expected.as_object().into_iter().flatten() {
        let found = match part.as_str() {
            "ports" => ports(model),
            "routes" => routes(model),
            "rules" => rules(model),
            "endpoints" => endpoints(model),
            _ => return failures.push(format!("the model has no {part}")),
        };
        same(&format!("model {part}"), expected, &Value::Object(found), failures);
    }
}

/// `IP:port: [owner/listener…]` in merged order; owners are written as `gw`, or `ns/gw` outside `default`.
fn ports(model: &Model) -> Map<String, Value> {
    let ports = model.ports.iter().map(|(address, port)| {
        let names: Vec<String> = port.listeners.iter().map(|listener| listener_name(&listener.id)).collect();
        (std::net::SocketAddr::new(address.ip, address.port).to_string(), names.into())
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
        let mut names: Vec<String> =
            listener.routes.iter().map(|route| route.origin.name.to_string()).collect();
        names.sort();
        routes.insert(listener_name(&listener.id), names.into());
    }
    routes
}

/// `route: [what each rule does…]`, such as `web:80 90, 500 backend_invalid 10`, `redirect 302`, `500 rule_invalid`.
fn rules(model: &Model) -> Map<String, Value> {
    let mut rules = Map::new();
    for route in model.ports.values().flat_map(|port| &port.listeners).flat_map(|listener| &listener.routes) {
        let actions: Vec<String> = route.rules.iter().map(|rule| action(&rule.action)).collect();
        rules.insert(route.origin.name.to_string(), actions.into());
    }
    rules
}

fn action(action: &Action) -> String {
    match action {
        Action::Redirect(redirect) => format!("redirect {}", redirect.status),
        Action::Fail(failure) => format!("{} {}", failure.status, failure.reason.as_str()),
        Action::Forward(forward) => {
            let shares = forward.backends.iter().map(|backend| match &backend.target {
                portcullis_model::Target::Cluster(key) => {
                    let port = if key.endpoints.port == 0 {
                        String::new()
                    } else {
                        format!(":{}", key.endpoints.port)
                    };
                    format!("{}{port} {}", key.endpoints.origin.name, backend.weight)
                }
                portcullis_model::Target::Fail(failure) => {
                    format!("{} {} {}", failure.status, failure.reason.as_str(), backend.weight)
                }
            });
            shares.collect::<Vec<_>>().join(", ")
        }
    }
}

/// `name:port: [address…]`, draining ones marked.
fn endpoints(model: &Model) -> Map<String, Value> {
    let endpoints = model.endpoints.iter().map(|(key, endpoints)| {
        let name = match key.port {
            0 => key.origin.name.to_string(),
            port => format!("{}:{port}", key.origin.name),
        };
        (name, endpoints.endpoints.iter().map(endpoint).collect::<Vec<_>>().into())
    });
    endpoints.collect()
}

fn endpoint(endpoint: &Endpoint) -> String {
    let address = match &endpoint.address {
        portcullis_model::EndpointAddress::Socket(socket) => socket.to_string(),
        portcullis_model::EndpointAddress::Name { hostname, port } => format!("{}:{port}", hostname.as_str()),
        portcullis_model::EndpointAddress::Unix(path) => format!("unix:{path}"),
    };
    match endpoint.state {
        EndpointState::Ready => address,
        EndpointState::Draining => format!("{address} draining"),
    }
}
