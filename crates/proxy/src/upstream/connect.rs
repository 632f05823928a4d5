//! Connecting to an endpoint.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use portcullis_model::{EndpointAddress, UpstreamScope};
use tokio::net::{TcpStream, UdpSocket, UnixStream};

use super::cluster::Target;
use super::connection::UpstreamStream;
use super::dns::Dns;
use super::pool::Wish;
use super::socket::Socket;
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;

/// Where no backend can be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forbidden {
    /// The admin endpoint, which tells more than a client may know.
    pub(crate) admin: Option<SocketAddr>,
    /// What else is out of bounds. Resolution drops such endpoints; what names resolve to is known here alone.
    pub(crate) scope: UpstreamScope,
}

impl Forbidden {
    /// Whether a connection has to be looked at, once it is there.
    fn may_be(&self, address: SocketAddr) -> bool {
        self.admin.is_some_and(|admin| admin.port() == address.port())
    }

    /// Whether a connection to `peer` from `local` leads there, under whatever name: a host that connects to an
    /// address of its own does so from that address.
    pub(crate) fn is(&self, peer: SocketAddr, local: SocketAddr) -> bool {
        let Some(admin) = self.admin else { return false };
        let (peer_ip, local_ip) = (peer.ip().to_canonical(), local.ip().to_canonical());
        let ours = peer_ip.is_loopback() || peer_ip == local_ip || peer_ip == admin.ip().to_canonical();
        peer.port() == admin.port() && ours
    }
}

/// A new connection to an endpoint, which speaks TLS already where it has to.
pub(crate) async fn connect(
    target: &Target,
    wish: Wish,
    dns: &Dns,
    forbidden: &Forbidden,
) -> Result<UpstreamStream, ProxyError> {
    let socket = socket(&target.address, dns, forbidden).await?;
    let Some(tls) = &target.tls else { return Ok(UpstreamStream::Clear(socket)) };
    match tls.connect(socket, wish).await {
        Ok(stream) => {
            target.note_handshake(None);
            Ok(UpstreamStream::Tls(stream))
        }
        Err(failure) => {
            target.note_handshake(Some(&failure.why));
            Err(failed(failure.reason))
        }
    }
}

async fn socket(address: &EndpointAddress, dns: &Dns, forbidden: &Forbidden) -> Result<Socket, ProxyError> {
    match address {
        EndpointAddress::Socket(address) => tcp(*address, forbidden).await,
        EndpointAddress::Name { hostname, port } => {
            let mut result = Err(failed(Reason::ResolveFailed));
            for ip in dns.resolve(hostname.as_str()).await {
                result = tcp(SocketAddr::new(ip, *port), forbidden).await;
                if result.is_ok() {
                    break;
                }
            }
            result
        }
        EndpointAddress::Unix(_) if !forbidden.scope.admits_unix() => Err(failed(Reason::EndpointForbidden)),
        EndpointAddress::Unix(path) => match UnixStream::connect(&**path).await {
            Ok(stream) => Ok(Socket::Unix(stream)),
            Err(error) => Err(from_io(&error)),
        },
    }
}

async fn tcp(address: SocketAddr, forbidden: &Forbidden) -> Result<Socket, ProxyError> {
    if !forbidden.scope.admits(address.ip()) {
        return Err(failed(Reason::EndpointForbidden));
    }
    let stream = TcpStream::connect(address).await.map_err(|error| from_io(&error))?;
    if forbidden.may_be(address) {
        let local = stream.local_addr().map_err(|error| from_io(&error))?;
        let peer = stream.peer_addr().map_err(|error| from_io(&error))?;
        if forbidden.is(peer, local) {
            return Err(failed(Reason::EndpointForbidden));
        }
    }
    stream.set_nodelay(true).map_err(|error| from_io(&error))?;
    Ok(Socket::Tcp(stream))
}

/// A socket for datagrams to an endpoint and from it alone.
pub(super) async fn datagrams(
    address: &EndpointAddress,
    dns: &Dns,
    forbidden: &Forbidden,
) -> Result<UdpSocket, ProxyError> {
    let to = match address {
        EndpointAddress::Socket(address) => Some(*address),
        EndpointAddress::Name { hostname, port } => {
            dns.resolve(hostname.as_str()).await.first().map(|ip| SocketAddr::new(*ip, *port))
        }
        EndpointAddress::Unix(_) => return Err(failed(Reason::EndpointForbidden)),
    };
    let to = to.ok_or(failed(Reason::ResolveFailed))?;
    if !forbidden.scope.admits(to.ip()) {
        return Err(failed(Reason::EndpointForbidden));
    }
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await.map_err(|error| from_io(&error))?;
    socket.connect(to).await.map_err(|error| from_io(&error))?;
    Ok(socket)
}

fn from_io(error: &io::Error) -> ProxyError {
    failed(match error.kind() {
        io::ErrorKind::ConnectionRefused => Reason::ConnectRefused,
        io::ErrorKind::TimedOut => Reason::ConnectTimeout,
        _ => Reason::ConnectFailed,
    })
}

pub(super) fn failed(reason: Reason) -> ProxyError {
    ProxyError::upstream(Stage::Connect, Replay::NothingSent, reason)
}

#[cfg(test)]
mod tests {
    use portcullis_model::Hostname;

    use super::*;

    #[test]
    fn the_admin_address_is_known_under_every_name() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let admin = |text| Forbidden { admin: Some(at(text)), ..Forbidden::default() };
        let loopback = admin("127.0.0.1:9901");
        assert!(loopback.is(at("127.0.0.1:9901"), at("127.0.0.1:40000")));
        assert!(loopback.is(at("[::1]:9901"), at("[::1]:40000")));
        assert!(loopback.is(at("[::ffff:127.0.0.1]:9901"), at("[::ffff:127.0.0.1]:40000")));
        assert!(!loopback.is(at("127.0.0.1:9902"), at("127.0.0.1:40000")));
        assert!(!loopback.is(at("10.0.0.7:9901"), at("10.0.0.5:40000")));
        let everywhere = admin("0.0.0.0:9901");
        assert!(everywhere.is(at("10.0.0.5:9901"), at("10.0.0.5:40000")));
        assert!(!Forbidden::default().is(at("127.0.0.1:9901"), at("127.0.0.1:40000")));
    }

    #[tokio::test]
    async fn what_a_name_resolves_to_and_a_socket_may_be_out_of_bounds_too() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scope = UpstreamScope::Network { allowed: [].into(), unix: false };
        let guarded = Forbidden { scope, ..Forbidden::default() };
        let port = listener.local_addr().unwrap().port();
        let name = EndpointAddress::Name { hostname: Hostname::new("localhost").unwrap(), port };
        for address in [
            EndpointAddress::Socket(listener.local_addr().unwrap()),
            EndpointAddress::Unix("/x".into()),
            name.clone(),
        ] {
            let refused = socket(&address, &Dns::default(), &guarded).await.err().unwrap();
            assert_eq!(refused.reason, Reason::EndpointForbidden, "{address:?}");
        }
        assert!(socket(&name, &Dns::default(), &Forbidden::default()).await.is_ok());
    }
}
