//! A connection that is passed on as it is.

use std::sync::Arc;

use super::{L4Listener, choice};
use crate::buffers::InBuf;
use crate::connection::Connection;
use crate::reason::Reason;
use crate::stream::Stream;
use crate::telemetry::{Session, SessionRecord};
use crate::tunnel::{self, End};
use crate::upstream::UpstreamStream;

/// Serves a connection in clear to its end: of a listener that takes everything.
pub(crate) async fn serve(
    connection: Connection,
    mut stream: Stream,
    input: InBuf,
    listener: Arc<L4Listener>,
) {
    let client = connection.client.address;
    let mut record = SessionRecord::new(Session::Tcp, client, Arc::clone(&listener.listener));
    let worker = &connection.worker;
    record.reason = match choice::backend(&listener, None, worker, &mut record) {
        Ok(cluster) => {
            drop(listener); // a connection holds a configuration only while it looks at it
            match choice::connect(worker, &cluster, &connection.timer, &mut record).await {
                Ok(endpoint) => pass(&connection, &mut stream, input, endpoint, &mut record).await,
                Err(reason) => reason,
            }
        }
        Err(reason) => reason,
    };
    record.end(worker);
}

/// Passes everything both ways. Where one side's connection breaks the other's is reset, for an end that was none must
/// not look like one.
pub(super) async fn pass(
    connection: &Connection,
    stream: &mut Stream,
    input: InBuf,
    mut endpoint: UpstreamStream,
    record: &mut SessionRecord,
) -> Reason {
    let worker = &connection.worker;
    let from_endpoint = InBuf::new(&worker.buffers);
    let idle = worker.shared.options.limits.tcp_idle_timeout;
    let idle = Some((&connection.timer, idle));
    let (moved, end) = tunnel::run(stream, input, &mut endpoint, from_endpoint, idle).await;
    (record.received, record.sent) = (moved.received, moved.sent);
    match end {
        End::Closed => Reason::Ok,
        End::Idle => Reason::Idle,
        End::ClientBroke => {
            endpoint.reset();
            Reason::ClientClosed
        }
        End::EndpointBroke => {
            stream.reset();
            Reason::UpstreamReset
        }
    }
}
