//! What happens when something changes: the store, resolution, the proxy, the statuses, in this order.

mod binding;
mod news;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use portcullis_api::{Diagnostic, ObjectKey};
use portcullis_files::Sources;
use portcullis_model::{BindAddress, Model};
use portcullis_proxy::ProxyHandle;
use portcullis_resolve::{Engine, Resolver, Status};
use portcullis_store::{BindOutcome, BindPoint, Change, ChangeSet, Report, ReportKey, Store, Transport};

use crate::exit::Failure;
pub(crate) use stand_ins::StandIns;

use crate::statuses::{Statuses, status_json};
use news::{News, is_news};

/// Everything that is known, and who has to hear of a change.
pub(crate) struct Control {
    store: Store,
    resolver: Resolver,
    proxy: Arc<ProxyHandle>,
    port_offset: u16,
    sources: Sources,
    statuses: Statuses,
    stand_ins: Option<StandIns>,
    /// Whether the proxy has been told to serve anything, be it nothing.
    begun: bool,
    /// Addresses that the proxy was told to serve.
    served: BTreeSet<BindAddress>,
    /// Why addresses cannot be bound, as it was logged.
    unbound: BTreeMap<BindAddress, String>,
    /// The findings that were logged, so that none is repeated.
    told: BTreeMap<ObjectKey, Vec<Diagnostic>>,
}

/// What changes came to.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// What differs in the store.
    pub(crate) changes: ChangeSet,
    /// Objects that something else is said about than before.
    pub(crate) judged: BTreeSet<ObjectKey>,
}

