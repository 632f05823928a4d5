//! An API server in memory: discovery, lists, watches and reads, with the faults that tests ask for.

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The API server; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

/// What it holds and how it behaves.
#[derive(Default)]
pub(crate) struct State {
    revision: u64,
    /// Group and plural, and the versions that are served.
    served: BTreeMap<(String, String), Vec<String>>,
    /// By group and plural, then namespace and name.
    objects: BTreeMap<(String, String), BTreeMap<(String, String), Value>>,
    /// Everything that has happened, with its revision.
    history: Vec<(u64, (String, String), &'static str, Value)>,
    watches: Vec<Watch>,
    /// Every request but watches, as method and path.
    pub(crate) requests: Vec<String>,
    /// Plurals whose watches say nothing, until they are taken out.
    pub(crate) mute: BTreeSet<String>,
    /// Plurals that we may not read.
    pub(crate) forbidden: BTreeSet<String>,
    /// Paths whose reads are answered after a second, with what was there when they were asked.
    pub(crate) slow: BTreeSet<String>,
    /// Whether nothing is answered.
    pub(crate) is_down: bool,
    /// Whether lists come only in pages.
    pub(crate) has_no_streamed_lists: bool,
    /// What happened up to here is forgotten.
    compacted: u64,
}

struct Watch {
    resource: (String, String),
    is_metadata_only: bool,
    sent_to: u64,
    events: UnboundedSender<Value>,
}

/// `gateway.networking.k8s.io` or the like of an `apiVersion`; empty for `v1`.
fn group_of(api_version: &str) -> String {
    api_version.split_once('/').map_or_else(String::new, |(group, _)| group.to_owned())
}

fn plural_of(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match lower.strip_suffix('y') {
        Some(stem) if !lower.ends_with("ay") => format!("{stem}ies"),
        _ if lower.ends_with('s') => format!("{lower}es"),
        _ => format!("{lower}s"),
    }
}

fn resource_of(object: &Value) -> (String, String) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    (group_of(text("apiVersion")), plural_of(text("kind")))
}

