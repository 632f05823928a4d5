//! `portcullis controller`: a cluster's objects to the store, resolution to the data plane in this process, statuses
//! and addresses back to the cluster.

mod access;
mod gateways;
mod options;
mod statuses;

use std::sync::Arc;

use portcullis_cluster::{Batch, Client, Election, Feed, Problem};
use portcullis_files::Sources;
use portcullis_model::Locality;
use portcullis_proxy::{Inherited, ProxyHandle, Report};
use portcullis_resolve::Engine;
use portcullis_store::{Change, ChangeSet, Store};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::control::{Control, Taken};
use crate::data_plane;
use crate::exit::{Failure, Outcome};
use crate::signals::{self, Signals, Told};
pub(crate) use access::AccessOptions;
use gateways::Gateways;
pub(crate) use options::Controller;
use statuses::Statuses;

impl Controller {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        self.logs.start()?;
        signals::runtime()?.block_on(self.work())
    }

    async fn work(&self) -> Result<Outcome, Failure> {
        let options = self.proxy()?;
        let engine = Engine::native_in_cluster(options.upstreams.clone());
        let client = self.access.connect().await?;
        let mut signals = Signals::listen()?;
        let (proxy, mut reports) = data_plane::start(options, Inherited::default())?;
        let election = Election::start(client.clone(), self.candidate());
        let control = Control::new(engine, Arc::clone(&proxy), 0, None, Sources::default());
        let locating = self.locate(&client, &proxy);
        let mut work = Work::new(self, client, control, election.leading());
        let ended = work.until_told(&mut reports, &mut signals, &proxy).await;
        // Another controller may write while this one drains.
        election.end().await;
        drop((work, locating));
        ended?;
        data_plane::end(&proxy, self.data_plane.drain(), &mut signals).await;
        Ok(Outcome::Clean)
    }

    /// Tells the proxy in which zone it is, as soon as the API server does, unless that is told by an option; until it
    /// is dropped.
    fn locate(&self, client: &Client, proxy: &Arc<ProxyHandle>) -> JoinSet<()> {
        let mut locating = JoinSet::new();
        let Locality { zone: None, node: Some(node) } = self.data_plane.locality() else { return locating };
        let (client, proxy) = (client.clone(), Arc::clone(proxy));
        locating.spawn(async move {
            let zone = portcullis_cluster::zone_of(client, &node).await;
            proxy.locate(Locality { zone, node: Some(node) });
        });
        locating
    }
}

/// Everybody who has to hear of a change in a cluster.
struct Work {
    feed: Feed,
    control: Control,
    statuses: Statuses,
    gateways: Gateways,
    leading: watch::Receiver<bool>,
    /// What was read before all was: nothing is served or said before it is whole.
    gathered: Option<Vec<Change>>,
}

impl Work {
    fn new(options: &Controller, client: Client, control: Control, leading: watch::Receiver<bool>) -> Self {
        let feed = Feed::start(client.clone());
        let statuses = Statuses::start(client.clone(), leading.clone());
        let gateways = Gateways::new(options, client, leading.clone());
        Self { feed, control, statuses, gateways, leading, gathered: Some(Vec::new()) }
    }

    async fn until_told(
        &mut self,
        reports: &mut mpsc::UnboundedReceiver<Report>,
        signals: &mut Signals,
        proxy: &Arc<ProxyHandle>,
    ) -> Result<(), Failure> {
        loop {
            tokio::select! {
                told = signals.next() => match told {
                    Told::End => return Ok(()),
                    Told::Reload => data_plane::reload(proxy),
                },
                Some(report) = reports.recv() => {
                    let taken = self.control.hear(vec![report]).await?;
                    self.tell(taken, false);
                }
                batch = self.feed.next() => self.take(batch).await?,
                overdue = self.statuses.overdue() => self.statuses.want(&self.control, overdue),
                // Whoever leads now has to look at everything.
                Ok(()) = self.leading.changed() => self.settle(Vec::new(), true).await?,
                report = self.gateways.published() => {
                    self.settle(vec![Change::Report(report)], false).await?;
                }
            }
        }
    }

    async fn take(&mut self, batch: Batch) -> Result<(), Failure> {
        batch.problems.iter().for_each(log);
        let reallot = self.gateways.see(&batch.seen);
        self.statuses.see(batch.seen);
        let mut changes = batch.changes;
        if batch.synced
            && let Some(gathered) = self.gathered.take()
        {
            tracing::info!("the cluster is read");
            changes = [self.gateways.beginning(), gathered, changes].concat();
        }
        self.settle(changes, reallot).await
    }

    /// Takes changes, and lets those hear of them that they concern. What is allotted because of them belongs to
    /// them, so that no Gateway is judged without the address that it is about to get.
    async fn settle(&mut self, changes: Vec<Change>, anew: bool) -> Result<(), Failure> {
        if let Some(gathered) = &mut self.gathered {
            gathered.extend(changes);
            return Ok(());
        }
        let gateways = &mut self.gateways;
        let allot = |store: &Store, changes: &ChangeSet| gateways.allot(store, changes, anew);
        let taken = self.control.take_with(changes, allot).await?;
        self.tell(taken, anew);
        Ok(())
    }

    fn tell(&mut self, taken: Taken, anew: bool) {
        if self.gathered.is_some() {
            return;
        }
        self.statuses.want(&self.control, taken.judged);
        self.gateways.expose(&self.control, &taken.changes, anew);
    }
}

fn log(problem: &Problem) {
    let subject = &problem.subject;
    match &problem.message {
        Some(message) => tracing::warn!(%subject, "the cluster cannot be read: {message}"),
        None => tracing::info!(%subject, "the cluster can be read again"),
    }
}
