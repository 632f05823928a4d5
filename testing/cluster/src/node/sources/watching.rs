//! Watching what a pod names, each object by itself as a kubelet does.

use std::{collections::BTreeSet, sync::Arc};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::watch::Sender;

use super::{Entries, Inputs, Source};

/// Keeps the inputs up to date for as long as it is polled.
pub(crate) async fn watch(client: Client, namespace: &str, named: BTreeSet<Source>, inputs: Sender<Inputs>) {
    let streams = named.into_iter().map(|source| match &source {
        Source::Secret(name) => {
            let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let objects = watcher::watch_object(api, name).default_backoff();
            objects.map(move |object| (source.clone(), object.map(|object| object.map(of_secret)))).boxed()
        }
        Source::ConfigMap(name) => {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let objects = watcher::watch_object(api, name).default_backoff();
            objects.map(move |object| (source.clone(), object.map(|object| object.map(of_map)))).boxed()
        }
    });
    let mut changes = stream::select_all(streams);
    while let Some((source, change)) = changes.next().await {
        match change {
            Ok(entries) => inputs.send_modify(|inputs| {
                inputs.sources.insert(source, entries.map(Arc::new));
            }),
            Err(error) => tracing::debug!(namespace, %source, %error, "watch failed and will be tried again"),
        }
    }
    std::future::pending::<()>().await; // a pod that names nothing
}

fn of_secret(secret: Secret) -> Entries {
    secret.data.into_iter().flatten().map(|(key, value)| (key, value.0)).collect()
}

fn of_map(map: ConfigMap) -> Entries {
    let binary = map.binary_data.into_iter().flatten().map(|(key, value)| (key, value.0));
    map.data.into_iter().flatten().map(|(key, value)| (key, value.into_bytes())).chain(binary).collect()
}
