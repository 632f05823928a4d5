//! Objects that a cluster holds and admission refuses: nothing is served from them, what they guard gets no traffic,
//! and they say so themselves.

use portcullis_api::gateway::GatewayStatus;
use portcullis_api::gateway_class::GatewayClassStatus;
use portcullis_api::listener_set::ListenerSetStatus;
use portcullis_api::references::ParentRef;
use portcullis_api::status::{Condition, ControllerName, RouteParentStatus, RouteStatus};
use portcullis_api::{Diagnostic, Kind, ObjectKey};
use portcullis_store::Refusal;
use serde_json::Value;

use crate::attachment::{AttachPoints, parent_key};
use crate::backend_tls::refused_status;
use crate::finding::{Conditions, condition};
use crate::gateway_classes::Class;
use crate::gateways::OurGateway;
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// What is said about an object that is refused, as far as what is written of it tells whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RefusedOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for RefusedOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(refusal) = view.refusal(&self.key) else { return Outcome::default() };
        let status = match self.key.kind {
            Kind::GatewayClass => gateway_class(view, refusal),
            Kind::Gateway => gateway(view, refusal),
            Kind::ListenerSet => listener_set(view, &self.key, refusal),
            Kind::BackendTlsPolicy => {
                let conditions = verdicts(refusal, &[(condition::ACCEPTED, "Invalid")]);
                let status = refused_status(view, &self.key, &conditions);
                (!status.ancestors.is_empty()).then_some(Status::Policy(status))
            }
            kind if kind.is_route() => route(view, &self.key, refusal),
            _ => None,
        };
        Outcome { status: status.map(std::sync::Arc::new), diagnostics: refusal.diagnostics.clone().into() }
    }
}

fn gateway_class(view: &View<'_>, refusal: &Refusal) -> Option<Status> {
    let controller = refusal.written.pointer("/spec/controllerName")?.as_str()?;
    view.engine().owns(controller).then(|| {
        Status::GatewayClass(GatewayClassStatus {
            conditions: verdicts(refusal, &[(condition::ACCEPTED, "Unsupported")]),
            ..GatewayClassStatus::default()
        })
    })
}

fn gateway(view: &View<'_>, refusal: &Refusal) -> Option<Status> {
    let class = refusal.written.pointer("/spec/gatewayClassName")?.as_str()?;
    view.get(&Class { name: class.into() }).as_ref().as_ref()?;
    let conditions =
        verdicts(refusal, &[(condition::ACCEPTED, "Invalid"), (condition::PROGRAMMED, "Invalid")]);
    Some(Status::Gateway(GatewayStatus { conditions, ..GatewayStatus::default() }))
}

fn listener_set(view: &View<'_>, key: &ObjectKey, refusal: &Refusal) -> Option<Status> {
    let parent = serde_json::from_value(refusal.written.pointer("/spec/parentRef")?.clone()).ok()?;
    let gateway = parent_key(&parent, key)?;
    view.get(&OurGateway { key: gateway }).as_ref().as_ref()?;
    let conditions =
        verdicts(refusal, &[(condition::ACCEPTED, "Invalid"), (condition::PROGRAMMED, "Invalid")]);
    Some(Status::ListenerSet(ListenerSetStatus { conditions, ..ListenerSetStatus::default() }))
}

/// An entry for each parent of ours that can be read.
fn route(view: &View<'_>, key: &ObjectKey, refusal: &Refusal) -> Option<Status> {
    let written = refusal.written.pointer("/spec/parentRefs")?.as_array()?;
    let references =
        written.iter().filter_map(|parent| serde_json::from_value::<ParentRef>(parent.clone()).ok());
    let parents = references.filter_map(|parent_ref| {
        let controller_name = controller(view, parent_key(&parent_ref, key)?)?;
        let conditions = verdicts(refusal, &[(condition::ACCEPTED, "UnsupportedValue")]);
        Some(RouteParentStatus { parent_ref, controller_name, conditions })
    });
    Some(Status::Route(RouteStatus { parents: parents.collect() }))
}

fn controller(view: &View<'_>, parent: ObjectKey) -> Option<ControllerName> {
    view.get(&AttachPoints { parent }).as_ref().as_ref().map(|parent| parent.controller.clone())
}

fn verdicts(refusal: &Refusal, types: &[(&'static str, &str)]) -> Vec<Condition> {
    let generation = refusal.written.pointer("/metadata/generation").and_then(Value::as_i64);
    let mut conditions = Conditions::at(generation.unwrap_or(1));
    for (condition_type, reason) in types {
        conditions.no(condition_type, reason, message(&refusal.diagnostics));
    }
    conditions.finish()
}

/// The errors, with the fields that they are about.
fn message(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let errors: Vec<String> = errors.map(|error| format!("{}: {}", error.path, error.message)).collect();
    format!("the object is invalid: {}", errors.join("; "))
}
