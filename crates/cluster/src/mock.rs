//! An API server for tests: objects by path, with resource versions, conflicts and a log of what was asked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

type Edit = Box<dyn FnOnce(&mut Value) + Send>;

/// Shared by its clones.
#[derive(Clone, Default)]
pub(crate) struct Cluster {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    log: Vec<String>,
    /// What somebody else does right before the next write.
    interference: VecDeque<(String, Edit)>,
    /// Fields of `status` that the schema lacks.
    lacks: Vec<&'static str>,
    /// HTTP statuses with which the next requests are refused.
    refusals: VecDeque<u16>,
    latency: Duration,
    silent: bool,
}

impl Cluster {
    pub(crate) fn client(&self) -> Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move { cluster.answer(request).await }
        });
        Client::new(service, "default")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Puts an object there, as a user would.
    pub(crate) fn put(&self, path: &str, mut object: Value) {
        let mut state = self.lock();
        object["metadata"]["uid"] = format!("uid-{}", state.version).into();
        state.store(path, object);
    }

    /// The objects whose path begins so.
    pub(crate) fn below(&self, prefix: &str) -> Vec<Value> {
        let state = self.lock();
        let below = state.objects.iter().filter(|(path, _)| path.starts_with(prefix));
        below.map(|(_, object)| object.clone()).collect()
    }

    /// Changes an object, as somebody else would.
    pub(crate) fn change(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        let mut state = self.lock();
        if let Some(mut object) = state.objects.get(path).cloned() {
            edit(&mut object);
            state.store(path, object);
        }
    }

    pub(crate) fn remove(&self, path: &str) {
        self.lock().objects.remove(path);
    }

    pub(crate) fn object(&self, path: &str) -> Option<Value> {
        self.lock().objects.get(path).cloned()
    }

    /// The writes so far, as `METHOD path`.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.lock().log.iter().filter(|line| !line.starts_with("GET")).cloned().collect()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Changes an object right before the next write reaches it.
    pub(crate) fn interfere(&self, path: &str, edit: impl FnOnce(&mut Value) + Send + 'static) {
        self.lock().interference.push_back((path.to_owned(), Box::new(edit)));
    }

    pub(crate) fn lacks(&self, field: &'static str) {
        self.lock().lacks.push(field);
    }

    pub(crate) fn refuse(&self, codes: &[u16]) {
        self.lock().refusals.extend(codes);
    }

    /// How long every answer takes.
    pub(crate) fn latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }

    /// Whether requests get no answer at all.
    pub(crate) fn silent(&self, silent: bool) {
        self.lock().silent = silent;
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let latency = self.lock().latency;
        let silent = self.lock().silent;
        if silent {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(latency).await;
        let (code, answer) = self.lock().handle(&parts.method, &parts.uri, &body);
        let answer = match code {
            200 | 201 => answer,
            code => json!({"kind": "Status", "status": "Failure", "code": code, "message": "refused"}),
        };
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()))?)
    }
}

impl State {
    fn store(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn handle(&mut self, method: &Method, uri: &http::Uri, body: &Value) -> (u16, Value) {
        self.log.push(format!("{method} {uri}"));
        if let Some(code) = self.refusals.pop_front() {
            return (code, Value::Null);
        }
        let path = uri.path();
        match *method {
            Method::GET => self.objects.get(path).map_or((404, Value::Null), |object| (200, object.clone())),
            Method::POST => {
                let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default());
                if self.objects.contains_key(&path) {
                    return (409, Value::Null);
                }
                let mut object = body.clone();
                object["metadata"]["uid"] = format!("uid of {path}").into();
                (201, self.store(&path, object))
            }
            Method::PATCH => self.apply(path, uri.query().unwrap_or_default(), body),
            Method::PUT => self.replace(path, body),
            Method::DELETE => match self.objects.remove(path) {
                Some(object) => (200, object),
                None => (404, Value::Null),
            },
            _ => (405, Value::Null),
        }
    }

    /// Server-side apply, as far as it concerns a sole owner.
    fn apply(&mut self, path: &str, query: &str, body: &Value) -> (u16, Value) {
        assert!(query.contains("fieldManager=portcullis"), "{query}");
        let known = self.objects.get(path);
        let uid =
            known.map_or_else(|| json!(format!("uid of {path}")), |known| known["metadata"]["uid"].clone());
        if body["metadata"].get("uid").is_some_and(|wanted| *wanted != uid || known.is_none()) {
            return (409, Value::Null);
        }
        let mut object = body.clone();
        object["metadata"]["uid"] = uid;
        (200, self.store(path, object))
    }

    fn replace(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let (path, status) = path.strip_suffix("/status").map_or((path, false), |path| (path, true));
        if self.interference.front().is_some_and(|(target, _)| target == path)
            && let Some((_, edit)) = self.interference.pop_front()
            && let Some(mut object) = self.objects.get(path).cloned()
        {
            edit(&mut object);
            self.store(path, object);
        }
        let Some(mut object) = self.objects.get(path).cloned() else { return (404, Value::Null) };
        for field in ["resourceVersion", "uid"] {
            let wanted = body["metadata"].get(field);
            if wanted.is_some_and(|wanted| *wanted != object["metadata"][field]) {
                return (409, Value::Null);
            }
        }
        if !status {
            let mut whole = body.clone();
            whole["metadata"]["uid"] = object["metadata"]["uid"].clone();
            return (200, self.store(path, whole));
        }
        object["status"] = body["status"].clone();
        for field in &self.lacks {
            if let Some(fields) = object["status"].as_object_mut() {
                fields.remove(*field);
            }
        }
        (200, self.store(path, object))
    }
}
