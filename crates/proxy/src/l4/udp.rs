//! UDP listeners: each client's datagrams are a flow, with a socket of its own towards one endpoint.
//!
//! Every worker has a socket of the port's set; the kernel gives a client's datagrams to the same one. [`Flows`] is what
//! a worker knows of its clients, [`flow`] is one of them, and [`socket`] is where they come in and answers go out.

mod flow;
mod socket;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use tokio::sync::{Notify, watch};

use super::L4Listener;
use crate::listen::OpenPort;
use crate::reason::Reason;
use crate::worker::Worker;
use flow::Flow;
use socket::{Peer, Socket};

/// The largest datagram and a byte, in bytes: no answer is cut (RFC 768: a length of 16 bits).
const DATAGRAM: usize = 65_536;
/// Datagrams that are handled before others have their turn.
const BATCH: usize = 64;

/// The flows of one socket.
struct Flows {
    worker: Rc<Worker>,
    port: Arc<OpenPort>,
    socket: Socket,
    flows: RefCell<HashMap<Peer, Rc<Flow>, foldhash::fast::RandomState>>,
    /// Those that had no answer when they began, the oldest first; some have ended, or have one by now.
    unanswered: RefCell<VecDeque<(Peer, u64)>>,
    begun: Cell<u64>,
    /// Where datagrams are read to, between two waits.
    buffer: RefCell<Box<[u8]>>,
    /// Told when a flow has ended.
    ended: Notify,
}

/// Serves the datagrams of one socket until `closing` says so: at once where the port has gone, and where the proxy
/// drains until the flows have ended.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    socket: UdpSocket,
    port: Arc<OpenPort>,
    mut closing: watch::Receiver<bool>,
) -> io::Result<()> {
    let flows = Rc::new(Flows {
        worker,
        port,
        socket: Socket::new(socket)?,
        flows: RefCell::default(),
        unanswered: RefCell::default(),
        begun: Cell::new(0),
        buffer: RefCell::new(vec![0; DATAGRAM].into()),
        ended: Notify::new(),
    });
    loop {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            ready = flows.socket.readable() => ready?,
        }
        flows.receive();
        tokio::task::yield_now().await;
    }
    if flows.worker.draining() {
        flows.hurry();
        while !flows.flows.borrow().is_empty() {
            tokio::select! {
                biased;
                () = flows.ended.notified() => {}
                ready = flows.socket.readable() => { ready?; flows.receive(); tokio::task::yield_now().await; }
            }
        }
    }
    for flow in flows.flows.borrow().values() {
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
        if !self.make_room() {
            self.worker.metrics.refused(Reason::FlowLimit);
            return None;
        }
        let number = self.begun.replace(self.begun.get() + 1);
        let flow = Rc::new(Flow::new(&self.worker, number));
        self.flows.borrow_mut().insert(peer, Rc::clone(&flow));
        self.unanswered.borrow_mut().push_back((peer, number));
        tokio::task::spawn_local(flow::run(Rc::clone(self), peer, Rc::clone(&flow), listener));
        Some(flow)
    }

    /// Whether there is room for a flow. Where there was none, the oldest that had no answer yet makes it: a flood of
    /// forged addresses must not keep clients out whom nobody has answered so far, nor end those who were.
    fn make_room(&self) -> bool {
        let limit = self.worker.shared.options.limits.udp_flows;
        let mut unanswered = self.unanswered.borrow_mut();
        if unanswered.len() > limit.saturating_mul(2) {
            unanswered.retain(|(peer, number)| self.is_unanswered(peer, *number).is_some());
        }
        if self.flows.borrow().len() < limit {
            return true;
        }
        while let Some((peer, number)) = unanswered.pop_front() {
            if let Some(flow) = self.is_unanswered(&peer, number) {
                flow.end(Reason::FlowLimit);
                self.forget(&peer, &flow);
                return true;
            }
        }
        false
    }

    fn is_unanswered(&self, peer: &Peer, number: u64) -> Option<Rc<Flow>> {
        let flow = self.flows.borrow().get(peer).cloned()?;
        (flow.number == number && !flow.is_answered()).then_some(flow)
    }

    fn forget(&self, peer: &Peer, flow: &Flow) {
        let mut flows = self.flows.borrow_mut();
        if flows.get(peer).is_some_and(|known| known.number == flow.number) {
            flows.remove(peer);
            self.ended.notify_one();
        }
    }

    /// Lets flows end sooner, for the proxy drains.
    fn hurry(&self) {
        for flow in self.flows.borrow().values() {
            flow.touch(&self.worker);
        }
    }
}
