//! A worker's view of the backends: whose turn it is, and which connections wait for a request.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_model::UpstreamProtocol;
use tokio::net::UdpSocket;

use super::cluster::{Cluster, Target};
use super::connect::{self, Forbidden};
use super::connection::{Upstream, UpstreamStream};
use super::dns::Dns;
use super::health::Health;
use super::http2::{ForTunnel, Links, Opener, Place, Settings, Turn};
use super::taken::Taken;
use crate::clock::Clock;
use crate::error::ProxyError;
use crate::limits::Limits;
use crate::reason::Reason;
use crate::timer::{Timer, within};

type Map<V> = hashbrown::HashMap<u64, V, foldhash::fast::RandomState>;

/// How long a worker remembers a backend that nobody asks for.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The backends that a worker has spoken to.
pub(crate) struct Pools {
    clusters: RefCell<Map<Rc<LocalCluster>>>,
    endpoints: RefCell<Map<Weak<LocalTarget>>>,
    dns: Dns,
    forbidden: Forbidden,
    clock: Clock,
    idle_timeout: Duration,
    max_idle: usize,
    max_requests: usize,
    http2: Settings,
}

/// A backend as one worker sees it.
pub(super) struct LocalCluster {
    version: Cell<u64>,
    targets: RefCell<Rc<[Rc<LocalTarget>]>>,
    turn: Cell<usize>,
    pub(super) requests: Cell<usize>,
    used: Cell<Instant>,
}

/// An endpoint as one worker sees it.
pub(crate) struct LocalTarget {
    pub(crate) target: Arc<Target>,
    idle: RefCell<Vec<Idle>>,
    links: Links,
    /// Over TLS it chose HTTP/1 last: its connections are not shared, so that none has to wait for another.
    chooses_http1: Cell<bool>,
}

/// What a request needs of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Either version.
    Any,
    /// HTTP/1, which alone has upgrades to whatever protocol.
    Upgrade,
    /// The same; or over HTTP/2 a stream that becomes a tunnel, as it can for this one (RFC 8441).
    WebSocket,
}

/// A connection for a request.
pub(crate) enum Connected {
    Http1(Upstream),
    Http2(Place),
}

struct Idle {
    stream: UpstreamStream,
    since: Instant,
}

impl AsRef<Health> for LocalTarget {
    fn as_ref(&self) -> &Health {
        &self.target.health
    }
}

impl LocalTarget {
    fn new(target: Arc<Target>) -> LocalTarget {
        LocalTarget {
            target,
            idle: RefCell::default(),
            links: Links::default(),
            chooses_http1: Cell::new(false),
        }
    }

    /// Whether requests may share a connection.
    fn shares(&self, wish: Wish) -> bool {
        match self.target.protocol {
            UpstreamProtocol::Http1 => self.target.is_secure() && wish == Wish::Any,
            UpstreamProtocol::Http2 => true,
            UpstreamProtocol::Tcp | UpstreamProtocol::Tls | UpstreamProtocol::Udp => false,
        }
    }

    /// Whether it is to be a stream that becomes a tunnel: the endpoint speaks nothing but HTTP/2.
    fn is_tunneled(&self, wish: Wish) -> bool {
        wish == Wish::WebSocket && self.target.protocol == UpstreamProtocol::Http2
    }

    /// Whose turn it is to open a connection.
    fn turn(&self) -> Turn<'_> {
        if self.chooses_http1.get() { Turn::Open(Opener::alone()) } else { self.links.turn() }
    }

    /// Whether no connection is kept.
    fn is_unused(&self) -> bool {
        self.idle.borrow().is_empty() && self.links.is_empty()
    }
}

