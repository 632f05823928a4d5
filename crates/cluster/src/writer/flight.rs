//! Requests for one object, from what was decided to what came of it.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use portcullis_api::{Kind, ObjectKey};
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use crate::Held;
use crate::requests::{self, Refusal};
use crate::statuses::{Author, Merge, withdraw};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What to ask of the API server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Task {
    /// Write this status over the version that was merged with.
    Put { held: Held, status: Value },
    /// Read the object anew.
    Get { version: &'static str },
    /// Read the object anew and take back what is ours alone.
    Withdraw { kind: Kind, held: Held },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Landing {
    /// Written as `status`, and held so now.
    Written { status: Value, held: Held },
    /// This is what the API server holds.
    Read(Held),
    /// Nothing of ours was there.
    Clean(Held),
    /// The object has changed meanwhile.
    Conflict,
    /// There is no such object.
    Gone,
    /// No answer, or a refusal.
    Failed(Refusal),
}

/// Performs a task.
pub(super) async fn fly(client: Client, key: ObjectKey, task: Task, controllers: Arc<[Arc<str>]>) -> Landing {
    let landing = async {
        match task {
            Task::Put { held, status } => put(&client, &key, &held, status).await,
            Task::Get { version } => Ok(Landing::Read(get(&client, &key, version).await?.1)),
            Task::Withdraw { kind, held } => {
                let (object, held) = get(&client, &key, held.version).await?;
                match what_to_withdraw(kind, &object, &held, &controllers) {
                    Merge::Write(status) => put(&client, &key, &held, status).await,
                    Merge::Unchanged | Merge::Stale => Ok(Landing::Clean(held)),
                }
            }
        }
    };
    match tokio::time::timeout(PATIENCE, landing).await {
        Ok(Ok(landing)) => landing,
        Ok(Err(Refusal::Conflict)) => Landing::Conflict,
        Ok(Err(Refusal::Gone)) => Landing::Gone,
        Ok(Err(refusal)) => Landing::Failed(refusal),
        Err(_) => Landing::Failed(Refusal::silence(PATIENCE)),
    }
}

fn what_to_withdraw(kind: Kind, object: &Value, held: &Held, controllers: &[Arc<str>]) -> Merge {
    let managed_fields = object.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    let author = Author { controllers, now: "", lacks: &Default::default() };
    let status = held.status.as_deref().unwrap_or(&Value::Null);
    withdraw(kind, held.generation, status, managed_fields, &author)
}

async fn put(client: &Client, key: &ObjectKey, held: &Held, status: Value) -> Result<Landing, Refusal> {
    let namespace = Some(&*key.namespace).filter(|_| key.kind.is_namespaced());
    let metadata = json!({
        "name": &*key.name, "namespace": namespace, "uid": &*held.uid, "resourceVersion": &*held.resource_version,
    });
    let object = json!({
        "apiVersion": key.kind.api_version_of(held.version), "kind": key.kind.as_str(),
        "metadata": metadata, "status": &status,
    });
    let path = requests::path(key, held.version);
    let answer =
        requests::put(client, &format!("{path}/status?fieldManager={FIELD_MANAGER}"), &object).await?;
    let held = held_of(&answer, held.version).ok_or_else(Refusal::unreadable)?;
    Ok(Landing::Written { status, held })
}

async fn get(client: &Client, key: &ObjectKey, version: &'static str) -> Result<(Value, Held), Refusal> {
    let object = requests::get(client, &requests::path(key, version)).await?;
    let held = held_of(&object, version).ok_or_else(Refusal::unreadable)?;
    Ok((object, held))
}

/// What a writer needs of an object as the API server answers it.
fn held_of(object: &Value, version: &'static str) -> Option<Held> {
    let metadata = object.get("metadata")?;
    Some(Held {
        version,
        uid: metadata.get("uid")?.as_str()?.into(),
        resource_version: metadata.get("resourceVersion")?.as_str()?.into(),
        generation: metadata.get("generation").and_then(Value::as_i64).unwrap_or(1),
        status: object.get("status").cloned().map(Arc::new),
    })
}
