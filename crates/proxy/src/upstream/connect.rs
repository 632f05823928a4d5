//! Connecting to an endpoint.

use std::io;
use std::net::SocketAddr;

use portcullis_model::EndpointAddress;
use tokio::net::{TcpStream, UnixStream};

use super::connection::UpstreamStream;
use super::dns::Dns;
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;

/// The address that no backend can be: the admin endpoint tells more than a client may know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forbidden(pub(crate) Option<SocketAddr>);

impl Forbidden {
    /// Whether a connection has to be looked at, once it is there.
    fn may_be(self, address: SocketAddr) -> bool {
        self.0.is_some_and(|admin| admin.port() == address.port())
    }

    /// Whether a connection to `peer` from `local` leads there, under whatever name: a host that connects to an
    /// address of its own does so from that address.
    pub(crate) fn is(self, peer: SocketAddr, local: SocketAddr) -> bool {
        let Some(admin) = self.0 else { return false };
        let (peer_ip, local_ip) = (peer.ip().to_canonical(), local.ip().to_canonical());
        let ours = peer_ip.is_loopback() || peer_ip == local_ip || peer_ip == admin.ip().to_canonical();
        peer.port() == admin.port() && ours
    }
}

/// A new connection to an endpoint.
pub(crate) async fn connect(
    address: &EndpointAddress,
    dns: &Dns,
    forbidden: Forbidden,
) -> Result<UpstreamStream, ProxyError> {
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
        EndpointAddress::Unix(path) => match UnixStream::connect(&**path).await {
            Ok(stream) => Ok(UpstreamStream::Unix(stream)),
            Err(error) => Err(from_io(&error)),
        },
    }
}

async fn tcp(address: SocketAddr, forbidden: Forbidden) -> Result<UpstreamStream, ProxyError> {
    let stream = TcpStream::connect(address).await.map_err(|error| from_io(&error))?;
    if forbidden.may_be(address) {
        let local = stream.local_addr().map_err(|error| from_io(&error))?;
        let peer = stream.peer_addr().map_err(|error| from_io(&error))?;
        if forbidden.is(peer, local) {
            return Err(failed(Reason::EndpointForbidden));
        }
    }
    stream.set_nodelay(true).map_err(|error| from_io(&error))?;
    Ok(UpstreamStream::Tcp(stream))
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
    use super::*;

    #[test]
    fn the_admin_address_is_known_under_every_name() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let loopback = Forbidden(Some(at("127.0.0.1:9901")));
        assert!(loopback.is(at("127.0.0.1:9901"), at("127.0.0.1:40000")));
        assert!(loopback.is(at("[::1]:9901"), at("[::1]:40000")));
        assert!(loopback.is(at("[::ffff:127.0.0.1]:9901"), at("[::ffff:127.0.0.1]:40000")));
        assert!(!loopback.is(at("127.0.0.1:9902"), at("127.0.0.1:40000")));
        assert!(!loopback.is(at("10.0.0.7:9901"), at("10.0.0.5:40000")));
        let everywhere = Forbidden(Some(at("0.0.0.0:9901")));
        assert!(everywhere.is(at("10.0.0.5:9901"), at("10.0.0.5:40000")));
        assert!(!Forbidden(None).is(at("127.0.0.1:9901"), at("127.0.0.1:40000")));
    }
}
