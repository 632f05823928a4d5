//! The socket of a worker's endpoint, which hands over to the others what is theirs.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use tokio::sync::mpsc;

use super::connection_id::Key;
use crate::telemetry::WorkerMetrics;

/// Datagrams that wait for a worker to take them from the others; more are lost, as they are where a socket is full.
const WAITING: usize = 1024;

/// A datagram on its way to the worker that has its connection.
struct Handed {
    meta: RecvMeta,
    bytes: Box<[u8]>,
}

/// The way to each worker of a port.
#[derive(Clone)]
pub(crate) struct Handover(Arc<[Mutex<Option<mpsc::Sender<Handed>>>]>);

impl Handover {
    /// Between as many workers, none of which takes anything yet.
    pub(crate) fn between(workers: usize) -> Handover {
        Handover((0..workers).map(|_| Mutex::default()).collect())
    }

    /// Where a worker takes what is its own, from now on.
    fn take(&self, worker: u16) -> mpsc::Receiver<Handed> {
        let (to, from) = mpsc::channel(WAITING);
        if let Some(place) = self.0.get(usize::from(worker)) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
        }
        from
    }

    /// Hands a datagram over; false if it is lost.
    fn hand(&self, worker: u16, meta: &RecvMeta, datagram: &[u8]) -> bool {
        let Some(place) = self.0.get(usize::from(worker)) else { return false };
        let meta = RecvMeta { len: datagram.len(), stride: datagram.len(), ..*meta };
        let handed = Handed { meta, bytes: datagram.into() };
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().is_some_and(|to| to.try_send(handed).is_ok())
    }
}

/// A worker's socket.
pub(super) struct Socket {
    inner: Arc<dyn AsyncUdpSocket>,
    worker: u16,
    key: Key,
    handover: Handover,
    /// Locked by this worker alone.
    handed: Mutex<mpsc::Receiver<Handed>>,
    metrics: Arc<WorkerMetrics>,
}

impl Socket {
    pub(super) fn new(
        socket: std::net::UdpSocket,
        (worker, key): (u16, Key),
        handover: Handover,
        metrics: Arc<WorkerMetrics>,
    ) -> io::Result<Socket> {
        let inner = TokioRuntime.wrap_udp_socket(socket)?;
        let handed = handover.take(worker);
        Ok(Socket { inner, worker, key, handover, handed: Mutex::new(handed), metrics })
    }

    /// Takes what others have left here.
    fn take(&self, cx: &mut Context<'_>, bufs: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> usize {
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = 0;
        for (buf, meta) in bufs.iter_mut().zip(meta) {
            let Poll::Ready(Some(datagram)) = handed.poll_recv(cx) else { break };
            *meta = datagram.meta;
            match buf.get_mut(..datagram.bytes.len()) {
                Some(buf) => buf.copy_from_slice(&datagram.bytes),
                None => meta.len = 0,
            }
            taken += 1;
        }
        taken
    }

    /// Hands over what is not this worker's, and leaves the rest. One buffer may hold several datagrams of a client.
    fn sort(&self, buf: &mut [u8], meta: &mut RecvMeta) {
        let (whole, mut kept, mut at) = (meta.len, 0, 0);
        while at < whole {
            let end = whole.min(at.saturating_add(meta.stride.max(1)));
            let datagram = buf.get(at..end).unwrap_or_default();
            match self.key.worker(datagram).filter(|worker| *worker != self.worker) {
                Some(worker) if self.handover.hand(worker, meta, datagram) => {
                    self.metrics.quic_handed_over.add(1);
                }
                Some(_) => self.metrics.datagrams_dropped.add(1),
                None => {
                    if kept != at {
                        buf.copy_within(at..end, kept);
                    }
                    kept += end - at;
                }
            }
            at = end;
        }
        meta.len = kept;
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let taken = self.take(cx, bufs, meta);
        if taken > 0 {
            return Poll::Ready(Ok(taken));
        }
        let received = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        for (buf, meta) in bufs.iter_mut().zip(meta).take(received) {
            self.sort(buf, meta);
        }
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
