//! The clusters by name: rules hold them, and their endpoints change in place.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{ClusterKey, Locality, Model, UpstreamProtocol, UpstreamTls};

use crate::upstream::{Cluster, ClusterTargets, EndpointSet, EndpointSets, Identity, Targets, TlsClient};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The clusters of the newest model: each once for every client certificate that is shown to it.
pub(crate) struct Clusters {
    by_key: RefCell<Map<ClusterKey, Vec<Held>>>,
    targets: RefCell<Targets>,
    sets: Arc<EndpointSets>,
    /// Where the proxy stands.
    at: Locality,
    /// Those that were settled anew, until the workers are told.
    settled: Vec<Arc<Cluster>>,
    model: Arc<Model>,
}

/// A cluster, and what it was set up with.
struct Held {
    cluster: Arc<Cluster>,
    /// Shared with all that lead to the same endpoints.
    set: Arc<EndpointSet>,
    identity: Option<Identity>,
    tls: Option<(Arc<UpstreamTls>, Arc<TlsClient>)>,
}

impl Clusters {
    pub(super) fn new(sets: &Arc<EndpointSets>, at: Locality) -> Clusters {
        Clusters {
            by_key: RefCell::default(),
            targets: RefCell::default(),
            sets: Arc::clone(sets),
            at,
            settled: Vec::new(),
            model: Arc::default(),
        }
    }

    /// Takes over where the proxy stands.
    pub(super) fn locate(&mut self, at: Locality) {
        if self.at == at {
            return;
        }
        self.at = at;
        for held in self.by_key.get_mut().values_mut().flatten() {
            held.settle(&self.model, &self.at, self.targets.get_mut());
            self.settled.push(Arc::clone(&held.cluster));
        }
    }

    /// The clusters whose endpoints have changed since the last call.
    pub(super) fn take_settled(&mut self) -> Arc<[Arc<Cluster>]> {
        std::mem::take(&mut self.settled).into()
    }

    /// The cluster of this name, as a listener with this client certificate speaks to it.
    pub(super) fn cluster(&self, key: &ClusterKey, identity: Option<&Identity>) -> Arc<Cluster> {
        let mut by_key = self.by_key.borrow_mut();
        let variants = by_key.entry_ref(key).or_default();
        if let Some(held) = variants.iter().find(|held| held.identity.as_ref() == identity) {
            return Arc::clone(&held.cluster);
        }
        let cluster = Arc::new(Cluster::new(key.clone()));
        let set = self.sets.of(&key.endpoints);
        let mut held = Held { cluster: Arc::clone(&cluster), set, identity: identity.cloned(), tls: None };
        held.settle(&self.model, &self.at, &mut self.targets.borrow_mut());
        variants.push(held);
        cluster
    }

    /// Takes over a model. What has changed of clusters and endpoints is in effect at once: a new backend has
    /// endpoints before a rule leads to it, and one to which TLS is to be spoken is spoken to in no other way.
    pub(super) fn update(&mut self, model: &Arc<Model>) {
        let old = std::mem::replace(&mut self.model, Arc::clone(model));
        let by_key = self.by_key.get_mut();
        let mut stale: Vec<&ClusterKey> =
            changed(&old.clusters, &model.clusters).map(|(key, _)| key).collect();
        for (endpoints, _) in changed(&old.endpoints, &model.endpoints) {
            let first = ClusterKey { endpoints: endpoints.clone(), protocol: UpstreamProtocol::Http1 };
            let of_these = model.clusters.range(first..).map(|(key, _)| key);
            stale.extend(of_these.take_while(|key| key.endpoints == *endpoints));
        }
        for key in stale {
            for held in by_key.get_mut(key).into_iter().flatten() {
                held.settle(model, &self.at, self.targets.get_mut());
                self.settled.push(Arc::clone(&held.cluster));
            }
        }
    }

    /// Forgets clusters that no rule leads to any more; called once the configuration before is out of use.
    pub(super) fn sweep(&mut self) {
        self.by_key.get_mut().retain(|_, variants| {
            variants.retain(|held| Arc::strong_count(&held.cluster) > 1);
            !variants.is_empty()
        });
        self.targets.get_mut().sweep();
        self.sets.sweep();
    }
}

const NONE: ClusterTargets = ClusterTargets { used: Vec::new(), kept: Vec::new() };

impl Held {
    /// Gives the cluster what a model says of it: nothing if TLS cannot be set up.
    fn settle(&mut self, model: &Model, at: &Locality, targets: &mut Targets) {
        let key = &self.cluster.key;
        let Some(of_model) = model.clusters.get(key) else { return self.cluster.set_targets(NONE) };
        if let Some(tls) = &of_model.tls {
            if !self.tls.as_ref().is_some_and(|(same, _)| Arc::ptr_eq(same, tls)) {
                match TlsClient::new(tls, key.protocol, self.identity.as_ref()) {
                    Ok(client) => self.tls = Some((Arc::clone(tls), Arc::new(client))),
                    Err(error) => {
                        self.tls = None;
                        let backend = &key.endpoints;
                        tracing::error!(%backend, policy = %tls.origin, %error, "TLS cannot be set up");
                        return self.cluster.set_targets(NONE);
                    }
                }
            }
        } else {
            self.tls = None;
        }
        let tls = self.tls.as_ref().map(|(_, client)| client);
        let Some(endpoints) = model.endpoints.get(&key.endpoints) else {
            return self.cluster.set_targets(NONE);
        };
        self.set.update(endpoints, at);
        self.cluster.set_targets(targets.of(&self.set, key.protocol, tls));
    }
}

/// The entries of a map that are not, or not the same allocation, in the one before. What is the same costs a
/// comparison of pointers, so that a change among 10,000 costs little more than one among ten.
fn changed<'m, K: Ord, V>(
    old: &'m BTreeMap<K, Arc<V>>,
    new: &'m BTreeMap<K, Arc<V>>,
) -> impl Iterator<Item = (&'m K, &'m Arc<V>)> {
    let mut old = old.iter().peekable();
    new.iter().filter(move |(key, value)| {
        let same = |(before, held): &(&K, &Arc<V>)| Arc::ptr_eq(held, value) && before == key;
        if old.next_if(same).is_some() {
            return false;
        }
        while old.next_if(|(before, _)| before < key).is_some() {}
        old.next_if(same).is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_another_allocation_has_changed() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(Arc::new);
        let old = BTreeMap::from([(1, Arc::clone(&a)), (2, Arc::clone(&b)), (4, Arc::clone(&c))]);
        let new = BTreeMap::from([
            (0, Arc::clone(&a)),
            (1, Arc::clone(&a)),
            (2, Arc::new("b")),
            (3, Arc::clone(&d)),
            (4, Arc::clone(&c)),
        ]);
        let keys = |old, new| changed(old, new).map(|(key, _)| *key).collect::<Vec<i32>>();
        assert_eq!(keys(&old, &new), [0, 2, 3]);
        assert_eq!(keys(&new, &old), [2]);
        assert_eq!(keys(&new, &new), [0i32; 0]);
    }
}
