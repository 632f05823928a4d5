//! The listeners of one port.

use std::sync::Arc;

use portcullis_model::{HostPattern, Listener, ListenerProtocol, Port, Route, Rule};

use crate::ListenerTable;
use crate::hosts::HostMap;
use crate::listener::Compile;

/// Whether a connection is in clear or over TLS. Listeners of the two on one port do not compete for hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP in clear.
    Http,
    /// HTTP over TLS or QUIC, which count as one.
    Https,
}

impl Scheme {
    /// The scheme of a listener's protocol; none below HTTP.
    #[must_use]
    pub fn of(protocol: &ListenerProtocol) -> Option<Scheme> {
        match protocol {
            ListenerProtocol::Http => Some(Scheme::Http),
            ListenerProtocol::Https(_) | ListenerProtocol::Http3(_) => Some(Scheme::Https),
            _ => None,
        }
    }
}

/// The request's host is another listener's than the one its connection's SNI chose. The answer is 421
/// (RFC 9110 §15.5.20), so that a client tries again on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another listener than the one that the connection was opened for serves the request's host")]
pub struct Misdirected;

/// The listeners of one port with their rules. `T` is what the engine compiles a rule to.
pub struct PortTable<T> {
    listeners: Vec<Arc<ListenerTable<T>>>,
    http: HostMap<Arc<ListenerTable<T>>>,
    https: HostMap<Arc<ListenerTable<T>>>,
    /// Those that take TLS connections, HTTP inside or not.
    server_names: HostMap<Arc<ListenerTable<T>>>,
}

impl<T> PortTable<T> {
    /// The table of a port.
    ///
    /// `compile` makes of a rule, as a listener has it, what the engine needs to serve it, once per listener.
    #[must_use]
    pub fn build(port: &Port, compile: impl Fn(&Listener, &Arc<Route>, &Arc<Rule>) -> T) -> PortTable<T> {
        PortTable::assemble(port, |_, listener| Arc::new(ListenerTable::build(listener, &compile)))
    }

    /// The table of a port's next version. What did not change (the same allocations) is shared with this one,
    /// and not compiled again: `compile` may depend on the listener's identity, port and scheme, and on route
    /// and rule, but on nothing else.
    #[must_use]
    pub fn update(
        &self,
        port: &Port,
        compile: impl Fn(&Listener, &Arc<Route>, &Arc<Rule>) -> T,
    ) -> PortTable<T> {
        let compile: Compile<'_, T> = &compile;
        let by_id = self.listeners.iter().map(|table| (&table.listener().id, table));
        let by_id: hashbrown::HashMap<_, _, foldhash::fast::RandomState> = by_id.collect();
        PortTable::assemble(port, |index, listener| {
            let same = self.listeners.get(index).filter(|table| table.listener().id == listener.id);
            match same.or_else(|| by_id.get(&listener.id).copied()) {
                Some(table) if Arc::ptr_eq(table.listener(), listener) => Arc::clone(table),
                Some(table) => Arc::new(table.update(listener, compile)),
                None => Arc::new(ListenerTable::build(listener, compile)),
            }
        })
    }

    fn assemble(
        port: &Port,
        table_of: impl Fn(usize, &Arc<Listener>) -> Arc<ListenerTable<T>>,
    ) -> PortTable<T> {
        let listeners = port.listeners.iter().enumerate().map(|(index, listener)| table_of(index, listener));
        let mut port = PortTable {
            listeners: listeners.collect(),
            http: HostMap::default(),
            https: HostMap::default(),
            server_names: HostMap::default(),
        };
        for table in &port.listeners {
            let Listener { hostname, protocol, .. } = &**table.listener();
            let insert = |names: &mut HostMap<Arc<ListenerTable<T>>>| {
                // The first of two equals stays, though a model has none.
                names.get_or_insert_with(hostname, || Arc::clone(table));
            };
            match protocol {
                ListenerProtocol::Http => insert(&mut port.http),
                ListenerProtocol::Https(_) | ListenerProtocol::Http3(_) => {
                    insert(&mut port.https);
                    insert(&mut port.server_names);
                }
                ListenerProtocol::TlsTerminate(..) | ListenerProtocol::TlsPassthrough(_) => {
                    insert(&mut port.server_names);
                }
                ListenerProtocol::Tcp(_) | ListenerProtocol::Udp(_) => {}
            }
        }
        port
    }

    /// All listeners, in the model's order.
    #[must_use]
    pub fn listeners(&self) -> &[Arc<ListenerTable<T>>] {
        &self.listeners
    }

    /// The listener that takes requests for a canonical host: the most specific of its scheme, alone
    /// (GatewayHTTPListenerIsolation). None: the answer is 404.
    #[must_use]
    pub fn listener_for_host<'t>(&'t self, scheme: Scheme, host: &str) -> Option<&'t Arc<ListenerTable<T>>> {
        self.listeners_for_host(scheme, host).next()
    }

    /// Every listener of a scheme whose hostname takes a canonical host, the most specific first.
    pub fn listeners_for_host<'t, 'h>(
        &'t self,
        scheme: Scheme,
        host: &'h str,
    ) -> impl Iterator<Item = &'t Arc<ListenerTable<T>>> + use<'t, 'h, T> {
        match scheme {
            Scheme::Http => self.http.matching(host),
            Scheme::Https => self.https.matching(host),
        }
    }

    /// The listener that a TLS connection is for, by the ClientHello's server name (in canonical form), whether HTTP is
    /// inside or not. A connection without one is for the listener without a hostname. None: the connection is closed.
    #[must_use]
    pub fn listener_for_sni<'t>(&'t self, server_name: Option<&str>) -> Option<&'t Arc<ListenerTable<T>>> {
        self.server_names.matching(server_name.unwrap_or_default()).next()
    }

    /// The listener of a request over TLS, which must be that of its connection. Listeners below HTTP take no part. None: no listener takes the
    /// host, the answer is 404.
    ///
    /// # Errors
    /// [`Misdirected`] if another listener takes the host.
    pub fn listener_on_connection<'t>(
        &'t self,
        connection: &Listener,
        host: &str,
    ) -> Result<Option<&'t Arc<ListenerTable<T>>>, Misdirected> {
        let best = self.listener_for_host(Scheme::Https, host);
        if best.is_some_and(|best| best.listener().id != connection.id) { Err(Misdirected) } else { Ok(best) }
    }

    /// The hostnames of a scheme's listeners, in no particular order.
    pub fn hostnames(&self, scheme: Scheme) -> impl Iterator<Item = &HostPattern> {
        let of_scheme =
            move |table: &&Arc<ListenerTable<T>>| Scheme::of(&table.listener().protocol) == Some(scheme);
        self.listeners.iter().filter(of_scheme).map(|table| &table.listener().hostname)
    }
}
