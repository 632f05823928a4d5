//! A worker's endpoint at a port: from datagrams to connections, until the port has gone and the last of them.

use std::cell::Cell;
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use tokio::sync::watch;

use super::connection_id::{Generator, Key};
use super::crypto::Crypto;
use super::socket::{Handover, Socket};
use crate::connection::http3;
use crate::limits::Limits;
use crate::listen::OpenPort;
use crate::reason::Reason;
use crate::worker::Worker;

/// The version of QUIC (RFC 9000 §15), without the drafts that came before it.
const VERSION_1: u32 = 1;

/// Streams of one direction that a client has open: three that HTTP/3 knows, and room for what it may become.
const UNIDIRECTIONAL: u32 = 8;

/// Where a worker serves QUIC.
pub(crate) struct Place {
    pub(crate) port: Arc<OpenPort>,
    pub(crate) socket: UdpSocket,
    pub(crate) key: Key,
    pub(crate) handover: Handover,
}

/// Handshakes of clients whose address is not known to be theirs.
#[derive(Default)]
struct Unproven(Cell<usize>);

/// One of them.
pub(crate) struct Handshake(Rc<Unproven>);

impl Unproven {
    fn begin(self: &Rc<Unproven>) -> Handshake {
        self.0.set(self.0.get() + 1);
        Handshake(Rc::clone(self))
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get().saturating_sub(1));
    }
}

/// Serves a port until `closing` says so, and then until its connections have ended; unless it says the contrary first.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    place: Place,
    mut closing: watch::Receiver<bool>,
) -> io::Result<()> {
    let port = Arc::clone(&place.port);
    let endpoint = open(&worker, place)?;
    let unproven = Rc::<Unproven>::default();
    loop {
        let incoming = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => None,
            incoming = endpoint.accept() => incoming,
        };
        match incoming {
            Some(incoming) => start(&worker, &port, &unproven, incoming),
            None if drain(&worker, &port, &unproven, &endpoint, &mut closing).await => {}
            None => return Ok(()),
        }
    }
}

/// Lets connections end, which see for themselves that they have to; a proxy that drains knows how long itself. True if
/// the port is served again.
async fn drain(
    worker: &Rc<Worker>,
    port: &Arc<OpenPort>,
    unproven: &Rc<Unproven>,
    endpoint: &Endpoint,
    closing: &mut watch::Receiver<bool>,
) -> bool {
    let limit = worker.shared.options.limits.revoked_client_time;
    let too_late = async {
        match worker.draining() {
            true => std::future::pending().await,
            false => tokio::time::sleep(limit).await,
        }
    };
    let accepting = async {
        while let Some(incoming) = endpoint.accept().await {
            start(worker, port, unproven, incoming);
        }
    };
    tokio::select! {
        () = endpoint.wait_idle() => false,
        () = too_late => false,
        () = accepting => false,
        Ok(_) = closing.wait_for(|closing| !*closing) => true,
    }
}

fn open(worker: &Rc<Worker>, place: Place) -> io::Result<Endpoint> {
    let index = u16::try_from(worker.index).map_err(io::Error::other)?;
    let Place { port, socket, key, handover } = place;
    let crypto = Crypto::new(&worker.shared, &worker.metrics, port.address).map_err(io::Error::other)?;
    let mut server = ServerConfig::with_crypto(Arc::new(crypto));
    server.transport_config(Arc::new(transport(&worker.shared.options.limits)));
    server.validation_token.sent(0); // a token of one worker would say nothing to the others
    let mut config = EndpointConfig::default();
    let issuing = key.clone();
    config.supported_versions(vec![VERSION_1]);
    config.cid_generator(move || Box::new(Generator::new(issuing.clone(), index)));
    let socket = Socket::new(socket, (index, key), handover, Arc::clone(&worker.metrics))?;
    Endpoint::new_with_abstract_socket(config, Some(server), Arc::new(socket), Arc::new(TokioRuntime))
}

fn transport(limits: &Limits) -> TransportConfig {
    let count = |count: usize| VarInt::from_u32(u32::try_from(count).unwrap_or(u32::MAX));
    let idle = Some(limits.idle_timeout).filter(|timeout| *timeout > Duration::ZERO);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(count(limits.h3_streams))
        .max_concurrent_uni_streams(UNIDIRECTIONAL.into())
        .stream_receive_window(count(limits.h3_window_bytes.0))
        .receive_window(count(limits.h3_connection_window_bytes.0))
        .send_window(limits.h3_send_bytes.0 as u64)
        .max_idle_timeout(idle.and_then(|timeout| IdleTimeout::try_from(timeout).ok()))
        .datagram_receive_buffer_size(None);
    transport
}

fn start(worker: &Rc<Worker>, port: &Arc<OpenPort>, unproven: &Rc<Unproven>, incoming: Incoming) {
    // The configuration is known before the command that follows from it.
    let serves = worker.config().port(&port.address).is_some_and(|served| served.quic);
    if worker.draining() || !serves {
        return incoming.refuse();
    }
    let limits = &worker.shared.options.limits;
    let is_proven = incoming.remote_address_validated();
    if !is_proven && unproven.0.get() >= limits.quic_handshakes && incoming.may_retry() {
        worker.metrics.quic_retries.add(1);
        // It fails for those that may not be asked, which this one may.
        let _ = incoming.retry();
        return;
    }
    let Some(slot) = port.admit(limits.connections_per_port) else {
        worker.metrics.refused(Reason::ConnectionLimit);
        return incoming.refuse();
    };
    let handshake = (!is_proven).then(|| unproven.begin());
    let (worker, address) = (Rc::clone(worker), port.address);
    tokio::task::spawn_local(async move {
        let _slot = slot;
        let _open = worker.open_connection();
        http3::serve(&worker, address, incoming, handshake).await;
    });
}
