//! Which route takes a connection, and to which backend it goes.

use std::rc::Rc;
use std::sync::Arc;

use super::L4Listener;
use tokio::net::UdpSocket;

use crate::reason::Reason;
use crate::tables::rule::CompiledTarget;
use crate::telemetry::SessionRecord;
use crate::timer::Timer;
use crate::upstream::{Cluster, UpstreamStream};
use crate::worker::Worker;

/// The backend whose turn it is among those of the route that takes a server name; noted in the record.
pub(crate) fn backend(
    listener: &L4Listener,
    server_name: Option<&str>,
    worker: &Worker,
    record: &mut SessionRecord,
) -> Result<Arc<Cluster>, Reason> {
    let entry = listener.route(server_name).ok_or(Reason::NoRule)?;
    record.route = Some(Arc::clone(&entry.route));
    let backend = entry.compiled.next(worker.index);
    let unserved = if entry.route.backends.is_empty() { Reason::NoBackends } else { Reason::ZeroWeight };
    match &backend.ok_or(unserved)?.target {
        CompiledTarget::Cluster(cluster) => Ok(Arc::clone(cluster)),
        CompiledTarget::Fail(refusal) => Err(refusal.reason),
    }
}

/// A socket for datagrams to an endpoint of the backend, and the endpoint's number.
pub(crate) async fn datagrams(
    worker: &Worker,
    cluster: &Cluster,
    record: &mut SessionRecord,
) -> Result<(UdpSocket, u64), Reason> {
    let taken = worker.pools.take(cluster).map_err(|error| error.reason)?;
    let endpoint = taken.endpoint().ok_or(Reason::NoEndpoint)?;
    record.endpoint = Some(Rc::clone(endpoint));
    record.attempts = 1;
    let (timer, timeout) = (worker.timer(), worker.shared.options.limits.connect_timeout);
    let socket = worker.pools.datagrams(endpoint, &timer, timeout).await.map_err(|error| {
        endpoint.target.health.note_failure(&error);
        error.reason
    })?;
    Ok((socket, endpoint.target.id))
}

/// A connection to an endpoint of the backend. One that cannot be had lets one more endpoint be tried, as for requests.
pub(crate) async fn connect(
    worker: &Worker,
    cluster: &Cluster,
    timer: &Timer,
    record: &mut SessionRecord,
) -> Result<UpstreamStream, Reason> {
    let mut taken = worker.pools.take(cluster).map_err(|error| error.reason)?;
    let timeout = worker.shared.options.limits.connect_timeout;
    let mut failed = Reason::NoEndpoint;
    for _ in 0..taken.endpoints().min(2) {
        let Some(endpoint) = taken.endpoint() else { break };
        record.endpoint = Some(Rc::clone(endpoint));
        record.attempts += 1;
        worker.metrics.upstream_connects.add(1);
        match worker.pools.dial(endpoint, timer, timeout).await {
            Ok(stream) => {
                endpoint.target.health.succeeded();
                return Ok(stream);
            }
            Err(error) => {
                endpoint.target.health.note_failure(&error);
                failed = error.reason;
            }
        }
        worker.metrics.upstream_connect_failures.add(1);
        taken.next(true);
    }
    Err(failed)
}
