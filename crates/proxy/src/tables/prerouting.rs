//! What runs on every request of a listener before a rule is looked for.

use hashbrown::HashMap;
use portcullis_model::{Listener, ListenerFilters, ListenerId, Port};

use super::clusters::Clusters;
use super::rule::{CompiledAsk, Refusal};
use crate::reason::Reason;
use crate::upstream::Identity;

/// The filters of a listener, with everything settled that does not depend on the request.
#[derive(Debug)]
pub(crate) enum Prerouting {
    /// These are asked, in this order.
    Ask(Box<[CompiledAsk]>),
    /// No request passes.
    Fail(Refusal),
}

/// Those of a port's listeners that have some.
#[derive(Debug, Default)]
pub(crate) struct Preroutings {
    by_listener: HashMap<ListenerId, Prerouting, foldhash::fast::RandomState>,
}

impl Preroutings {
    pub(super) fn compile(port: &Port, clusters: &Clusters) -> Preroutings {
        let filtered = port.listeners.iter().filter(|listener| !listener.filters.is_empty());
        let by_listener =
            filtered.map(|listener| (listener.id.clone(), Prerouting::compile(listener, clusters)));
        Preroutings { by_listener: by_listener.collect() }
    }

    /// Whether no listener of the port has any.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_listener.is_empty()
    }

    /// Those of a listener, if it has any.
    pub(crate) fn of(&self, listener: &Listener) -> Option<&Prerouting> {
        self.by_listener.get(&listener.id)
    }
}

impl Prerouting {
    fn compile(listener: &Listener, clusters: &Clusters) -> Prerouting {
        let identity = listener.client_certificate.as_ref().map(Identity::new);
        match &listener.filters {
            ListenerFilters::Ask(auths) => {
                let asks =
                    auths.iter().map(|auth| CompiledAsk::compile(auth, None, clusters, identity.as_ref()));
                // What cannot be asked cannot let anything pass.
                let refusal = Refusal { status: 500, reason: Reason::FilterUnresolved };
                asks.collect::<Option<_>>().map_or(Prerouting::Fail(refusal), Prerouting::Ask)
            }
            ListenerFilters::Fail(failure) => Prerouting::Fail(failure.into()),
        }
    }
}