fn name_of(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

impl Fake {
    /// An API server with the kinds of Kubernetes, and the Gateway API's in the versions of its standard channel.
    pub(crate) fn new() -> Self {
        let fake = Self::default();
        for (group, plural) in [
            ("", "services"),
            ("", "secrets"),
            ("", "configmaps"),
            ("", "namespaces"),
            ("discovery.k8s.io", "endpointslices"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
        ] {
            fake.serve(group, plural, &["v1"]);
        }
        for plural in ["gatewayclasses", "gateways", "httproutes"] {
            fake.serve("gateway.networking.k8s.io", plural, &["v1", "v1beta1"]);
        }
        fake.serve("gateway.networking.k8s.io", "referencegrants", &["v1beta1"]);
        fake
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Serves a kind in these versions from now on; in none: no longer. Its CRD says so.
    pub(crate) fn serve(&self, group: &str, plural: &str, versions: &[&str]) {
        let resource = (group.to_owned(), plural.to_owned());
        let mut state = self.state();
        if versions.is_empty() {
            state.served.remove(&resource);
            state.objects.remove(&resource);
        } else {
            state
                .served
                .insert(resource.clone(), versions.iter().map(|&version| version.to_owned()).collect());
        }
        state.watches.retain(|watch| watch.resource != resource);
        drop(state);
        if group.ends_with("gateway.networking.k8s.io") {
            self.put(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")}, "spec": {"versions": versions}}));
        }
    }

    /// Creates or replaces an object.
    pub(crate) fn put(&self, mut object: Value) {
        let mut state = self.state();
        state.revision += 1;
        let revision = state.revision;
        let (resource, name) = (resource_of(&object), name_of(&object));
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        object["metadata"]["uid"] = format!("{}/{}", name.0, name.1).into();
        let objects = state.objects.entry(resource.clone()).or_default();
        let old = objects.insert(name, object.clone());
        let event = if old.is_some() { "MODIFIED" } else { "ADDED" };
        state.history.push((revision, resource, event, object));
        state.tell();
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, object: &Value) {
        let mut state = self.state();
        state.revision += 1;
        let revision = state.revision;
        let resource = resource_of(object);
        let objects = state.objects.entry(resource.clone()).or_default();
        let mut old = objects.remove(&name_of(object)).expect("it is there");
        old["metadata"]["resourceVersion"] = revision.to_string().into();
        state.history.push((revision, resource, "DELETED", old));
        state.tell();
    }

    /// Lets the watches of a kind speak again.
    pub(crate) fn unmute(&self, plural: &str) {
        let mut state = self.state();
        state.mute.remove(plural);
        state.tell();
    }

    /// Answers nothing, and ends every watch; or is there again.
    pub(crate) fn set_down(&self, is_down: bool) {
        let mut state = self.state();
        state.is_down = is_down;
        if is_down {
            state.watches.clear();
        }
    }

    /// Forgets what has happened: watches that begin in the past are told so (410).
    pub(crate) fn compact(&self) {
        let mut state = self.state();
        state.compacted = state.revision;
    }

    pub(crate) fn client(&self) -> Client {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_slow = fake.state().slow.contains(request.uri().path());
            let response = fake.state().answer(&request);
            async move {
                if is_slow {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                response.ok_or("connection refused")
            }
        });
        Client::new(service, "default")
    }
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let frame = Frame::data(Bytes::from(body.to_string()));
    let body = StreamBody::new(futures::stream::once(async move { Ok(frame) }));
    Response::builder().status(status).body(BoxBody::new(body)).unwrap()
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message})
}

fn refuse(code: u16, reason: &str, message: &str) -> Answer {
    json_answer(StatusCode::from_u16(code).unwrap(), &status(code, reason, message))
}

/// What a path names.
struct Target<'a> {
    resource: (String, String),
    version: &'a str,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

impl<'a> Target<'a> {
    fn read(path: &'a str) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => panic!("what is {path}?"),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        Self {
            resource: (group.to_owned(), rest[0].to_owned()),
            version,
            namespace,
            name: rest.get(1).copied(),
        }
    }
}

impl State {
    /// None: there is no connection.
    fn answer(&mut self, request: &Request<Body>) -> Option<Answer> {
        if self.is_down {
            return None;
        }
        let path = request.uri().path();
        let query: BTreeMap<String, String> =
            form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let accept =
            request.headers().get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if path == "/apis" {
            return Some(json_answer(StatusCode::OK, &self.discovery()));
        }
        let target = Target::read(path);
        let versions = self.served.get(&target.resource);
        if !versions.is_some_and(|versions| versions.iter().any(|version| version == target.version)) {
            return Some(refuse(404, "NotFound", "the server could not find the requested resource"));
        }
        if self.forbidden.contains(&target.resource.1) {
            let message = format!("{} is forbidden: User \"portcullis\" cannot list it", target.resource.1);
            return Some(refuse(403, "Forbidden", &message));
        }
        let is_metadata_only = accept.contains("as=PartialObjectMetadata");
        if query.get("watch").is_some_and(|watch| watch == "true") {
            return Some(self.watch(&target, &query, is_metadata_only));
        }
        self.requests.push(path.to_owned());
        Some(match target.name {
            Some(name) => {
                let key = (target.namespace.unwrap_or_default().to_owned(), name.to_owned());
                match self.objects.get(&target.resource).and_then(|objects| objects.get(&key)) {
                    Some(object) => json_answer(StatusCode::OK, &object.clone()),
                    None => refuse(404, "NotFound", "not found"),
                }
            }
            None => self.list(&target, query.get("labelSelector"), is_metadata_only),
        })
    }

