//! Requests to the API server, as JSON, and how they are refused.

use std::time::Duration;

use http::{Method, Request};
use kube::{Client, Resource};
use portcullis_api::ObjectKey;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::kinds::resource;
use crate::raw::Raw;

/// Why the API server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The object has changed meanwhile, or exists already.
    #[error("the object has changed meanwhile")]
    Conflict,
    /// There is no such object, or no such kind.
    #[error("there is no such object")]
    Gone,
    /// Anything else that was answered.
    #[error("{message} ({code})")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// What the API server says about it.
        message: String,
    },
    /// There was no answer that could be read.
    #[error("no answer of the API server: {0}")]
    Unanswered(String),
}

impl Refusal {
    /// No answer in time.
    pub(crate) fn silence(patience: Duration) -> Refusal {
        Refusal::Unanswered(format!("waited {} s", patience.as_secs()))
    }

    /// An answer that is no object.
    pub(crate) fn unreadable() -> Refusal {
        Refusal::Unanswered("it answered something that is no object".to_owned())
    }

    /// The HTTP status, or 0 where there was no answer: what failures are told apart by.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Conflict => 409,
            Self::Gone => 404,
            Self::Refused { code, .. } => *code,
            Self::Unanswered(_) => 0,
        }
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Refusal {
        match error {
            kube::Error::Api(status) if status.code == 409 => Refusal::Conflict,
            kube::Error::Api(status) if status.code == 404 || status.code == 410 => Refusal::Gone,
            kube::Error::Api(status) => {
                Refusal::Refused { code: status.code, message: status.message.clone() }
            }
            other => Refusal::Unanswered(other.to_string()),
        }
    }
}

/// The path of an object in a served version, such as `/apis/gateway.networking.k8s.io/v1/…`.
pub(crate) fn path(key: &ObjectKey, version: &str) -> String {
    let namespace = key.kind.is_namespaced().then_some(&*key.namespace);
    format!("{}/{}", Raw::url_path(&resource(key.kind, version), namespace), key.name)
}

/// Reads an object.
pub(crate) async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, Refusal> {
    send(client, Method::GET, path, "application/json", &Value::Null).await
}

/// Replaces an object.
pub(crate) async fn put<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    body: &Value,
) -> Result<T, Refusal> {
    send(client, Method::PUT, path, "application/json", body).await
}

/// Creates an object in a collection; [`Refusal::Conflict`] if there is one of its name.
pub(crate) async fn post<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    body: &Value,
) -> Result<T, Refusal> {
    send(client, Method::POST, path, "application/json", body).await
}

/// Makes an object be so by server-side apply; [`Refusal::Conflict`] if fields are others' and it is not forced.
pub(crate) async fn apply(client: &Client, path: &str, body: &Value) -> Result<(), Refusal> {
    let applied = send::<Value>(client, Method::PATCH, path, "application/apply-patch+yaml", body).await;
    applied.map(|_| ())
}

/// Deletes the object of this uid; [`Refusal::Conflict`] if another one has its name.
pub(crate) async fn delete(client: &Client, path: &str, uid: &str) -> Result<(), Refusal> {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
    send::<Value>(client, Method::DELETE, path, "application/json", &options).await.map(|_| ())
}

/// An object as JSON.
pub(crate) fn to_json(object: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(object).map_err(|error| Refusal::Unanswered(error.to_string()))
}

async fn send<T: DeserializeOwned>(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<T, Refusal> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type).body(body);
    let request = request.map_err(|error| Refusal::Unanswered(error.to_string()))?;
    Ok(client.request(request).await?)
}
