//! HTTP/3 from clients: a task for the connection, and one for each request.
//!
//! Read in this order: [`handshake`] (who gets in), [`running`] (the connection to its end), [`stream`] (a request),
//! [`receive`] (frames as they come), [`section`] (field sections as heads and back, by [`qpack`]), [`downstream`] (the
//! client's side of an exchange), [`control`] (what concerns the connection).

mod control;
mod downstream;
mod frame;
mod handshake;
mod judged;
mod load;
mod qpack;
mod receive;
mod running;
mod section;
mod stream;

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;

use portcullis_model::BindAddress;
use portcullis_routing::Scheme;
use quinn::{Connection, Incoming};
use tokio::sync::Notify;

pub use self::judged::{Http3Part, http3_head, http3_parts, http3_trailers};

use self::control::Control;
use self::frame::Code;
use self::handshake::{Established, establish, refusal};
use self::load::Load;
use self::running::Running;
use super::resets::Resets;
use crate::exchange::Client;
use crate::quic::Handshake;
use crate::reason::Reason;
use crate::timer::{Timer, within};
use crate::tls::Admission;
use crate::worker::Worker;

/// What the streams of a connection share.
struct Shared {
    worker: Rc<Worker>,
    quic: Connection,
    address: BindAddress,
    /// By the address that the client has now.
    client: RefCell<Rc<Client>>,
    streams: Cell<usize>,
    /// Told when a stream has ended.
    changed: Notify,
    resets: RefCell<Resets>,
    load: Rc<Load>,
    /// The types of streams that a client opens once, as bits.
    opened: Cell<u8>,
}

impl Shared {
    /// Ends the connection for what the client did.
    fn fail(&self, code: Code) {
        if self.quic.close_reason().is_none() {
            self.worker.metrics.refused(Reason::Http3Protocol);
            self.quic.close(code.into(), b"");
        }
    }

    /// Whether the client opens its first stream of a type.
    fn opens(&self, of: u64) -> bool {
        let (opened, bit) = (self.opened.get(), 1 << of);
        self.opened.set(opened | bit);
        opened & bit == 0
    }

    /// The client, at the address that it has now.
    fn client(&self) -> Rc<Client> {
        let (address, mut client) = (self.quic.remote_address(), self.client.borrow_mut());
        if client.address != address {
            *client = Rc::new(client.at(address, self.worker.shared.options.trusts(address.ip())));
        }
        Rc::clone(&client)
    }
}

/// Serves a connection to its end. `handshake` is counted while the client's address may not be its own.
pub(crate) async fn serve(
    worker: &Rc<Worker>,
    address: BindAddress,
    incoming: Incoming,
    handshake: Option<Handshake>,
) {
    let timer = worker.timer();
    timer.set(worker.shared.options.limits.head_timeout);
    let established = match incoming.accept() {
        Ok(connecting) => {
            within(&timer, establish(connecting)).await.unwrap_or(Err(Some(Reason::ClientTimeout)))
        }
        Err(error) => Err(refusal(&error)),
    };
    drop(handshake);
    match established {
        Ok((quic, chosen, admission)) => {
            worker.metrics.tls_handshakes.add(1);
            run(worker, address, timer, (quic, chosen, admission)).await;
        }
        Err(reason) => {
            let _ = reason.inspect(|reason| worker.metrics.refused(*reason));
        }
    }
}

async fn run(
    worker: &Rc<Worker>,
    address: BindAddress,
    timer: Timer,
    (quic, chosen, admission): Established,
) {
    let limits = &worker.shared.options.limits;
    let Ok(control) = quic.open_uni().await else { return };
    let peer = quic.remote_address();
    let mut client = Client::new(peer, worker.shared.options.trusts(peer.ip()));
    client.scheme = Scheme::Https;
    client.tls_listener = Some(chosen.listener);
    client.admission = admission.clone();
    let shared = Rc::new(Shared {
        worker: Rc::clone(worker),
        quic,
        address,
        client: RefCell::new(Rc::new(client)),
        streams: Cell::new(0),
        changed: Notify::new(),
        resets: RefCell::new(Resets::new(limits.h3_resets)),
        load: Rc::new(Load::new(limits.h3_control_frames)),
        opened: Cell::new(0),
    });
    let control = Control::new(control, limits);
    let mut running = Running::new(Rc::clone(&shared), control, timer, &chosen.tls);
    drop(chosen.tls); // a connection holds a configuration only while it looks at it
    tokio::select! {
        biased; // the connection looks at once at what has been found out
        () = revoked(admission.as_deref(), worker, &address) => {}
        () = running.serve() => {}
    }
    shared.quic.close(Code::NoError.into(), b"");
}

async fn revoked(admission: Option<&Admission>, worker: &Worker, address: &BindAddress) {
    match admission {
        Some(admission) => admission.revoked(worker, address).await,
        None => pending().await,
    }
}
