//! Where sessions may be resumed: at the address, port and listener where they began, under the same options and for
//! the same clients.
//!
//! A ticket that passed between listeners would pass whatever guards one of them. Ticket keys are therefore each
//! listener's own at each address, shared by the workers, kept across configurations, and lost with the listener or
//! with a change of its options or of whom it lets in.

use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{
    BindAddress, ClientValidation, Listener, ListenerId, ListenerProtocol, Port, TlsOptions, TlsServer,
    Transport,
};
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::ProducesTickets;

use super::config::TlsListener;

/// For how long a client may remember that a listener serves HTTP/3, in seconds: a day, as other servers have it.
const ALT_SVC_AGE: u32 = 86_400;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The TLS listeners of one address and port.
#[derive(Default)]
pub(crate) struct TlsPort(Map<ListenerId, Prepared>);

/// A listener as it was when its TLS was set up.
struct Prepared {
    server: Option<Arc<TlsServer>>,
    tls: Option<Arc<TlsListener>>,
    /// What answers say of HTTP/3, where the listener serves it beside this.
    alt_svc: Option<Box<[u8]>>,
}

impl TlsPort {
    /// How a listener ends TLS; none if it has no usable certificate.
    pub(crate) fn listener(&self, id: &ListenerId) -> Option<&Arc<TlsListener>> {
        self.0.get(id).and_then(|prepared| prepared.tls.as_ref())
    }

    /// What answers say of HTTP/3, where a listener serves it beside this (RFC 7838 §3).
    pub(crate) fn alt_svc(&self, id: &ListenerId) -> Option<&[u8]> {
        self.0.get(id)?.alt_svc.as_deref()
    }

    /// A listener of the port that speaks TLS, if there is one of this name; within, nothing if its handshakes fail.
    pub(super) fn get(&self, id: &ListenerId) -> Option<Option<&TlsListener>> {
        self.0.get(id).map(|prepared| prepared.tls.as_deref())
    }

    /// Whether no listener of the port speaks TLS.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The ticket keys of all listeners.
pub(crate) struct Sessions {
    tickets: Map<BindAddress, Tickets>,
    port_offset: u16,
}

/// The ticket keys of an address's listeners.
type Tickets = Map<ListenerId, Keys>;

/// Ticket keys, with what they were made for.
#[derive(Clone)]
struct Keys {
    options: TlsOptions,
    clients: Option<Arc<ClientValidation>>,
    keys: Arc<dyn ProducesTickets>,
}

impl Sessions {
    pub(crate) fn new(port_offset: u16) -> Sessions {
        Sessions { tickets: Map::default(), port_offset }
    }

    /// Prepares the TLS listeners of a port; those that did not change are shared with the port's last version, and
    /// the keys of those that are gone are forgotten.
    pub(crate) fn port(&mut self, address: BindAddress, port: &Port, before: Option<&TlsPort>) -> TlsPort {
        let old_tickets = self.tickets.remove(&address).unwrap_or_default();
        let mut tickets = Tickets::default();
        let mut prepared = Map::default();
        for listener in &port.listeners {
            let Some(server) = ending_tls(&listener.protocol, address.transport) else { continue };
            let known = old_tickets.get(&listener.id);
            let old = before.and_then(|before| before.0.get(&listener.id));
            let tls = match (server, old) {
                (Some(server), Some(Prepared { server: Some(old), tls, .. })) if Arc::ptr_eq(server, old) => {
                    if let Some(known) = known {
                        tickets.insert(listener.id.clone(), known.clone());
                    }
                    tls.clone()
                }
                (Some(server), _) => prepare(listener, (server, address.transport), known, &mut tickets),
                (None, _) => None,
            };
            let alt_svc = self.alt_svc(listener, address.transport);
            prepared.insert(listener.id.clone(), Prepared { server: server.clone(), tls, alt_svc });
        }
        self.tickets.insert(address, tickets);
        TlsPort(prepared)
    }

    /// What answers over TCP say of a listener for HTTP/3: where it is, in the words of RFC 7838 §3.
    fn alt_svc(&self, listener: &Listener, transport: Transport) -> Option<Box<[u8]>> {
        let is_beside =
            transport == Transport::Tcp && matches!(listener.protocol, ListenerProtocol::Http3(_));
        let port = listener.port.checked_add(self.port_offset).filter(|_| is_beside)?;
        Some(format!("h3=\":{port}\"; ma={ALT_SVC_AGE}").into_bytes().into())
    }

    /// Forgets the keys of addresses that are gone.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&BindAddress) -> bool) {
        self.tickets.retain(|address, _| is_there(address));
    }
}

/// What a listener ends TLS with over a transport, if it does.
fn ending_tls(protocol: &ListenerProtocol, transport: Transport) -> Option<&Option<Arc<TlsServer>>> {
    match (protocol, transport) {
        (ListenerProtocol::Http3(server), _)
        | (ListenerProtocol::Https(server) | ListenerProtocol::TlsTerminate(server, _), Transport::Tcp) => {
            Some(server)
        }
        _ => None,
    }
}

/// Sets a listener's TLS up, with the ticket keys it had under the same options and for the same clients.
fn prepare(
    listener: &Listener,
    (server, transport): (&TlsServer, Transport),
    known: Option<&Keys>,
    tickets: &mut Tickets,
) -> Option<Arc<TlsListener>> {
    let same = |known: &&Keys| known.options == server.options && known.clients == server.clients;
    let kept = known.filter(same).map(|known| Arc::clone(&known.keys));
    let prepared = kept.map_or_else(Ticketer::new, Ok).and_then(|keys| {
        let (options, clients) = (server.options.clone(), server.clients.clone());
        tickets.insert(listener.id.clone(), Keys { options, clients, keys: Arc::clone(&keys) });
        TlsListener::new(server, transport, &keys)
    });
    let prepared = prepared
        .inspect_err(|error| tracing::error!(listener = %listener.id, %error, "TLS cannot be set up"));
    prepared.ok().map(Arc::new)
}
