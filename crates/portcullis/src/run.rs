//! `portcullis run`: files to the store, the store to resolution, resolution to the proxy, and its reports back.

mod announce;
mod files;
mod options;
mod serving;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use portcullis_api::{Diagnostic, Severity};
use portcullis_proxy::{Drain, Inherited, ProxyHandle};
use portcullis_resolve::Engine;
use portcullis_store::{self as store, Change};

use crate::address::default_addresses;
use crate::control::{Control, StandIns};
use crate::data_plane;
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::render::{Paint, diagnostics_text, tally};
use crate::service_manager;
use crate::signals::{self, Signals, Told};
use crate::takeover::{self, Predecessor, Succession};
use announce::announcement;
use files::Files;
pub(crate) use options::Run;
use serving::samples;

impl Run {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        self.logs.start()?;
        signals::runtime()?.block_on(self.serve())
    }

    async fn serve(&self) -> Result<Outcome, Failure> {
        let options = self.proxy()?;
        let offset = options.port_offset;
        let (loaded, watcher) = portcullis_files::watch(&self.paths)
            .map_err(|error| Failure::new(format!("files cannot be watched: {error}")))?;
        if loaded.diagnostics.iter().any(Diagnostic::is_error) {
            return refuse(&loaded.diagnostics);
        }
        let mut files = Files::new(watcher, &loaded.diagnostics);
        let mut signals = Signals::listen()?;
        let (predecessor, inherited) = self.inherit().await?;
        let (proxy, mut reports) = data_plane::start(options, inherited)?;
        let stand_ins = self.echo.map(|address| StandIns::on(address.0));
        let mut control =
            Control::new(Engine::native_from_files(), Arc::clone(&proxy), offset, stand_ins, loaded.sources);
        let addresses = Change::Report(store::Report::DefaultAddresses(default_addresses(&self.bind)));
        let objects = loaded.objects.into_iter().map(Change::Put);
        control.take(std::iter::once(addresses).chain(objects).collect()).await?;
        // Every address is reported once before anything can change.
        let mut heard = Vec::new();
        while heard.len() < control.model().ports.len()
            && let Some(report) = reports.recv().await
        {
            heard.push(report);
        }
        control.hear(heard).await?;
        self.warn_of_ports(&control);
        let samples = samples(&control.model(), offset, |address| control.is_bound(address));
        output::print(&announcement(&samples, control.stand_ins(), proxy.admin(), Paint::stdout()))?;
        let succession = self.succeed(predecessor, &proxy).await?;
        let mut succeeded = pin!(succeeded(succession.as_ref(), &proxy));
        let drain = loop {
            tokio::select! {
                told = signals.next() => match told {
                    Told::End => {
                        service_manager::stopping();
                        break self.data_plane.drain();
                    }
                    Told::Reload => data_plane::reload(&proxy),
                },
                // Who comes after accepts already: there is nothing that load balancers have to notice.
                () = &mut succeeded => break Drain { delay: Duration::ZERO, ..self.data_plane.drain() },
                Some(report) = reports.recv() => drop(control.hear(vec![report]).await?),
                changes = files.next() => drop(control.reload(changes).await?),
            }
        };
        data_plane::end(&proxy, drain, &mut signals).await;
        Ok(Outcome::Clean)
    }
}

impl Run {
    /// The listening sockets that this process is given, and the process that it takes over from.
    async fn inherit(&self) -> Result<(Option<Predecessor>, Inherited), Failure> {
        let mut sockets = service_manager::sockets()?;
        let predecessor = match &self.takeover {
            Some(path) => takeover::ask(path).await?,
            None => None,
        };
        let predecessor = predecessor.map(|(predecessor, taken)| {
            sockets.extend(taken);
            predecessor
        });
        let inherited = Inherited::new(sockets)
            .map_err(|error| Failure::new(format!("a socket that was taken over is of no use: {error}")))?;
        Ok((predecessor, inherited))
    }

    /// Now that this process serves: lets the predecessor go, and listens for a successor.
    async fn succeed(
        &self,
        predecessor: Option<Predecessor>,
        proxy: &Arc<ProxyHandle>,
    ) -> Result<Option<Succession>, Failure> {
        service_manager::serving();
        if let Some(predecessor) = predecessor {
            predecessor.release().await;
            proxy.close_unclaimed();
        }
        self.takeover.as_deref().map(Succession::listen).transpose()
    }

    /// A port of `--proxy-protocol` that no listener has is probably mistyped.
    fn warn_of_ports(&self, control: &Control) {
        let model = control.model();
        let has = |port: u16| model.ports.keys().any(|address| address.port == port);
        for port in self.data_plane.proxy_protocol_ports().iter().filter(|port| !has(**port)) {
            tracing::warn!("--proxy-protocol {port}: no listener has this port");
        }
    }
}

/// Waits for a successor, if there may be one.
async fn succeeded(succession: Option<&Succession>, proxy: &Arc<ProxyHandle>) {
    match succession {
        Some(succession) => succession.succeeded(proxy).await,
        None => std::future::pending().await,
    }
}

/// Prints all that is wrong at once; nothing is served. Notes are for `check`.
fn refuse(diagnostics: &[Diagnostic]) -> Result<Outcome, Failure> {
    let is_wrong = |diagnostic: &&Diagnostic| diagnostic.severity() > Severity::Info;
    let wrong: Vec<Diagnostic> = diagnostics.iter().filter(is_wrong).cloned().collect();
    eprintln!("{}{}: nothing is served", diagnostics_text(&wrong, Paint::stderr()), tally(&wrong));
    Ok(Outcome::Refused)
}