impl Control {
    pub(crate) fn new(
        engine: Engine,
        proxy: Arc<ProxyHandle>,
        port_offset: u16,
        stand_ins: Option<StandIns>,
        sources: Sources,
    ) -> Self {
        let store = Store::new();
        let resolver = Resolver::new(engine, &store);
        Self {
            store,
            resolver,
            proxy,
            port_offset,
            sources,
            statuses: Statuses::default(),
            stand_ins,
            begun: false,
            served: BTreeSet::new(),
            unbound: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Takes changes and lets everybody know who has to.
    pub(crate) async fn take(&mut self, changes: Vec<Change>) -> Result<Taken, Failure> {
        self.take_with(changes, |_, _| Vec::new()).await
    }

    /// The same, with the changes that follow from these: they are judged as one.
    pub(crate) async fn take_with(
        &mut self,
        changes: Vec<Change>,
        more: impl FnOnce(&Store, &ChangeSet) -> Vec<Change>,
    ) -> Result<Taken, Failure> {
        let mut set = self.store.apply(changes);
        let more = more(&self.store, &set);
        set.merge(self.store.apply(more));
        if let Some(stand_ins) = &mut self.stand_ins
            && StandIns::concerns(&set)
        {
            let adjusted = stand_ins.adjust(&self.store).await?;
            set.merge(self.store.apply(adjusted));
        }
        let mut taken = Taken::default();
        while !set.is_empty() || !self.begun {
            let changed = self.resolver.update(&self.store, &set);
            taken.judged.extend(changed.objects);
            taken.changes.merge(set);
            let retracted = if changed.model || !self.begun { self.serve() } else { Vec::new() };
            set = self.store.apply(retracted);
        }
        self.tell(&taken.judged);
        Ok(taken)
    }

    /// Takes what files say anew, and logs what that is.
    pub(crate) async fn reload(&mut self, changes: Vec<Change>) -> Result<Taken, Failure> {
        if let Some(summary) = news::summary(&changes, &self.store, &self.sources) {
            tracing::info!("reloaded: {summary}");
        }
        self.take(changes).await
    }

    /// What the proxy said of addresses. A port that cannot be bound is a line, whatever hangs on it.
    pub(crate) async fn hear(&mut self, reports: Vec<portcullis_proxy::Report>) -> Result<Taken, Failure> {
        let mut changes = Vec::new();
        let mut told: BTreeSet<(u16, String)> = BTreeSet::new();
        for portcullis_proxy::Report { address, result } in reports {
            // It may speak of an address that has left the configuration meanwhile.
            if !self.served.contains(&address) {
                continue;
            }
            let outcome = match result {
                Ok(_) => {
                    self.unbound.remove(&address);
                    BindOutcome::Bound
                }
                Err(failure) => {
                    let message = binding::message(address, self.port_offset, &failure);
                    if told.insert((address.port, failure.to_string())) {
                        tracing::warn!("{message}");
                    }
                    self.unbound.insert(address, message.clone());
                    BindOutcome::Failed { failure: binding::cause(&failure), message: message.into() }
                }
            };
            changes.push(Change::Report(Report::Bind(point(address), outcome)));
        }
        self.take(changes).await
    }

    /// Lets the proxy serve the newest model; what it said of addresses that are gone no longer holds.
    fn serve(&mut self) -> Vec<Change> {
        let model = self.model();
        let addresses: BTreeSet<BindAddress> = model.ports.keys().copied().collect();
        let gone: Vec<BindAddress> = self.served.difference(&addresses).copied().collect();
        for address in gone.iter().filter(|address| self.is_bound(**address)) {
            let local = SocketAddr::new(address.ip, address.port.saturating_add(self.port_offset));
            tracing::info!(%local, transport = %address.transport, "no longer listening");
        }
        self.unbound.retain(|address, _| addresses.contains(address));
        let retracted =
            gone.iter().map(|address| Change::Retract(ReportKey::Bind(point(*address)))).collect();
        (self.begun, self.served) = (true, addresses);
        self.proxy.apply(&model);
        retracted
    }

    /// Whether connections are accepted at an address of the model.
    pub(crate) fn is_bound(&self, address: BindAddress) -> bool {
        self.store.bind(point(address)) == Some(&BindOutcome::Bound)
    }

    /// What is known.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The status that an object shall have, without times of transitions.
    pub(crate) fn status(&self, object: &ObjectKey) -> Option<&Status> {
        self.resolver.resolved().statuses.get(object).map(|status| &**status)
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        Arc::clone(&self.resolver.resolved().model)
    }

    /// How many ports of Services have a stand-in.
    pub(crate) fn stand_ins(&self) -> usize {
        self.stand_ins.as_ref().map_or(0, StandIns::count)
    }

    /// Logs what is new about objects: conditions that flipped, and findings that no condition carries.
    fn tell(&mut self, objects: &BTreeSet<ObjectKey>) {
        let now = crate::statuses::now();
        let resolved = self.resolver.resolved();
        let known: Vec<&str> = self.unbound.values().map(String::as_str).collect();
        let mut news = News::default();
        for object in objects {
            let status = resolved.statuses.get(object).map(|status| status_json(status));
            news.flips(&self.statuses.update(object, status, &now), &known);
            let findings = resolved.diagnostics.get(object).map(|findings| &**findings).unwrap_or_default();
            let current: Vec<Diagnostic> =
                findings.iter().filter(|finding| is_news(finding)).cloned().collect();
            let before = match current.is_empty() {
                true => self.told.remove(object),
                false => self.told.insert(object.clone(), current.clone()),
            };
            let before = before.unwrap_or_default();
            for finding in current.iter().filter(|finding| !before.contains(finding)) {
                news.finding(object, &self.sources.place(finding.clone()));
            }
            let is_gone = |finding: &&Diagnostic| !current.iter().any(|found| found.rule == finding.rule);
            for finding in before.iter().filter(is_gone).filter(|_| self.store.get(object).is_some()) {
                news.recovery(object, finding);
            }
        }
        news.end();
    }
}

fn point(address: BindAddress) -> BindPoint {
    let transport = match address.transport {
        portcullis_model::Transport::Tcp => Transport::Tcp,
        portcullis_model::Transport::Udp => Transport::Udp,
    };
    BindPoint { transport, address: SocketAddr::new(address.ip, address.port) }
}
