//! The node that we run on.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::limits::{FIRST_PAUSE, READ_TIMEOUT};
use crate::pauses::Pauses;
use crate::signal::Failure;

/// The well-known label of nodes that names their zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The zone of a node; none if it is labelled with none. Asks until there is an answer.
pub async fn zone_of(client: Client, node: &str) -> Option<Arc<str>> {
    let nodes = Api::<Node>::all(client);
    let mut pauses = Pauses::new(FIRST_PAUSE);
    let mut said = None;
    loop {
        let failure = match timeout(READ_TIMEOUT, nodes.get_opt(node)).await {
            Ok(Ok(Some(found))) => {
                let zone = found.metadata.labels.and_then(|mut labels| labels.remove(ZONE));
                tracing::info!(
                    node,
                    zone,
                    "this proxy prefers the endpoints that are meant for its node and zone"
                );
                return zone.map(Into::into);
            }
            Ok(Ok(None)) => Failure { message: "there is no such Node".to_owned(), code: Some(404) },
            Ok(Err(error)) => Failure::from(&error),
            Err(_) => Failure { message: format!("no answer within {READ_TIMEOUT:?}"), code: None },
        };
        if said.as_ref() != Some(&failure) {
            tracing::warn!(node, "the zone of this node is not known: {}", failure.message);
        }
        pauses.pause_after(&failure).await;
        said = Some(failure);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::Cluster;

    #[tokio::test(start_paused = true)]
    async fn a_nodes_zone_is_asked_for_until_it_is_told() {
        let cluster = Cluster::default();
        cluster.refuse(&[403, 503]);
        let late = cluster.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            let labels = json!({"topology.kubernetes.io/zone": "one", "other": "x"});
            late.put("/api/v1/nodes/here", json!({"metadata": {"name": "here", "labels": labels}}));
        });
        assert_eq!(zone_of(cluster.client(), "here").await.as_deref(), Some("one"));
        cluster.put("/api/v1/nodes/bare", json!({"metadata": {"name": "bare"}}));
        assert_eq!(zone_of(cluster.client(), "bare").await, None);
    }
}
