//! `portcullis run`: files to the store, the store to resolution, resolution to the proxy, and its reports back.

mod address;
mod announce;
mod binding;
mod control;
mod files;
mod options;
mod serving;
mod stand_ins;

use std::sync::Arc;

use portcullis_api::Diagnostic;
use portcullis_proxy::{Proxy, ProxyHandle, ProxyOptions, Report, StartError};
use portcullis_resolve::Engine;
use portcullis_store::{self as store, Change};
use tokio::sync::{mpsc, oneshot};

use crate::exit::{Failure, Outcome};
use crate::output;
use crate::render::{Paint, diagnostics_text, tally};
use crate::signals::{self, Signals, Told};
use address::default_addresses;
use announce::announcement;
use control::Control;
use files::Files;
pub(crate) use options::Run;
use serving::samples;
use stand_ins::StandIns;

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
        let (proxy, mut reports) = start(options)?;
        let stand_ins = self.echo.map(|address| StandIns::on(address.0));
        let mut control =
            Control::new(Engine::native_from_files(), Arc::clone(&proxy), offset, stand_ins, loaded.sources);
        let addresses = Change::Report(store::Report::DefaultAddresses(default_addresses(&self.bind)));
        let objects = loaded.objects.into_iter().map(Change::Put);
        control.take(std::iter::once(addresses).chain(objects).collect()).await?;
        // Every address is reported once before anything can change.
        for _ in 0..control.model().ports.len() {
            let Some(report) = reports.recv().await else { break };
            control.hear(report).await?;
        }
        let samples = samples(&control.model(), offset, |address| control.is_bound(address));
        output::print(&announcement(&samples, control.stand_ins(), proxy.admin(), Paint::stdout()))?;
        loop {
            tokio::select! {
                told = signals.next() => match told {
                    Told::End => break,
                    Told::Reload => reload(&proxy),
                },
                Some(report) = reports.recv() => control.hear(report).await?,
                changes = files.next() => control.take(changes).await?,
            }
        }
        self.end(&proxy, &mut signals).await;
        Ok(Outcome::Clean)
    }

    /// Drains; a second signal cuts it short.
    async fn end(&self, proxy: &Arc<ProxyHandle>, signals: &mut Signals) {
        let (proxy, drain) = (Arc::clone(proxy), self.drain());
        tracing::info!(connections = proxy.open_connections(), "draining; a second signal ends at once");
        let (done, drained) = oneshot::channel();
        // Not a task of the runtime, whose end would wait for it.
        std::thread::spawn(move || done.send(proxy.drain(drain)));
        tokio::select! {
            clean = drained => tracing::info!(clean = clean.unwrap_or(false), "drained"),
            () = signals.end() => tracing::warn!("ended before all was drained"),
        }
    }
}

/// Resources need no signal; the access log does, when its file was moved away.
fn reload(proxy: &ProxyHandle) {
    match proxy.reopen_access_log() {
        Ok(true) => tracing::info!("the access log is reopened; resources are watched and need no reload"),
        Ok(false) => tracing::info!("resources are watched, and no access log is a file: nothing to reload"),
        Err(error) => {
            tracing::warn!(%error, "the access log cannot be reopened; lines still go to the file as it was open");
        }
    }
}

/// Prints all that is wrong at once; nothing is served.
fn refuse(diagnostics: &[Diagnostic]) -> Result<Outcome, Failure> {
    let paint = Paint::stderr();
    eprintln!("{}{}: nothing is served", diagnostics_text(diagnostics, paint), tally(diagnostics));
    Ok(Outcome::Refused)
}

/// Starts the proxy, and a thread that hands on what it reports.
fn start(options: ProxyOptions) -> Result<(Arc<ProxyHandle>, mpsc::UnboundedReceiver<Report>), Failure> {
    let (proxy, reports) = Proxy::start(options).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            StartError::Admin(..) => failure.hint("choose another address with --admin, or --admin off"),
            StartError::AccessLog(_) => failure.hint("correct the path of --access-log"),
            StartError::Thread(_) => failure.hint("raise the limit of threads, or lower --workers"),
        }
    })?;
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || reports.into_iter().try_for_each(|report| sender.send(report)));
    Ok((Arc::new(proxy), receiver))
}