    fn list(&self, target: &Target<'_>, selector: Option<&String>, is_metadata_only: bool) -> Answer {
        let all = self.objects.get(&target.resource).into_iter().flatten();
        let within =
            all.filter(|((namespace, _), _)| target.namespace.is_none_or(|wanted| wanted == namespace));
        let selected = within.filter(|(_, object)| {
            selector
                .and_then(|selector| selector.split_once('='))
                .is_none_or(|(label, value)| object["metadata"]["labels"][label].as_str() == Some(value))
        });
        let items: Vec<Value> = selected.map(|(_, object)| shown(object, is_metadata_only)).collect();
        let metadata = json!({"resourceVersion": self.revision.to_string()});
        json_answer(
            StatusCode::OK,
            &json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}),
        )
    }

    fn watch(
        &mut self,
        target: &Target<'_>,
        query: &BTreeMap<String, String>,
        is_metadata_only: bool,
    ) -> Answer {
        let is_streamed_list = query.get("sendInitialEvents").is_some_and(|send| send == "true");
        if is_streamed_list && self.has_no_streamed_lists {
            return refuse(422, "Invalid", "sendInitialEvents is forbidden");
        }
        let since: u64 =
            query.get("resourceVersion").and_then(|since| since.parse().ok()).unwrap_or_default();
        let (events, receiver) = unbounded();
        if is_streamed_list {
            for object in self.objects.get(&target.resource).into_iter().flat_map(BTreeMap::values) {
                let event = json!({"type": "ADDED", "object": shown(object, is_metadata_only)});
                events.unbounded_send(event).unwrap();
            }
            let bookmark = json!({"type": "BOOKMARK", "object": {"kind": "X", "apiVersion": "v1", "metadata": {
                "resourceVersion": self.revision.to_string(),
                "annotations": {"k8s.io/initial-events-end": "true"}}}});
            events.unbounded_send(bookmark).unwrap();
        } else if since < self.compacted {
            let gone = status(410, "Expired", "too old resource version");
            events.unbounded_send(json!({"type": "ERROR", "object": gone})).unwrap();
            return stream(receiver);
        }
        let sent_to = if is_streamed_list { self.revision } else { since };
        self.watches.push(Watch { resource: target.resource.clone(), is_metadata_only, sent_to, events });
        self.tell();
        stream(receiver)
    }

    /// Tells watches what they have not been told.
    fn tell(&mut self) {
        for watch in &mut self.watches {
            if self.mute.contains(&watch.resource.1) {
                continue;
            }
            for (revision, resource, event, object) in &self.history {
                if *revision > watch.sent_to && *resource == watch.resource {
                    let event = json!({"type": event, "object": shown(object, watch.is_metadata_only)});
                    let _ = watch.events.unbounded_send(event);
                }
            }
            watch.sent_to = self.revision;
        }
    }

    fn discovery(&self) -> Value {
        let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<Value>>> = BTreeMap::new();
        for ((group, plural), versions) in &self.served {
            for version in versions {
                let resources = groups.entry(group).or_default().entry(version).or_default();
                resources.push(json!({"resource": plural}));
            }
        }
        let items = groups.into_iter().map(|(group, versions)| {
            let versions = versions.into_iter();
            let versions: Vec<Value> = versions
                .map(|(version, resources)| json!({"version": version, "resources": resources}))
                .collect();
            json!({"metadata": {"name": group}, "versions": versions})
        });
        json!({"kind": "APIGroupDiscoveryList", "items": items.collect::<Vec<_>>()})
    }
}

fn shown(object: &Value, is_metadata_only: bool) -> Value {
    if is_metadata_only {
        let metadata = &object["metadata"];
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
    } else {
        object.clone()
    }
}

fn stream(events: UnboundedReceiver<Value>) -> Answer {
    let lines = events.map(|event| Ok(Frame::data(Bytes::from(format!("{event}\n")))));
    Response::new(BoxBody::new(StreamBody::new(lines)))
}