impl Pools {
    pub(crate) fn new(limits: &Limits, forbidden: Forbidden, clock: &Clock) -> Pools {
        Pools {
            clusters: RefCell::default(),
            endpoints: RefCell::default(),
            dns: Dns::default(),
            forbidden,
            clock: clock.clone(),
            idle_timeout: limits.upstream_idle_timeout,
            max_idle: limits.upstream_idle_connections,
            max_requests: limits.upstream_requests,
            http2: Settings::new(limits),
        }
    }

    /// Takes a request's place at a backend.
    pub(crate) fn take(&self, cluster: &Cluster) -> Result<Taken, ProxyError> {
        let local = self.cluster(cluster);
        if local.requests.get() >= self.max_requests {
            return Err(connect::failed(Reason::UpstreamOverflow));
        }
        let targets = Rc::clone(&local.targets.borrow());
        let turn = local.turn.replace(local.turn.get().wrapping_add(1));
        Taken::new(local, targets, turn, &self.clock).ok_or(connect::failed(Reason::NoEndpoint))
    }

    /// Takes note of endpoints that came or went since a request took its place.
    pub(crate) fn refresh(&self, cluster: &Cluster, taken: &mut Taken) {
        taken.refresh(&self.cluster(cluster).targets.borrow());
    }

    /// Takes note of endpoints that came or went, without waiting for a request: connections that wait at those which
    /// take no more are closed, and those in use go on.
    pub(crate) fn refresh_all(&self, clusters: &[Arc<Cluster>]) {
        for cluster in clusters {
            if let Some(local) = self.clusters.borrow().get(&cluster.id) {
                self.update(local, cluster);
            }
        }
    }

    fn cluster(&self, cluster: &Cluster) -> Rc<LocalCluster> {
        let mut clusters = self.clusters.borrow_mut();
        let local = clusters.entry(cluster.id).or_insert_with(|| {
            Rc::new(LocalCluster {
                version: Cell::new(u64::MAX),
                targets: RefCell::new(Rc::default()),
                turn: Cell::new(0),
                requests: Cell::new(0),
                used: Cell::new(Instant::now()),
            })
        });
        if self.update(local, cluster) {
            local.used.set(Instant::now());
        }
        Rc::clone(local)
    }

    /// Whether the endpoints are others than before.
    fn update(&self, local: &LocalCluster, cluster: &Cluster) -> bool {
        let version = cluster.version();
        let is_new = local.version.replace(version) != version;
        if is_new {
            let targets = cluster.targets();
            *local.targets.borrow_mut() = targets.used.iter().map(|target| self.endpoint(target)).collect();
        }
        is_new
    }

    fn endpoint(&self, target: &Arc<Target>) -> Rc<LocalTarget> {
        let mut endpoints = self.endpoints.borrow_mut();
        let slot = endpoints.entry(target.id).or_default();
        slot.upgrade().unwrap_or_else(|| {
            let local = Rc::new(LocalTarget::new(Arc::clone(target)));
            *slot = Rc::downgrade(&local);
            local
        })
    }

    /// A connection that is open already.
    pub(crate) fn reuse(&self, endpoint: &LocalTarget, wish: Wish) -> Option<Connected> {
        if endpoint.is_tunneled(wish) {
            return match endpoint.links.tunnel() {
                ForTunnel::Place(place) => Some(Connected::Http2(place)),
                ForTunnel::Refused | ForTunnel::Unknown => None,
            };
        }
        let shared = if endpoint.shares(wish) { endpoint.links.place() } else { None };
        match (shared, endpoint.target.protocol) {
            (Some(place), _) => Some(Connected::Http2(place)),
            (None, UpstreamProtocol::Http1) => self.reuse_idle(endpoint).map(Connected::Http1),
            (None, _) => None,
        }
    }

