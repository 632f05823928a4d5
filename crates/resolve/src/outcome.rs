//! What is said about an object.

use std::sync::Arc;

use portcullis_api::gateway::GatewayStatus;
use portcullis_api::gateway_class::GatewayClassStatus;
use portcullis_api::listener_set::ListenerSetStatus;
use portcullis_api::status::{PolicyStatus, RouteStatus};
use portcullis_api::{Diagnostic, ObjectKey};

use crate::finding::Finding;

/// A status as it would be written, without transition times and without other controllers' entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Of a GatewayClass.
    GatewayClass(GatewayClassStatus),
    /// Of a Gateway.
    Gateway(GatewayStatus),
    /// Of a ListenerSet.
    ListenerSet(ListenerSetStatus),
    /// Of a route of any kind: an entry for each parent of ours.
    Route(RouteStatus),
    /// Of a policy: an entry for each Gateway of ours that it concerns.
    Policy(PolicyStatus),
}

/// What is said about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: Option<Arc<Status>>,
    pub(crate) diagnostics: Arc<[Diagnostic]>,
}

impl Outcome {
    pub(crate) fn new(key: &ObjectKey, status: Option<Status>, findings: &[Finding]) -> Outcome {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        for diagnostic in findings.iter().map(|finding| finding.diagnostic(key)) {
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
        }
        Outcome { status: status.map(Arc::new), diagnostics: diagnostics.into() }
    }
}
