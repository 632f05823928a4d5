//! [`GatewayClass`].

use std::sync::Arc;

use serde_json::json;

use crate::{
    references::ObjectRef,
    resource::resource,
    schema::object,
    status::{Condition, ControllerName, MAX_CONDITIONS, pending},
};

resource! {
    /// Which controller serves the Gateways of a class, and how.
    pub struct GatewayClass: GatewayClass {
        spec: GatewayClassSpec,
        status: GatewayClassStatus = json!({"conditions": pending(&["Accepted"])}),
    }
}

object! {
    /// What a GatewayClass says.
    #[derive(Eq)]
    pub struct GatewayClassSpec {
        /// The controller.
        pub controller_name as "controllerName": ControllerName,
        /// Parameters of the implementation. A namespace only if their kind has one.
        pub parameters_ref as "parametersRef": Option<ObjectRef>,
        /// For people.
        pub description: Option<Arc<str>> [.max_length(64)],
    }
}

object! {
    /// How a GatewayClass is.
    #[derive(Eq, Default)]
    pub struct GatewayClassStatus {
        /// Verdicts.
        pub conditions: Vec<Condition> [
            .max_items(MAX_CONDITIONS).unique_by("type")
        ] = pending(&["Accepted"]),
        /// What the implementation can, in ascending order.
        pub supported_features as "supportedFeatures": Vec<SupportedFeature> [
            .max_items(64).unique_by("name")
        ],
    }
}

object! {
    /// One thing that an implementation can.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct SupportedFeature {
        /// The feature's name in the conformance suite.
        pub name: Arc<str>,
    }
}
