//! UDP listeners: each client's datagrams are a flow, with a socket of its own towards one endpoint.
//!
//! Every worker has a socket of the port's set; the kernel gives a client's datagrams to the same one. [`Flows`] is what
//! a worker knows of its clients, as many as its [`table`] takes; [`flow`] is one of them, and [`socket`] is where they
//! come in and answers go out.

mod flow;
mod socket;
mod table;

use std::cell::RefCell;
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::L4Listener;
use crate::listen::OpenPort;
use crate::reason::Reason;
use crate::worker::Worker;
use flow::Flow;
use socket::{Peer, Socket};

pub use table::{Begun, FlowTable, FlowsFull};

/// The largest datagram and a byte, in bytes: no answer is cut (RFC 768: a length of 16 bits).
const DATAGRAM: usize = 65_536;
/// Datagrams that are handled before others have their turn.
const BATCH: usize = 64;

/// The flows of one socket.
struct Flows {
    worker: Rc<Worker>,
    port: Arc<OpenPort>,
    socket: Socket,
    flows: RefCell<FlowTable<Peer, Rc<Flow>>>,
    /// Where datagrams are read to, between two waits.
    buffer: RefCell<Box<[u8]>>,
    /// Told when a flow has ended.
    ended: Notify,
}

/// Serves the datagrams of one socket until `closing` says so: at once where the port has gone, and where the proxy
/// drains until the flows have ended. What comes after a successor has taken over is the successor's.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    socket: UdpSocket,
    port: Arc<OpenPort>,
    mut closing: watch::Receiver<bool>,
) -> io::Result<()> {
    let limit = worker.shared.options.limits.udp_flows;
    let flows = Rc::new(Flows {
        worker,
        port,
        socket: Socket::new(socket)?,
        flows: RefCell::new(FlowTable::new(limit)),
        buffer: RefCell::new(vec![0; DATAGRAM].into()),
        ended: Notify::new(),
    });
    let mut left = flows.worker.shared.left();
    loop {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            _ = left.wait_for(|left| *left) => break,
            ready = flows.socket.readable() => ready?,
        }
        flows.receive();
        tokio::task::yield_now().await;
    }
    let left = *left.borrow();
    if left {
        let _ = closing.wait_for(|closing| *closing).await; // only the flows that are there go on
    }
    if flows.worker.draining() {
        flows.hurry();
        while !flows.flows.borrow().is_empty() {
            tokio::select! {
                biased;
                () = flows.ended.notified() => {}
                ready = flows.socket.readable(), if !left => {
                    ready?;
                    flows.receive();
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    for flow in flows.flows.borrow().iter() {
        flow.end(Reason::Shutdown);
    }
    Ok(())
}

impl Flows {
    fn receive(self: &Rc<Flows>) {
        for _ in 0..BATCH {
            let mut buffer = self.buffer.borrow_mut();
            let Ok((length, peer)) = self.socket.try_receive(&mut buffer) else { return };
            self.take(peer, buffer.get(..length).unwrap_or_default());
        }
    }

    fn take(self: &Rc<Flows>, peer: Peer, datagram: &[u8]) {
        let known = self.flows.borrow().get(&peer).cloned();
        if let Some(flow) = known {
            if self.still_serves(&flow) && flow.forward(self, datagram) {
                return;
            }
            self.forget(&peer, &flow);
        }
        if self.worker.draining() {
            return;
        }
        if let Some(flow) = self.begin(peer) {
            flow.forward(self, datagram);
        }
    }

    /// Whether a flow leads where the newest configuration would let it; one that does not ends.
    fn still_serves(&self, flow: &Flow) -> bool {
        let generation = self.worker.shared.generation();
        if flow.generation.replace(generation) == generation {
            return true;
        }
        let serves = self.listener().is_some_and(|listener| flow.is_led_by(&listener));
        if !serves {
            flow.end(Reason::Rerouted);
        }
        serves
    }

    fn listener(&self) -> Option<Arc<L4Listener>> {
        let config = self.worker.config();
        config.port(&self.port.address)?.l4.everything().cloned()
    }

    fn begin(self: &Rc<Flows>, peer: Peer) -> Option<Rc<Flow>> {
        let listener = self.listener()?;
        let make = || Rc::new(Flow::new(&self.worker));
        let begun = self.flows.borrow_mut().begin(peer, make, |flow| flow.is_answered());
        let Ok(begun) = begun else {
            self.worker.metrics.refused(Reason::FlowLimit);
            return None;
        };
        if let Some(displaced) = begun.displaced {
            displaced.end(Reason::FlowLimit);
        }
        tokio::task::spawn_local(flow::run(Rc::clone(self), peer, Rc::clone(&begun.flow), listener));
        Some(begun.flow)
    }

    fn forget(&self, peer: &Peer, flow: &Rc<Flow>) {
        if self.flows.borrow_mut().end(peer, |known| Rc::ptr_eq(known, flow)) {
            self.ended.notify_one();
        }
    }

    /// Lets flows end sooner, for the proxy drains.
    fn hurry(&self) {
        for flow in self.flows.borrow().iter() {
            flow.touch(&self.worker);
        }
    }
}
