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
};
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::ProducesTickets;

use super::config::TlsListener;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The TLS listeners of one address and port.
#[derive(Default)]
pub(crate) struct TlsPort(Map<ListenerId, Prepared>);

/// A listener as it was when its TLS was set up.
struct Prepared {
    server: Option<Arc<TlsServer>>,
    tls: Option<Arc<TlsListener>>,
}

impl TlsPort {
    /// How a listener ends TLS; none if it has no usable certificate.
    pub(crate) fn listener(&self, id: &ListenerId) -> Option<&Arc<TlsListener>> {
        self.0.get(id).and_then(|prepared| prepared.tls.as_ref())
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
#[derive(Default)]
pub(crate) struct Sessions(Map<BindAddress, Tickets>);

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
    /// Prepares the TLS listeners of a port; those that did not change are shared with the port's last version, and
    /// the keys of those that are gone are forgotten.
    pub(crate) fn port(&mut self, address: BindAddress, port: &Port, before: Option<&TlsPort>) -> TlsPort {
        let old_tickets = self.0.remove(&address).unwrap_or_default();
        let mut tickets = Tickets::default();
        let mut prepared = Map::default();
        for listener in &port.listeners {
            let (ListenerProtocol::Https(server) | ListenerProtocol::TlsTerminate(server, _)) =
                &listener.protocol
            else {
                continue;
            };
            let known = old_tickets.get(&listener.id);
            let old = before.and_then(|before| before.0.get(&listener.id));
            let tls = match (server, old) {
                (Some(server), Some(Prepared { server: Some(old), tls })) if Arc::ptr_eq(server, old) => {
                    if let Some(known) = known {
                        tickets.insert(listener.id.clone(), known.clone());
                    }
                    tls.clone()
                }
                (Some(server), _) => prepare(listener, server, known, &mut tickets),
                (None, _) => None,
            };
            prepared.insert(listener.id.clone(), Prepared { server: server.clone(), tls });
        }
        self.0.insert(address, tickets);
        TlsPort(prepared)
    }

    /// Forgets the keys of addresses that are gone.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&BindAddress) -> bool) {
        self.0.retain(|address, _| is_there(address));
    }
}

/// Sets a listener's TLS up, with the ticket keys it had under the same options and for the same clients.
fn prepare(
    listener: &Listener,
    server: &TlsServer,
    known: Option<&Keys>,
    tickets: &mut Tickets,
) -> Option<Arc<TlsListener>> {
    let same = |known: &&Keys| known.options == server.options && known.clients == server.clients;
    let kept = known.filter(same).map(|known| Arc::clone(&known.keys));
    let prepared = kept.map_or_else(Ticketer::new, Ok).and_then(|keys| {
        let (options, clients) = (server.options.clone(), server.clients.clone());
        tickets.insert(listener.id.clone(), Keys { options, clients, keys: Arc::clone(&keys) });
        TlsListener::new(server, &keys)
    });
    let prepared = prepared
        .inspect_err(|error| tracing::error!(listener = %listener.id, %error, "TLS cannot be set up"));
    prepared.ok().map(Arc::new)
}