    /// A pooled connection that is still open, the one used last. One on which the endpoint has said something
    /// nobody asked for is closed: the next request would take it for its answer. The reactor hears of that only when
    /// it looks, which a busy worker does seldom, so the kernel is asked, one system call a reuse. What is sent
    /// between that and the request cannot be told from an answer.
    fn reuse_idle(&self, endpoint: &LocalTarget) -> Option<Upstream> {
        let mut idle = endpoint.idle.borrow_mut();
        while let Some(Idle { mut stream, since }) = idle.pop() {
            if since.elapsed() >= self.idle_timeout {
                idle.clear(); // the others have waited longer
                return None;
            }
            if stream.seems_idle() && stream.is_idle() {
                return Some(Upstream { stream, reused: true });
            }
        }
        None
    }

    /// A new connection, or a place on one that another request opens.
    pub(crate) async fn connect(
        &self,
        endpoint: &LocalTarget,
        wish: Wish,
        timer: &Timer,
        timeout: Duration,
    ) -> Result<Connected, ProxyError> {
        timer.set(timeout);
        let connected = if endpoint.is_tunneled(wish) {
            within(timer, Box::pin(self.connect_tunnel(endpoint, timer))).await
        } else if endpoint.shares(wish) {
            within(timer, Box::pin(self.connect_shared(endpoint, timer))).await
        } else {
            let stream = within(timer, self.open(endpoint, wish)).await;
            stream.map(|stream| Ok(Connected::Http1(Upstream { stream: stream?, reused: false })))
        };
        timer.clear();
        connected.unwrap_or_else(|| Err(connect::failed(Reason::ConnectTimeout)))
    }

    /// A connection that is for one client alone, and carries whatever it says.
    pub(crate) async fn dial(
        &self,
        endpoint: &LocalTarget,
        timer: &Timer,
        timeout: Duration,
    ) -> Result<UpstreamStream, ProxyError> {
        timer.set(timeout);
        let opened = within(timer, self.open(endpoint, Wish::Any)).await;
        timer.clear();
        opened.unwrap_or_else(|| Err(connect::failed(Reason::ConnectTimeout)))
    }

    /// A socket for datagrams to an endpoint.
    pub(crate) async fn datagrams(
        &self,
        endpoint: &LocalTarget,
        timer: &Timer,
        timeout: Duration,
    ) -> Result<UdpSocket, ProxyError> {
        timer.set(timeout);
        let opening = connect::datagrams(&endpoint.target.address, &self.dns, &self.forbidden);
        within(timer, opening).await.unwrap_or_else(|| Err(connect::failed(Reason::ConnectTimeout)))
    }

    async fn open(&self, endpoint: &LocalTarget, wish: Wish) -> Result<UpstreamStream, ProxyError> {
        connect::connect(&endpoint.target, wish, &self.dns, &self.forbidden).await
    }

    /// A place on a connection of HTTP/2; or one of HTTP/1, where that is what an endpoint over TLS chooses.
    async fn connect_shared(&self, endpoint: &LocalTarget, timer: &Timer) -> Result<Connected, ProxyError> {
        loop {
            if let Some(place) = endpoint.links.place() {
                return Ok(Connected::Http2(place));
            }
            let opener = match endpoint.turn() {
                Turn::Open(opener) => opener,
                Turn::Wait(opening) => {
                    opening.wait().await?;
                    continue;
                }
            };
            let opened = self.open_shared(endpoint, timer).await;
            return opened.inspect_err(|error| opener.failed(*error));
        }
    }

    /// A place for a stream that is to become a tunnel, where the endpoint takes such streams.
    async fn connect_tunnel(&self, endpoint: &LocalTarget, timer: &Timer) -> Result<Connected, ProxyError> {
        let refused = connect::failed(Reason::Unsupported);
        match endpoint.links.tunnel() {
            ForTunnel::Place(place) => return Ok(Connected::Http2(place)),
            ForTunnel::Refused => return Err(refused),
            ForTunnel::Unknown => {}
        }
        let stream = self.open(endpoint, Wish::Any).await?;
        if stream.is_tls() && !stream.chose_http2() {
            return Err(connect::failed(Reason::UpstreamProtocol));
        }
        let place = endpoint.links.establish(stream, &self.http2, timer.another(), true).await?;
        if place.takes_tunnels() { Ok(Connected::Http2(place)) } else { Err(refused) }
    }

