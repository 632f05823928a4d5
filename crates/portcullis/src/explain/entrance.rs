//! Which port and listener a request meets.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use jiff::Timestamp;
use portcullis_model::{BindAddress, Certificate, HostPattern, Listener, Model, Transport};
use portcullis_proxy::Reason;
use portcullis_routing::{ListenerTable, PortTable, Scheme};

use super::answer::{Answer, CertificateView, ListenerView, Object, Refused, Rival, Tls};
use super::question::Question;

/// The port that a client reaches.
pub(super) struct Entrance {
    pub(super) address: SocketAddr,
    table: PortTable<()>,
}

impl Entrance {
    /// The port by number, and by address where the URL has one. Of several addresses with different listeners it
    /// is the first that takes the host, or the first.
    pub(super) fn find(model: &Model, question: &Question) -> Result<Entrance, Refused> {
        let reached = |bind: &BindAddress| {
            Some(bind.port) == question.listener_port()
                && bind.transport == Transport::Tcp
                && question.server_address().is_none_or(|ip| binds(bind.ip, ip))
        };
        let mut entrances =
            model.ports.iter().filter(|(bind, _)| reached(bind)).map(|(bind, port)| Entrance {
                address: SocketAddr::new(bind.ip, bind.port),
                table: PortTable::build(port, |_, _, _| ()),
            });
        let takes = |entrance: &Entrance| {
            let host = question.host().ok();
            host.and_then(|host| entrance.table.listener_for_host(question.scheme, &host).map(drop)).is_some()
        };
        let first = entrances.next().ok_or_else(|| {
            let message = format!("no listener is bound to port {}", question.port);
            Refused::unanswered(Reason::NoListener, message)
        })?;
        if takes(&first) { Ok(first) } else { Ok(entrances.find(takes).unwrap_or(first)) }
    }

    /// The TLS handshake, if there is one: the listener that it is for.
    pub(super) fn connect(
        &self,
        question: &Question,
        answer: &mut Answer,
    ) -> Result<Option<Arc<Listener>>, Refused> {
        let speaks = |scheme| self.table.hostnames(scheme).next().is_some();
        let handshake = |message| Err(Refused::unanswered(Reason::TlsHandshake, message));
        match question.scheme {
            Scheme::Http if speaks(Scheme::Http) => return Ok(None),
            Scheme::Http => return handshake(format!("port {} speaks TLS only", question.port)),
            Scheme::Https if speaks(Scheme::Https) => {}
            Scheme::Https => return handshake(format!("port {} does not speak TLS", question.port)),
        }
        let server_name = question.server_name();
        let tls = answer.tls.insert(Tls {
            server_name: server_name.map(str::to_owned),
            listener: None,
            certificate: None,
        });
        let Some(table) = self.table.listener_for_sni(server_name) else {
            let message = match server_name {
                Some(name) => format!("no listener takes the server name {name}: the connection is closed"),
                None => {
                    "without a server name only a listener without a hostname takes a connection".to_owned()
                }
            };
            return Err(Refused::unanswered(Reason::UnknownServerName, message));
        };
        let listener = Arc::clone(table.listener());
        tls.listener = Some(ListenerView::of(&listener));
        tls.certificate = certificate(&listener, server_name);
        if tls.certificate.is_none() {
            let message = format!("listener {} has no usable certificate: the handshake fails", listener.id);
            return Err(Refused::unanswered(Reason::NoCertificate, message));
        }
        Ok(Some(listener))
    }

    /// The listener that takes the request.
    pub(super) fn listener(
        &self,
        question: &Question,
        connection: Option<&Listener>,
        host: &str,
        answer: &mut Answer,
    ) -> Result<&Arc<ListenerTable<()>>, Refused> {
        let mut taking = self.table.listeners_for_host(question.scheme, host);
        let best = taking.next();
        let winner = best.map(|best| best.listener().hostname.to_string()).unwrap_or_default();
        answer.rival_listeners = taking
            .map(|rival| Rival {
                listener: ListenerView::of(rival.listener()),
                lost: format!("{} is less specific than {winner}", rival.listener().hostname),
            })
            .collect();
        let found = match connection {
            Some(connection) => self.table.listener_on_connection(connection, host),
            None => Ok(self.table.listener_for_host(question.scheme, host)),
        };
        let found = found.map_err(|misdirected| {
            if let Some(best) = best {
                answer.meet_listener(best.listener());
            }
            Refused::with(421, Reason::Misdirected, misdirected.to_string())
        })?;
        found.ok_or_else(|| {
            let message = format!("no listener of port {} takes the host {host:?}", question.port);
            Refused::with(404, Reason::NoListener, message)
        })
    }
}

/// Whether a socket bound to one address takes connections to another.
pub(super) fn binds(bound: IpAddr, asked: IpAddr) -> bool {
    bound == asked || (bound.is_unspecified() && (bound.is_ipv6() || asked.is_ipv4()))
}

/// One that names the host, or the first. (A client that cannot verify its kind of key gets another.)
pub(super) fn certificate(listener: &Listener, server_name: Option<&str>) -> Option<CertificateView> {
    let server = listener.protocol.tls()?;
    let names_server = |certificate: &Certificate| {
        server_name.is_some_and(|name| certificate.names().iter().any(|pattern| pattern.matches(name)))
    };
    let fitting = server.certificates.iter().find(|certificate| names_server(certificate));
    let chosen = fitting.or_else(|| server.certificates.first())?;
    let not_after = Timestamp::from_second(chosen.not_after()).unwrap_or(Timestamp::MAX);
    Some(CertificateView {
        object: Object::of(chosen.origin()),
        names: chosen.names().iter().map(HostPattern::to_string).collect(),
        not_after: not_after.to_string(),
        names_server: names_server(chosen),
    })
}
