//! TLS connections that carry no requests: passed through, or ended here.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use portcullis_model::ListenerProtocol;
use tokio::net::TcpStream;

use super::client_hello::{ClientHello, ClientHelloReader};
use super::connection::pass;
use super::{L4Listener, choice};
use crate::buffers::InBuf;
use crate::connection::Connection;
use crate::reason::Reason;
use crate::stream::{Prefixed, Stream};
use crate::telemetry::{Session, SessionRecord};
use crate::timer::within;
use crate::tls;
use crate::view::Version;

/// Waits for the client's first message and reads the server name in it; nothing is taken from the input.
pub(crate) async fn server_name(
    connection: &Connection,
    stream: &mut TcpStream,
    input: &mut InBuf,
) -> Result<Option<String>, Reason> {
    let limit = connection.worker.shared.options.limits.client_hello_bytes.0;
    let mut reader = ClientHelloReader::default();
    loop {
        match reader.read(input.filled()) {
            Ok(ClientHello::Whole(name)) => return Ok(name),
            Ok(ClientHello::Part) if input.filled().len() < limit => {}
            _ => return Err(Reason::TlsHandshake),
        }
        match within(&connection.timer, poll_fn(|cx| input.poll_fill(cx, stream, limit))).await {
            Some(Ok(read)) if read > 0 => {}
            Some(_) => return Err(Reason::ClientClosed),
            None => return Err(Reason::ClientTimeout),
        }
    }
}

/// A connection that a listener below HTTP takes by its server name.
pub(crate) struct Named {
    pub(crate) listener: Arc<L4Listener>,
    pub(crate) server_name: Option<String>,
}

/// Serves a TLS connection to its end. Where nothing serves it, it is closed before a byte was written: the client gets
/// no alert, and a scan learns nothing.
pub(crate) async fn serve(
    connection: Connection,
    config: Rc<Version>,
    stream: TcpStream,
    input: InBuf,
    named: Named,
) {
    let Named { listener, server_name } = named;
    let client = connection.client.address;
    let mut record = SessionRecord::new(Session::Tls, client, Arc::clone(&listener.listener));
    let ended = forward(&connection, config, stream, input, &listener, server_name.as_deref(), &mut record);
    record.reason = Box::pin(ended).await.unwrap_or_else(|reason| reason);
    record.server_name = server_name;
    record.end(&connection.worker);
}

async fn forward(
    connection: &Connection,
    config: Rc<Version>,
    stream: TcpStream,
    mut input: InBuf,
    listener: &L4Listener,
    server_name: Option<&str>,
    record: &mut SessionRecord,
) -> Result<Reason, Reason> {
    let Connection { worker, timer, .. } = connection;
    let cluster = choice::backend(listener, server_name, worker, record)?;
    let mut stream = match listener.listener.protocol {
        ListenerProtocol::TlsPassthrough(_) => Stream::Clear(stream),
        _ => {
            let served = config.port(&connection.address).ok_or(Reason::NoListener)?;
            let accepting = Box::pin(tls::accept(served, Prefixed::new(input.take(), stream)));
            let established = within(timer, accepting).await.unwrap_or(Err(Reason::ClientTimeout))?;
            worker.metrics.tls_handshakes.add(1);
            Stream::Tls(established.stream)
        }
    };
    drop(config); // a connection holds a configuration only while it looks at it
    let endpoint = choice::connect(worker, &cluster, timer, record).await?;
    Ok(pass(connection, &mut stream, input, endpoint, record).await)
}
