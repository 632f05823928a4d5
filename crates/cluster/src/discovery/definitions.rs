//! The watch of the CRDs' metadata: when to look which kinds are served, and of which bundle their definitions are.

use crate::raw::Raw;
use crate::signal::{BundleVersions, Event, Signal};
use crate::watch;
use kube::Client;
use kube::core::{ApiResource, PartialObjectMeta};
use portcullis_api::Kind;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel};

/// The Gateway API's own group.
const GROUP: &str = "gateway.networking.k8s.io";

/// Tells of which release of the Gateway API a CRD is.
///
/// Source: Gateway API, "Versioning", of CRDs.
const BUNDLE_VERSION: &str = "gateway.networking.k8s.io/bundle-version";

type Definition = PartialObjectMeta<Raw>;

/// Asks for a look whenever a CRD of a group of ours has changed, and tells of which bundles they are.
pub(super) async fn follow(client: Client, signals: &Sender<Signal>, look: &Notify) {
    let definitions = ApiResource {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    };
    let (sender, mut events) = channel(1);
    let api = watch::all::<Definition>(client, &definitions);
    let heed = async {
        let mut definitions = Definitions::default();
        while let Some(event) = events.recv().await {
            if definitions.heed(event) {
                look.notify_one();
            }
            if let Some(versions) = definitions.news()
                && signals.send(Signal::Definitions(versions)).await.is_err()
            {
                return;
            }
        }
    };
    tokio::join!(watch::follow(api, sender, |event: Event<Definition>| event), heed);
}

/// What the watch has said so far.
#[derive(Default)]
struct Definitions {
    versions: BundleVersions,
    /// Whether `versions` holds all there is, or it was said that nobody may tell.
    is_whole: bool,
    told: Option<BundleVersions>,
    is_refusal_told: bool,
}

impl Definitions {
    /// Takes an event; says whether it is about a kind of ours.
    fn heed(&mut self, event: Event<Definition>) -> bool {
        match event {
            Event::Listing => {
                self.versions.clear();
                self.is_whole = false;
                false
            }
            Event::Listed(definition) | Event::Applied(definition) => self.is_there(&definition),
            Event::Deleted(definition) => {
                let kind = kind_of(&definition);
                kind.inspect(|kind| drop(self.versions.remove(kind))).is_some()
            }
            Event::Complete => {
                self.is_whole = true;
                self.is_refusal_told = false;
                false
            }
            Event::Failed(failure) => {
                if failure.is_refusal() && !std::mem::replace(&mut self.is_refusal_told, true) {
                    tracing::warn!(cause = %failure.message, "CRDs cannot be watched: changes show later");
                    self.versions.clear();
                    self.is_whole = true;
                }
                false
            }
        }
    }

    fn is_there(&mut self, definition: &Definition) -> bool {
        let Some(kind) = kind_of(definition) else { return false };
        if kind.group() == GROUP {
            let annotations = definition.metadata.annotations.as_ref();
            let version = annotations.and_then(|annotations| annotations.get(BUNDLE_VERSION));
            self.versions.insert(kind, version.map(|version| Arc::from(version.as_str())));
        }
        true
    }

    /// What has not been told.
    fn news(&mut self) -> Option<BundleVersions> {
        if !self.is_whole || self.told.as_ref() == Some(&self.versions) {
            return None;
        }
        self.told = Some(self.versions.clone());
        self.told.clone()
    }
}

/// The kind of ours that a CRD defines, by its name.
fn kind_of(definition: &Definition) -> Option<Kind> {
    let (plural, group) = definition.metadata.name.as_deref()?.split_once('.')?;
    Kind::ALL.iter().copied().find(|kind| kind.plural() == plural && kind.group() == group)
}
