//! What runs on every request of a listener, before a rule is looked for.
//!
//! Source: `Gateway.spec.listeners.filters` and `ListenerSet.spec.listeners.filters` field documentation; GEP-5224.

use std::sync::Arc;

use portcullis_api::external_auth::{ExternalAuth, ExternalAuthProtocol};
use portcullis_api::listener::{self, ListenerFilter, ListenerFilterType};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{self as model, Cluster, Failure, FailureReason, ListenerFilters};

use super::claim::Protocol;
use super::decisions::Decisions;
use super::declared::DeclaredListeners;
use crate::backends::{ClusterOf, Refusal};
use crate::causes::{
    LISTENER_FILTER_HOST, LISTENER_FILTER_INVALID, LISTENER_FILTER_REF, LISTENER_VALUE, REF_NOT_PERMITTED,
};
use crate::finding::{Finding, messages};
use crate::http_routes::auth;
use crate::memo::Query;
use crate::view::View;

/// Whether a protocol has requests that filters could run on.
pub(super) fn are_for(protocol: Protocol) -> bool {
    match protocol {
        Protocol::Http | Protocol::Https | Protocol::Http3 => true,
        Protocol::Tls | Protocol::Tcp | Protocol::Udp => false,
    }
}

/// Filters where there are no requests. Admission refuses them on Gateways, and not on ListenerSets.
pub(super) fn misplaced(protocol: &listener::Protocol, path: FieldPath) -> Finding {
    let message = format!("filters are for protocols HTTP and HTTPS, not for {protocol}");
    Finding::new(&LISTENER_FILTER_INVALID, path, message)
}

/// What is wrong with filters, whatever other objects there are. Any order can be run.
pub(super) fn faults(filters: &[ListenerFilter], path: &FieldPath) -> Vec<Finding> {
    let faults = filters.iter().enumerate().filter_map(|(index, filter)| {
        let path = path.index(index);
        let invalid = |what: &str| Finding::new(&LISTENER_FILTER_INVALID, path.clone(), told(index, what));
        match &filter.filter_type {
            ListenerFilterType::ExternalAuth => match &filter.external_auth {
                Some(ExternalAuth { protocol: ExternalAuthProtocol::Other(other), .. }) => {
                    let message = told(index, &format!("ExternalAuth by {other} is not supported"));
                    Some(Finding::new(&LISTENER_VALUE, path.clone(), message))
                }
                Some(source) => auth::manner(source).err().map(|(_, message)| invalid(&message)),
                None => Some(invalid("ExternalAuth says nothing")),
            },
            ListenerFilterType::ExtensionRef => {
                filter.extension_ref.is_none().then(|| invalid("ExtensionRef refers to nothing"))
            }
            ListenerFilterType::Other(other) => {
                let message = told(index, &format!("filter {other} is not supported"));
                Some(Finding::new(&LISTENER_VALUE, path.clone(), message))
            }
        }
    });
    faults.collect()
}

/// What is said names the filter by its place.
fn told(index: usize, what: &str) -> String {
    format!("filters.requests[{index}]: {what}")
}

/// What the filters of a listener come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FiltersOf {
    pub(crate) owner: ObjectKey,
    pub(crate) index: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilterOutcome {
    pub(crate) filters: ListenerFilters,
    /// References that do not resolve.
    pub(crate) unresolved: Vec<Finding>,
    /// What is worth knowing.
    pub(crate) notes: Vec<Finding>,
}

impl Query for FiltersOf {
    type Value = FilterOutcome;

    fn compute(&self, view: &View<'_>) -> FilterOutcome {
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let Some(listener) = listeners.get(self.index).filter(|listener| !listener.filters.is_empty()) else {
            return FilterOutcome::default();
        };
        let path = listener.path.fields("filters.requests");
        let mut reader =
            Reader { view, owner: &self.owner, asked: Vec::new(), outcome: FilterOutcome::default() };
        let mut failing = faults(&listener.filters, &path);
        for (index, filter) in listener.filters.iter().enumerate() {
            failing.extend(reader.read(filter, index, &path.index(index)));
        }
        let Reader { asked, mut outcome, .. } = reader;
        outcome.filters = match failing.is_empty() {
            true => ListenerFilters::Ask(asked),
            false => ListenerFilters::Fail(Failure {
                status: 500,
                reason: FailureReason::FilterUnresolved,
                message: messages(&failing).into(),
            }),
        };
        outcome
    }
}

struct Reader<'a> {
    view: &'a View<'a>,
    owner: &'a ObjectKey,
    asked: Vec<model::ExternalAuth>,
    outcome: FilterOutcome,
}

impl Reader<'_> {
    /// Notes what a filter comes to. Answers why its reference cannot be used.
    fn read(&mut self, filter: &ListenerFilter, index: usize, path: &FieldPath) -> Option<Finding> {
        let finding = match (&filter.external_auth, &filter.extension_ref) {
            (Some(source), _) => self.ask(source, index, path)?,
            (None, Some(extension)) => {
                let what = format!("ExtensionRef: {} {} is of no known kind", extension.kind, extension.name);
                Finding::new(&LISTENER_FILTER_REF, path.field("extensionRef"), told(index, &what))
            }
            (None, None) => return None,
        };
        let told = match finding.cause.reason.is_empty() {
            true => &mut self.outcome.notes,
            false => &mut self.outcome.unresolved,
        };
        told.push(finding.clone());
        Some(finding)
    }

    /// Why the service cannot be asked: each reason but a missing grant is one in conditions, and a service that is
    /// guarded by something that cannot be enforced is in none.
    fn ask(&mut self, source: &ExternalAuth, index: usize, path: &FieldPath) -> Option<Finding> {
        let changes_host = source.http.iter().flat_map(|http| &http.allowed_response_headers);
        if changes_host.into_iter().any(|name| name.eq_ignore_ascii_case("host")) {
            let path = path.fields("externalAuth.http.allowedResponseHeaders");
            self.outcome.notes.push(Finding::plain(&LISTENER_FILTER_HOST, path));
        }
        match auth::auth(self.view, self.owner, source).ok()? {
            Ok(asked) => {
                self.asked.push(asked);
                None
            }
            Err(Refusal { cause, message, .. }) => {
                let path = path.fields("externalAuth.backendRef");
                let message = told(index, &format!("ExternalAuth: {message}"));
                if cause == &REF_NOT_PERMITTED || cause.reason.is_empty() {
                    return Some(Finding::new(cause, path, message));
                }
                let hint = Some(cause.rule.hint.into());
                Some(Finding { hint, ..Finding::new(&LISTENER_FILTER_REF, path, message) })
            }
        }
    }
}

/// The clusters that the filters of a Gateway's or ListenerSet's listeners lead to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListenerClusters {
    pub(crate) owner: ObjectKey,
}

impl Query for ListenerClusters {
    type Value = Vec<Arc<Cluster>>;

    fn compute(&self, view: &View<'_>) -> Vec<Arc<Cluster>> {
        let decisions = view.get(&Decisions { owner: self.owner.clone() });
        let standing = decisions.iter().enumerate().filter(|(_, decision)| decision.stands());
        let mut keys = Vec::new();
        for (index, _) in standing {
            let outcome = view.get(&FiltersOf { owner: self.owner.clone(), index });
            keys.extend(outcome.filters.clusters().cloned());
        }
        keys.sort();
        keys.dedup();
        keys.into_iter().map(|key| Arc::clone(&*view.get(&ClusterOf { key }))).collect()
    }
}
