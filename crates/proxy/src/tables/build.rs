//! Building a [`Config`] from a model, sharing what did not change with the one before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{ClusterKey, Listener, Model, Port, Route, Rule, UpstreamProtocol};
use portcullis_routing::{PortTable, Scheme};

use super::{CompiledRule, Config, ServedPort};
use crate::tls::Sessions;
use crate::upstream::{Cluster, Targets};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What is kept between configurations.
pub(crate) struct Builder {
    port_offset: u16,
    workers: usize,
    model: Arc<Model>,
    config: Arc<Config>,
    clusters: Clusters,
    targets: Targets,
    sessions: Sessions,
}

/// The clusters by name: rules hold them, and their endpoints change in place.
#[derive(Default)]
pub(crate) struct Clusters(RefCell<Map<ClusterKey, Arc<Cluster>>>);

impl Clusters {
    /// The cluster of this name; a new one has no endpoints yet.
    pub(crate) fn cluster(&self, key: &ClusterKey) -> Arc<Cluster> {
        let mut clusters = self.0.borrow_mut();
        Arc::clone(clusters.entry_ref(key).or_insert_with(|| Arc::new(Cluster::new(key.clone()))))
    }
}

impl Builder {
    pub(crate) fn new(workers: usize, port_offset: u16) -> Builder {
        Builder {
            port_offset,
            workers,
            model: Arc::default(),
            config: Arc::default(),
            clusters: Clusters::default(),
            targets: Targets::default(),
            sessions: Sessions::default(),
        }
    }

    /// The next configuration. Endpoints take effect at once: a new backend has them before a rule leads to it.
    pub(crate) fn build(&mut self, model: Arc<Model>) -> Arc<Config> {
        self.update_endpoints(&model);
        let mut tables: Map<*const Port, Arc<PortTable<CompiledRule>>> = Map::default();
        let mut config = Config::default();
        for (address, port) in &model.ports {
            let before = self.config.ports.get(address);
            if let (Some(served), Some(old)) = (before, self.model.ports.get(address))
                && Arc::ptr_eq(port, old)
            {
                config.ports.insert(*address, Arc::clone(served));
                continue;
            }
            let table = tables.entry(Arc::as_ptr(port)).or_insert_with(|| Arc::new(self.table(port, before)));
            let served = ServedPort {
                table: Arc::clone(table),
                tls: self.sessions.port(*address, port, before.map(|served| &served.tls)),
                clear: port.listeners.iter().any(|one| Scheme::of(&one.protocol) == Scheme::Http),
            };
            config.ports.insert(*address, Arc::new(served));
        }
        self.sessions.retain(|address| model.ports.contains_key(address));
        self.model = model;
        self.config = Arc::new(config);
        Arc::clone(&self.config)
    }

    fn table(&self, port: &Port, before: Option<&Arc<ServedPort>>) -> PortTable<CompiledRule> {
        let compile = |listener: &Listener, _: &Arc<Route>, rule: &Arc<Rule>| {
            CompiledRule::compile(listener, rule, &self.clusters, self.port_offset, self.workers)
        };
        match before {
            Some(served) => served.table.update(port, compile),
            None => PortTable::build(port, compile),
        }
    }

    /// Gives endpoints to the clusters that are new, and to those whose endpoints have changed.
    fn update_endpoints(&mut self, model: &Model) {
        let mut stale: Vec<&ClusterKey> =
            changed(&self.model.clusters, &model.clusters).map(|(key, _)| key).collect();
        for (endpoints, _) in changed(&self.model.endpoints, &model.endpoints) {
            let first = ClusterKey { endpoints: endpoints.clone(), protocol: UpstreamProtocol::Http1 };
            let of_these = model.clusters.range(first..).map(|(key, _)| key);
            stale.extend(of_these.take_while(|key| key.endpoints == *endpoints));
        }
        for key in stale {
            let endpoints = model.endpoints.get(&key.endpoints);
            let targets = endpoints.map(|endpoints| self.targets.of(endpoints, key.protocol));
            self.clusters.cluster(key).set_endpoints(targets);
        }
    }

    /// Forgets clusters that no rule leads to any more; called once the configuration before is out of use.
    pub(crate) fn sweep(&mut self) {
        let model = &self.model;
        let in_use = |key: &ClusterKey, cluster: &mut Arc<Cluster>| {
            Arc::strong_count(cluster) > 1 || model.clusters.contains_key(key)
        };
        self.clusters.0.borrow_mut().retain(in_use);
        self.targets.sweep();
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
