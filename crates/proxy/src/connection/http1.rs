//! HTTP/1 from clients: one request after the other, driven in the connection's one task.

mod downstream;
mod head;

use std::future::poll_fn;
use std::time::Duration;

use portcullis_http1::{Framing, HeadLimits, RequestHead, RequestParser, ResponseHead, Version};

use self::downstream::Http1;
use self::head::Next;
use super::{Connection, http2, linger};
use crate::buffers::InBuf;
use crate::error::{ProxyError, Stage};
use crate::exchange::{Downstream, Ended, Surroundings, run};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::stream::Stream;
use crate::telemetry::{Record, http_date};
use crate::timer::within;
use crate::tunnel;
use crate::upstream::UpstreamStream;

/// What stands for no idle timeout: the connection still has to be woken when the proxy drains.
pub(super) const LONG: Duration = Duration::from_secs(100 * 24 * 3600);

/// Serves a connection to its end. With `or_http2` it may turn out to be one of HTTP/2.
pub(super) async fn serve(connection: Connection, stream: Stream, input: InBuf, or_http2: bool) {
    let mut http1 = Http1::new(&connection, stream, input);
    let mut first = true;
    loop {
        let mut scratch = match head::next(&connection, &mut http1, first, or_http2 && first).await {
            Next::Request(scratch) => scratch,
            Next::Http2(prefix) => {
                return Box::pin(http2::serve(connection, http1.into_stream(), prefix)).await;
            }
            Next::Refused(refused) => {
                refuse(&connection, &mut http1, refused).await;
                return linger::close(http1.into_stream(), &connection).await;
            }
            Next::End => return,
        };
        first = false;
        let mut record = Record::new(connection.client.address, scratch.request.version());
        http1.start(&scratch.request);
        let ended = exchange(&connection, &mut http1, &mut scratch, &mut record).await;
        record.count(&connection.worker.metrics);
        connection.worker.scratches.give_back(scratch);
        if let Ok(Ended::Switched(endpoint, more)) = ended {
            return Box::pin(switch(&connection, http1, endpoint, more, record)).await;
        }
        log(&connection, &record);
        match ended {
            _ if http1.persists() => {}
            _ if http1.ended() => return linger::close(http1.into_stream(), &connection).await,
            _ => return http1.cut(),
        }
    }
}

async fn exchange(
    connection: &Connection,
    http1: &mut Http1,
    scratch: &mut Scratch,
    record: &mut Record,
) -> Result<Ended, ProxyError> {
    let Connection { worker, client, address, timer } = connection;
    let config = worker.config();
    let served = config.port(address);
    if served.is_none() || client.is_leaving() {
        http1.close(); // the port is gone, or what let the client in: nothing more will be served here
    }
    let around = Surroundings { worker, timer, client, served };
    run(&around, scratch, http1, record).await
}

fn log(connection: &Connection, record: &Record) {
    if let Some(log) = &connection.worker.shared.access_log {
        log.write(record);
    }
}

/// Answers what is no request, after which the connection cannot be in step.
async fn refuse(connection: &Connection, http1: &mut Http1, refused: head::Refused) {
    let mut record = Record::new(connection.client.address, Version::Http11);
    (record.status, record.reason) = (refused.status, refused.reason);
    http1.start(&RequestHead::new());
    http1.close();
    let mut response = ResponseHead::new();
    response.start(Version::Http11, refused.status);
    response.fields.push(b"date", http_date().as_bytes());
    let begun = http1.begin(&response, Framing::Length(0), false);
    if begun.and_then(|()| http1.end(None)).is_ok() {
        connection.timer.set(connection.worker.shared.options.limits.body_timeout);
        // A client that has gone needs no answer.
        let _ = within(&connection.timer, poll_fn(|cx| http1.poll_flush(cx))).await;
    }
    record.count(&connection.worker.metrics);
    log(connection, &record);
}

/// Serves a tunnel to its end; its log line comes then, with what went through it.
async fn switch(
    connection: &Connection,
    http1: Http1,
    mut endpoint: UpstreamStream,
    more: InBuf,
    mut record: Record,
) {
    connection.timer.clear();
    let (mut stream, input) = http1.into_parts();
    let metrics = &connection.worker.metrics;
    (record.received, record.sent) = tunnel::upgraded(metrics, &mut stream, input, &mut endpoint, more).await;
    log(connection, &record);
}

/// A parser of requests by the worker's limits.
fn parser(connection: &Connection) -> RequestParser {
    let limits = &connection.worker.shared.options.limits;
    RequestParser::new(HeadLimits { block: limits.head_bytes.0, fields: limits.head_fields })
}

fn gone(stage: Stage) -> ProxyError {
    ProxyError::downstream(stage, Reason::ClientClosed)
}
