//! Resolution as a whole, kept up to date.

mod backends;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::{Diagnostic, Kind, ObjectKey};
use portcullis_model::{Cluster, EndpointsKey, Model};
use portcullis_store::{Bucket, ChangeSet, ReportKey, Store};

use crate::backend_tls::PolicyOutcome;
use crate::backends::{BackendOutcome, EndpointsOf, SliceOutcome};
use crate::engine::Engine;
use crate::gateway_classes::ClassOutcome;
use crate::gateways::GatewayOutcome;
use crate::listener_sets::SetOutcome;
use crate::listeners::{ListenerClusters, Ports};
use crate::memo::{Memo, NodeId};
use crate::outcome::{Outcome, Status};
use crate::refused::RefusedOutcome;
use crate::routes::{RouteClusters, RouteOutcome};
use crate::view::{Input, View};
use backends::Backends;

/// What a store's objects come to.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// What is served.
    pub model: Arc<Model>,
    /// The status of each object that we say something about.
    pub statuses: BTreeMap<ObjectKey, Arc<Status>>,
    /// What was found about each object, the gravest not necessarily first. Objects without findings are absent.
    pub diagnostics: BTreeMap<ObjectKey, Arc<[Diagnostic]>>,
}

/// What an update changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Whether the model is another than before.
    pub model: bool,
    /// Objects whose status or findings are others than before, those that are gone included.
    pub objects: BTreeSet<ObjectKey>,
}

/// Resolution that follows a store.
pub struct Resolver {
    engine: Engine,
    memo: Memo,
    /// The queries that everything is asked for.
    roots: HashMap<NodeId, Root, FixedState>,
    by_object: HashMap<ObjectKey, (Form, Vec<NodeId>), FixedState>,
    by_endpoints: HashMap<EndpointsKey, NodeId, FixedState>,
    outcomes: HashMap<ObjectKey, Arc<Outcome>, FixedState>,
    backends: Backends,
    resolved: Resolved,
}

#[derive(Clone, Debug)]
enum Root {
    Ports,
    Outcome(ObjectKey, Form),
    Clusters(ObjectKey),
    Endpoints(EndpointsKey),
}

/// How an object is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The store holds it.
    Read,
    /// The store knows that there is one, which admission refuses.
    Refused,
}

impl Form {
    fn of(store: &Store, key: &ObjectKey) -> Option<Form> {
        let refused = || store.refused(key).map(|_| Form::Refused);
        store.get(key).map(|_| Form::Read).or_else(refused)
    }
}

/// Kinds that something is said about.
const SPOKEN_OF: [Kind; 11] = [
    Kind::GatewayClass,
    Kind::Gateway,
    Kind::ListenerSet,
    Kind::HttpRoute,
    Kind::GrpcRoute,
    Kind::TlsRoute,
    Kind::TcpRoute,
    Kind::UdpRoute,
    Kind::BackendTlsPolicy,
    Kind::Backend,
    Kind::EndpointSlice,
];

/// Resolves a store from nothing.
#[must_use]
pub fn resolve(store: &Store, engine: &Engine) -> Resolved {
    Resolver::new(engine.clone(), store).resolved
}

impl Resolver {
    /// Resolves a store.
    #[must_use]
    pub fn new(engine: Engine, store: &Store) -> Resolver {
        let mut resolver = Resolver {
            engine,
            memo: Memo::default(),
            roots: HashMap::default(),
            by_object: HashMap::default(),
            by_endpoints: HashMap::default(),
            outcomes: HashMap::default(),
            backends: Backends::default(),
            resolved: Resolved::default(),
        };
        let ports = resolver.memo.pin(&Ports);
        resolver.roots.insert(ports, Root::Ports);
        let mut stale = vec![ports];
        for kind in SPOKEN_OF {
            for key in store.keys(&Bucket::all(kind)) {
                stale.extend(resolver.adopt(key, Form::Read));
            }
        }
        for key in store.refusals().filter(|key| store.get(key).is_none() && SPOKEN_OF.contains(&key.kind)) {
            stale.extend(resolver.adopt(key, Form::Refused));
        }
        resolver.refresh(store, stale, Changed::default());
        resolver
    }

