//! Which clusters and endpoints routes and the filters of listeners lead to, counted, so that a route's change costs its own backends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::ObjectKey;
use portcullis_model::{Cluster, ClusterKey, Endpoints, EndpointsKey, Model};

#[derive(Default)]
pub(super) struct Backends {
    led: HashMap<ObjectKey, Arc<Vec<Arc<Cluster>>>, FixedState>,
    clusters: BTreeMap<ClusterKey, (Arc<Cluster>, usize)>,
    endpoints: HashMap<EndpointsKey, usize, FixedState>,
    turnover: Turnover,
    /// What differs from the model that was published last: nothing stands for "gone".
    unpublished_clusters: BTreeMap<ClusterKey, Option<Arc<Cluster>>>,
    unpublished_endpoints: BTreeMap<EndpointsKey, Option<Arc<Endpoints>>>,
}

/// Endpoints that came into use, and that fell out of it.
#[derive(Default)]
pub(super) struct Turnover {
    pub(super) new: BTreeSet<EndpointsKey>,
    pub(super) gone: BTreeSet<EndpointsKey>,
}

impl Backends {
    /// Notes where a route, or what runs on the requests of an object's listeners, leads.
    pub(super) fn lead(&mut self, object: &ObjectKey, clusters: Arc<Vec<Arc<Cluster>>>) {
        for cluster in clusters.iter() {
            self.enter(cluster);
        }
        let old = if clusters.is_empty() {
            self.led.remove(object)
        } else {
            self.led.insert(object.clone(), clusters)
        };
        for cluster in old.iter().flat_map(|old| old.iter()) {
            self.leave(&cluster.key);
        }
    }

    fn enter(&mut self, cluster: &Arc<Cluster>) {
        let key = &cluster.key;
        if let Some((held, uses)) = self.clusters.get_mut(key) {
            *uses += 1;
            if !Arc::ptr_eq(held, cluster) {
                *held = Arc::clone(cluster);
                self.unpublished_clusters.insert(key.clone(), Some(Arc::clone(cluster)));
            }
            return;
        }
        self.unpublished_clusters.insert(key.clone(), Some(Arc::clone(cluster)));
        self.clusters.insert(key.clone(), (Arc::clone(cluster), 1));
        let uses = self.endpoints.entry(key.endpoints.clone()).or_insert(0);
        *uses += 1;
        if *uses == 1 && !self.turnover.gone.remove(&key.endpoints) {
            self.turnover.new.insert(key.endpoints.clone());
        }
    }

    fn leave(&mut self, key: &ClusterKey) {
        let Some((_, uses)) = self.clusters.get_mut(key) else { return };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        self.clusters.remove(key);
        self.unpublished_clusters.insert(key.clone(), None);
        let Some(uses) = self.endpoints.get_mut(&key.endpoints) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.endpoints.remove(&key.endpoints);
            if !self.turnover.new.remove(&key.endpoints) {
                self.turnover.gone.insert(key.endpoints.clone());
            }
        }
    }

    /// What came into use and fell out of it since the last call.
    pub(super) fn take_turnover(&mut self) -> Turnover {
        let turnover = std::mem::take(&mut self.turnover);
        for key in &turnover.gone {
            self.unpublished_endpoints.insert(key.clone(), None);
        }
        turnover
    }

    pub(super) fn set_endpoints(&mut self, endpoints: &Arc<Endpoints>) {
        self.unpublished_endpoints.insert(endpoints.key.clone(), Some(Arc::clone(endpoints)));
    }

    /// Brings the model up to date; answers whether it is another than before.
    pub(super) fn publish(&mut self, model: &mut Arc<Model>) -> bool {
        let clusters = std::mem::take(&mut self.unpublished_clusters);
        let endpoints = std::mem::take(&mut self.unpublished_endpoints);
        let clusters = differing(&model.clusters, clusters);
        let endpoints = differing(&model.endpoints, endpoints);
        if clusters.is_empty() && endpoints.is_empty() {
            return false;
        }
        let model = Arc::make_mut(model);
        replace(&mut model.clusters, clusters);
        replace(&mut model.endpoints, endpoints);
        true
    }
}

/// The entries that are not, or not by the same allocation, what a map has.
fn differing<K: Ord, V>(
    map: &BTreeMap<K, Arc<V>>,
    entries: BTreeMap<K, Option<Arc<V>>>,
) -> Vec<(K, Option<Arc<V>>)> {
    let differs = |(key, new): &(K, Option<Arc<V>>)| match (new, map.get(key)) {
        (Some(new), Some(old)) => !Arc::ptr_eq(new, old),
        (new, old) => new.is_some() != old.is_some(),
    };
    entries.into_iter().filter(differs).collect()
}

/// Replaces entries of a shared map, which stays shared where there is nothing to replace.
fn replace<K: Ord + Clone, V: Clone>(map: &mut Arc<BTreeMap<K, V>>, entries: Vec<(K, Option<V>)>) {
    if entries.is_empty() {
        return;
    }
    let map = Arc::make_mut(map);
    for (key, value) in entries {
        match value {
            Some(value) => map.insert(key, value),
            None => map.remove(&key),
        };
    }
}
