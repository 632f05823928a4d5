//! Where sessions may be resumed: at the address, port and listener where they began, under the same options.
//!
//! A ticket that passed between listeners would pass whatever guards one of them. Ticket keys are therefore each
//! listener's own at each address, shared by the workers, kept across configurations, and lost with the listener or
//! with a change of its options.

use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{
    BindAddress, Listener, ListenerId, ListenerProtocol, Model, Port, TlsOptions, TlsServer,
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

    /// Whether no listener of the port speaks TLS.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The ticket keys of all listeners.
#[derive(Default)]
pub(crate) struct Sessions(Map<(BindAddress, ListenerId), (TlsOptions, Arc<dyn ProducesTickets>)>);

impl Sessions {
    /// Prepares the TLS listeners of a port; those that did not change are shared with the port's last version.
    pub(crate) fn port(&mut self, address: BindAddress, port: &Port, before: Option<&TlsPort>) -> TlsPort {
        let mut prepared = Map::default();
        for listener in &port.listeners {
            let ListenerProtocol::Https(server) = &listener.protocol else { continue };
            let old = before.and_then(|before| before.0.get(&listener.id));
            let tls = match (server, old) {
                (Some(server), Some(Prepared { server: Some(old), tls })) if Arc::ptr_eq(server, old) => {
                    tls.clone()
                }
                (Some(server), _) => self.prepare(address, listener, server),
                (None, _) => None,
            };
            prepared.insert(listener.id.clone(), Prepared { server: server.clone(), tls });
        }
        TlsPort(prepared)
    }

    fn prepare(
        &mut self,
        address: BindAddress,
        listener: &Listener,
        server: &TlsServer,
    ) -> Option<Arc<TlsListener>> {
        let prepared = self
            .tickets(address, listener, &server.options)
            .and_then(|tickets| TlsListener::new(server, &tickets));
        let prepared = prepared
            .inspect_err(|error| tracing::error!(listener = %listener.id, %error, "TLS cannot be set up"));
        prepared.ok().map(Arc::new)
    }

    fn tickets(
        &mut self,
        address: BindAddress,
        listener: &Listener,
        options: &TlsOptions,
    ) -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
        let key = (address, listener.id.clone());
        if let Some((_, tickets)) = self.0.get(&key).filter(|(began, _)| began == options) {
            return Ok(Arc::clone(tickets));
        }
        let tickets = Ticketer::new()?;
        self.0.insert(key, (options.clone(), Arc::clone(&tickets)));
        Ok(tickets)
    }

    /// Forgets the keys of listeners that are gone.
    pub(crate) fn retain(&mut self, model: &Model) {
        self.0.retain(|(address, id), _| {
            let port = model.ports.get(address);
            port.is_some_and(|port| port.listeners.iter().any(|listener| listener.id == *id))
        });
    }
}
