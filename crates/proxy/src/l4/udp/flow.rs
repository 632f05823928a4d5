//! One client's datagrams and their answers.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::sync::Notify;

use super::socket::Peer;
use super::{BATCH, Flows};
use crate::l4::{L4Listener, choice};
use crate::reason::Reason;
use crate::telemetry::{Session, SessionRecord};
use crate::timer::Timer;
use crate::upstream::Cluster;
use crate::worker::Worker;

/// Datagrams that wait while an endpoint's name is resolved, and their bytes together.
const WAITING: (usize, usize) = (16, 256 * 1024);

pub(super) struct Flow {
    /// The configuration that it was last found to agree with.
    pub(super) generation: Cell<u64>,
    timer: Timer,
    state: RefCell<State>,
    received: Cell<u64>,
    sent: Cell<u64>,
    answered: Cell<bool>,
    end: Cell<Option<Reason>>,
    ended: Notify,
}

/// Where the datagrams go.
enum State {
    /// The endpoint is not there yet.
    Waiting(Vec<Vec<u8>>),
    Open {
        socket: Rc<UdpSocket>,
        cluster: Arc<Cluster>,
        target: u64,
    },
    /// Nowhere: that is the flow's share.
    Dropped,
}

impl Flow {
    pub(super) fn new(worker: &Rc<Worker>) -> Flow {
        let flow = Flow {
            generation: Cell::new(worker.shared.generation()),
            timer: worker.timer(),
            state: RefCell::new(State::Waiting(Vec::new())),
            received: Cell::new(0),
            sent: Cell::new(0),
            answered: Cell::new(false),
            end: Cell::new(None),
            ended: Notify::new(),
        };
        flow.touch(worker);
        flow
    }

    pub(super) fn is_answered(&self) -> bool {
        self.answered.get()
    }

    /// Ends the flow, for this reason.
    pub(super) fn end(&self, reason: Reason) {
        self.end.set(self.end.get().or(Some(reason)));
        self.ended.notify_one();
    }

    /// Whether the route that serves now would lead it where it leads.
    pub(super) fn is_led_by(&self, listener: &L4Listener) -> bool {
        match &*self.state.borrow() {
            State::Waiting(_) => true,
            State::Dropped => false,
            State::Open { cluster, target, .. } => {
                let route = listener.route(None);
                route.is_some_and(|entry| entry.compiled.leads_to(cluster)) && cluster.knows(*target)
            }
        }
    }

    /// Somebody said something: the flow lasts for another while.
    pub(super) fn touch(&self, worker: &Worker) {
        let limits = &worker.shared.options.limits;
        let idle = limits.udp_idle_timeout;
        self.timer.set(if worker.draining() { idle.min(limits.drain_idle_timeout) } else { idle });
    }

    /// Passes a datagram of the client on, or keeps it until it can be; false if the endpoint has gone.
    pub(super) fn forward(&self, flows: &Flows, datagram: &[u8]) -> bool {
        self.touch(&flows.worker);
        self.received.set(self.received.get() + datagram.len() as u64);
        let lost = match &mut *self.state.borrow_mut() {
            State::Waiting(kept) => {
                let (count, bytes) = WAITING;
                let room = kept.len() < count && kept.iter().map(Vec::len).sum::<usize>() < bytes;
                if room {
                    kept.push(datagram.to_vec());
                }
                !room
            }
            State::Open { socket, .. } => match socket.try_send(datagram) {
                // What the endpoint's machine said to an earlier one.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.end(Reason::ConnectRefused);
                    return false;
                }
                sent => sent.is_err(),
            },
            State::Dropped => true,
        };
        if lost {
            flows.worker.metrics.datagrams_dropped.add(1);
        }
        true
    }

    /// Leads to an endpoint from now on; what has waited goes first.
    fn open(&self, flows: &Flows, socket: &Rc<UdpSocket>, cluster: Arc<Cluster>, target: u64) {
        let open = State::Open { socket: Rc::clone(socket), cluster, target };
        let State::Waiting(waited) = self.state.replace(open) else { return };
        let lost = waited.iter().filter(|datagram| socket.try_send(datagram).is_err()).count();
        flows.worker.metrics.datagrams_dropped.add(lost as u64);
    }
}

