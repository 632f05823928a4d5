//! The data plane of this process: how it starts, reopens its logs and ends.

mod options;

use std::sync::Arc;

use portcullis_proxy::{Drain, Inherited, Proxy, ProxyHandle, ProxyOptions, Report, StartError};
use tokio::sync::{mpsc, oneshot};

pub(crate) use options::DataPlaneOptions;

use crate::exit::Failure;
use crate::signals::Signals;

/// Starts the proxy, and a thread that hands on what it reports.
pub(crate) fn start(
    options: ProxyOptions,
    inherited: Inherited,
) -> Result<(Arc<ProxyHandle>, mpsc::UnboundedReceiver<Report>), Failure> {
    if !options.proxy_protocol_ports.is_empty() && options.trusted_proxies.is_empty() {
        tracing::warn!(
            "--proxy-protocol without --trusted-proxies: whoever reaches the port says which client they are; name \
             the load balancers' networks"
        );
    }
    let (proxy, reports) = Proxy::start(options, inherited).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            StartError::Admin(..) => failure.hint("choose another address with --admin, or --admin off"),
            StartError::AccessLog(..) => failure.hint("correct the path of --access-log"),
            StartError::Thread(_) => failure.hint("raise the limit of threads, or lower --workers"),
        }
    })?;
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || reports.into_iter().try_for_each(|report| sender.send(report)));
    Ok((Arc::new(proxy), receiver))
}

/// Resources need no signal; the access log does, when its file was moved away.
pub(crate) fn reload(proxy: &ProxyHandle) {
    match proxy.reopen_access_log() {
        Ok(true) => tracing::info!("the access log is reopened; resources are watched and need no reload"),
        Ok(false) => tracing::info!("resources are watched, and no access log is a file: nothing to reload"),
        Err(error) => {
            tracing::warn!(%error, "the access log cannot be reopened; lines still go to the file as it was open");
        }
    }
}

/// Drains; a second signal cuts it short.
pub(crate) async fn end(proxy: &Arc<ProxyHandle>, drain: Drain, signals: &mut Signals) {
    tokio::select! {
        clean = draining(proxy, drain) => tracing::info!(clean = clean.unwrap_or(false), "drained"),
        () = signals.end() => tracing::warn!("ended before all was drained"),
    }
}

/// Drains on a thread, which is no task of the runtime, whose end would wait for it; says whether nothing was cut.
fn draining(proxy: &Arc<ProxyHandle>, drain: Drain) -> oneshot::Receiver<bool> {
    tracing::info!(connections = proxy.open_connections(), "draining; a second signal ends at once");
    let (done, drained) = oneshot::channel();
    let proxy = Arc::clone(proxy);
    std::thread::spawn(move || done.send(proxy.drain(drain)));
    drained
}