    /// What the store's objects come to.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// How many queries have run since the beginning: what changes cost, whatever the machine.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.memo.runs()
    }

    /// Follows a change of the store: the result is that of [`resolve`] on the store as it is now.
    ///
    /// `changes` must be all that [`Store::apply`] has told since the last call, merged.
    pub fn update(&mut self, store: &Store, changes: &ChangeSet) -> Changed {
        let objects = changes.objects.iter().cloned().map(Input::Object);
        let buckets = changes.buckets.iter().cloned().map(Input::Bucket);
        let reports = changes.reports.iter().cloned().map(Input::Report);
        let mut stale = self.memo.invalidate(objects.chain(buckets).chain(reports));
        let mut changed = Changed::default();
        let refusals = changes.reports.iter().filter_map(|report| match report {
            ReportKey::Refused(key) => Some(key),
            _ => None,
        });
        for key in changes.objects.iter().chain(refusals).filter(|key| SPOKEN_OF.contains(&key.kind)) {
            let (before, now) = (self.by_object.get(key).map(|(form, _)| *form), Form::of(store, key));
            if before != now {
                if before.is_some() {
                    self.abandon(key, &mut changed);
                }
                stale.extend(now.into_iter().flat_map(|form| self.adopt(key, form)));
            }
        }
        self.refresh(store, stale, changed)
    }

    /// Whether a kind is one of routes that the engine serves.
    fn serves(&self, kind: Kind) -> bool {
        self.engine.capabilities.route_kinds.contains(&kind)
    }

    /// Begins to ask about an object.
    fn adopt(&mut self, key: &ObjectKey, form: Form) -> Vec<NodeId> {
        let object = || key.clone();
        let outcome = match key.kind {
            _ if form == Form::Refused => self.memo.pin(&RefusedOutcome { key: object() }),
            Kind::GatewayClass => self.memo.pin(&ClassOutcome { key: object() }),
            Kind::Gateway => self.memo.pin(&GatewayOutcome { key: object() }),
            Kind::ListenerSet => self.memo.pin(&SetOutcome { key: object() }),
            Kind::BackendTlsPolicy => self.memo.pin(&PolicyOutcome { key: object() }),
            Kind::Backend => self.memo.pin(&BackendOutcome { key: object() }),
            Kind::EndpointSlice => self.memo.pin(&SliceOutcome { key: object() }),
            _ => self.memo.pin(&RouteOutcome { key: object() }),
        };
        self.roots.insert(outcome, Root::Outcome(object(), form));
        let mut nodes = vec![outcome];
        let clusters = match key.kind {
            _ if form == Form::Refused => None,
            Kind::Gateway | Kind::ListenerSet => Some(self.memo.pin(&ListenerClusters { owner: object() })),
            kind => self.serves(kind).then(|| self.memo.pin(&RouteClusters { route: object() })),
        };
        if let Some(clusters) = clusters {
            self.roots.insert(clusters, Root::Clusters(object()));
            nodes.push(clusters);
        }
        self.by_object.insert(object(), (form, nodes.clone()));
        nodes
    }

    /// Stops asking about an object that is gone.
    fn abandon(&mut self, key: &ObjectKey, changed: &mut Changed) {
        for node in self.by_object.remove(key).map(|(_, nodes)| nodes).unwrap_or_default() {
            self.memo.unpin(node);
            self.roots.remove(&node);
        }
        self.backends.lead(key, Arc::default());
        self.outcomes.remove(key);
        let status = self.resolved.statuses.remove(key).is_some();
        if self.resolved.diagnostics.remove(key).is_some() || status {
            changed.objects.insert(key.clone());
        }
    }

    fn refresh(&mut self, store: &Store, stale: Vec<NodeId>, mut changed: Changed) -> Changed {
        let mut ports = None;
        for node in stale {
            let view = View::new(store, &self.engine, &self.memo);
            match self.roots.get(&node) {
                Some(Root::Ports) => ports = Some(view.get(&Ports)),
                Some(Root::Outcome(key, form)) => {
                    let (key, outcome) = (key.clone(), outcome(&view, key, *form));
                    self.say(key, outcome, &mut changed);
                }
                Some(Root::Clusters(object)) => self.backends.lead(object, clusters(&view, object)),
                Some(Root::Endpoints(key)) => {
                    let endpoints = view.get(&EndpointsOf { key: key.clone() });
                    self.backends.set_endpoints(&endpoints);
                }
                None => {} // abandoned above
            }
        }
        self.follow_endpoints(store);
        changed.model |= self.backends.publish(&mut self.resolved.model);
        if let Some(ports) = ports
            && ports.as_ref() != &self.resolved.model.ports
        {
            Arc::make_mut(&mut self.resolved.model).ports = (*ports).clone();
            changed.model = true;
        }
        self.memo.collect();
        changed
    }

    fn say(&mut self, key: ObjectKey, outcome: Arc<Outcome>, changed: &mut Changed) {
        let same = self.outcomes.get(&key).is_some_and(|old| Arc::ptr_eq(old, &outcome));
        if same {
            return;
        }
        match &outcome.status {
            Some(status) => self.resolved.statuses.insert(key.clone(), Arc::clone(status)),
            None => self.resolved.statuses.remove(&key),
        };
        match outcome.diagnostics.is_empty() {
            false => self.resolved.diagnostics.insert(key.clone(), Arc::clone(&outcome.diagnostics)),
            true => self.resolved.diagnostics.remove(&key),
        };
        changed.objects.insert(key.clone());
        self.outcomes.insert(key, outcome);
    }

    /// Asks for the endpoints of clusters that are new, and no longer for those of clusters that are gone.
    fn follow_endpoints(&mut self, store: &Store) {
        let turnover = self.backends.take_turnover();
        for key in turnover.gone {
            if let Some(node) = self.by_endpoints.remove(&key) {
                self.memo.unpin(node);
                self.roots.remove(&node);
            }
        }
        for key in turnover.new {
            let query = EndpointsOf { key: key.clone() };
            let node = self.memo.pin(&query);
            let endpoints = View::new(store, &self.engine, &self.memo).get(&query);
            self.backends.set_endpoints(&endpoints);
            self.roots.insert(node, Root::Endpoints(key.clone()));
            self.by_endpoints.insert(key, node);
        }
    }
}

/// The clusters that a route, or what runs on the requests of an object's listeners, leads to.
fn clusters(view: &View<'_>, object: &ObjectKey) -> Arc<Vec<Arc<Cluster>>> {
    match object.kind {
        Kind::Gateway | Kind::ListenerSet => view.get(&ListenerClusters { owner: object.clone() }),
        _ => view.get(&RouteClusters { route: object.clone() }),
    }
}

fn outcome(view: &View<'_>, key: &ObjectKey, form: Form) -> Arc<Outcome> {
    let key = key.clone();
    match key.kind {
        _ if form == Form::Refused => view.get(&RefusedOutcome { key }),
        Kind::GatewayClass => view.get(&ClassOutcome { key }),
        Kind::Gateway => view.get(&GatewayOutcome { key }),
        Kind::ListenerSet => view.get(&SetOutcome { key }),
        Kind::BackendTlsPolicy => view.get(&PolicyOutcome { key }),
        Kind::Backend => view.get(&BackendOutcome { key }),
        Kind::EndpointSlice => view.get(&SliceOutcome { key }),
        _ => view.get(&RouteOutcome { key }),
    }
}
