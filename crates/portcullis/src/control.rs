//! What happens when something changes: the store, resolution, the proxy, the statuses, in this order.

mod binding;
mod stand_ins;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use portcullis_api::{Diagnostic, ObjectKey, Severity};
use portcullis_files::Sources;
use portcullis_model::{BindAddress, Model};
use portcullis_proxy::ProxyHandle;
use portcullis_resolve::{Engine, Resolver, Status};
use portcullis_store::{BindOutcome, BindPoint, Change, ChangeSet, Report, ReportKey, Store, Transport};

use crate::exit::Failure;
pub(crate) use stand_ins::StandIns;

use crate::statuses::{Flip, Statuses, is_good, status_json};

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
    /// The findings that were logged, so that none is repeated.
    told: BTreeSet<(ObjectKey, String)>,
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
            told: BTreeSet::new(),
        }
    }

    /// Takes changes and lets everybody know who has to.
    pub(crate) async fn take(&mut self, changes: Vec<Change>) -> Result<Taken, Failure> {
        let mut set = self.store.apply(changes);
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

    /// What the proxy said.
    pub(crate) async fn hear(&mut self, report: portcullis_proxy::Report) -> Result<Taken, Failure> {
        // It may speak of an address that has left the configuration meanwhile.
        if !self.served.contains(&report.address) {
            return Ok(Taken::default());
        }
        let outcome = match report.result {
            Ok(_) => BindOutcome::Bound,
            Err(failure) => {
                let message = binding::message(report.address, self.port_offset, &failure);
                BindOutcome::Failed { failure: binding::cause(&failure), message: message.into() }
            }
        };
        self.take(vec![Change::Report(Report::Bind(point(report.address), outcome))]).await
    }

    /// Lets the proxy serve the newest model; what it said of addresses that are gone no longer holds.
    fn serve(&mut self) -> Vec<Change> {
        let model = self.model();
        let addresses: BTreeSet<BindAddress> = model.ports.keys().copied().collect();
        let gone = self.served.difference(&addresses).map(|address| point(*address));
        let retracted = gone.map(|point| Change::Retract(ReportKey::Bind(point))).collect();
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
        for object in objects {
            let status = resolved.statuses.get(object).map(|status| status_json(status));
            let flips = self.statuses.update(object, status, &now);
            for said_together in
                flips.chunk_by(|one, next| (&one.part, &one.message) == (&next.part, &next.message))
            {
                log_flips(said_together);
            }
            let findings = resolved.diagnostics.get(object).map(|findings| &**findings).unwrap_or_default();
            let current: Vec<&Diagnostic> = findings.iter().filter(|finding| is_news(finding)).collect();
            self.told
                .retain(|(known, text)| known != object || current.iter().any(|f| f.to_string() == *text));
            for finding in current {
                if self.told.insert((object.clone(), finding.to_string())) {
                    log_finding(object, &self.sources.place(finding.clone()));
                }
            }
        }
    }
}

/// Whether a finding is worth a line of the log: conditions say what is refused, and notes are for `check`.
fn is_news(finding: &Diagnostic) -> bool {
    finding.severity() == Severity::Warning
}

fn log_finding(object: &ObjectKey, finding: &Diagnostic) {
    let place = finding.position.as_ref().map(tracing::field::display);
    tracing::warn!(%object, code = finding.rule.code, place, "{}", finding.message);
}

/// A line for conditions of one part that give the same message. What comes true as one wishes is news only where it
/// was false, and what cannot be told yet is none.
fn log_flips(flips: &[Flip]) {
    let Some(Flip { object, part, message, .. }) = flips.first() else { return };
    let part = (!part.is_empty()).then_some(part);
    let verdicts = |wanted: &dyn Fn(&Flip) -> bool| {
        let verdicts = flips.iter().filter(|flip| wanted(flip));
        let verdicts = verdicts.map(|flip| format!("{}={}/{}", flip.condition, flip.status, flip.reason));
        Some(verdicts.collect::<Vec<_>>().join(" ")).filter(|verdicts| !verdicts.is_empty())
    };
    if let Some(bad) = verdicts(&|flip| flip.status != "Unknown" && !is_good(&flip.condition, &flip.status)) {
        tracing::warn!(%object, part, "{bad}: {message}");
    }
    if let Some(mended) = verdicts(&is_mended) {
        tracing::info!(%object, part, "{mended}");
    }
}

fn is_mended(flip: &Flip) -> bool {
    let was_bad = flip.before.as_deref().is_some_and(|before| !is_good(&flip.condition, before));
    was_bad && is_good(&flip.condition, &flip.status)
}

fn point(address: BindAddress) -> BindPoint {
    BindPoint { transport: Transport::Tcp, address: SocketAddr::new(address.ip, address.port) }
}
