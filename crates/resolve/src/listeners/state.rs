//! How a listener is, once certificates and the engine's reports are known.

use std::sync::Arc;

use portcullis_api::ObjectKey;

use super::decisions::{Decision, Decisions};
use super::declared::{Declared, DeclaredListeners, parent_of};
use super::filters::{FilterOutcome, FiltersOf};
use crate::certificates::{ListenerTls, TlsOutcome};
use crate::gateways::{Binding, Bound, is_eligible};
use crate::memo::Query;
use crate::view::View;

/// The states of the listeners of a Gateway or ListenerSet, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListenerStates {
    pub(crate) owner: ObjectKey,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListenerState {
    pub(crate) decision: Decision,
    pub(crate) tls: Arc<TlsOutcome>,
    pub(crate) filters: Arc<FilterOutcome>,
    pub(crate) programmed: Programmed,
}

/// Whether traffic is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Programmed {
    Yes,
    /// The engine has not confirmed it yet.
    Pending,
    /// Its port cannot be bound; the engine tries again.
    PortUnavailable(String),
    /// The Gateway has no address that can be bound, which is no fault of the listener.
    NoAddress,
    /// For a reason that other conditions tell.
    No(&'static str),
}

impl ListenerState {
    /// Whether the listener is accepted, as its status says it.
    pub(crate) fn is_accepted(&self) -> bool {
        self.decision == Decision::Accepted && !matches!(self.programmed, Programmed::PortUnavailable(_))
    }

    /// Whether certificates and filters have what they refer to.
    pub(crate) fn is_resolved(&self) -> bool {
        self.tls.unresolved.is_empty() && self.filters.unresolved.is_empty()
    }

    /// Whether Accepted and Programmed are True, or would be once the engine confirms and the Gateway has an
    /// address.
    pub(crate) fn is_good(&self) -> bool {
        self.decision == Decision::Accepted
            && matches!(self.programmed, Programmed::Yes | Programmed::Pending | Programmed::NoAddress)
    }
}

/// Whether everything is bound that carries the listener.
fn bound(view: &View<'_>, gateway: &ObjectKey, listener: &Declared) -> Programmed {
    let mut found = Programmed::Yes;
    for transport in listener.transports() {
        let (gateway, port, transport) = (gateway.clone(), listener.port, *transport);
        match &*view.get(&Binding { gateway, port, transport }) {
            Bound::Yes => {}
            Bound::Unavailable(why) => return Programmed::PortUnavailable(why.clone()),
            Bound::Pending => found = Programmed::Pending,
            Bound::NoAddress => return Programmed::NoAddress,
        }
    }
    found
}

impl Query for ListenerStates {
    type Value = Vec<ListenerState>;

    fn compute(&self, view: &View<'_>) -> Vec<ListenerState> {
        let decisions = view.get(&Decisions { owner: self.owner.clone() });
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let gateway = parent_of(view, &self.owner);
        let eligible = gateway.as_ref().filter(|gateway| is_eligible(view, gateway));
        let mut states = Vec::with_capacity(listeners.len());
        for (index, (listener, decision)) in listeners.iter().zip(decisions.iter()).enumerate() {
            let tls = view.get(&ListenerTls { owner: self.owner.clone(), index });
            let programmed = match (decision, eligible) {
                (Decision::Accepted, None) => Programmed::No("the Gateway is not accepted"),
                (Decision::Accepted, Some(_)) if listener.tls.is_some() && tls.server.is_none() => {
                    Programmed::No("there is no usable certificate")
                }
                (Decision::Accepted, Some(gateway)) => bound(view, gateway, listener),
                (Decision::Lost(_) | Decision::Refused | Decision::Shut, _) => {
                    Programmed::No("the listener is not accepted")
                }
                (Decision::Undecided, _) => Programmed::No("the ListenerSet is not accepted"),
            };
            let filters = view.get(&FiltersOf { owner: self.owner.clone(), index });
            states.push(ListenerState { decision: *decision, tls, filters, programmed });
        }
        states
    }
}