    async fn open_shared(&self, endpoint: &LocalTarget, timer: &Timer) -> Result<Connected, ProxyError> {
        let stream = self.open(endpoint, Wish::Any).await?;
        let http2 = match endpoint.target.protocol {
            UpstreamProtocol::Http2 if stream.is_tls() && !stream.chose_http2() => {
                return Err(connect::failed(Reason::UpstreamProtocol));
            }
            UpstreamProtocol::Http2 => true,
            _ => stream.chose_http2(),
        };
        endpoint.chooses_http1.set(!http2);
        if !http2 {
            return Ok(Connected::Http1(Upstream { stream, reused: false }));
        }
        endpoint.links.establish(stream, &self.http2, timer.another(), false).await.map(Connected::Http2)
    }

    /// Keeps a connection whose exchange has ended in step for the next request.
    pub(crate) fn give_back(&self, endpoint: &LocalTarget, upstream: Upstream) {
        let mut idle = endpoint.idle.borrow_mut();
        if idle.len() < self.max_idle {
            idle.push(Idle { stream: upstream.stream, since: Instant::now() });
        }
    }

    /// Closes connections that waited too long and forgets backends that nobody asks for.
    pub(crate) fn sweep(&self) {
        self.endpoints.borrow_mut().retain(|_, endpoint| {
            let Some(endpoint) = endpoint.upgrade() else { return false };
            let mut idle = endpoint.idle.borrow_mut();
            let expired = idle.partition_point(|idle| idle.since.elapsed() >= self.idle_timeout);
            idle.drain(..expired);
            endpoint.links.sweep(self.http2.idle_timeout);
            true
        });
        self.clusters.borrow_mut().retain(|_, cluster| {
            let busy = cluster.requests.get() > 0;
            let idle = cluster.targets.borrow().iter().all(|target| target.is_unused());
            if busy || !idle {
                cluster.used.set(Instant::now());
            }
            busy || cluster.used.get().elapsed() < FORGET_AFTER
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use portcullis_model::EndpointAddress;

    use super::*;

    /// A pool with one connection, and its other end.
    async fn pooled() -> (Pools, LocalTarget, std::net::TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = EndpointAddress::Socket(listener.local_addr().unwrap());
        let target = Target::new(&Health::alone(&address), UpstreamProtocol::Http1, None);
        let endpoint = LocalTarget::new(Arc::new(target));
        let pools = Pools::new(&Limits::default(), Forbidden::default(), &Clock::manual());
        let timer = crate::timer::Wheel::new().timer();
        let connected = pools.connect(&endpoint, Wish::Any, &timer, Duration::from_secs(5)).await.unwrap();
        let Connected::Http1(upstream) = connected else { panic!("not HTTP/1") };
        pools.give_back(&endpoint, upstream);
        (pools, endpoint, listener.accept().unwrap().0)
    }

    /// What is said on an idle connection would be taken for the answer to the next request. Nothing is awaited
    /// here, so the reactor has not heard of it: only the kernel has.
    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_on_which_the_endpoint_spoke_unasked_is_not_reused() {
        let (pools, endpoint, mut other) = pooled().await;
        let reused = pools.reuse_idle(&endpoint).expect("it is idle");
        pools.give_back(&endpoint, reused);
        other.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        assert!(pools.reuse_idle(&endpoint).is_none());
        let _ = other.read(&mut [0; 1]); // a close or a reset: it is gone
        assert!(endpoint.idle.borrow().is_empty());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_that_the_endpoint_closed_is_not_reused() {
        let (pools, endpoint, other) = pooled().await;
        drop(other);
        assert!(pools.reuse_idle(&endpoint).is_none());
    }
}