/// Serves a flow to its end.
pub(super) async fn run(flows: Rc<Flows>, peer: Peer, flow: Rc<Flow>, listener: Arc<L4Listener>) {
    let worker = &flows.worker;
    let _open = worker.open_connection();
    let mut record = SessionRecord::new(Session::Udp, peer.client, Arc::clone(&listener.listener));
    let served = serve(&flows, peer, &flow, listener, &mut record);
    let reason = tokio::select! {
        biased;
        () = flow.ended.notified() => Reason::Shutdown,
        reason = served => reason,
        () = poll_fn(|cx| flow.timer.poll_expired(cx)) => Reason::Idle,
    };
    // A flow knows no other end than silence; what was answered has gone well.
    record.reason = match flow.end.get().unwrap_or(reason) {
        Reason::Idle if flow.is_answered() => Reason::Ok,
        reason => reason,
    };
    if let Some(endpoint) = &record.endpoint {
        match record.reason {
            Reason::Ok => endpoint.target.health.succeeded(),
            Reason::ConnectRefused => endpoint.target.health.failed(),
            _ => {}
        }
    }
    flows.forget(&peer, &flow);
    (record.received, record.sent) = (flow.received.get(), flow.sent.get());
    record.end(worker);
}

async fn serve(
    flows: &Flows,
    peer: Peer,
    flow: &Flow,
    listener: Arc<L4Listener>,
    record: &mut SessionRecord,
) -> Reason {
    let worker = &flows.worker;
    let cluster = choice::backend(&listener, None, worker, record);
    drop(listener); // a flow holds a configuration only while it looks at it
    let opened = match cluster {
        Ok(cluster) => choice::datagrams(worker, &cluster, record).await.map(|opened| (opened, cluster)),
        Err(reason) => Err(reason),
    };
    match opened {
        Ok(((socket, target), cluster)) => {
            let socket = Rc::new(socket);
            // Only now does the runtime know that the new socket has room.
            if socket.writable().await.is_err() {
                return Reason::UpstreamReset;
            }
            flow.open(flows, &socket, cluster, target);
            answers(flows, peer, flow, &socket).await
        }
        Err(reason) => {
            // Its share is dropped to its end, or another try would be another share.
            if let State::Waiting(waited) = flow.state.replace(State::Dropped) {
                worker.metrics.datagrams_dropped.add(waited.len() as u64);
            }
            poll_fn(|cx| flow.timer.poll_expired(cx)).await;
            reason
        }
    }
}

/// Passes answers on until the endpoint is gone.
async fn answers(flows: &Flows, peer: Peer, flow: &Flow, socket: &UdpSocket) -> Reason {
    loop {
        if socket.readable().await.is_err() {
            return Reason::UpstreamReset;
        }
        for _ in 0..BATCH {
            match answer(flows, peer, flow, socket) {
                Ok(None) => {}
                Ok(Some(waits)) if flows.socket.send(&waits, peer).await.is_ok() => {}
                Ok(Some(_)) => flows.worker.metrics.datagrams_dropped.add(1),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return Reason::ConnectRefused;
                }
                Err(_) => return Reason::UpstreamReset,
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Passes an answer on; one for which there is no room comes back.
fn answer(flows: &Flows, peer: Peer, flow: &Flow, socket: &UdpSocket) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = flows.buffer.borrow_mut();
    let length = socket.try_recv(&mut buffer)?;
    flow.touch(&flows.worker);
    flow.answered.set(true);
    flow.sent.set(flow.sent.get() + length as u64);
    let datagram = buffer.get(..length).unwrap_or_default();
    match flows.socket.try_send(datagram, peer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Some(datagram.to_vec())),
        Err(_) => {
            flows.worker.metrics.datagrams_dropped.add(1);
            Ok(None)
        }
        Ok(()) => Ok(None),
    }
}
