//! Gateways: whether they are ours, what they ask for, and which share addresses.

mod addresses;
mod client_certificate;
mod groups;
mod status;

use portcullis_api::gateway::Gateway;
use portcullis_api::{FieldPath, ObjectKey};

use crate::age::Seniority;
use crate::causes::{GATEWAY_PARAMETERS, GATEWAY_PARAMETERS_IGNORED};
use crate::finding::Finding;
use crate::gateway_classes::{Class, OurClass};
use crate::listeners::{Decision, Decisions};
use crate::memo::Query;
use crate::namespaces::Allowed;
use crate::view::View;
pub(crate) use addresses::{Addresses, Binding, Bound};
pub(crate) use client_certificate::ClientCertificate;
pub(crate) use groups::{Group, GroupOf};
pub(crate) use status::{GatewayOutcome, GatewayProgrammed, ProgrammedState};

/// A Gateway of ours, apart from its listeners. Nothing if it does not exist or its class is not ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OurGateway {
    pub(crate) key: ObjectKey,
}

/// What does not change with every edit of the Gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) class: OurClass,
    pub(crate) seniority: Seniority,
    /// Why its parameters refuse it.
    pub(crate) parameters: Option<Finding>,
}

impl Query for OurGateway {
    type Value = Option<Standing>;

    fn compute(&self, view: &View<'_>) -> Option<Standing> {
        let gateway = view.gateway(&self.key)?;
        let name = gateway.spec.gateway_class_name.shared();
        let class = (*view.get(&Class { name })).clone()?;
        let parameters = parameters(&gateway, &class);
        Some(Standing { class, seniority: Seniority::of(&self.key, &gateway.metadata), parameters })
    }
}

/// `infrastructure.parametersRef`: we know no kind of parameters, and pass over those of other controllers.
fn parameters(gateway: &Gateway, class: &OurClass) -> Option<Finding> {
    let parameters = gateway.spec.infrastructure.as_ref()?.parameters_ref.as_ref()?;
    let cause = if class.foreign { &GATEWAY_PARAMETERS_IGNORED } else { &GATEWAY_PARAMETERS };
    let message = format!("{} {} is not a kind of parameters", parameters.kind, parameters.name);
    Some(Finding::new(cause, FieldPath::of("spec").fields("infrastructure.parametersRef"), message))
}

impl Standing {
    pub(crate) fn parameters_refuse(&self) -> bool {
        self.parameters.as_ref().is_some_and(|finding| !finding.cause.reason.is_empty())
    }
}

/// Whether a Gateway's listeners are served wherever it has an address: it is ours, what it asks for can be had,
/// and a listener of its own is accepted. Only then its ListenerSets count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IsServed {
    pub(crate) gateway: ObjectKey,
}

impl Query for IsServed {
    type Value = bool;

    fn compute(&self, view: &View<'_>) -> bool {
        is_eligible(view, &self.gateway)
            && view.get(&Decisions { owner: self.gateway.clone() }).contains(&Decision::Accepted)
    }
}

/// Whether a Gateway is ours and what it asks for beside listeners can be had. That it has an address is not
/// asked: one without is accepted and not programmed, and so are its ListenerSets.
pub(crate) fn is_eligible(view: &View<'_>, gateway: &ObjectKey) -> bool {
    let standing = view.get(&OurGateway { key: gateway.clone() });
    let ours = standing.as_ref().as_ref().is_some_and(|standing| !standing.parameters_refuse());
    ours && view.get(&Addresses { gateway: gateway.clone() }).unsupported.is_empty()
}

/// From where ListenerSets may attach to a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AllowedSets {
    pub(crate) gateway: ObjectKey,
}

impl Query for AllowedSets {
    type Value = Allowed;

    fn compute(&self, view: &View<'_>) -> Allowed {
        let gateway = view.gateway(&self.gateway);
        let allowed = gateway.as_ref().and_then(|gateway| gateway.spec.allowed_listeners.as_ref());
        allowed.map_or(Allowed::None, |allowed| {
            let namespaces = &allowed.namespaces;
            Allowed::read(&namespaces.from, namespaces.selector.as_ref(), &self.gateway.namespace)
        })
    }
}
