//! The routes of a port's listeners below HTTP, compiled.

use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::{L4Route, Listener, ListenerId, ListenerProtocol, Port};
use portcullis_routing::{L4Entry, L4Table};

use crate::tables::rule::Shares;

/// The listeners of a port that are below HTTP.
#[derive(Default)]
pub(crate) struct L4Port {
    listeners: HashMap<ListenerId, Arc<L4Listener>, foldhash::fast::RandomState>,
    /// The one that takes everything, where server names tell nothing apart.
    everything: Option<Arc<L4Listener>>,
}

/// A listener with its routes.
pub(crate) struct L4Listener {
    pub(crate) listener: Arc<Listener>,
    routes: L4Table<Shares>,
}

impl L4Port {
    /// The listeners of a port; routes that did not change are shared with the port's last version.
    pub(crate) fn build(
        port: &Port,
        before: Option<&L4Port>,
        compile: impl Fn(&Listener, &Arc<L4Route>) -> Shares,
    ) -> L4Port {
        let mut built = L4Port::default();
        for listener in &port.listeners {
            let routes = match &listener.protocol {
                ListenerProtocol::Http | ListenerProtocol::Https(_) | ListenerProtocol::Http3(_) => continue,
                below => below.l4_routes(),
            };
            let known = before.and_then(|before| before.listeners.get(&listener.id));
            let known =
                known.filter(|known| known.listener.client_certificate == listener.client_certificate);
            let routes =
                L4Table::build(routes, known.map(|known| &known.routes), |route| compile(listener, route));
            let served = Arc::new(L4Listener { listener: Arc::clone(listener), routes });
            match listener.protocol {
                ListenerProtocol::Tcp(_) | ListenerProtocol::Udp(_) => {
                    built.everything = Some(Arc::clone(&served));
                }
                _ => {}
            }
            built.listeners.insert(listener.id.clone(), served);
        }
        built
    }

    /// Whether some listener ends TLS or passes it through.
    pub(crate) fn takes_tls(&self) -> bool {
        self.everything.is_none() && !self.listeners.is_empty()
    }

    /// The listener of this name; none if it takes requests.
    pub(crate) fn listener(&self, id: &ListenerId) -> Option<&Arc<L4Listener>> {
        self.listeners.get(id)
    }

    /// The listener that takes whatever comes.
    pub(crate) fn everything(&self) -> Option<&Arc<L4Listener>> {
        self.everything.as_ref()
    }
}

impl L4Listener {
    /// The route that takes a connection, by its server name in canonical form.
    pub(crate) fn route(&self, server_name: Option<&str>) -> Option<&Arc<L4Entry<Shares>>> {
        self.routes.lookup(server_name)
    }
}
