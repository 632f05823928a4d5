//! Building a [`Config`] from a model, sharing what did not change with the one before.

use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{Listener, Locality, Model, Port, Route, Rule};
use portcullis_routing::{PortTable, Scheme};

use super::clusters::Clusters;
use super::rule::Shares;
use super::{CompiledRule, Config, Preroutings, ServedPort};
use crate::l4::L4Port;
use crate::options::ProxyOptions;
use crate::tls::Sessions;
use crate::upstream::{Cluster, EndpointSets, Identity};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What is kept between configurations.
pub(crate) struct Builder {
    port_offset: u16,
    workers: usize,
    model: Arc<Model>,
    config: Arc<Config>,
    clusters: Clusters,
    sessions: Sessions,
}

impl Builder {
    pub(crate) fn new(options: &ProxyOptions, endpoints: &Arc<EndpointSets>) -> Builder {
        Builder {
            port_offset: options.port_offset,
            workers: options.workers,
            model: Arc::default(),
            config: Arc::default(),
            clusters: Clusters::new(endpoints, options.locality.clone()),
            sessions: Sessions::new(options.port_offset),
        }
    }

    /// The next configuration. Endpoints take effect at once: a new backend has them before a rule leads to it.
    pub(crate) fn build(&mut self, model: Arc<Model>) -> Arc<Config> {
        self.clusters.update(&model);
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
                preroutings: Preroutings::compile(port, &self.clusters),
                tls: self.sessions.port(*address, port, before.map(|served| &served.tls)),
                l4: L4Port::build(port, before.map(|served| &served.l4), |listener, route| {
                    let identity = listener.client_certificate.as_ref().map(Identity::new);
                    Shares::compile(&route.backends, &self.clusters, identity.as_ref(), self.workers)
                }),
                quic: port.speaks_quic(),
                clear: port.listeners.iter().any(|one| Scheme::of(&one.protocol) == Some(Scheme::Http)),
            };
            config.ports.insert(*address, Arc::new(served));
        }
        self.sessions.retain(|address| model.ports.contains_key(address));
        self.model = model;
        self.config = Arc::new(config);
        Arc::clone(&self.config)
    }

    /// Chooses endpoints for a proxy that stands there, from now on.
    pub(crate) fn locate(&mut self, at: Locality) {
        self.clusters.locate(at);
    }

    /// The clusters whose endpoints have changed since the last call.
    pub(crate) fn take_settled(&mut self) -> Arc<[Arc<Cluster>]> {
        self.clusters.take_settled()
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

    /// Forgets clusters that no rule leads to any more; called once the configuration before is out of use.
    pub(crate) fn sweep(&mut self) {
        self.clusters.sweep();
    }
}
