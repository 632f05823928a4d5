//! From many changed routes to their statuses.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    AT_ONCE, Stage,
    objects::{self, Kind},
};
use crate::Error;

/// What was measured, from the first change.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Until the API server had acknowledged the last change.
    pub changed: Duration,
    /// Until the last status was written.
    pub settled: Duration,
}

/// Changes so many of the stage's routes, as fast as the API server takes it, and waits for all statuses.
///
/// # Errors
/// When the API server refuses, or statuses do not come.
pub async fn measure(stage: &Stage, routes: usize) -> Result<Figures, Error> {
    let api = stage.api(Kind::HttpRoute).await?;
    let begun = Instant::now();
    let change = |number: usize| {
        let (api, name) = (&api, objects::name(number));
        let matches = json!([{"path": {"type": "PathPrefix", "value": "/changed"}}]);
        let rule = json!([{"matches": matches, "backendRefs": [{"name": name, "port": 80}]}]);
        let patch = json!({"spec": {"rules": rule}});
        async move { api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop) }
    };
    stream::iter(0..routes).map(change).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let changed = begun.elapsed();
    all_settled(stage, super::READY).await?;
    Ok(Figures { changed, settled: begun.elapsed() })
}

/// Waits until every route has a status of its generation.
pub(super) async fn all_settled(stage: &Stage, patience: Duration) -> Result<(), Error> {
    let mut open: HashMap<String, bool> = HashMap::new();
    let mut events =
        watcher(stage.api(Kind::HttpRoute).await?, watcher::Config::default()).default_backoff().boxed();
    let mut is_whole = false;
    let settled = async {
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Apply(route) | watcher::Event::InitApply(route)) => {
                    open.insert(route.name_any(), is_open(&route));
                }
                Ok(watcher::Event::InitDone) => is_whole = true,
                // The watch is begun again.
                Ok(_) | Err(_) => {}
            }
            if is_whole && !open.values().any(|is_open| *is_open) {
                break;
            }
        }
    };
    let settled = timeout(patience, settled).await;
    let left = open.values().filter(|is_open| **is_open).count();
    settled.map_err(|_| Error::Measurement(format!("{left} routes have no status after {patience:?}")))
}

fn is_open(route: &DynamicObject) -> bool {
    let conditions = route.data.pointer("/status/parents/0/conditions").and_then(Value::as_array);
    let is_current = |condition: &Value| {
        condition.get("observedGeneration").and_then(Value::as_i64) == route.metadata.generation
            && condition.get("status").and_then(Value::as_str) == Some("True")
    };
    !conditions.is_some_and(|conditions| !conditions.is_empty() && conditions.iter().all(is_current))
}
