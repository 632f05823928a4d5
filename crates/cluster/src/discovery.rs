//! Which kinds an API server serves, and in which versions, now and whenever that changes.
//!
//! The watch of [`definitions`] says when to look; the API server's discovery says what is served. A kind has
//! vanished only when its own endpoint says so, too: an API server that has just started serves its discovery before
//! it knows all CRDs.

mod definitions;

use crate::kinds::{is_always_served, resource};
use crate::limits::{DISCOVERY_AFTER_CHANGE, DISCOVERY_INTERVAL, FIRST_PAUSE};
use crate::pauses::Pauses;
use crate::raw::Raw;
use crate::signal::{Failure, Served, Signal};
use crate::watch;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::core::discovery::v2::APIGroupDiscoveryList;
use kube::{Api, Client};
use portcullis_api::Kind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Tells which kinds are served and of which bundle their CRDs are, first and whenever it has changed; `look` asks for
/// a look.
pub(crate) async fn follow(client: Client, signals: Sender<Signal>, look: Arc<Notify>) {
    let definitions = definitions::follow(client.clone(), &signals, &look);
    tokio::join!(definitions, look_again_and_again(client, &signals, &look));
}

async fn look_again_and_again(client: Client, signals: &Sender<Signal>, look: &Notify) {
    let mut told: Option<Served> = None;
    let mut has_failed = false;
    let mut pauses = Pauses::new(FIRST_PAUSE);
    let mut soon = [].iter();
    loop {
        let mut failed = None;
        let signal = match served(&client, told.as_ref()).await {
            Ok(now) => {
                pauses.reset();
                (has_failed || told.as_ref() != Some(&now)).then(|| {
                    told = Some(now.clone());
                    Signal::Served(now)
                })
            }
            Err(failure) => {
                failed = Some(failure.clone());
                Some(Signal::DiscoveryFailed(failure.message))
            }
        };
        has_failed = failed.is_some();
        if let Some(signal) = signal
            && signals.send(signal).await.is_err()
        {
            return;
        }
        if let Some(failure) = failed {
            pauses.pause_after(&failure).await;
            continue;
        }
        let wait = soon.next().copied().unwrap_or(DISCOVERY_INTERVAL);
        if timeout(wait, look.notified()).await.is_ok() {
            soon = DISCOVERY_AFTER_CHANGE.iter();
            tokio::time::sleep(soon.next().copied().unwrap_or(Duration::ZERO)).await;
        }
    }
}

/// The kinds that are served now; a kind that was served and is in doubt stays.
async fn served(client: &Client, before: Option<&Served>) -> Result<Served, Failure> {
    let document = client.list_api_groups_aggregated().await.map_err(|error| Failure::from(&error))?;
    if document.items.is_empty() {
        let message =
            "the API server has no aggregated discovery (Kubernetes 1.27 and later have)".to_owned();
        return Err(Failure { message, code: None });
    }
    let mut served = read(&document);
    for (kind, version) in before.into_iter().flatten() {
        if !served.contains_key(kind) && !has_vanished(client, *kind, version).await {
            served.insert(*kind, version);
        }
    }
    Ok(served)
}

/// Whether the endpoint of a kind is gone.
async fn has_vanished(client: &Client, kind: Kind, version: &str) -> bool {
    let api: Api<PartialObjectMeta<Raw>> = watch::all(client.clone(), &resource(kind, version));
    match api.list(&ListParams::default().limit(1)).await {
        Err(error) => Failure::from(&error).is_not_found(),
        Ok(_) => false,
    }
}

/// The version of each kind that we like best among those that are served.
fn read(document: &APIGroupDiscoveryList) -> Served {
    let mut served = Served::new();
    for kind in Kind::ALL.iter().copied() {
        let liked = kind.versions().iter().copied();
        let best = if is_always_served(kind) {
            liked.into_iter().next()
        } else {
            liked.into_iter().find(|version| is_served(document, kind, version))
        };
        served.extend(best.map(|version| (kind, version)));
    }
    served
}

fn is_served(document: &APIGroupDiscoveryList, kind: Kind, version: &str) -> bool {
    let groups = document.items.iter().filter(|group| {
        group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()) == Some(kind.group())
    });
    let mut versions = groups.flat_map(|group| &group.versions);
    versions.any(|served| {
        served.version.as_deref() == Some(version)
            && served.resources.iter().any(|resource| resource.resource.as_deref() == Some(kind.plural()))
    })
}
