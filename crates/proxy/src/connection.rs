//! A client's connection: what it speaks, told from its first bytes.

mod http1;
mod http2;
pub(crate) mod http3;
mod linger;
mod resets;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use portcullis_model::{Alpn, BindAddress};
use portcullis_routing::Scheme;
use tokio::net::TcpStream;

use crate::buffers::InBuf;
use crate::exchange::Client;
use crate::l4;
use crate::listen::OpenPort;
use crate::listen::proxy_protocol::{self, Header};
use crate::options::ProxyOptions;
use crate::reason::Reason;
use crate::stream::{Prefixed, Stream};
use crate::tables::ServedPort;
use crate::timer::{Timer, within};
use crate::tls;
use crate::view::Version;
use crate::worker::Worker;

/// The first byte of a TLS record with a handshake (RFC 8446 §5.1); no method begins with it.
const TLS_HANDSHAKE: u8 = 0x16;
/// What an HTTP/2 client says first (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that speaks HTTP.
pub(crate) struct Connection {
    pub(crate) worker: Rc<Worker>,
    pub(crate) client: Client,
    pub(crate) address: BindAddress,
    pub(crate) timer: Timer,
}

/// Serves a connection to its end.
pub(crate) async fn serve(worker: &Rc<Worker>, stream: TcpStream, peer: SocketAddr, port: &Arc<OpenPort>) {
    let timer = worker.timer();
    timer.set(worker.shared.options.limits.head_timeout);
    let connection = Connection {
        client: Client::new(peer, worker.shared.options.trusts(peer.ip())),
        address: port.address,
        timer,
        worker: Rc::clone(worker),
    };
    if let Err(reason) = connection.start(stream, port.proxy_protocol).await {
        worker.metrics.refused(reason);
    }
}

impl Connection {
    async fn start(mut self, mut stream: TcpStream, proxy_protocol: bool) -> Result<(), Reason> {
        let mut input = InBuf::new(&self.worker.buffers);
        if proxy_protocol {
            self.proxy_header(&mut stream, &mut input).await?;
        }
        let config = self.worker.config();
        let served = config.port(&self.address).ok_or(Reason::NoListener)?;
        if let Some(listener) = served.l4.everything() {
            let listener = Arc::clone(listener);
            drop(config);
            Box::pin(l4::serve(self, Stream::Clear(stream), input, listener)).await;
            return Ok(());
        }
        if self.speaks_tls(served, &mut stream, &mut input).await? {
            if served.l4.takes_tls()
                && let Some(named) = self.named(served, &mut stream, &mut input).await?
            {
                Box::pin(l4::serve_tls(self, config, stream, input, named)).await;
                return Ok(());
            }
            return Box::pin(self.start_tls(config, stream, input)).await;
        }
        drop(config); // a connection holds a configuration only while it looks at it
        http1::serve(self, Stream::Clear(stream), input, true).await;
        Ok(())
    }

    /// The listener below HTTP that takes the connection's server name; none if it is one for requests.
    async fn named(
        &self,
        served: &ServedPort,
        stream: &mut TcpStream,
        input: &mut InBuf,
    ) -> Result<Option<l4::Named>, Reason> {
        let server_name = l4::server_name(self, stream, input).await?;
        let table = served.table.listener_for_sni(server_name.as_deref());
        let id = &table.ok_or(Reason::UnknownServerName)?.listener().id;
        let listener = served.l4.listener(id).map(Arc::clone);
        Ok(listener.map(|listener| l4::Named { listener, server_name }))
    }

    async fn start_tls(
        mut self,
        config: Rc<Version>,
        stream: TcpStream,
        mut input: InBuf,
    ) -> Result<(), Reason> {
        let served = config.port(&self.address).ok_or(Reason::NoListener)?;
        let stream = Prefixed::new(input.take(), stream);
        let established = within(&self.timer, Box::pin(tls::accept(served, stream))).await;
        let established = established.unwrap_or(Err(Reason::ClientTimeout))?;
        drop(config);
        self.worker.metrics.tls_handshakes.add(1);
        self.timer.set(self.worker.shared.options.limits.head_timeout);
        self.client.scheme = Scheme::Https;
        self.client.tls_listener = Some(established.listener);
        let stream = Stream::Tls(established.stream);
        let Some(admission) = established.admission.map(Rc::new) else {
            self.serve_tls(stream, established.alpn, input).await;
            return Ok(());
        };
        self.client.admission = Some(Rc::clone(&admission));
        let (worker, address) = (Rc::clone(&self.worker), self.address);
        let serving = Box::pin(self.serve_tls(stream, established.alpn, input));
        tokio::select! {
            biased; // the connection looks at once at what has been found out
            () = admission.revoked(&worker, &address) => {}
            () = serving => {}
        }
        Ok(())
    }

    async fn serve_tls(self, stream: Stream, alpn: Option<Alpn>, input: InBuf) {
        match alpn {
            Some(Alpn::H2) => Box::pin(http2::serve(self, stream, Vec::new())).await,
            Some(Alpn::Http11) => http1::serve(self, stream, input, false).await,
            None => http1::serve(self, stream, input, true).await,
        }
    }

    /// Reads the PROXY header, whose client takes the place of the load balancer. Where proxies are named, nobody
    /// else is believed: with the header comes the address from which the client is said to be.
    async fn proxy_header(&mut self, stream: &mut TcpStream, input: &mut InBuf) -> Result<(), Reason> {
        let ProxyOptions { trusted_proxies, .. } = &self.worker.shared.options;
        if !trusted_proxies.is_empty() && !self.client.trusted {
            return Err(Reason::UntrustedProxy);
        }
        loop {
            match proxy_protocol::parse(input.filled()) {
                Header::Complete { len, client } => {
                    input.consume(len);
                    if let Some(client) = client {
                        let trusted = self.worker.shared.options.trusts(client.ip());
                        self.client = Client::new(client, trusted);
                    }
                    return Ok(());
                }
                Header::Invalid => return Err(Reason::ProxyHeader),
                Header::Partial => self.fill(stream, input).await?,
            }
        }
    }

    /// Whether the client speaks TLS: by the port's listeners, or by its first byte where they are mixed.
    async fn speaks_tls(
        &self,
        served: &ServedPort,
        stream: &mut TcpStream,
        input: &mut InBuf,
    ) -> Result<bool, Reason> {
        if !served.clear || served.tls.is_empty() {
            return Ok(!served.clear);
        }
        while input.is_empty() {
            self.fill(stream, input).await?;
        }
        Ok(input.filled().first() == Some(&TLS_HANDSHAKE))
    }

    async fn fill(&self, stream: &mut TcpStream, input: &mut InBuf) -> Result<(), Reason> {
        let filled = poll_fn(|cx| input.poll_fill(cx, stream, crate::buffers::READ));
        match within(&self.timer, filled).await {
            Some(Ok(read)) if read > 0 => Ok(()),
            Some(_) => Err(Reason::ClientClosed),
            None => Err(Reason::ClientTimeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<'a, F: Future>(
        _: impl FnOnce(&'a Rc<Worker>, TcpStream, SocketAddr, &'a Arc<OpenPort>) -> F,
    ) -> usize {
        size_of::<F>()
    }

    /// A connection costs its task's state as long as it is open; buffers come and go.
    #[test]
    fn a_connections_task_is_small() {
        let size = size(serve);
        assert!(size <= 5 * 1024, "{size} bytes");
    }
}
