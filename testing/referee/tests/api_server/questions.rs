//! Requests to an API server that store nothing, and its answers.

use std::collections::BTreeSet;

use http::{HeaderMap, Method, Request, StatusCode, header::WARNING};
use http_body_util::BodyExt;
use kube::{
    Client,
    client::Body,
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

/// Nothing is stored, and what is unknown is named in warnings while all else is still judged.
const DRY_RUN: &str = "dryRun=All&fieldValidation=Warn";

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    method: Method,
    path: String,
    /// The object, as JSON.
    object: String,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    /// The paths of what is unknown.
    pub(crate) unknown: BTreeSet<String>,
}

impl Question {
    /// To create the object.
    pub(crate) fn create(object: &Value) -> Self {
        Self { method: Method::POST, path: collection(object), object: object.to_string() }
    }

    /// To read the object.
    pub(crate) fn read(object: &Value) -> Self {
        Self { method: Method::GET, path: member(object), object: String::new() }
    }

    /// What would be said to the creation of the object.
    pub(crate) fn try_to_create(object: &Value) -> Self {
        Self { path: format!("{}?{DRY_RUN}", collection(object)), ..Self::create(object) }
    }

    /// What would be said to a stored object's replacement, or to that of its subresource.
    pub(crate) fn try_to_replace(object: &Value, part: &str) -> Self {
        let path = format!("{}{part}?{DRY_RUN}", member(object));
        Self { method: Method::PUT, path, object: object.to_string() }
    }
}

/// Asks.
pub(crate) async fn ask(client: &Client, question: &Question) -> Answer {
    let Question { method, path, object } = question;
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let body = Body::from(object.clone().into_bytes());
    let answer = client.send(request.body(body).unwrap()).await.unwrap();
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap();
    Answer { status: head.status, body, unknown: unknown_fields(&head.headers) }
}

/// An object's apiVersion and kind.
pub(crate) fn key(object: &Value) -> (String, String) {
    let text = |field: &str| object[field].as_str().unwrap().to_owned();
    (text("apiVersion"), text("kind"))
}

fn collection(object: &Value) -> String {
    let (api_version, kind) = key(object);
    let (group, version) = api_version.split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let namespace = if kind == "GatewayClass" { "" } else { "/namespaces/default" };
    format!("/apis/{api_version}{namespace}/{}", resource.plural)
}

fn member(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap())
}

fn unknown_fields(headers: &HeaderMap) -> BTreeSet<String> {
    let warnings = headers.get_all(WARNING).iter().map(|warning| warning.to_str().unwrap());
    let unknown = warnings.filter_map(|warning| warning.strip_prefix(r#"299 - "unknown field \""#));
    unknown.map(|rest| rest.trim_end_matches(['"', '\\']).to_owned()).collect()
}
