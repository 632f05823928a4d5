//! What is said about a route.

use portcullis_api::status::{Condition, RouteParentStatus, RouteStatus};
use portcullis_api::{FieldPath, ObjectKey};

use super::{Common, Meaning, RouteMeaning};
use crate::attachment::{Attachment, Attachments};
use crate::causes::{HOSTNAME_IS_ADDRESS, ROUTE_NO_PARENT, ROUTE_PARENT_UNKNOWN};
use crate::finding::{Conditions, Finding, condition};
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// The status of a route of a kind that is served: an entry for each of its parents that is ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RouteOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for RouteOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(route) = Common::read(view, &self.key) else { return Outcome::default() };
        let meaning = view.get(&Meaning { route: self.key.clone() });
        let Some(meaning) = meaning.as_ref() else { return Outcome::default() };
        let attachments = view.get(&Attachments { route: self.key.clone() });
        let generation = route.metadata.generation.unwrap_or(1);
        let mut findings = Vec::new();
        let mut parents = Vec::new();
        let references = FieldPath::of("spec").field("parentRefs");
        for (index, reference) in route.parent_refs.iter().enumerate() {
            let path = references.index(index);
            let Some(attachment) = attachments.iter().find(|attachment| attachment.index == index) else {
                let message =
                    format!("parent {} {} does not exist or is not ours", reference.kind, reference.name);
                findings.push(Finding::new(&ROUTE_PARENT_UNKNOWN, path, message));
                continue;
            };
            if let Err(cause) = attachment.listeners {
                findings.push(Finding::plain(cause, path));
            }
            parents.push(RouteParentStatus {
                parent_ref: reference.clone(),
                controller_name: attachment.controller.clone(),
                conditions: conditions(generation, attachment, meaning),
            });
        }
        findings.extend(notes(&route));
        findings.extend(meaning.findings.iter().cloned());
        Outcome::new(&self.key, Some(Status::Route(RouteStatus { parents })), &findings)
    }
}

fn conditions(generation: i64, attachment: &Attachment, meaning: &RouteMeaning) -> Vec<Condition> {
    let mut conditions = Conditions::at(generation);
    match (&attachment.listeners, &meaning.refusal) {
        (Err(cause), _) => conditions.no(condition::ACCEPTED, cause.reason, cause.rule.summary),
        (Ok(_), Some((cause, message))) => conditions.no(condition::ACCEPTED, cause.reason, message.clone()),
        (Ok(_), None) => conditions.yes(condition::ACCEPTED, "Accepted", "the route is accepted"),
    }
    let resolved = "all references are resolved";
    conditions.resolved(condition::RESOLVED_REFS, "ResolvedRefs", resolved, &meaning.unresolved);
    // Never of a parent that does not accept the route (`RouteConditionPartiallyInvalid`).
    if let Some(dropped) = meaning.dropped.as_ref().filter(|_| attachment.listeners.is_ok()) {
        conditions.yes(condition::PARTIALLY_INVALID, "UnsupportedValue", dropped.clone());
    }
    conditions.finish()
}

fn notes(route: &Common<'_>) -> Vec<Finding> {
    let spec = FieldPath::of("spec");
    let mut notes = Vec::new();
    for (index, host) in route.written_hostnames().filter(|(_, host)| host.is_ip_address()) {
        let message = format!("the hostname {host} is an address and matches nothing");
        notes.push(Finding::new(&HOSTNAME_IS_ADDRESS, spec.field("hostnames").index(index), message));
    }
    if route.parent_refs.is_empty() {
        notes.push(Finding::plain(&ROUTE_NO_PARENT, spec.field("parentRefs")));
    }
    notes
}
