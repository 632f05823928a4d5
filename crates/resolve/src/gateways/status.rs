//! What is said about a Gateway.

use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::gateway::{AddressType, Gateway, GatewayStatus, GatewayStatusAddress};
use portcullis_api::{FieldPath, Kind, ObjectKey};
use portcullis_model::BindAddress;
use portcullis_store::{BindFailure, BindOutcome, PublishedAddress};

use super::addresses::Place;
use super::{Addresses, ClientCertificate, OurGateway, Standing, is_eligible};
use crate::backend_tls::Unapplied;
use crate::causes::{
    ADDRESS_NOT_ASSIGNED, ADDRESS_NOT_USABLE, ADDRESSES_NOT_ASSIGNED, ADDRESSES_PARTLY_ASSIGNED,
    CLASS_MISSING, CLASS_REFUSED, CLIENT_VALIDATION_INSECURE, Cause, DEFAULT_GATEWAY_NO_EFFECT,
    GATEWAY_INVALID, GATEWAY_LISTENERS_NOT_RESOLVED, GATEWAY_LISTENERS_NOT_VALID, GATEWAY_POLICY_UNAPPLIED,
    NAMESPACE_SELECTOR,
};
use crate::client_validation::is_insecure;
use crate::finding::{Conditions, Finding, condition, messages};
use crate::listener_sets::IsGood;
use crate::listeners::{self, DeclaredListeners, ListenerState, ListenerStates, Programmed};
use crate::memo::Query;
use crate::namespaces::selector_fault;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// Whether a Gateway of ours is programmed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GatewayProgrammed {
    pub(crate) gateway: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgrammedState {
    Yes,
    Pending,
    No(&'static Cause, Arc<str>),
}

impl Query for GatewayProgrammed {
    type Value = ProgrammedState;

    fn compute(&self, view: &View<'_>) -> ProgrammedState {
        let plan = view.get(&Addresses { gateway: self.gateway.clone() });
        if plan.reached.is_empty() && plan.undecided {
            return ProgrammedState::Pending;
        }
        if plan.reached.is_empty() && plan.unsupported.is_empty() && plan.taken.is_empty() {
            return ProgrammedState::No(&ADDRESS_NOT_ASSIGNED, ADDRESS_NOT_ASSIGNED.rule.summary.into());
        }
        let states = view.get(&ListenerStates { owner: self.gateway.clone() });
        if !is_eligible(view, &self.gateway) || !states.iter().any(ListenerState::is_accepted) {
            return ProgrammedState::No(&GATEWAY_INVALID, GATEWAY_INVALID.rule.summary.into());
        }
        if let Some(message) = unusable(view, &self.gateway) {
            return ProgrammedState::No(&ADDRESS_NOT_USABLE, message.into());
        }
        if states.iter().any(|state| state.programmed == Programmed::Yes) {
            ProgrammedState::Yes
        } else if states.iter().any(|state| state.programmed == Programmed::Pending) {
            ProgrammedState::Pending
        } else {
            ProgrammedState::No(&GATEWAY_INVALID, GATEWAY_INVALID.rule.summary.into())
        }
    }
}

/// Which addresses that are asked for by value cannot be used, if any.
fn unusable(view: &View<'_>, gateway: &ObjectKey) -> Option<String> {
    let plan = view.get(&Addresses { gateway: gateway.clone() });
    let foreign: Vec<IpAddr> =
        plan.wanted.iter().copied().filter(|ip| is_foreign(view, gateway, *ip)).collect();
    let reasons = [
        ("addresses that this machine does not have", &foreign),
        ("addresses that other Gateways were given", &plan.taken),
    ];
    let told = reasons.iter().filter(|(_, addresses)| !addresses.is_empty()).map(|(reason, addresses)| {
        let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        format!("{reason}: {}", list.join(", "))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn is_foreign(view: &View<'_>, gateway: &ObjectKey, ip: IpAddr) -> bool {
    let listeners = view.get(&DeclaredListeners { owner: gateway.clone() });
    listeners.iter().any(|listener| {
        listener.transports().iter().any(|transport| {
            let outcome = view.bind_outcome(BindAddress { ip, port: listener.port, transport: *transport });
            matches!(outcome, Some(BindOutcome::Failed { failure: BindFailure::NotLocal, .. }))
        })
    })
}

/// The status of a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GatewayOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for GatewayOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(gateway) = view.gateway(&self.key) else { return Outcome::default() };
        let standing = view.get(&OurGateway { key: self.key.clone() });
        let Some(standing) = standing.as_ref() else {
            let message =
                format!("GatewayClass {} does not exist or is not ours", gateway.spec.gateway_class_name);
            let finding =
                Finding::new(&CLASS_MISSING, FieldPath::of("spec").field("gatewayClassName"), message);
            return Outcome::new(&self.key, None, &[finding]);
        };
        let mut writer = Writer {
            view,
            key: &self.key,
            conditions: Conditions::at(gateway.metadata.generation.unwrap_or(1)),
            findings: Vec::new(),
        };
        writer.accepted(standing);
        writer.programmed(standing);
        writer.resolved();
        writer.addresses_assigned();
        writer.insecure(&gateway);
        writer.unapplied();
        writer.notes(&gateway);
        let Writer { conditions, mut findings, .. } = writer;
        findings.extend(listeners::findings(view, &self.key));
        let status = GatewayStatus {
            addresses: addresses(view, &self.key),
            conditions: conditions.finish(),
            listeners: listeners::statuses(view, &self.key, gateway.metadata.generation.unwrap_or(1)),
            attached_listener_sets: Some(attached_sets(view, &self.key)),
        };
        Outcome::new(&self.key, Some(Status::Gateway(status)), &findings)
    }
}

/// One entry for each address at which clients reach the Gateway, or may once it is bound.
fn addresses(view: &View<'_>, gateway: &ObjectKey) -> Vec<GatewayStatusAddress> {
    if !is_eligible(view, gateway) {
        return Vec::new();
    }
    let plan = view.get(&Addresses { gateway: gateway.clone() });
    let shown = plan.reached.iter().filter_map(|reached| {
        let (address_type, value) = match &reached.at {
            Place::Here(ip) if is_foreign(view, gateway, *ip) => return None,
            Place::Here(ip) | Place::Before(PublishedAddress::Ip(ip)) => {
                (AddressType::IpAddress, ip.to_string().into())
            }
            Place::Before(PublishedAddress::Hostname(name)) => (AddressType::Hostname, Arc::clone(name)),
        };
        let routability = plan.routable.then(|| reached.routability.into());
        Some(GatewayStatusAddress { address_type, value, routability })
    });
    shown.collect()
}

fn attached_sets(view: &View<'_>, gateway: &ObjectKey) -> i32 {
    let sets = view.attached(Kind::ListenerSet, gateway).into_iter();
    i32::try_from(sets.filter(|set| *view.get(&IsGood { set: set.clone() })).count()).unwrap_or(i32::MAX)
}

struct Writer<'a> {
    view: &'a View<'a>,
    key: &'a ObjectKey,
    conditions: Conditions,
    findings: Vec<Finding>,
}

impl Writer<'_> {
    fn refuse(&mut self, condition_type: &'static str, finding: Finding) {
        self.conditions.no(condition_type, finding.cause.reason, finding.message.clone());
        self.findings.push(finding);
    }

    /// The reasons rank InvalidParameters, UnsupportedAddress, ListenersNotValid.
    fn accepted(&mut self, standing: &Standing) {
        let plan = self.view.get(&Addresses { gateway: self.key.clone() });
        if standing.class.refused {
            self.findings
                .push(Finding::plain(&CLASS_REFUSED, FieldPath::of("spec").field("gatewayClassName")));
            self.conditions.pending(condition::ACCEPTED, CLASS_REFUSED.rule.summary);
            return;
        }
        self.findings.extend(plan.unsupported.iter().cloned());
        if let Some(parameters) = &standing.parameters {
            self.findings.push(parameters.clone());
        }
        if let Some(parameters) = standing.parameters.as_ref().filter(|_| standing.parameters_refuse()) {
            self.conditions.no(condition::ACCEPTED, parameters.cause.reason, parameters.message.clone());
            return;
        }
        if let Some(first) = plan.unsupported.first() {
            self.conditions.no(condition::ACCEPTED, first.cause.reason, messages(&plan.unsupported));
            return;
        }
        let (good, bad) = self.split(ListenerState::is_accepted);
        if bad.is_empty() {
            self.conditions.yes(condition::ACCEPTED, "Accepted", "the Gateway is accepted");
            return;
        }
        let accepted = if good.is_empty() { "none".to_owned() } else { good.join(", ") };
        let message = format!("listeners not accepted: {}; accepted: {accepted}", bad.join(", "));
        let cause = &GATEWAY_LISTENERS_NOT_VALID;
        self.findings.push(Finding::new(cause, FieldPath::of("spec").field("listeners"), message.as_str()));
        match good.is_empty() {
            true => self.conditions.no(condition::ACCEPTED, cause.reason, message),
            false => self.conditions.yes(condition::ACCEPTED, cause.reason, message),
        }
    }

    /// The names of the Gateway's own listeners that pass a test, and of those that do not.
    fn split(&self, test: impl Fn(&ListenerState) -> bool) -> (Vec<String>, Vec<String>) {
        let declared = self.view.get(&DeclaredListeners { owner: self.key.clone() });
        let states = self.view.get(&ListenerStates { owner: self.key.clone() });
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (listener, state) in declared.iter().zip(states.iter()) {
            if test(state) { &mut good } else { &mut bad }.push(listener.name.to_string());
        }
        (good, bad)
    }

    fn programmed(&mut self, standing: &Standing) {
        if standing.class.refused {
            self.conditions.pending(condition::PROGRAMMED, CLASS_REFUSED.rule.summary);
            return;
        }
        match &*self.view.get(&GatewayProgrammed { gateway: self.key.clone() }) {
            ProgrammedState::Yes => {
                self.conditions.yes(condition::PROGRAMMED, "Programmed", "the Gateway is served");
            }
            ProgrammedState::Pending => {
                self.conditions
                    .pending(condition::PROGRAMMED, "the engine has not confirmed the Gateway yet");
            }
            ProgrammedState::No(cause, message) => {
                let finding = Finding::new(cause, FieldPath::of("spec"), message.clone());
                self.refuse(condition::PROGRAMMED, finding);
            }
        }
    }

    /// Always written, and without effect on the other two.
    fn resolved(&mut self) {
        let mut unresolved = Vec::new();
        let certificate = self.view.get(&ClientCertificate { gateway: self.key.clone() });
        if let Some(Err(finding)) = certificate.as_ref() {
            unresolved.push(finding.clone());
        }
        let declared = self.view.get(&DeclaredListeners { owner: self.key.clone() });
        let (_, bad) = self.split(ListenerState::is_resolved);
        let invalid_kinds = declared.iter().filter(|listener| !listener.invalid_kinds.is_empty());
        let mut names: Vec<String> = bad;
        for listener in invalid_kinds.map(|listener| listener.name.to_string()) {
            if !names.contains(&listener) {
                names.push(listener);
            }
        }
        if !names.is_empty() {
            let message = format!("references of listeners are not resolved: {}", names.join(", "));
            let path = FieldPath::of("spec").field("listeners");
            unresolved.push(Finding::new(&GATEWAY_LISTENERS_NOT_RESOLVED, path, message));
        }
        let resolved = "all references are resolved";
        self.conditions.resolved(condition::RESOLVED_REFS, "ResolvedRefs", resolved, &unresolved);
        self.findings.extend(unresolved);
    }

    /// Only where an address asks for a routability, and all is known. Source: GEP-5093.
    fn addresses_assigned(&mut self) {
        let plan = self.view.get(&Addresses { gateway: self.key.clone() });
        if !plan.routable || plan.undecided {
            return;
        }
        let Some(first) = plan.unassigned.first() else {
            let message = "every address is as it was asked for";
            return self.conditions.yes(condition::ADDRESSES_ASSIGNED, "AddressesAssigned", message);
        };
        self.findings.extend(plan.unassigned.iter().cloned());
        let cause =
            if plan.reached.is_empty() { &ADDRESSES_NOT_ASSIGNED } else { &ADDRESSES_PARTLY_ASSIGNED };
        if plan.reached.is_empty() {
            self.findings.push(Finding::plain(cause, first.path.clone()));
        }
        self.conditions.no(condition::ADDRESSES_ASSIGNED, cause.reason, messages(&plan.unassigned));
    }

    /// Only while True. Source: `GatewayConditionInsecureFrontendValidationMode`.
    fn insecure(&mut self, gateway: &Gateway) {
        let frontend = gateway.spec.tls.as_ref().and_then(|tls| tls.frontend.as_ref());
        if frontend.is_some_and(is_insecure) {
            let cause = &CLIENT_VALIDATION_INSECURE;
            self.conditions.yes(condition::INSECURE_FRONTEND, "ConfigurationChanged", cause.rule.summary);
            self.findings.push(Finding::plain(cause, FieldPath::of("spec").fields("tls.frontend")));
        }
    }

    /// Only while True. Source: `PolicyStatus.ancestors` field documentation.
    fn unapplied(&mut self) {
        let policies = self.view.get(&Unapplied { gateway: self.key.clone() });
        let cause = &GATEWAY_POLICY_UNAPPLIED;
        let without_room = |policy: &ObjectKey| {
            let message = format!("{policy} has no room in its status for this Gateway and is not in effect");
            Finding::new(cause, FieldPath::of("spec"), message)
        };
        let findings: Vec<Finding> = policies.iter().map(without_room).collect();
        if !findings.is_empty() {
            self.conditions.yes(condition::POLICY_NOT_APPLIED, cause.reason, messages(&findings));
        }
        self.findings.extend(findings);
    }

    fn notes(&mut self, gateway: &Gateway) {
        let spec = FieldPath::of("spec");
        if gateway.spec.default_scope.is_some() {
            self.findings.push(Finding::plain(&DEFAULT_GATEWAY_NO_EFFECT, spec.field("defaultScope")));
        }
        let namespaces = gateway.spec.allowed_listeners.as_ref().map(|allowed| &allowed.namespaces);
        let fault = namespaces.and_then(|allowed| selector_fault(&allowed.from, allowed.selector.as_ref()));
        if let Some(fault) = fault {
            let path = spec.fields("allowedListeners.namespaces.selector");
            self.findings.push(Finding::new(&NAMESPACE_SELECTOR, path, fault));
        }
    }
}
