//! What a cluster holds at this moment.

use std::collections::BTreeMap;
use std::time::Duration;

use portcullis_api::Kind;
use portcullis_cluster::addresses::shown;
use portcullis_cluster::{Batch, Feed, Problem, Seen, Subject};
use portcullis_files::Sources;
use portcullis_model::UpstreamScope;
use portcullis_resolve::{Engine, Resolver};
use portcullis_store::{Change, Report, Store};
use tokio::time::timeout;

use super::Offline;
use crate::controller::AccessOptions;
use crate::exit::Failure;
use crate::signals;

/// How long the whole of a cluster may take to be read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a cluster once.
pub(super) fn read(access: &AccessOptions) -> Result<Offline, Failure> {
    let batch = signals::runtime()?.block_on(whole(access))?;
    let mut store = Store::new();
    store.apply(batch.changes);
    store.apply(batch.seen.iter().filter_map(allotted));
    // What the controller is told with --allow-backend is not known here.
    let scope = UpstreamScope::Network { allowed: [].into(), unix: false };
    let resolver = Resolver::new(Engine::native_in_cluster(scope).assuming_bound(), &store);
    Ok(Offline { store, sources: Sources::default(), refusals: Vec::new(), resolver })
}

/// The first batch that is whole, or what kept it from coming.
async fn whole(access: &AccessOptions) -> Result<Batch, Failure> {
    let mut feed = Feed::start(access.connect().await?);
    let mut problems: BTreeMap<Subject, String> = BTreeMap::new();
    let synced = async {
        loop {
            let batch = feed.next().await;
            for Problem { subject, message } in &batch.problems {
                match message {
                    Some(message) => problems.insert(subject.clone(), message.clone()),
                    None => problems.remove(subject),
                };
            }
            if batch.synced {
                return batch;
            }
        }
    };
    if let Ok(batch) = timeout(PATIENCE, synced).await {
        return Ok(batch);
    }
    let causes: Vec<String> =
        problems.iter().map(|(subject, message)| format!("{subject}: {message}")).collect();
    let causes = if causes.is_empty() { "the API server is silent".to_owned() } else { causes.join("; ") };
    Err(Failure::new(format!("the cluster cannot be read: {causes}"))
        .hint("`kubectl get gateways -A` with the same kubeconfig and context tells whether you may"))
}

/// The addresses that a Gateway has by its status: who allots them is the controller.
fn allotted(seen: &Seen) -> Option<Change> {
    let addresses = shown(seen.held.as_ref().filter(|_| seen.key.kind == Kind::Gateway));
    (!addresses.is_empty()).then(|| Change::Report(Report::Allotted(seen.key.clone(), addresses.into())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portcullis_api::ObjectKey;
    use portcullis_cluster::Held;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_gateway_keeps_the_addresses_that_its_status_shows() {
        let seen = |kind, status: Value| {
            let held = Held {
                version: "v1",
                uid: "u".into(),
                resource_version: "1".into(),
                generation: 1,
                status: Some(Arc::new(status)),
            };
            Seen { key: ObjectKey::new(kind, "edge", "web"), held: Some(held) }
        };
        let status =
            json!({"addresses": [{"type": "IPAddress", "value": "10.0.0.7"}, {"value": "lb.example.com"}]});
        match allotted(&seen(Kind::Gateway, status.clone())) {
            Some(Change::Report(Report::Allotted(gateway, addresses))) => {
                assert_eq!(
                    (gateway.to_string().as_str(), &*addresses),
                    ("Gateway/edge/web", &["10.0.0.7".parse().unwrap()][..])
                );
            }
            other => panic!("{other:?}"),
        }
        assert!(allotted(&seen(Kind::ListenerSet, status)).is_none());
        assert!(allotted(&seen(Kind::Gateway, json!({}))).is_none());
    }
}
