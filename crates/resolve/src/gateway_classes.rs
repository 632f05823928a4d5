//! GatewayClasses: whose Gateways are ours.

mod bundle;

use std::sync::Arc;

use portcullis_api::gateway_class::{GatewayClass, GatewayClassStatus, SupportedFeature};
use portcullis_api::status::ControllerName;
use portcullis_api::{FieldPath, Kind, ObjectKey};

use crate::causes::{BUNDLE_VERSION_UNKNOWN, CLASS_PARAMETERS, CLASS_PARAMETERS_IGNORED};
use crate::engine::Source;
use crate::finding::{Conditions, Finding, condition};
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// What a class says about its Gateways. Nothing if it does not exist or is not ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    pub(crate) name: Arc<str>,
}

/// A class of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OurClass {
    pub(crate) controller: ControllerName,
    /// Whether the class was written for another controller; its manifests are then taken as they are.
    pub(crate) foreign: bool,
    pub(crate) refused: bool,
}

impl Query for Class {
    type Value = Option<OurClass>;

    fn compute(&self, view: &View<'_>) -> Option<OurClass> {
        let class = view.gateway_class(&ObjectKey::new(Kind::GatewayClass, "", Arc::clone(&self.name)))?;
        let controller = class.spec.controller_name.clone();
        if !view.engine().owns(controller.as_str()) {
            return None;
        }
        let foreign = is_foreign(view, &class);
        Some(OurClass { controller, foreign, refused: class.spec.parameters_ref.is_some() && !foreign })
    }
}

/// Whether a class was written for another controller: only from files are such classes ours.
fn is_foreign(view: &View<'_>, class: &GatewayClass) -> bool {
    view.engine().source == Source::Files
        && !class.spec.controller_name.as_str().starts_with("portcullis.dev/")
}

/// The status of a GatewayClass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClassOutcome {
    pub(crate) key: ObjectKey,
}

/// The feature that is in effect only where there can be ClusterTrustBundles (GEP-5075).
const TRUST_BUNDLES: &str = "ClusterTrustBundle";

impl Query for ClassOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(class) = view.gateway_class(&self.key) else { return Outcome::default() };
        if !view.engine().owns(class.spec.controller_name.as_str()) {
            return Outcome::default();
        }
        let mut findings = Vec::new();
        let mut conditions = Conditions::at(class.metadata.generation.unwrap_or(1));
        let path = FieldPath::of("spec").field("parametersRef");
        if let Some(parameters) = &class.spec.parameters_ref {
            let message = format!("{} {} is not a kind of parameters", parameters.kind, parameters.name);
            let cause = if is_foreign(view, &class) { &CLASS_PARAMETERS_IGNORED } else { &CLASS_PARAMETERS };
            findings.push(Finding::new(cause, path, message));
        }
        let refusals = findings.iter().filter(|finding| !finding.cause.reason.is_empty());
        conditions.resolved(condition::ACCEPTED, "Accepted", "the class is ours", refusals);
        findings.extend(bundle::unknown(view));
        let unknown = findings.iter().filter(|finding| finding.cause == &BUNDLE_VERSION_UNKNOWN);
        let message = "the Gateway API's version is supported";
        conditions.resolved(condition::SUPPORTED_VERSION, "SupportedVersion", message, unknown);
        let is_there = |name: &&&str| **name != TRUST_BUNDLES || view.is_served(Kind::ClusterTrustBundle);
        let features = view.engine().capabilities.features.iter().filter(is_there);
        let supported_features = features.map(|name| SupportedFeature { name: (*name).into() }).collect();
        let status = GatewayClassStatus { conditions: conditions.finish(), supported_features };
        Outcome::new(&self.key, Some(Status::GatewayClass(status)), &findings)
    }
}
